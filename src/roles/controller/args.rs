//! The arguments of the role `controller`.

use std::net::IpAddr;
use std::path::PathBuf;

use crate::cluster::Access;

/// What the role `controller` is told when it starts.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) access: Access,
    /// The image of launcher pods; that of this program
    #[arg(long, env = "KUBEVIRT_RS_IMAGE", default_value = "kubevirt-rs")]
    pub(super) launcher_image: String,
    /// The image of hook sidecars that name none
    #[arg(long, value_name = "IMAGE")]
    pub(super) sidecar_shim_image: Option<String>,
    /// The secret by which launcher pods pull their image
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(super) image_pull_secret: String,
    /// How many seconds a launcher waits for QEMU
    #[arg(long, value_name = "SECONDS", default_value_t = 240)]
    pub(super) launcher_qemu_timeout: u32,
    /// The namespace that the roles are in
    #[arg(long, env = "POD_NAMESPACE", value_name = "NAME", default_value = "kubevirt")]
    pub(super) namespace: String,
    /// How many passes may run at once
    #[arg(long, value_name = "NUMBER", default_value_t = 8)]
    pub(super) workers: u16,
    /// The address to serve health and metrics on
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0")]
    pub(super) listen: IpAddr,
    /// The port to serve health and metrics on
    #[arg(long, default_value_t = 8443)]
    pub(super) port: u16,
    /// The folder with tls.crt and tls.key
    #[arg(long, value_name = "FOLDER", default_value = "/etc/virt-controller/certificates")]
    pub(super) certificates: PathBuf,
}
