//! Rules of a `VirtualMachineInstance`.

use crate::admission::{Findings, Request};
use crate::api::v1::VirtualMachineInstance;

/// Judges the defaulted object.
pub fn judge(_object: &VirtualMachineInstance, _old: Option<&VirtualMachineInstance>, _request: &Request, _findings: &mut Findings) {}
