//! The TLS configuration of a server: its own certificate, and what it asks of its clients.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, ServerConfig, SignatureScheme,
    SupportedProtocolVersion,
};
use tokio::sync::watch;

use super::authority::Known;
use super::certificates::{self, KeyFiles, provider};

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(2);

/// What is asked of clients.
pub(crate) enum Clients {
    /// Nothing.
    Anyone,
    /// Who shows a certificate must show a good one; the others are told apart by having none.
    Optional(Known),
    /// Nobody comes in without a certificate of that name.
    Required(Known, &'static str),
}

/// What the configuration of the cluster says about TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Whether TLS 1.2 is refused.
    pub(crate) only_1_3: bool,
    /// The cipher suites of TLS 1.2 by the names of IANA; all good ones, where there is none.
    pub(crate) ciphers: Vec<String>,
}

/// The configuration for the next connection. It is made anew whenever a part of it changes.
pub(crate) struct ServerTls(watch::Sender<Option<Arc<ServerConfig>>>);

impl ServerTls {
    /// Follows the files, the authorities and the settings as long as the server is there.
    pub(crate) fn follow(keys: KeyFiles, clients: Clients, settings: watch::Receiver<Settings>) -> Arc<Self> {
        let mut maker = Maker { keys, text: None, pair: None, fault: None, clients, settings };
        maker.look();
        let tls = Arc::new(Self(watch::channel(maker.make()).0));
        let weak = Arc::downgrade(&tls);
        tokio::spawn(async move {
            loop {
                let changed = maker.changed().await;
                let Some(tls) = weak.upgrade() else { return };
                if changed {
                    tls.0.send_replace(maker.make());
                }
            }
        });
        tls
    }

    /// The configuration for a new connection, once there is a certificate and it is known whom to believe.
    pub(super) async fn current(&self) -> Option<Arc<ServerConfig>> {
        self.0.subscribe().wait_for(Option::is_some).await.ok()?.clone()
    }
}

struct Maker {
    keys: KeyFiles,
    text: Option<certificates::KeyText>,
    pair: Option<Arc<CertifiedKey>>,
    /// What was wrong the last time, which is said once.
    fault: Option<String>,
    clients: Clients,
    settings: watch::Receiver<Settings>,
}

impl Maker {
    /// Looks at the files. The pair that was good stays until there is another good one.
    fn look(&mut self) -> bool {
        let parsed = match self.keys.read() {
            Ok(text) if Some(&text) == self.text.as_ref() => return false,
            Ok(text) => self.keys.parse(&text).map(|pair| (text, pair)),
            Err(error) => Err(error),
        };
        match parsed {
            Ok((text, pair)) => {
                tracing::info!(keys = ?self.keys, "certificate read");
                (self.text, self.pair, self.fault) = (Some(text), Some(pair), None);
                true
            }
            Err(error) => {
                let fault = Some(error.to_string());
                if self.fault != fault {
                    tracing::warn!(%error, "the certificate is not used");
                    self.fault = fault;
                }
                false
            }
        }
    }

    /// Waits for the next look, and tells whether anything changed.
    async fn changed(&mut self) -> bool {
        let news = async {
            match &mut self.clients {
                Clients::Anyone => std::future::pending().await,
                Clients::Optional(known) | Clients::Required(known, _) => gone_quiet(known.changed().await).await,
            }
        };
        let settings = async { gone_quiet(self.settings.changed().await).await };
        tokio::select! {
            () = news => true,
            () = settings => true,
            () = tokio::time::sleep(LOOK) => self.look(),
        }
    }

    fn make(&mut self) -> Option<Arc<ServerConfig>> {
        let pair = self.pair.clone()?;
        let settings = self.settings.borrow_and_update().clone();
        let verifier = match &mut self.clients {
            Clients::Anyone => WebPkiClientVerifier::no_client_auth(),
            // Nobody is told apart or let in before it is known whom to believe: a connection is kept, and with it for whom its
            // client was taken.
            Clients::Optional(known) => {
                let authority = known.borrow_and_update().clone();
                Named::verifier(authority.roots, authority.names, false)?
            }
            Clients::Required(known, name) => Named::verifier(known.borrow_and_update().roots.clone(), vec![(*name).to_owned()], true)?,
        };
        match configuration(pair, verifier, &settings) {
            Ok(config) => Some(Arc::new(config)),
            Err(error) => {
                tracing::error!(%error, ?settings, "no TLS configuration can be made of the settings");
                None
            }
        }
    }
}

/// A sender that is gone tells nothing any more.
async fn gone_quiet(news: Result<(), watch::error::RecvError>) {
    if news.is_err() {
        std::future::pending::<()>().await;
    }
}

fn configuration(pair: Arc<CertifiedKey>, clients: Arc<dyn ClientCertVerifier>, settings: &Settings) -> Result<ServerConfig, Error> {
    const BOTH: [&SupportedProtocolVersion; 2] = [&rustls::version::TLS13, &rustls::version::TLS12];
    let versions = if settings.only_1_3 { &BOTH[..1] } else { &BOTH[..] };
    let builder = ServerConfig::builder_with_provider(with_ciphers(&settings.ciphers)).with_protocol_versions(versions)?;
    let mut config = builder.with_client_cert_verifier(clients).with_cert_resolver(Arc::new(SingleCertAndKey::from(pair)));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // API servers keep their connections, so that resumption saves nothing and only costs memory
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// The cryptography with the named suites of TLS 1.2 only; those of 1.3 are not for choice, as in KubeVirt.
fn with_ciphers(names: &[String]) -> Arc<CryptoProvider> {
    let mut provider = (*provider()).clone();
    if !names.is_empty() {
        let wanted = |suite: &rustls::SupportedCipherSuite| names.iter().any(|name| suite.suite().as_str() == Some(name));
        provider.cipher_suites.retain(|suite| suite.tls13().is_some() || wanted(suite));
    }
    Arc::new(provider)
}

/// Believes certificates of an authority that have one of some names.
#[derive(Debug)]
struct Named {
    inner: Arc<dyn ClientCertVerifier>,
    names: Vec<String>,
}

impl Named {
    fn verifier(roots: Arc<RootCertStore>, names: Vec<String>, required: bool) -> Option<Arc<dyn ClientCertVerifier>> {
        if roots.is_empty() {
            return None;
        }
        let builder = WebPkiClientVerifier::builder_with_provider(roots, provider());
        let builder = if required { builder } else { builder.allow_unauthenticated() };
        match builder.build() {
            Ok(inner) => Some(Arc::new(Self { inner, names })),
            Err(error) => {
                tracing::error!(%error, "the authorities for clients are of no use");
                None
            }
        }
    }
}

/// Whether a certificate has one of the names, or any will do.
pub(super) fn is_named(certificate: &[u8], names: &[String]) -> bool {
    names.is_empty() || certificates::common_name(certificate).is_some_and(|name| names.contains(&name))
}

impl ClientCertVerifier for Named {
    fn offer_client_auth(&self) -> bool {
        self.inner.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.inner.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.inner.verify_client_cert(end_entity, intermediates, now)?;
        if is_named(end_entity, &self.names) {
            Ok(verified)
        } else {
            Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
