//! Instance types and preferences: what a VirtualMachine means that names them.
//!
//! An instance type says what the guest *has* (CPUs, memory, GPUs …): a VM that says one of these things as well
//! conflicts with it. A preference says what the guest *likes* (buses, models, firmware …): the VM's own word wins.
//!
//! - [`fn@find`] names the objects that a VM refers to, [`fn@infer`] the ones that its boot volume recommends;
//! - [`fn@apply`] writes both into a VMI's spec, or tells every field that conflicts;
//! - [`requirements`] judges whether the result has what the preference demands;
//! - [`fn@expand`] gives the VM that stands on its own;
//! - [`revision`] freezes the objects, so that a later change of them does not change a VM;
//! - [`fn@bundle`] are the instance types and preferences that come with an installation.

mod apply;
pub mod bundle;
mod conflict;
mod expand;
mod find;
mod infer;
mod matcher;
mod preference;
pub mod requirements;
mod revision;
mod topology;
mod vm;

pub use apply::apply;
pub use bundle::bundle;
pub use conflict::{Conflict, Conflicts};
pub use expand::{ExpandError, expand};
pub use find::{Catalog, FindError, Given, Objects, find, find_preference};
pub use infer::{InferError, infer};
pub use matcher::{annotate, is_namespaced_instancetype, is_namespaced_preference};
pub use preference::{apply_autoattach, apply_preference};
pub use revision::{
    RevisionError, is_latest, revision_name, same_spec, stash, stashed_instancetype, stashed_preference, sync_instancetype_ref,
    sync_preference_ref,
};
pub use topology::check_spread;
pub use vm::{Applied, apply_to_vm, prepare};
