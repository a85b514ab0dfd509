//! What a pod's network shall look like so that the guest in it has one: links, addresses, rules, DHCP answers.
//!
//! ```text
//!   pod network ── eth0 ──(nft: forward in, masquerade out)── k6t-eth0 ── tap0 ── guest
//!                  pod's address                              10.0.2.1            10.0.2.2
//! ```

mod address;
pub mod dhcp;
mod link;
pub mod mac;
mod nft;
mod plan;
pub mod resolver;

pub use address::{AddressFault, PrivateNetwork};
pub use link::{Link, is_global};
pub use plan::{Network, NetworkError, Plan, Step, plan, queues};
