//! What is wrong with an object: one file a kind or area, one small function a rule.

pub(crate) mod matchers;
pub mod vm;
pub mod vmi;
