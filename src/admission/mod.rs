//! What may enter the cluster, and what it looks like then: defaults, then judgement.
//!
//! [`review`] is the one road that the webhooks, the launcher without a cluster and `kubevirt-rs validate` take.

mod cause;
mod decode;
#[cfg(test)]
mod every_kind;
pub mod eviction;
mod existing;
mod kinds;
mod live_update;
pub mod mutate;
pub mod needs;
mod path;
#[cfg(test)]
mod properties;
pub(crate) mod request;
mod seed;
mod startable;
mod structure;
#[cfg(test)]
mod testing;
pub mod validate;

pub use cause::{Cause, Findings, Reason};
pub(crate) use live_update::memory as memory_can_grow;
pub use path::Path;
pub use request::{Operation, Request, Verdict};
pub use seed::Seed;

/// Judges an object as the cluster would: reads it, fills in what it leaves open, and says what is wrong with it.
pub fn review(request: &Request) -> Verdict {
    kinds::review(request)
}

/// Fills in what an object leaves open, without judging the rest: what others change after this is judged once they are
/// done. An object that cannot be read, or for which there is no good default, is denied.
pub fn defaults(request: &Request) -> Verdict {
    kinds::defaults(request)
}

/// Judges a change of nothing but the status: of machines, whose status carries requests. Others may change as they like.
pub fn review_status(request: &Request) -> Verdict {
    kinds::review_status(request)
}
