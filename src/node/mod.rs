//! One node: host facts → labels and device pools; what happens to the instances on it.

pub mod beat;
pub mod capabilities;
pub mod device;
pub mod hyperv;
pub mod instance;
pub mod labels;
