//! Connections: accepted at 127.0.0.1 only, so many at once, each for a bounded time.

use std::collections::VecDeque;
use std::future::{Future as _, poll_fn};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use anyhow::{Context as _, Result};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::signal::ctrl_c;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::explore::guard::Guard;
use crate::explore::patience::PatientStream;
use crate::explore::routes::Routes;
#[cfg(unix)]
use crate::signals;

/// So many connections are open at once. For one more the oldest is closed that has no answer being
/// computed: connections that send nothing, or slowly, keep nobody out.
const CONNECTIONS: usize = 256;
/// A connection whose next request has no whole head after so long is closed.
const HEAD: Duration = Duration::from_secs(2);
/// The head of a request has no more bytes.
const MOST_HEAD: usize = 16 << 10;
/// Threads that compute answers.
const WORKERS: usize = 4;

/// Serves the page until Ctrl-C; `ready` gets the address.
pub(crate) fn serve(port: Option<u16>, ready: impl FnOnce(SocketAddr) -> Result<()>) -> Result<()> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(WORKERS)
        .build()
        .context("the server's threads")?;
    let served = runtime.block_on(until_interrupted(port, ready));
    // What is still being computed is for nobody.
    runtime.shutdown_background();
    served
}

async fn until_interrupted(port: Option<u16>, ready: impl FnOnce(SocketAddr) -> Result<()>) -> Result<()> {
    let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or(0)));
    let listener = TcpListener::bind(wanted).await.with_context(|| {
        format!("cannot listen at {wanted}; choose another --port, or leave it out for a free one")
    })?;
    let address = listener.local_addr().context("the server's address")?;
    let accepting = tokio::spawn(accept(listener, Arc::new(Routes::new(Guard::new(address.port())))));
    // The handler is in place once it has been asked for the first time: whoever reads the address
    // may press Ctrl-C at once.
    let mut interrupted = pin!(ctrl_c());
    let first = poll_fn(|context| Poll::Ready(interrupted.as_mut().poll(context))).await;
    #[cfg(unix)]
    signals::leave_interrupts_to_the_command();
    ready(address)?;
    let outcome = match first {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => interrupted.await,
    };
    accepting.abort();
    outcome.context("Ctrl-C can't be waited for")
}

async fn accept(listener: TcpListener, routes: Arc<Routes>) {
    let mut connections = Connections::default();
    loop {
        // Out of file handles, or a peer that is gone already: others may still come.
        let Ok((stream, _)) = listener.accept().await else {
            connections.make_room();
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        while connections.are_full() && !connections.make_room() {
            sleep(Duration::from_millis(10)).await;
        }
        connections.serve(stream, Arc::clone(&routes));
    }
}

/// The open connections, the oldest first.
#[derive(Default)]
struct Connections(VecDeque<Connection>);

struct Connection {
    task: JoinHandle<()>,
    /// Whether an answer is being computed.
    is_busy: Arc<AtomicBool>,
}

impl Connections {
    /// Returns whether as many are open as may be.
    fn are_full(&mut self) -> bool {
        self.0.retain(|connection| !connection.task.is_finished());
        self.0.len() >= CONNECTIONS
    }

    /// Closes the oldest that nothing is computed for; returns whether there was one.
    fn make_room(&mut self) -> bool {
        let idle = self.0.iter().position(|connection| !connection.is_busy.load(Ordering::Relaxed));
        let Some(connection) = idle.and_then(|at| self.0.remove(at)) else { return false };
        connection.task.abort();
        true
    }

    fn serve(&mut self, stream: TcpStream, routes: Arc<Routes>) {
        let is_busy = Arc::new(AtomicBool::new(false));
        let busy = Arc::clone(&is_busy);
        let task = tokio::spawn(async move {
            let service = service_fn(|request| routes.respond(request, &busy));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .max_buf_size(MOST_HEAD)
                .serve_connection(TokioIo::new(PatientStream::new(stream)), service);
            // A peer that breaks off or speaks no HTTP is told by hyper, and there is nobody else
            // to tell.
            let _ = connection.await;
        });
        self.0.push_back(Connection { task, is_busy });
    }
}
