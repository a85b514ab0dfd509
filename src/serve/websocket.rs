//! Connections that stop being HTTP: WebSockets.

use std::future::Future;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::upgrade::Upgraded;
use hyper::{HeaderMap, Method, StatusCode};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::{Request, Response, reply};

/// The subprotocol of every stream of KubeVirt's API: binary frames whose borders mean nothing.
pub(crate) const PLAIN: &str = "plain.kubevirt.io";
/// Bytes of one message: more than any client of this protocol sends.
const MESSAGE: usize = 1024 * 1024;
/// How long a connection may take to become a stream once that is agreed.
const TURN: Duration = Duration::from_secs(10);

/// The connection below the frames.
pub(crate) type Raw = TokioIo<Upgraded>;
/// A WebSocket.
pub(crate) type Socket<S = Raw> = WebSocketStream<S>;

/// Whether the client asks for a WebSocket.
pub(crate) fn is_asked_for(request: &Request) -> bool {
    has_word(request.headers(), &UPGRADE, "websocket") && has_word(request.headers(), &CONNECTION, "upgrade")
}

fn has_word(headers: &HeaderMap, name: &hyper::header::HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(word))
}

/// A WebSocket that both sides have agreed on, before it is one.
pub(crate) struct Agreed {
    accept: HeaderValue,
    protocol: Option<&'static str>,
    upgrade: hyper::upgrade::OnUpgrade,
}

/// Agrees on a WebSocket, with the first of the protocols that the client offers. A client that offers none of them gets
/// its socket without one, as it does from KubeVirt.
///
/// # Errors
/// The answer to a request that asks for none.
pub(crate) fn agree(request: &mut Request, protocols: &[&'static str]) -> Result<Agreed, Box<Response>> {
    let headers = request.headers();
    let key = headers.get(SEC_WEBSOCKET_KEY).map(|key| derive_accept_key(key.as_bytes()));
    let is_version = headers.get(SEC_WEBSOCKET_VERSION).is_some_and(|version| version == "13");
    let protocol = protocols.iter().copied().find(|name| has_word(headers, &SEC_WEBSOCKET_PROTOCOL, name));
    if !is_asked_for(request) || !is_version || *request.method() != Method::GET {
        let text = "this needs a WebSocket: a GET with the headers Connection: Upgrade, Upgrade: websocket, Sec-WebSocket-Version: 13";
        return Err(Box::new(reply::refuse(400, text)));
    }
    let accept = key.and_then(|key| HeaderValue::from_str(&key).ok());
    match (accept, request.take_upgrade()) {
        (Some(accept), Some(upgrade)) => Ok(Agreed { accept, protocol, upgrade }),
        _ => Err(Box::new(reply::refuse(400, "this needs a WebSocket over HTTP/1.1, with a Sec-WebSocket-Key"))),
    }
}

impl Agreed {
    /// Answers, and goes on with the frames as they come, for who passes them on.
    pub(crate) fn raw<F: Future<Output = ()> + Send>(self, run: impl FnOnce(Raw) -> F + Send + 'static) -> Response {
        let mut response = switched();
        let headers = response.headers_mut();
        headers.insert(SEC_WEBSOCKET_ACCEPT, self.accept);
        if let Some(protocol) = self.protocol {
            headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
        }
        go_on(self.upgrade, run);
        response
    }

    /// Answers, and goes on with messages.
    pub(crate) fn socket<F: Future<Output = ()> + Send>(self, run: impl FnOnce(Socket) -> F + Send + 'static) -> Response {
        self.raw(|raw| async move {
            let config = WebSocketConfig::default().max_message_size(Some(MESSAGE)).max_frame_size(Some(MESSAGE));
            run(WebSocketStream::from_raw_socket(raw, Role::Server, Some(config)).await).await;
        })
    }
}

fn switched() -> Response {
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    response.headers_mut().insert(UPGRADE, HeaderValue::from_static("websocket"));
    response
}

fn go_on<F: Future<Output = ()> + Send>(upgrade: hyper::upgrade::OnUpgrade, run: impl FnOnce(Raw) -> F + Send + 'static) {
    tokio::spawn(async move {
        match tokio::time::timeout(TURN, upgrade).await {
            Ok(Ok(upgraded)) => run(TokioIo::new(upgraded)).await,
            Ok(Err(error)) => tracing::debug!(%error, "the connection did not become a stream"),
            Err(_) => tracing::debug!("the connection did not become a stream in time"),
        }
    });
}
