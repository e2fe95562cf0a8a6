//! Who may ask. A page elsewhere can make a browser send requests to 127.0.0.1, and a name of its
//! own can resolve to 127.0.0.1 (DNS rebinding); the headers that it can't choose, Host and Origin,
//! give both away.

use hyper::header::{HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Request, Uri};

/// The names under which the server is reached, with its port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guard {
    port: u16,
}

impl Guard {
    pub(super) fn new(port: u16) -> Self {
        Self { port }
    }

    /// Returns whether this is `127.0.0.1:PORT` or `localhost:PORT`. At port 80 browsers leave the
    /// port out.
    fn is_own(self, authority: &str) -> bool {
        let port = self.port.to_string();
        ["127.0.0.1", "localhost"].iter().any(|name| match authority.strip_prefix(name) {
            Some("") => self.port == 80,
            Some(rest) => rest.strip_prefix(':') == Some(&*port),
            None => false,
        })
    }

    /// Why a request is refused.
    pub(super) fn refusal<B>(self, request: &Request<B>) -> Option<String> {
        self.refusal_of(request.uri(), request.headers())
    }

    fn refusal_of(self, uri: &Uri, headers: &HeaderMap) -> Option<String> {
        let expected = format!("127.0.0.1:{}", self.port);
        match *texts(headers, &HOST) {
            [host] if self.is_own(host) => {}
            _ => return Some(format!("requests must name one Host, {expected}")),
        }
        if uri.authority().is_some_and(|authority| !self.is_own(authority.as_str())) {
            return Some(format!("requests must be for {expected}"));
        }
        match *texts(headers, &ORIGIN) {
            [] => None,
            [origin] if origin.strip_prefix("http://").is_some_and(|host| self.is_own(host)) => None,
            _ => Some(format!("requests must come from http://{expected}, not from another page")),
        }
    }
}

/// The values of a header, empty where they are no text.
fn texts<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Vec<&'a str> {
    headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(uri: &str, headers: &[(&'static str, &'static str)]) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().expect("a header's value"));
        }
        Guard::new(4711).refusal_of(&uri.parse().expect("a target"), &map).is_some()
    }

    #[test]
    fn only_the_own_page_is_answered() {
        for host in ["127.0.0.1:4711", "localhost:4711"] {
            assert!(!refused("/", &[("host", host)]), "{host}");
            assert!(!refused("/ask", &[("host", host), ("origin", "http://127.0.0.1:4711")]), "{host}");
        }
        for host in [
            "evil.example:4711",
            "127.0.0.1",
            "127.0.0.1:4712",
            "127.0.0.1:47110",
            "127.0.0.1.evil.example:4711",
            "localhost.evil.example:4711",
            "user@127.0.0.1:4711",
            "[::1]:4711",
            "",
        ] {
            assert!(refused("/", &[("host", host)]), "{host}");
        }
        assert!(refused("/", &[]));
        assert!(refused("/", &[("host", "127.0.0.1:4711"), ("host", "evil.example")]));
        assert!(refused("http://evil.example/", &[("host", "127.0.0.1:4711")]));
        for origin in [
            "null",
            "http://evil.example",
            "https://127.0.0.1:4711",
            "http://127.0.0.1:80",
            "http://127.0.0.1:4711.evil.example",
        ] {
            assert!(refused("/ask", &[("host", "127.0.0.1:4711"), ("origin", origin)]), "{origin}");
        }
    }
}
