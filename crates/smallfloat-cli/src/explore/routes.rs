//! Which path answers what: files of the page, questions in JSON, and tensors of a file.

use std::convert::Infallible;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::HeaderValue;
use hyper::{Method, Request, Response, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};
use smallfloat_lab::explorer;
use smallfloat_lab::explorer::{Question, tensor};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::explore::assets;
use crate::explore::guard::Guard;

/// A question in JSON has no more bytes.
const MOST_JSON: usize = 64 << 10;
/// A file has no more bytes. The page knows this number too.
const MOST_FILE: usize = 256 << 20;
/// A request's body must have come by then.
const PATIENCE: Duration = Duration::from_secs(60);

/// What all requests share.
pub(super) struct Routes {
    guard: Guard,
    /// Files are held in memory, so few at once.
    files: Semaphore,
}

/// What stands in the first line of a file's request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    file: String,
    #[serde(default)]
    tensor: Option<String>,
    formats: Vec<String>,
}

/// A refusal: the status and what would be right.
struct Refusal(StatusCode, String);

impl Refusal {
    fn bad(text: impl Into<String>) -> Self {
        Self(StatusCode::BAD_REQUEST, text.into())
    }

    fn too_large(what: &str, most: usize) -> Self {
        let most =
            if most >= 1 << 20 { format!("{} MiB", most >> 20) } else { format!("{} KiB", most >> 10) };
        Self(StatusCode::PAYLOAD_TOO_LARGE, format!("{what} is too large: {most} at most"))
    }
}

impl Routes {
    pub(super) fn new(guard: Guard) -> Self {
        Self { guard, files: Semaphore::new(2) }
    }

    /// Answers a request, whatever it is.
    pub(super) async fn respond(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let answer = match self.guard.refusal(&request) {
            Some(text) => Err(Refusal(StatusCode::FORBIDDEN, text)),
            None => self.route(request).await,
        };
        Ok(answer.unwrap_or_else(|Refusal(status, text)| {
            let mut response = sent(status, "application/json", json!({ "error": text }).to_string());
            // What was not read of a refused body would be taken for the next request.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            response
        }))
    }

    async fn route(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Refusal> {
        let path = request.uri().path().to_owned();
        let allowed = match &*path {
            "/ask" | "/tensor" => Method::POST,
            _ => Method::GET,
        };
        let asset = assets::find(&path);
        if asset.is_none() && allowed == Method::GET {
            return Err(Refusal(StatusCode::NOT_FOUND, "there is no such page; the explorer is at /".into()));
        }
        if *request.method() != allowed {
            let text = format!("{path} is for {allowed}");
            return Err(Refusal(StatusCode::METHOD_NOT_ALLOWED, text));
        }
        if let Some(asset) = asset {
            return Ok(sent(StatusCode::OK, asset.kind, asset.text));
        }
        let value = match &*path {
            "/ask" => ask(request).await?,
            _ => self.tensor(request).await?,
        };
        Ok(sent(StatusCode::OK, "application/json", value.to_string()))
    }

    /// Answers what a format would do to a tensor: the body is a line of JSON, then the file.
    async fn tensor(&self, request: Request<Incoming>) -> Result<Value, Refusal> {
        expect_kind(&request, "application/octet-stream")?;
        let Ok(_permit) = self.files.acquire().await else {
            return Err(Refusal::bad("the explorer is ending"));
        };
        let mut body = read(request, "the file", MOST_JSON + MOST_FILE).await?;
        let Some(end) = body.iter().take(MOST_JSON).position(|&byte| byte == b'\n') else {
            return Err(Refusal::bad("the body must be a line of JSON and then the file"));
        };
        let about: About = parse(&body[..end])?;
        body.drain(..=end);
        if body.len() > MOST_FILE {
            return Err(Refusal::too_large("the file", MOST_FILE));
        }
        work(move || tensor::overlap(&about.file, body, about.tensor.as_deref(), &about.formats)).await
    }
}

/// Answers a question of the model.
async fn ask(request: Request<Incoming>) -> Result<Value, Refusal> {
    expect_kind(&request, "application/json")?;
    let body = read(request, "the question", MOST_JSON).await?;
    let question: Question = parse(&body)?;
    work(move || explorer::answer(&question)).await
}

fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Refusal> {
    serde_json::from_slice(bytes)
        .map_err(|error| Refusal::bad(format!("the question is not understood: {error}")))
}

/// Only scripts of this page may send other types than those of forms without being asked first.
fn expect_kind(request: &Request<Incoming>, kind: &str) -> Result<(), Refusal> {
    let given = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if given.and_then(|given| given.split(';').next()).is_some_and(|given| given.trim() == kind) {
        return Ok(());
    }
    Err(Refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, format!("the content type must be {kind}")))
}

/// Reads a body of at most so many bytes.
async fn read(request: Request<Incoming>, what: &str, most: usize) -> Result<Vec<u8>, Refusal> {
    let mut body = request.into_body();
    let said = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if said > most {
        return Err(Refusal::too_large(what, most));
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(said).map_err(|_| Refusal::too_large(what, most))?;
    let reading = async {
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Refusal::bad(format!("{what} ended early: {error}")))?;
            if let Some(data) = frame.data_ref() {
                if bytes.len() + data.len() > most {
                    return Err(Refusal::too_large(what, most));
                }
                bytes.extend_from_slice(data);
            }
        }
        Ok(())
    };
    match timeout(PATIENCE, reading).await {
        Ok(read) => read.map(|()| bytes),
        Err(_) => Err(Refusal(StatusCode::REQUEST_TIMEOUT, format!("{what} took too long to arrive"))),
    }
}

/// Computes on a thread of its own, so that the server goes on listening.
async fn work<T, E>(job: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<Value, Refusal>
where
    T: serde::Serialize + Send + 'static,
    E: std::error::Error + Send + 'static,
{
    let done = spawn_blocking(move || match job() {
        Ok(answer) => serde_json::to_value(answer).map_err(|error| error.to_string()),
        Err(error) => Err(chain(&error)),
    });
    match done.await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(text)) => Err(Refusal(StatusCode::UNPROCESSABLE_ENTITY, text)),
        Err(_) => {
            Err(Refusal(StatusCode::INTERNAL_SERVER_ERROR, "the explorer failed; please report this".into()))
        }
    }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// A response with the headers that keep the page to itself.
fn sent(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    const HEADERS: [(&str, &str); 6] = [
        (
            "content-security-policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cache-control", "no-store"),
    ];
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
