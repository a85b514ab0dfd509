//! KubeVirt CR → every object to install, certificates, the order of a rollout.

pub mod webhooks;
