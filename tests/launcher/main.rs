//! Real guests, started by the launcher without a cluster: what a person with one file and no cluster sees.
//!
//! `KUBEVIRT_RS` names the binary under test; without it the one that Cargo has just built is taken.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test that cannot go on fails

mod debian;
mod downward_metrics;
mod guest;
mod hooks;
mod inputs;
mod lacks;
mod machines;
mod memory_dump;
mod operations;
mod pod;
mod run;
mod screen;
mod seeds;
mod shares;
mod sidecar;
mod traces;
mod words;
