//! The group `kubevirt.io`, version `v1` (and `v1alpha3`, which has the same types).

mod access;
mod clock;
mod configuration;
mod devices;
mod disks;
mod domain;
mod features;
mod firmware;
mod kubevirt;
mod migration;
mod networks;
mod preset;
mod replicaset;
mod subresource;
mod vm;
mod vmi;
mod vmi_status;
mod volumes;

pub use access::*;
pub use clock::*;
pub use configuration::*;
pub use devices::*;
pub use disks::*;
pub use domain::*;
pub use features::*;
pub use firmware::*;
pub use kubevirt::*;
pub use migration::*;
pub use networks::*;
pub use preset::*;
pub use replicaset::*;
pub use subresource::*;
pub use vm::*;
pub use vmi::*;
pub use vmi_status::*;
pub use volumes::*;
