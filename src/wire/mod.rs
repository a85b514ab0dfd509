//! The protocols between handler and launcher, and of the kubelet.

pub(crate) mod launcher;
