//! The client of another component: TLS on both sides, the peer known by the name in its certificate, not by its address.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONNECTION, CONTENT_TYPE, HOST, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::SingleCertAndKey;
use rustls::{CertificateError as Bad, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;

use super::authority::Known;
use super::certificates::{CertificateError, KeyFiles, provider};
use super::tls::is_named;
use super::websocket::{PLAIN, Raw};

/// From the dial to the end of the handshake.
const CONNECT: Duration = Duration::from_secs(5);
/// For an answer. A guest agent may think for long.
const ANSWER: Duration = Duration::from_secs(30);
/// Bytes of an answer; a picture of a screen is the biggest.
const BODY: usize = 32 * 1024 * 1024;

/// Why a component did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The own certificate is of no use.
    #[error("use the client certificate: {0}")]
    Certificate(#[from] CertificateError),
    /// Nobody told yet whom to believe.
    #[error("wait until the authorities of the peer are known")]
    NoAuthority,
    /// There is no connection.
    #[error("connect to {address}: {why}")]
    Connect {
        /// Where to.
        address: String,
        /// Why not.
        why: String,
    },
    /// The connection broke off.
    #[error("talk to {address}: {why}")]
    Talk {
        /// With whom.
        address: String,
        /// Why not.
        why: String,
    },
    /// It took too long.
    #[error("{address} did not answer in {} s", .time.as_secs())]
    Slow {
        /// Who.
        address: String,
        /// The limit.
        time: Duration,
    },
}

/// A client with a certificate of its own.
pub(crate) struct Client {
    keys: KeyFiles,
    known: Known,
    peer: &'static str,
}

/// What a component answered.
pub(crate) struct Answer {
    /// The code.
    pub(crate) code: u16,
    /// The type of the body.
    pub(crate) content_type: String,
    /// The body.
    pub(crate) body: Bytes,
}

/// What became of a stream that was asked for.
pub(crate) enum Opened {
    /// It is open.
    Stream(Raw),
    /// The peer answered something else.
    Refused(Answer),
}

impl Client {
    /// A client with the certificate in these files, of peers with that name.
    pub(crate) fn new(keys: KeyFiles, known: Known, peer: &'static str) -> Self {
        Self { keys, known, peer }
    }

    /// Asks, and reads the whole answer. `host` is an address without brackets.
    pub(crate) async fn ask(&self, host: &str, port: u16, method: Method, path: &str, body: Bytes) -> Result<Answer, ClientError> {
        let address = address(host, port);
        let asked = async {
            let mut sender = self.connect(host, port).await?;
            let broken = |why: &dyn std::fmt::Display| ClientError::Talk { address: address.clone(), why: why.to_string() };
            let request = Request::builder()
                .method(method)
                .uri(path)
                .header(HOST, &address)
                .header(ACCEPT, "application/json, image/png, */*")
                .header(CONTENT_TYPE, "application/json")
                .body(Full::new(body))
                .map_err(|e| broken(&e))?;
            let response = sender.send_request(request).await.map_err(|e| broken(&e))?;
            read(response).await.map_err(|why| broken(&why))
        };
        tokio::time::timeout(ANSWER, asked).await.map_err(|_| ClientError::Slow { address: address.clone(), time: ANSWER })?
    }

    /// Asks for a WebSocket, and gives the connection below its frames.
    pub(crate) async fn open(&self, host: &str, port: u16, path: &str) -> Result<Opened, ClientError> {
        let address = address(host, port);
        let opened = async {
            let mut sender = self.connect(host, port).await?;
            let broken = |why: &dyn std::fmt::Display| ClientError::Talk { address: address.clone(), why: why.to_string() };
            let request = Request::builder()
                .uri(path)
                .header(HOST, &address)
                .header(CONNECTION, "Upgrade")
                .header(UPGRADE, "websocket")
                .header(SEC_WEBSOCKET_VERSION, "13")
                .header(SEC_WEBSOCKET_KEY, generate_key())
                .header(SEC_WEBSOCKET_PROTOCOL, PLAIN)
                .body(Full::default())
                .map_err(|e| broken(&e))?;
            let response = sender.send_request(request).await.map_err(|e| broken(&e))?;
            if response.status() != StatusCode::SWITCHING_PROTOCOLS {
                return read(response).await.map(Opened::Refused).map_err(|why| broken(&why));
            }
            let upgraded = hyper::upgrade::on(response).await.map_err(|e| broken(&e))?;
            Ok(Opened::Stream(TokioIo::new(upgraded)))
        };
        tokio::time::timeout(ANSWER, opened).await.map_err(|_| ClientError::Slow { address: address.clone(), time: ANSWER })?
    }

    /// Certificates and authorities are taken as they are now: such connections are few, and outlive neither.
    async fn connect(&self, host: &str, port: u16) -> Result<http1::SendRequest<Full<Bytes>>, ClientError> {
        let config = self.configuration()?;
        let address = address(host, port);
        let failed = |why: String| ClientError::Connect { address: address.clone(), why };
        let connected = async {
            let stream = TcpStream::connect((host, port)).await.map_err(|e| failed(e.to_string()))?;
            let _ = stream.set_nodelay(true);
            // the name in the certificate is looked at, whatever stands here
            let name = ServerName::try_from(host.to_owned()).map_err(|e| failed(e.to_string()))?;
            let stream = TlsConnector::from(config).connect(name, stream).await.map_err(|e| failed(e.to_string()))?;
            http1::handshake(TokioIo::new(stream)).await.map_err(|e| failed(e.to_string()))
        };
        let connected = tokio::time::timeout(CONNECT, connected).await;
        let (sender, connection) = connected.map_err(|_| failed(format!("nobody answered in {} s", CONNECT.as_secs())))??;
        tokio::spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!(%error, "connection broken");
            }
        });
        Ok(sender)
    }

    fn configuration(&self) -> Result<Arc<ClientConfig>, ClientError> {
        let pair = self.keys.load()?;
        let roots = Arc::clone(&self.known.borrow().roots);
        let unusable = |why: &dyn std::fmt::Display| ClientError::Connect { address: self.peer.to_owned(), why: why.to_string() };
        if roots.is_empty() {
            return Err(ClientError::NoAuthority);
        }
        let inner = WebPkiServerVerifier::builder_with_provider(Arc::clone(&roots), provider()).build().map_err(|e| unusable(&e))?;
        let verifier = Named { inner, roots, names: vec![self.peer.to_owned()] };
        let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().map_err(|e| unusable(&e))?;
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
        Ok(Arc::new(builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(pair)))))
    }
}

fn address(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

async fn read(response: hyper::Response<Incoming>) -> Result<Answer, String> {
    let code = response.status().as_u16();
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let body = Limited::new(response.into_body(), BODY).collect().await.map_err(|e| e.to_string())?.to_bytes();
    Ok(Answer { code, content_type, body })
}

/// Believes a server of the authority that has the name, wherever it is: pods come and go with their addresses.
#[derive(Debug)]
struct Named {
    inner: Arc<WebPkiServerVerifier>,
    roots: Arc<RootCertStore>,
    names: Vec<String>,
}

impl ServerCertVerifier for Named {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let certificate = ParsedCertificate::try_from(end_entity)?;
        let algorithms = provider().signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&certificate, &self.roots, intermediates, now, algorithms)?;
        if is_named(end_entity, &self.names) {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(TlsError::InvalidCertificate(Bad::ApplicationVerificationFailure))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
