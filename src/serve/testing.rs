//! Authorities, certificates and folders for the tests of this room.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair};

/// A folder that goes when the test ends.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let unique = format!("kubevirt-rs-{name}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(unique);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An authority.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key.
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    pub(crate) fn server(&self, name: &str) -> Pair {
        self.pair(name, ExtendedKeyUsagePurpose::ServerAuth)
    }

    pub(crate) fn client(&self, name: &str) -> Pair {
        self.pair(name, ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn pair(&self, name: &str, usage: ExtendedKeyUsagePurpose) -> Pair {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages.push(usage);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Pair { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

impl Pair {
    /// Writes the pair as a Secret is mounted.
    pub(crate) fn write(&self, folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("tls.crt"), &self.certificate).unwrap();
        fs::write(folder.join("tls.key"), &self.key).unwrap();
    }
}
