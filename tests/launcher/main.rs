//! Real guests, started by the launcher without a cluster: what a person with one file and no cluster sees.
//!
//! `KUBEVIRT_RS` names the binary under test; without it the one that Cargo has just built is taken.

mod guest;
mod inputs;
mod run;
mod seeds;
mod traces;
