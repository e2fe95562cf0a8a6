//! Connections: accepted at 127.0.0.1 only, so many at once, each for a bounded time.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::signal::ctrl_c;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::explore::guard::Guard;
use crate::explore::routes::Routes;

/// So many connections are served at once; others wait until one ends.
const CONNECTIONS: usize = 256;
/// A connection that sends no request for so long is closed.
const IDLE: Duration = Duration::from_secs(15);
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
    ready(address)?;
    ctrl_c().await.context("Ctrl-C can't be waited for")?;
    accepting.abort();
    Ok(())
}

async fn accept(listener: TcpListener, routes: Arc<Routes>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        // Out of file handles, or a peer that is gone already: others may still come.
        let Ok((stream, _)) = listener.accept().await else {
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let routes = Arc::clone(&routes);
        tokio::spawn(async move {
            let service = service_fn(|request| routes.respond(request));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(IDLE)
                .max_buf_size(MOST_HEAD)
                .serve_connection(TokioIo::new(stream), service);
            // A peer that breaks off or speaks no HTTP is told by hyper, and there is nobody else
            // to tell.
            let _ = connection.await;
            drop(place);
        });
    }
}
