//! The protocols between handler and launcher, and of the kubelet.

pub(crate) mod device_plugin;
pub(crate) mod launcher;
