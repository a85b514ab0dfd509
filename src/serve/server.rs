//! The server: accepts connections, shakes hands, and hands requests to a service.
//!
//! ```text
//!  accept ─▶ TLS handshake ─▶ HTTP/1.1 or h2 ─▶ requests ─▶ closed
//!                                                  │
//!  stop: still accept (linger_time) ─▶ no more connections, end the idle ones (drain_time) ─▶ cut off
//! ```
//!
//! While a stopping server still accepts, its answers by HTTP/1.1 ask clients to come by another connection, which leads
//! to another server once load balancers know: only clients that say nothing still have theirs at the end. HTTP/2 has
//! GOAWAY for that, which leaves no doubt which requests were taken.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::request::Peer;
use super::tls::ServerTls;
use super::{Limits, Request, Response, Shutdown, guard, reply};

/// Answers requests.
pub(crate) trait Service: Send + Sync + 'static {
    /// Answers one.
    fn answer(&self, request: Request) -> impl Future<Output = Response> + Send;
}

/// A server.
pub(crate) struct Server<S> {
    /// Where connections come from.
    pub(crate) listener: TcpListener,
    /// How they are encrypted.
    pub(crate) tls: Arc<ServerTls>,
    /// Who answers.
    pub(crate) service: Arc<S>,
    /// What a client may cost.
    pub(crate) limits: Limits,
}

impl<S: Service> Server<S> {
    /// Serves until it is time to stop, and until the last request is answered after that.
    pub(crate) async fn run(self, shutdown: Shutdown) {
        let Self { listener, tls, service, limits } = self;
        let room = Arc::new(Semaphore::new(limits.connections));
        let (drain, draining) = watch::channel(false);
        let mut connections = JoinSet::new();
        let stop = async {
            shutdown.asked().await;
            tokio::time::sleep(limits.linger_time).await;
        };
        tokio::pin!(stop);
        loop {
            let accepted = async {
                let permit = Arc::clone(&room).acquire_owned().await;
                (permit, listener.accept().await)
            };
            tokio::select! {
                () = &mut stop => break,
                (permit, accepted) = accepted => match accepted {
                    Ok((stream, address)) => {
                        let (draining, shutdown) = (draining.clone(), shutdown.clone());
                        let connection = Connection { service: Arc::clone(&service), limits, draining, shutdown };
                        let tls = Arc::clone(&tls);
                        connections.spawn(async move {
                            connection.run(stream, address, &tls).await;
                            drop(permit);
                        });
                    }
                    Err(error) => {
                        // too many open files, mostly: it helps to wait for some to be closed
                        tracing::warn!(%error, "no connection can be accepted");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
                Some(_) = connections.join_next() => {}
            }
        }
        drop(listener);
        drain.send_replace(true);
        let ended = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(limits.drain_time, ended).await.is_err() {
            tracing::info!(connections = connections.len(), "connections are cut off");
        }
    }
}

/// One connection.
struct Connection<S> {
    service: Arc<S>,
    limits: Limits,
    draining: watch::Receiver<bool>,
    shutdown: Shutdown,
}

impl<S: Service> Connection<S> {
    async fn run(mut self, stream: TcpStream, address: SocketAddr, tls: &ServerTls) {
        let _ = stream.set_nodelay(true);
        let handshake = async {
            let config = tls.current().await?;
            Some(TlsAcceptor::from(config).accept(stream).await)
        };
        let stream = match tokio::time::timeout(self.limits.handshake_time, handshake).await {
            Ok(None) => return,
            Ok(Some(Ok(stream))) => stream,
            Ok(Some(Err(error))) => return tracing::debug!(%address, %error, "no TLS"),
            Err(_) => return tracing::debug!(%address, "no TLS in time"),
        };
        let session = stream.get_ref().1;
        let is_certified = session.peer_certificates().is_some_and(|chain| !chain.is_empty());
        let is_h2 = session.alpn_protocol() == Some(b"h2");
        let peer = Peer { is_certified };
        let begun = Arc::new(AtomicBool::new(false));
        let (service, limits, seen) = (Arc::clone(&self.service), self.limits, Arc::clone(&begun));
        let shutdown = self.shutdown.clone();
        let answer = service_fn(move |request: hyper::Request<Incoming>| {
            seen.store(true, Ordering::Relaxed);
            let (service, shutdown) = (Arc::clone(&service), shutdown.clone());
            async move {
                let mut response = answered(&*service, Request::new(request, peer, &limits)).await;
                if !is_h2 && shutdown.is_asked() && response.status() != StatusCode::SWITCHING_PROTOCOLS {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Infallible>(response)
            }
        });
        let io = TokioIo::new(stream);
        let ended = if is_h2 {
            let mut builder = http2::Builder::new(TokioExecutor::new());
            builder
                .timer(TokioTimer::new())
                .max_concurrent_streams(limits.streams)
                .max_header_list_size(u32::try_from(limits.head).unwrap_or(u32::MAX))
                .keep_alive_interval(limits.idle_time / 4)
                .keep_alive_timeout(limits.idle_time / 4);
            self.drive(builder.serve_connection(io, answer), &begun, |connection| connection.graceful_shutdown()).await
        } else {
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(limits.idle_time).max_buf_size(limits.head).max_headers(200);
            let connection = builder.serve_connection(io, answer).with_upgrades();
            self.drive(connection, &begun, |connection| connection.graceful_shutdown()).await
        };
        if let Err(error) = ended {
            tracing::debug!(%address, %error, "connection broken");
        }
    }

    /// Lets the connection run until it ends; asks it to when it is time, and cuts it off when nothing ever comes.
    async fn drive<C: Future<Output = hyper::Result<()>>>(
        &mut self,
        connection: C,
        begun: &AtomicBool,
        ask_to_end: impl Fn(std::pin::Pin<&mut C>),
    ) -> hyper::Result<()> {
        tokio::pin!(connection);
        let silent = tokio::time::sleep(self.limits.first_time);
        tokio::pin!(silent);
        let (mut is_asked, mut is_watched) = (false, true);
        loop {
            tokio::select! {
                ended = connection.as_mut() => return ended,
                _ = self.draining.wait_for(|draining| *draining), if !is_asked => {
                    is_asked = true;
                    ask_to_end(connection.as_mut());
                }
                () = &mut silent, if is_watched => {
                    is_watched = false;
                    if !begun.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// An answer in any case: a service that panics has a fault, and its client hears so.
async fn answered<S: Service>(service: &S, request: Request) -> Response {
    let what = format!("{} {}", request.method(), request.path());
    guard::caught_in(service.answer(request)).await.unwrap_or_else(|| {
        tracing::error!(request = what, "panic while answering");
        reply::refuse(500, "the server has a fault in answering this; its log tells more")
    })
}
