//! libvirt: a daemon of one's own, a connection to it, and what it tells.
//!
//! The only foreign interface of the program. Calls of libvirt block, so each runs on a thread for blocking work; one
//! more thread runs libvirt's event loop.

mod connection;
mod daemon;
mod events;
mod figures;
mod state;

pub(crate) use connection::{Connection, Domain, Kind, LibvirtError, Picture};
pub(crate) use daemon::{Daemon, Layout};
pub(crate) use events::{Event, Lifecycle, Stopped};
