//! The arguments of the role `operator`.

use std::net::IpAddr;
use std::path::PathBuf;

use kubevirt_rs::install::DEFAULT_IMAGE;

use crate::cluster::Access;

/// What the role `operator` is told when it starts.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) access: Access,
    /// The namespace to install in
    #[arg(long, env = "POD_NAMESPACE", value_name = "NAME", default_value = "kubevirt")]
    pub(super) namespace: String,
    /// The image of every component
    #[arg(long, env = "KUBEVIRT_RS_IMAGE", value_name = "IMAGE", default_value = DEFAULT_IMAGE)]
    pub(super) image: String,
    /// The address to serve on
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0")]
    pub(super) listen: IpAddr,
    /// The port for health and metrics
    #[arg(long, value_name = "PORT", default_value_t = 8443)]
    pub(super) port: u16,
    /// The port for webhooks
    #[arg(long, value_name = "PORT", default_value_t = 8444)]
    pub(super) webhook_port: u16,
    /// A folder for the certificate to serve with
    #[arg(long, value_name = "FOLDER", default_value = "/etc/virt-operator/certificates")]
    pub(super) certificates: PathBuf,
}
