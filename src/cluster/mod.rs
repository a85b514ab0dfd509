//! The API server: clients, stores, watches, patches, events, leases, work queues.
//!
//! A role connects by [`Access`] to a [`Cluster`], opens a [`Store`] for each kind that it reads ([`Store::follow`] keeps
//! it as the API server has it), puts what changed into one [`Queue`], and answers each item by a pass: read the stores,
//! decide, write by the [`Cluster`], say it by the [`Recorder`]. [`Expectations`] hold a pass back until the stores show
//! what the last one wrote. [`Election`] sees to it that only one of several copies acts, [`Shutdown`] ends all of it.

// Every role takes what it needs of this room; while they are built, not each part is in use.
#![allow(dead_code, unused_imports)]

mod access;
mod binary;
mod configuration;
mod error;
mod events;
mod expectation;
mod key;
mod lease;
mod limiter;
pub(crate) mod pods;
mod queue;
pub(crate) mod revisions;
mod shutdown;
#[cfg(test)]
pub(crate) mod simulation;
mod store;
#[cfg(test)]
pub(crate) mod testing;
mod watch;
mod write;

pub(crate) use access::{Access, AccessError};
pub(crate) use configuration::Configuration;
pub(crate) use error::Error;
pub(crate) use events::{Recorder, reference};
pub(crate) use expectation::Expectations;
pub(crate) use key::Key;
pub(crate) use lease::{Election, Leadership};
pub(crate) use queue::Queue;
pub(crate) use shutdown::Shutdown;
pub(crate) use store::{Change, Index, Object, Store};
pub(crate) use watch::Selection;
pub(crate) use write::{Cluster, Deletion};
