//! The schemas of the API: custom resource definitions, and what they say of a document.

mod definition;
mod definitions;
mod generated;

pub use definitions::{DEFINITIONS, Definition, Version};
pub use generated::{Crd, crds, files, list};
