//! What objects look like once they are in: one file a kind or area.

pub mod vm;
pub mod vmi;
