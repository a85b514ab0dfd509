//! The life of a machine: when a guest runs, and what is asked of it. Everything here decides; nothing acts.

pub mod action;
pub mod conditions;
pub mod migrations;
pub mod node;
pub mod owner;
pub mod patch;
pub(crate) mod patience;
pub mod persistent_state;
pub mod pool;
pub mod replicaset;
pub mod settle;
pub mod store;
pub mod subresource;
pub mod vm;
pub mod vmi;
pub mod volumes;
