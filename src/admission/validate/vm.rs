//! Rules of a `VirtualMachine`.

use crate::admission::{Findings, Request};
use crate::api::v1::VirtualMachine;

/// Judges the defaulted object.
pub fn judge(_object: &VirtualMachine, _old: Option<&VirtualMachine>, _request: &Request, _findings: &mut Findings) {}
