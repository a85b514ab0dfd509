//! A request as services see it: its head, who sent it, and a body that is bounded in bytes and in time.

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::http::request::Parts;
use hyper::upgrade::OnUpgrade;
use hyper::{HeaderMap, Method};

use super::Limits;

/// Who is at the other end of the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// Whether it has shown a certificate, which then has been verified.
    pub(crate) is_certified: bool,
}

/// How many times the limit of a body is taken in before the connection is cut off.
const PATIENCE: usize = 4;

/// A request.
pub(crate) struct Request {
    parts: Parts,
    body: Option<Incoming>,
    peer: Peer,
    body_limit: usize,
    body_time: Duration,
}

/// Why a body could not be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyError {
    /// It is too big.
    #[error("the body must have at most {0} bytes")]
    TooBig(usize),
    /// It takes too long.
    #[error("the body must arrive within {} s", .0.as_secs_f32())]
    Slow(Duration),
    /// The connection broke off.
    #[error("the body must be complete: {0}")]
    Broken(String),
}

impl BodyError {
    /// The HTTP code.
    pub(crate) fn code(&self) -> u16 {
        match self {
            Self::TooBig(_) => 413,
            Self::Slow(_) => 408,
            Self::Broken(_) => 400,
        }
    }
}

impl Request {
    pub(super) fn new(request: hyper::Request<Incoming>, peer: Peer, limits: &Limits) -> Self {
        let (parts, body) = request.into_parts();
        Self { parts, body: Some(body), peer, body_limit: limits.body, body_time: limits.body_time }
    }

    /// The method.
    pub(crate) fn method(&self) -> &Method {
        &self.parts.method
    }

    /// The path, as it was sent.
    pub(crate) fn path(&self) -> &str {
        self.parts.uri.path()
    }

    /// What follows the path.
    pub(crate) fn query(&self) -> &str {
        self.parts.uri.query().unwrap_or_default()
    }

    /// The value of a parameter of the query, as far as it needs no escapes.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.query().split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// The headers.
    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.parts.headers
    }

    /// Who sent it.
    pub(crate) fn peer(&self) -> Peer {
        self.peer
    }

    /// The connection, once it has become a stream.
    pub(super) fn take_upgrade(&mut self) -> Option<OnUpgrade> {
        self.parts.extensions.remove::<OnUpgrade>()
    }

    /// The whole body. It can be read once.
    ///
    /// What is beyond the limit is still taken in for a while, and forgotten: a client that is cut off while it sends
    /// does not read the answer.
    pub(crate) async fn body(&mut self) -> Result<Bytes, BodyError> {
        let (limit, time) = (self.body_limit, self.body_time);
        let Some(mut body) = self.body.take() else { return Ok(Bytes::new()) };
        let mut whole = Vec::new();
        let mut count = 0_usize;
        let read = async {
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| BodyError::Broken(error.to_string()))?;
                let Ok(data) = frame.into_data() else { continue };
                count = count.saturating_add(data.len());
                if count <= limit {
                    whole.extend_from_slice(&data);
                } else {
                    whole = Vec::new();
                    if count > limit.saturating_mul(PATIENCE) {
                        break;
                    }
                }
            }
            Ok(())
        };
        let read = tokio::time::timeout(time, read).await;
        match read {
            // one that announces too much is refused for that, even when it never sends it
            _ if count > limit => Err(BodyError::TooBig(limit)),
            Ok(Ok(())) => Ok(whole.into()),
            Ok(Err(error)) => Err(error),
            Err(_) if body.size_hint().lower() > limit as u64 => Err(BodyError::TooBig(limit)),
            Err(_) => Err(BodyError::Slow(time)),
        }
    }
}
