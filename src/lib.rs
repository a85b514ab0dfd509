//! The upper floor of kubevirt-rs: decisions.
//!
//! Everything here is a pure, synchronous function from plain values to plain values. No client, clock, environment,
//! randomness, file or task: what a decision needs comes in as an argument. The ground floor (the binary) carries out
//! what was decided here. ARCHITECTURE.md shows the rooms and who may call whom.

// Tests hand over the documents that they write down.
#![cfg_attr(test, allow(clippy::needless_pass_by_value))]

pub use kubevirt_api as api;

pub mod admission;
pub mod config;
pub mod domain;
pub mod downward_metrics;
pub mod guest;
pub mod install;
pub mod instancetype;
pub mod lifecycle;
pub mod manifest;
pub mod network;
pub mod node;
pub mod pod;
pub mod schema;
pub mod storage;
