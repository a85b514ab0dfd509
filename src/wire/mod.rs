//! The protocols between handler and launcher, of the kubelet, and of hook sidecars.

pub(crate) mod device_plugin;
mod grpc;
pub(crate) mod hooks;
pub(crate) mod launcher;
