//! `smallfloat explore` as a server: what it answers, whom it refuses, what it bears, how it ends.

#![cfg(feature = "explore")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin;
use serde_json::{Value, json};

/// A running explorer, ended with the test.
struct Explorer {
    child: Child,
    port: u16,
}

impl Drop for Explorer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A response: status, headers in lower case, body.
struct Response {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Response {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    fn error(&self) -> String {
        self.json()["error"].as_str().expect("an error").to_owned()
    }
}

impl Explorer {
    fn start() -> Self {
        let mut child = Command::new(cargo_bin("smallfloat"))
            .args(["explore", "--no-open", "--port", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command is built");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let port = line.split("127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next());
        let port =
            port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("no address in `{line}`"));
        Self { child, port }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the explorer listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        stream
    }

    /// Sends bytes as they are.
    fn raw(&self, bytes: &[u8]) -> Response {
        let mut stream = self.connect();
        // A server that has refused may close before all is sent.
        let _ = stream.write_all(bytes);
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        let end = all.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
        let head = String::from_utf8_lossy(&all[..end]).to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        Response { status, head, body: all[end + 4..].to_vec() }
    }

    fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let mut bytes = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n").into_bytes();
        let own = format!("127.0.0.1:{}", self.port);
        let host = if headers.iter().any(|(name, _)| *name == "Host") { None } else { Some(("Host", &*own)) };
        for (name, value) in headers.iter().copied().chain(host) {
            bytes.extend(format!("{name}: {value}\r\n").bytes());
        }
        bytes.extend(format!("Content-Length: {}\r\n\r\n", body.len()).bytes());
        bytes.extend(body);
        self.raw(&bytes)
    }

    fn ask(&self, question: &Value) -> Response {
        self.request("POST", "/ask", &[("Content-Type", "application/json")], question.to_string().as_bytes())
    }

    fn tensor(&self, about: &Value, file: &[u8]) -> Response {
        let mut body = format!("{about}\n").into_bytes();
        body.extend(file);
        self.request("POST", "/tensor", &[("Content-Type", "application/octet-stream")], &body)
    }
}

/// A .npy file of f32.
fn npy(values: &[f32]) -> Vec<u8> {
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}", values.len());
    header += &" ".repeat(63 - (10 + header.len()) % 64);
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(header.len()).expect("short").to_le_bytes());
    file.extend(header.bytes());
    file.extend(values.iter().flat_map(|x| x.to_le_bytes()));
    file
}

#[test]
fn the_page_and_its_answers() {
    let explorer = Explorer::start();
    let page = explorer.request("GET", "/", &[], b"");
    assert_eq!(page.status, 200);
    for header in ["content-type: text/html", "default-src 'none'", "x-content-type-options: nosniff"] {
        assert!(page.head.contains(header), "{header} in {}", page.head);
    }
    assert!(String::from_utf8_lossy(&page.body).contains("<title>smallfloat explorer</title>"));
    let script = explorer.request("GET", "/page.js", &[], b"");
    assert!(script.status == 200 && script.head.contains("text/javascript"));

    // Tesla's paper: bias 7, 1.1 lies between 1 and 1.125.
    let rounded = explorer.ask(&json!({
        "ask": "round", "format": "cfloat8_1_4_3:bias=7", "text": "1.1", "random_bits": 8
    }));
    assert_eq!(rounded.status, 200);
    assert_eq!(rounded.json()["modes"][0]["code"]["hex"], "0x39");

    // 1000 lies beyond E4M3's 448, 1 and −2 are values of it.
    let file = npy(&[1.0, -2.0, 1000.0, 0.0]);
    let overlap = explorer.tensor(&json!({ "file": "w.npy", "formats": ["e4m3fn"] }), &file);
    assert_eq!(overlap.status, 200, "{}", String::from_utf8_lossy(&overlap.body));
    let overlap = overlap.json();
    assert_eq!(
        (&overlap["name"], &overlap["elements"], &overlap["zeros"]),
        (&json!("w"), &json!(4), &json!(1))
    );
    assert_eq!(overlap["formats"][0]["saturated"], 1);
    assert_eq!(overlap["binades"], json!([[0, 1], [1, 1], [9, 1]]));
}

