//! Where the API server is, and who we are to it.

use std::path::PathBuf;
use std::time::Duration;

use hyper::http::HeaderValue;
use hyper::http::header::USER_AGENT;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::Cluster;

/// How long a connection to the API server may take to come about.
const CONNECT: Duration = Duration::from_secs(5);

/// The arguments that say how to reach the API server.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Access {
    /// The kubeconfig file; without it the service account of the pod is used
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
}

/// Why there is no way to the API server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AccessError {
    /// The file does not say it.
    #[error("read the kubeconfig {0}")]
    File(PathBuf, #[source] kube::config::KubeconfigError),
    /// There is no pod around us.
    #[error("find the service account of the pod; outside of a pod, name a file by --kubeconfig")]
    Pod(#[source] kube::config::InClusterError),
    /// What is said cannot be used.
    #[error("make a client of what is said about the API server")]
    Client(#[source] kube::Error),
}

impl Access {
    /// Makes the client of a role: `component` is the name under which it writes, such as `virt-controller`. Nothing is
    /// sent yet.
    pub(crate) async fn connect(&self, component: &'static str) -> Result<Cluster, AccessError> {
        let mut config = match &self.kubeconfig {
            Some(file) => {
                let fault = |error| AccessError::File(file.clone(), error);
                let kubeconfig = Kubeconfig::read_from(file).map_err(fault)?;
                Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(fault)?
            }
            None => Config::incluster().map_err(AccessError::Pod)?,
        };
        config.connect_timeout = Some(CONNECT);
        config.headers.push((USER_AGENT, HeaderValue::from_static(component)));
        let client = Client::try_from(config).map_err(AccessError::Client)?;
        Ok(Cluster { client, component })
    }
}
