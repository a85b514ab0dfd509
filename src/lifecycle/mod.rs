//! The life of a machine: when a guest runs, and what is asked of it. Everything here decides; nothing acts.

pub mod conditions;
pub mod persistent_state;
pub mod selector;
pub mod subresource;
pub mod vm;
pub mod volumes;
