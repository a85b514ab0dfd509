//! What only the kernel can do: namespaces, processes, terminals, devices.
//!
//! Together with `libvirt` this is the only room that holds `unsafe`.

pub(crate) mod beneath;
pub(crate) mod capabilities;
pub(crate) mod children;
pub(crate) mod figures;
pub(crate) mod files;
pub(crate) mod kvm;
pub(crate) mod memory;
pub(crate) mod mounts;
pub(crate) mod namespaces;
pub(crate) mod pod_network;
pub(crate) mod pod_process;
pub(crate) mod sandbox;
pub(crate) mod scratch;
pub(crate) mod sockets;
mod tap;
pub(crate) mod terminal;
#[cfg(test)]
mod testing;
