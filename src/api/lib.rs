//! The types of KubeVirt's API groups, as they stand on the wire: lossless, and of use to any Rust client.
//!
//! A type here says what a document may hold, not what it may mean: every value decodes that KubeVirt's own client
//! would decode, unknown enumeration values included, and encodes to the same document. What it means, and whether it
//! is allowed, is decided elsewhere.

#![warn(missing_docs)]

pub mod backup;
pub mod cdi;
pub mod clone;
pub mod export;
pub mod instancetype;
pub mod kinds;
pub mod migrations;
pub mod names;
pub mod plugin;
pub mod pool;
mod quantity;
pub mod schema;
pub mod selector;
pub mod snapshot;
pub mod v1;
mod values;
mod wire;

pub use kubevirt_api_macros::api;
pub use quantity::{Quantity, QuantityError};
pub use values::{Bytes, Duration, DurationError};
