//! Which path answers what: files of the page, questions in JSON, and tensors of a file.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::HeaderValue;
use hyper::{Method, Request, Response, StatusCode, header};
use serde_json::{Value, json};
use smallfloat_lab::explorer;
use smallfloat_lab::explorer::tensor::FileQuestion;
use smallfloat_lab::explorer::{ExplorerError, Question};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout, timeout_at};

use crate::explore::assets;
use crate::explore::guard::Guard;

/// A question in JSON has no more bytes.
const MOST_JSON: usize = FileQuestion::MOST_BYTES;
/// A file has no more bytes. The page knows this number too.
const MOST_FILE: usize = 256 << 20;
/// In each such time a request's body must end, or so many bytes of it must arrive.
const PERIOD: Duration = Duration::from_secs(2);
const LEAST_PER_PERIOD: usize = 2 << 20;
/// Files in memory have so many KiB together: two of the largest.
const FILES_KIB: usize = 2 * ((MOST_FILE + MOST_JSON) >> 10);
/// So many files are worked on at once.
const FILES: usize = 2;

/// What all requests share.
pub(super) struct Routes {
    guard: Guard,
    /// The memory for files, in KiB.
    memory: Arc<Semaphore>,
    /// Work on files.
    files: Semaphore,
}

/// A body, with the memory that it takes up.
struct Received {
    bytes: Vec<u8>,
    memory: Option<OwnedSemaphorePermit>,
}

/// Marks a connection whose answer is being computed.
struct Busy<'a>(&'a AtomicBool);

impl<'a> Busy<'a> {
    fn new(flag: &'a AtomicBool) -> Self {
        flag.store(true, Ordering::Relaxed);
        Self(flag)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
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
        Self { guard, memory: Arc::new(Semaphore::new(FILES_KIB)), files: Semaphore::new(FILES) }
    }

    /// Answers a request, whatever it is. While the answer is computed, `busy` is set.
    pub(super) async fn respond(
        &self,
        request: Request<Incoming>,
        busy: &AtomicBool,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let is_asked = is_asked(request.uri().path());
        let answer = match self.guard.refusal(&request) {
            Some(text) => Err(Refusal(StatusCode::FORBIDDEN, text)),
            None => self.route(request, busy).await,
        };
        Ok(answer.unwrap_or_else(|Refusal(status, text)| {
            let mut response = sent(status, "application/json", json!({ "error": text }).to_string());
            // What was not read of a refused body would be taken for the next request.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            if status == StatusCode::METHOD_NOT_ALLOWED {
                let allowed = HeaderValue::from_static(if is_asked { "POST" } else { "GET" });
                response.headers_mut().insert(header::ALLOW, allowed);
            }
            response
        }))
    }

    async fn route(
        &self,
        request: Request<Incoming>,
        busy: &AtomicBool,
    ) -> Result<Response<Full<Bytes>>, Refusal> {
        let path = request.uri().path().to_owned();
        let allowed = if is_asked(&path) { Method::POST } else { Method::GET };
        let asset = assets::find(&path);
        if asset.is_none() && allowed == Method::GET {
            return Err(Refusal(StatusCode::NOT_FOUND, "there is no such page; the explorer is at /".into()));
        }
        if *request.method() != allowed {
            return Err(Refusal(StatusCode::METHOD_NOT_ALLOWED, format!("{path} is for {allowed}")));
        }
        if let Some(asset) = asset {
            return Ok(sent(StatusCode::OK, asset.kind, asset.text));
        }
        let value = match &*path {
            "/ask" => ask(request, busy).await?,
            _ => self.tensor(request, busy).await?,
        };
        Ok(sent(StatusCode::OK, "application/json", value.to_string()))
    }

    /// Answers what a format would do to a tensor: the body is a line of JSON, then the file.
    async fn tensor(&self, request: Request<Incoming>, busy: &AtomicBool) -> Result<Value, Refusal> {
        expect_kind(&request, "application/octet-stream")?;
        let received = read(request, "the file", MOST_JSON + MOST_FILE, Some(&self.memory)).await?;
        let Received { bytes, memory } = received;
        let (question, file) = FileQuestion::split(bytes).map_err(|error| Refusal::bad(error.to_string()))?;
        if file.len() > MOST_FILE {
            return Err(Refusal::too_large("the file", MOST_FILE));
        }
        let _busy = Busy::new(busy);
        let Ok(_permit) = self.files.acquire().await else {
            return Err(Refusal::bad("the explorer is ending"));
        };
        work(move || {
            let answer = question.answer(file);
            drop(memory);
            answer
        })
        .await
    }
}

