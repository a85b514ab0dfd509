//! The arguments of the role `handler`.

use std::net::IpAddr;
use std::path::PathBuf;

use crate::cluster::Access;

/// What the role `handler` is told when it starts.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) access: Access,
    /// The name of the node
    #[arg(long, env = "NODE_NAME", value_name = "NAME", default_value = "")]
    pub(super) node: String,
    /// The namespace that the roles are in
    #[arg(long, env = "POD_NAMESPACE", value_name = "NAME", default_value = "kubevirt")]
    pub(super) namespace: String,
    /// The folder of the node's kubelet
    #[arg(long, value_name = "FOLDER", default_value = "/var/lib/kubelet")]
    pub(super) kubelet: PathBuf,
    /// The folder with what libvirt says about the node
    #[arg(long, value_name = "FOLDER", default_value = "/var/lib/kubevirt-node-labeller")]
    pub(super) host_facts: PathBuf,
    /// Ask libvirt about the node, write what it says into the folder of --host-facts, and end
    #[arg(long)]
    pub(super) look_at_host: bool,
    /// The address to serve on
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0")]
    pub(super) listen: IpAddr,
    /// The port to serve consoles and commands on
    #[arg(long, value_name = "PORT", default_value_t = 8186)]
    pub(super) console_server_port: u16,
    /// The port to serve health and metrics on
    #[arg(long, value_name = "PORT", default_value_t = 8443)]
    pub(super) port: u16,
    /// The folder with the certificate to serve with
    #[arg(long, value_name = "FOLDER", default_value = "/etc/virt-handler/servercertificates")]
    pub(super) certificates: PathBuf,
    /// The `ConfigMap` with the authorities that sign the certificates of who may ask
    #[arg(long, value_name = "NAME", default_value = "kubevirt-ca")]
    pub(super) ca_configmap_name: String,
    /// How many passes may run at once
    #[arg(long, value_name = "NUMBER", default_value_t = 4)]
    pub(super) workers: u16,
}
