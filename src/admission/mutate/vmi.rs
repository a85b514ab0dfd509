//! Defaults of a `VirtualMachineInstance`.

use crate::admission::{Findings, Request};
use crate::api::v1::VirtualMachineInstance;

/// Fills in what the object leaves open.
pub fn admit(_object: &mut VirtualMachineInstance, _old: Option<&VirtualMachineInstance>, _request: &Request, _findings: &mut Findings) {}