/// Returns whether a path takes questions, and is no file of the page.
fn is_asked(path: &str) -> bool {
    matches!(path, "/ask" | "/tensor")
}

/// Answers a question of the model.
async fn ask(request: Request<Incoming>, busy: &AtomicBool) -> Result<Value, Refusal> {
    expect_kind(&request, "application/json")?;
    let Received { bytes, .. } = read(request, "the question", MOST_JSON, None).await?;
    let question: Question = explorer::from_json(&bytes).map_err(|error| Refusal::bad(error.to_string()))?;
    let _busy = Busy::new(busy);
    work(move || explorer::answer(&question)).await
}

/// Only scripts of this page may send other types than those of forms without being asked first.
fn expect_kind(request: &Request<Incoming>, kind: &str) -> Result<(), Refusal> {
    let given = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if given.and_then(|given| given.split(';').next()).is_some_and(|given| given.trim() == kind) {
        return Ok(());
    }
    Err(Refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, format!("the content type must be {kind}")))
}

/// Reads a body of at most `most` bytes, which must arrive at the least rate. What arrives takes up
/// room in `memory`, where that is given; a peer that sends nothing takes up none.
async fn read(
    request: Request<Incoming>,
    what: &str,
    most: usize,
    memory: Option<&Arc<Semaphore>>,
) -> Result<Received, Refusal> {
    let mut body = request.into_body();
    if usize::try_from(body.size_hint().lower()).is_ok_and(|said| said <= most) {
        let mut received = Received { bytes: Vec::new(), memory: None };
        let (mut deadline, mut in_period) = (Instant::now() + PERIOD, 0);
        loop {
            let Ok(frame) = timeout_at(deadline, body.frame()).await else {
                return Err(Refusal(StatusCode::REQUEST_TIMEOUT, format!("{what} took too long to arrive")));
            };
            let Some(frame) = frame else { return Ok(received) };
            let frame = frame.map_err(|error| Refusal::bad(format!("{what} ended early: {error}")))?;
            let Some(data) = frame.data_ref() else { continue };
            if received.bytes.len() + data.len() > most {
                break;
            }
            in_period += data.len();
            let waited = received.take(data, what, memory).await?;
            if waited || in_period >= LEAST_PER_PERIOD {
                (deadline, in_period) = (Instant::now() + PERIOD, 0);
            }
        }
    }
    Err(Refusal::too_large(what, most))
}

impl Received {
    /// Appends data; returns whether it had to wait for memory.
    async fn take(
        &mut self,
        data: &[u8],
        what: &str,
        memory: Option<&Arc<Semaphore>>,
    ) -> Result<bool, Refusal> {
        let no_room = || {
            let text = format!("there is no room for {what} beside others; try again");
            Refusal(StatusCode::SERVICE_UNAVAILABLE, text)
        };
        let mut waited = false;
        if let Some(memory) = memory {
            let held = self.memory.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
            let wanted = (self.bytes.len() + data.len()).div_ceil(1 << 10) - held;
            let wanted = u32::try_from(wanted).expect("a body has a bounded length");
            let room = if let Ok(room) = Arc::clone(memory).try_acquire_many_owned(wanted) {
                room
            } else {
                waited = true;
                let room = timeout(PERIOD, Arc::clone(memory).acquire_many_owned(wanted)).await;
                room.ok().and_then(Result::ok).ok_or_else(no_room)?
            };
            match &mut self.memory {
                Some(held) => held.merge(room),
                none => *none = Some(room),
            }
        }
        self.bytes.try_reserve(data.len()).map_err(|_| no_room())?;
        self.bytes.extend_from_slice(data);
        Ok(waited)
    }
}

/// Computes on a thread of its own, so that the server goes on listening.
async fn work<T: serde::Serialize + Send + 'static>(
    job: impl FnOnce() -> Result<T, ExplorerError> + Send + 'static,
) -> Result<Value, Refusal> {
    let done = spawn_blocking(move || match job() {
        Ok(answer) => serde_json::to_value(answer).map_err(|error| error.to_string()),
        Err(error) => Err(error.with_causes()),
    });
    match done.await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(text)) => Err(Refusal(StatusCode::UNPROCESSABLE_ENTITY, text)),
        Err(_) => {
            Err(Refusal(StatusCode::INTERNAL_SERVER_ERROR, "the explorer failed; please report this".into()))
        }
    }
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
