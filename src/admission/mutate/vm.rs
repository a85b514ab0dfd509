//! Defaults of a `VirtualMachine`.

use crate::admission::{Findings, Request};
use crate::api::v1::VirtualMachine;

/// Fills in what the object leaves open.
pub fn admit(_object: &mut VirtualMachine, _old: Option<&VirtualMachine>, _request: &Request, _findings: &mut Findings) {}
