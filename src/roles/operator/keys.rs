//! The certificate that the operator serves with: as the secret has it, in files that the server follows.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use anyhow::Context as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kubevirt_rs::install::certificates::OPERATOR;

use super::mint::{self, Pair};
use crate::cluster::{Cluster, Selection, Shutdown, Store};

/// Puts a provisional certificate into the folder, so that health can be asked for at once, and follows the secret from
/// then on: the folder of a mounted secret would follow it a minute later.
pub(super) fn follow(cluster: &Cluster, namespace: &str, folder: &Path, shutdown: &Shutdown) -> anyhow::Result<()> {
    let pair = mint::provisional(Timestamp::now()).context("make a certificate to begin with")?;
    write(folder, &pair).with_context(|| format!("write the certificate to {}", folder.display()))?;
    let selection = Selection::namespace(namespace).fields(format!("metadata.name={OPERATOR}"));
    let folder: PathBuf = folder.to_owned();
    Arc::new(Store::<Secret>::default()).follow(cluster, selection, shutdown, move |change| {
        let data = change.object.data.as_ref().filter(|_| !change.gone);
        let text = |key: &str| String::from_utf8(data?.get(key)?.0.clone()).ok();
        if let (Some(certificate), Some(key)) = (text("tls.crt"), text("tls.key"))
            && let Err(error) = write(&folder, &Pair { certificate, key })
        {
            tracing::error!(folder = %folder.display(), %error, "the certificate cannot be written");
        }
    });
    Ok(())
}

/// The key first: a server reads the pair again when the certificate has changed, and takes it when both fit.
fn write(folder: &Path, pair: &Pair) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (name, text) in [("tls.key", &pair.key), ("tls.crt", &pair.certificate)] {
        let (path, new) = (folder.join(name), folder.join(format!(".{name}.new")));
        let mut options = fs::OpenOptions::new();
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.write(true).create(true).truncate(true).open(&new)?;
        io::Write::write_all(&mut file, text.as_bytes())?;
        fs::rename(new, path)?;
    }
    Ok(())
}
