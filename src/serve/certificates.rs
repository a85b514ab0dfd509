//! Certificates and keys from files, which others renew at any time.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

/// Why certificates are of no use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CertificateError {
    /// The file cannot be read.
    #[error("read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The text is no PEM.
    #[error("{what} must be PEM: {why}")]
    Pem {
        /// Where the text is from.
        what: String,
        /// Why.
        why: String,
    },
    /// There is none.
    #[error("{0} must hold a certificate")]
    Empty(String),
    /// Certificate and key do not go together, or are of a kind that TLS does not know.
    #[error("the certificate {} and its key must go together: {why}", path.display())]
    Pair {
        /// The file of the certificate.
        path: PathBuf,
        /// Why.
        why: rustls::Error,
    },
}

/// The cryptography that everything here works with.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Where a certificate and its key are.
#[derive(Clone, Debug)]
pub(crate) struct KeyFiles {
    certificate: PathBuf,
    key: PathBuf,
}

/// What the two files hold.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct KeyText {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl KeyFiles {
    /// A certificate and its key.
    pub(crate) fn new(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self { certificate: certificate.into(), key: key.into() }
    }

    /// A folder that a Secret of the type `kubernetes.io/tls` is mounted to.
    pub(crate) fn of_secret(folder: &Path) -> Self {
        Self::new(folder.join("tls.crt"), folder.join("tls.key"))
    }

    /// What is in the files now.
    pub(crate) fn read(&self) -> Result<KeyText, CertificateError> {
        Ok(KeyText { certificate: read(&self.certificate)?, key: read(&self.key)? })
    }

    /// The pair. While a Secret is being exchanged the two may not match; they will the next time.
    pub(crate) fn parse(&self, text: &KeyText) -> Result<Arc<CertifiedKey>, CertificateError> {
        let chain = certificates(&text.certificate, &self.certificate.to_string_lossy())?;
        let key = PrivateKeyDer::from_pem_slice(&text.key)
            .map_err(|e| CertificateError::Pem { what: self.key.display().to_string(), why: e.to_string() })?;
        let pair = CertifiedKey::from_der(chain, key, &provider());
        pair.map(Arc::new).map_err(|why| CertificateError::Pair { path: self.certificate.clone(), why })
    }

    /// Reads and parses.
    pub(crate) fn load(&self) -> Result<Arc<CertifiedKey>, CertificateError> {
        self.parse(&self.read()?)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CertificateError> {
    fs::read(path).map_err(|source| CertificateError::Read { path: path.to_owned(), source })
}

fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all = all.map_err(|e| CertificateError::Pem { what: what.to_owned(), why: e.to_string() })?;
    if all.is_empty() { Err(CertificateError::Empty(what.to_owned())) } else { Ok(all) }
}

/// The authorities of a bundle. One that cannot be used is passed over, as long as there is another.
pub(crate) fn roots(pem: &[u8], what: &str) -> Result<RootCertStore, CertificateError> {
    let mut roots = RootCertStore::empty();
    let (good, _) = roots.add_parsable_certificates(certificates(pem, what)?);
    if good == 0 { Err(CertificateError::Empty(what.to_owned())) } else { Ok(roots) }
}

/// The common name of a certificate's subject.
pub(crate) fn common_name(certificate: &[u8]) -> Option<String> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let mut names = certificate.subject().iter_common_name();
    names.next().and_then(|name| name.as_str().ok()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::testing::{Authority, Folder};

    #[test]
    fn a_pair_is_read_and_told_apart_from_what_is_none() {
        let authority = Authority::new("test");
        let folder = Folder::new("certificates");
        let files = KeyFiles::of_secret(folder.path());
        assert!(matches!(files.load(), Err(CertificateError::Read { .. })));
        authority.server("one").write(folder.path());
        let pair = files.load().unwrap();
        assert_eq!(common_name(pair.end_entity_cert().unwrap()).as_deref(), Some("one"));

        fs::write(folder.path().join("tls.key"), authority.server("two").key).unwrap();
        assert!(matches!(files.load(), Err(CertificateError::Pair { .. })));
        fs::write(folder.path().join("tls.key"), "no key").unwrap();
        assert!(matches!(files.load(), Err(CertificateError::Pem { .. })));
        fs::write(folder.path().join("tls.crt"), "").unwrap();
        assert!(matches!(files.load(), Err(CertificateError::Empty(_))));
    }

    #[test]
    fn a_bundle_needs_one_authority() {
        assert!(roots(b"", "bundle").is_err());
        let (one, two) = (Authority::new("one").pem(), Authority::new("two").pem());
        assert_eq!(roots(format!("{one}{two}").as_bytes(), "bundle").unwrap().len(), 2);
    }
}