#[test]
fn other_pages_are_refused() {
    let explorer = Explorer::start();
    let own = format!("127.0.0.1:{}", explorer.port);
    let question = json!({ "ask": "catalogue" }).to_string();
    let json_type = ("Content-Type", "application/json");
    for host in ["evil.example", "evil.example:80", "127.0.0.1:1", "127.0.0.1.evil.example"] {
        for (method, path) in [("GET", "/"), ("POST", "/ask"), ("POST", "/tensor")] {
            let answer = explorer.request(method, path, &[("Host", host), json_type], question.as_bytes());
            assert_eq!(answer.status, 403, "{method} {path} for {host}");
            assert!(answer.error().contains(&own), "the message names what is right");
        }
    }
    for origin in ["http://evil.example", "null", "https://evil.example:443", "http://127.0.0.1:1"] {
        let answer = explorer.request("POST", "/ask", &[("Origin", origin), json_type], question.as_bytes());
        assert_eq!(answer.status, 403, "{origin}");
    }
    let mine = format!("http://{own}");
    assert_eq!(
        explorer.request("POST", "/ask", &[("Origin", &mine), json_type], question.as_bytes()).status,
        200
    );
    // No header at all, two of them, and another place in the target.
    for head in [
        "GET / HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(),
        format!("GET / HTTP/1.1\r\nHost: {own}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"),
        format!("GET http://evil.example/ HTTP/1.1\r\nHost: {own}\r\nConnection: close\r\n\r\n"),
    ] {
        assert!([400, 403].contains(&explorer.raw(head.as_bytes()).status), "{head}");
    }
}

#[test]
fn bad_requests_are_told_what_is_right() {
    let explorer = Explorer::start();
    let post =
        |path: &str, kind: &str, body: &[u8]| explorer.request("POST", path, &[("Content-Type", kind)], body);
    for (body, part) in [
        (&b"{"[..], "not understood"),
        (b"[]", "not understood"),
        (b"{\"ask\":\"everything\"}", "unknown variant"),
        (b"{\"ask\":\"format\"}", "name"),
        (b"\xff\xfe", "not understood"),
        (b"", "not understood"),
    ] {
        let answer = post("/ask", "application/json", body);
        assert_eq!(answer.status, 400, "{body:?}");
        assert!(answer.error().contains(part), "{}", answer.error());
    }
    let unknown = explorer.ask(&json!({ "ask": "format", "name": "e4m3nf" }));
    assert_eq!(unknown.status, 422);
    assert!(unknown.error().contains("e4m3fn"), "a suggestion: {}", unknown.error());

    // Forms of other pages can send only these types.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        assert_eq!(post("/ask", kind, b"{\"ask\":\"catalogue\"}").status, 415, "{kind}");
        assert_eq!(post("/tensor", kind, b"{}\n").status, 415, "{kind}");
    }
    for (method, path, allowed) in
        [("GET", "/ask", "post"), ("PUT", "/tensor", "post"), ("POST", "/", "get"), ("HEAD", "/", "get")]
    {
        let refused = explorer.request(method, path, &[], b"");
        assert_eq!(refused.status, 405, "{method} {path}");
        assert!(refused.head.contains(&format!("allow: {allowed}")), "{}", refused.head);
    }
    for path in ["/nothing", "/../../etc/passwd", "/%2e%2e/page.js", "/page.js/"] {
        assert_eq!(explorer.request("GET", path, &[], b"").status, 404, "{path}");
    }

    let about = json!({ "file": "w.safetensors", "formats": ["e4m3fn"] });
    for (file, part) in [
        (&b""[..], "ends after 0"),
        (b"PK\x03\x04\x14\0\0\0\x08\x08", "zip archive"),
        (b"\xff\xff\xff\xff\xff\xff\xff\x7f{}", "header"),
        (b"\x93NUMPY\x01\x00", "`w.safetensors`"),
        (&npy(&[1.0, 2.0])[..130], "`w.safetensors`"),
    ] {
        let answer = explorer.tensor(&about, file);
        assert_eq!(answer.status, 422, "{file:?}");
        assert!(answer.error().contains(part), "{}", answer.error());
    }
    let named = json!({ "file": "w.npy", "tensor": "other", "formats": ["e4m3fn"] });
    assert_eq!(explorer.tensor(&named, &npy(&[1.0])).status, 422);
    let wide = json!({ "file": "w.npy", "formats": ["binary64"] });
    assert!(explorer.tensor(&wide, &npy(&[1.0])).error().contains("up to 16 bits"));
    let five = json!({ "file": "w.npy", "formats": ["e5m2", "e5m2", "e5m2", "e5m2", "e5m2"] });
    assert!(explorer.tensor(&five, &npy(&[1.0])).error().contains("from 1 to 4"));
}

