//! The arguments of the role `api`.

use std::net::IpAddr;
use std::path::PathBuf;

use crate::cluster::Access;

/// What the role `api` is told when it starts.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) access: Access,
    /// The namespace of the installation [default: that of the pod, or kubevirt]
    #[arg(long, value_name = "NAMESPACE")]
    pub(super) namespace: Option<String>,
    /// The address to serve on
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0")]
    pub(super) listen: IpAddr,
    /// The port to serve on
    #[arg(long, value_name = "PORT", default_value_t = 8443)]
    pub(super) port: u16,
    /// The port that the handlers serve on
    #[arg(long, value_name = "PORT", default_value_t = 8186)]
    pub(super) console_server_port: u16,
    /// The certificate to serve with
    #[arg(long, value_name = "FILE", default_value = "/etc/virt-api/certificates/tls.crt")]
    pub(super) tls_cert_file: PathBuf,
    /// Its key
    #[arg(long, value_name = "FILE", default_value = "/etc/virt-api/certificates/tls.key")]
    pub(super) tls_key_file: PathBuf,
    /// The certificate that the handlers know this role by
    #[arg(long, value_name = "FILE", default_value = "/etc/virt-handler/clientcertificates/tls.crt")]
    pub(super) handler_cert_file: PathBuf,
    /// Its key
    #[arg(long, value_name = "FILE", default_value = "/etc/virt-handler/clientcertificates/tls.key")]
    pub(super) handler_key_file: PathBuf,
    /// The `ConfigMap` with the authorities that sign the handlers' certificates
    #[arg(long, value_name = "NAME", default_value = "kubevirt-ca")]
    pub(super) ca_configmap_name: String,
    /// A file with those authorities, in place of the `ConfigMap`
    #[arg(long, value_name = "FILE")]
    pub(super) ca_file: Option<PathBuf>,
    /// Accepted for compatibility
    #[arg(long, hide = true)]
    pub(super) subresources_only: bool,
    /// How much is logged: 2 is usual, 4 and more tells about each connection
    #[arg(short = 'v', long = "v", value_name = "LEVEL", default_value_t = 2)]
    pub(super) verbosity: u8,
}
