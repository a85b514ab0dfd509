//! The schemas of the API: custom resource definitions, and what they say of a document.

pub mod cel;
mod check;
mod definition;
mod definitions;
pub mod discovery;
mod explain;
mod generated;
pub mod openapi;
pub mod operations;

pub use check::{Fault, FaultKind, check, check_update, check_value, node};
pub use definitions::{DEFINITIONS, Definition, Version};
pub use explain::{ExplainError, explain};
pub use generated::{Crd, crds, files, list};