#[test]
fn sizes_are_bounded() {
    let explorer = Explorer::start();
    let long = format!("{{\"ask\":\"format\",\"name\":\"{}\"}}", "x".repeat(70_000));
    let answer = explorer.request("POST", "/ask", &[("Content-Type", "application/json")], long.as_bytes());
    assert_eq!((answer.status, answer.error().contains("64 KiB at most")), (413, true));

    // The length alone is enough, and none of it has to be sent.
    let head = |path: &str, kind: &str, rest: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: {kind}\r\nConnection: close\r\n{rest}",
            explorer.port
        )
    };
    let huge = head("/tensor", "application/octet-stream", "Content-Length: 1000000000000\r\n\r\n");
    let answer = explorer.raw(huge.as_bytes());
    assert_eq!((answer.status, answer.error().contains("256 MiB at most")), (413, true));

    // Chunks that say nothing of the whole.
    let head = head("/ask", "application/json", "Transfer-Encoding: chunked\r\n\r\n");
    let chunk = format!("2000\r\n{}\r\n", " ".repeat(0x2000));
    let chunks = head + &chunk.repeat(9) + "0\r\n\r\n";
    assert_eq!(explorer.raw(chunks.as_bytes()).status, 413);

    let header =
        format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nX: {}\r\n\r\n", explorer.port, "y".repeat(100_000));
    assert_eq!(explorer.raw(header.as_bytes()).status, 431);
    assert_eq!(explorer.request("GET", "/", &[], b"").status, 200, "the server goes on");
}

/// All of 200 requests at once are answered, the slow ones among them, while others hold
/// connections and send nothing.
#[test]
fn two_hundred_requests_at_once() {
    let explorer = Explorer::start();
    let silent: Vec<TcpStream> = (0..20).map(|_| explorer.connect()).collect();
    let questions = [
        json!({ "ask": "line", "format": "binary16", "scale": "linear", "most": 4096 }),
        json!({ "ask": "compare", "formats": ["bfloat16", "binary16p1se", "shp:bias=3", "e4m3fn"], "text": "0.3" }),
        json!({ "ask": "grid", "format": "binary16", "page": null }),
        json!({ "ask": "round", "format": "e5m2", "text": "1e-9", "random_bits": 32 }),
    ];
    let started = Instant::now();
    let answered: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..200)
            .map(|i| {
                let (explorer, question) = (&explorer, &questions[i % questions.len()]);
                scope.spawn(move || explorer.ask(question).status == 200)
            })
            .collect();
        threads.into_iter().map(|thread| usize::from(thread.join().expect("an answer"))).sum()
    });
    assert_eq!(answered, 200, "in {:?}", started.elapsed());
    drop(silent);
}

/// Half-open heads, more of them than connections that are served at once, delay nobody, and are
/// given up soon.
#[test]
fn half_open_heads_delay_nobody() {
    let explorer = Explorer::start();
    for count in [64, 300] {
        let mut slow: Vec<TcpStream> = (0..count).map(|_| explorer.connect()).collect();
        for stream in &mut slow {
            // The server may have given up the first of so many.
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1");
        }
        let started = Instant::now();
        assert_eq!(explorer.request("GET", "/", &[], b"").status, 200);
        assert_eq!(explorer.ask(&json!({ "ask": "catalogue" })).status, 200);
        assert!(started.elapsed() < Duration::from_secs(5), "{count}: {:?}", started.elapsed());
        let last = slow.last_mut().expect("the last");
        let _ = last.read_to_end(&mut Vec::new());
        assert!(started.elapsed() < Duration::from_secs(12), "{count}: {:?}", started.elapsed());
    }
}

/// Files that stop in the middle delay no other file, and are given up soon.
#[test]
fn stalled_uploads_delay_nobody() {
    let explorer = Explorer::start();
    let head = format!(
        "POST /tensor HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/octet-stream\r\n\
         Connection: close\r\nContent-Length: 200000000\r\n\r\n{{\"file\":",
        explorer.port
    );
    let mut stalled: Vec<TcpStream> = (0..16).map(|_| explorer.connect()).collect();
    for stream in &mut stalled {
        stream.write_all(head.as_bytes()).expect("a head");
    }
    thread::sleep(Duration::from_millis(200));
    let started = Instant::now();
    let about = json!({ "file": "w.npy", "formats": ["e4m3fn"] });
    let answer = explorer.tensor(&about, &npy(&[0.5, 1.0, 700.0]));
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    for stream in &mut stalled {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(String::from_utf8_lossy(&answer).contains("408"), "{}", String::from_utf8_lossy(&answer));
    }
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn a_taken_port_is_said() {
    let explorer = Explorer::start();
    let output = Command::new(cargo_bin("smallfloat"))
        .args(["explore", "--no-open", "--port", &explorer.port.to_string()])
        .output()
        .expect("the command is built");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains(&format!("127.0.0.1:{}", explorer.port)) && text.contains("--port"), "{text}");
}

#[cfg(unix)]
#[test]
fn interrupting_ends_it() {
    let mut explorer = Explorer::start();
    let pid = explorer.child.id().to_string();
    // A connection that is open does not keep it.
    let _open = explorer.connect();
    let sent = Command::new("kill").args(["-INT", &pid]).status().expect("kill");
    assert!(sent.success());
    assert_eq!(explorer.child.wait().expect("it ends").code(), Some(0));
}
