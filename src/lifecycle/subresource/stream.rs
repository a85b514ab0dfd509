//! Connections that become a stream to the guest: consoles by way of the handler, port forwarding straight to its address.

use serde::Serialize;

use super::{Answer, Case, Refusal, Success, guest, is_running};
use crate::api::v1::{VirtualMachineInstance, VirtualMachineInstanceConditionType as Condition, VirtualMachineInstancePhase as Phase};
use crate::lifecycle::conditions;

/// Where the stream goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Endpoint {
    /// A path of the handler: `console`, `vnc`, `usbredir`, `vsock`.
    Handler(&'static str),
    /// An address of the guest.
    Address {
        /// The guest's first address.
        host: String,
        /// The port as it was asked for.
        port: String,
        /// `tcp` or `udp`.
        protocol: String,
    },
}

/// The stream of that name.
pub(super) fn find(operation: &str) -> Option<fn(&mut Case<'_>) -> Answer> {
    Some(match operation {
        "console" => |case| open(case, "console", has_console),
        "vnc" => |case| open(case, "vnc", has_display),
        "usbredir" => |case| open(case, "usbredir", has_usb_redirection),
        "vsock" => |case| open(case, "vsock", has_vsock),
        _ => return None,
    })
}

fn open(case: &mut Case<'_>, path: &'static str, check: fn(&Case<'_>, &VirtualMachineInstance) -> Result<(), Refusal>) -> Answer {
    let instance = case.instance()?;
    check(case, instance)?;
    guest::reachable(instance)?;
    Ok(Success::Stream(Endpoint::Handler(path)))
}

pub(super) fn port_forward(case: &mut Case<'_>, path: &str) -> Answer {
    let instance = case.instance_of_kind()?;
    if conditions::find(&instance.status.conditions, &Condition::Paused).is_some() {
        return Err(case.instance_conflict("the guest is paused"));
    }
    let (port, protocol) = path.split_once('/').unwrap_or((path, "tcp"));
    let Some(interface) = instance.status.interfaces.first() else {
        return Err(Refusal::bad_request("the guest has no network interface"));
    };
    if port.is_empty() {
        return Err(Refusal::bad_request("a port is needed: portforward/PORT or portforward/PORT/PROTOCOL"));
    }
    let (host, port, protocol) = (interface.ip_address.clone(), port.to_owned(), protocol.to_owned());
    Ok(Success::Stream(Endpoint::Address { host, port, protocol }))
}

fn must_run(instance: &VirtualMachineInstance) -> Result<(), Refusal> {
    if is_running(instance) { Ok(()) } else { Err(Refusal::bad_request("the guest is not running")) }
}

fn has_console(case: &Case<'_>, instance: &VirtualMachineInstance) -> Result<(), Refusal> {
    if instance.spec.domain.devices.autoattach_serial_console == Some(false) {
        return Err(Refusal::bad_request("the guest has no serial console (spec.domain.devices.autoattachSerialConsole is false)"));
    }
    if instance.status.phase == Phase::Failed {
        return Err(case.instance_conflict("the guest has failed"));
    }
    must_run(instance)
}

pub(super) fn has_display(_: &Case<'_>, instance: &VirtualMachineInstance) -> Result<(), Refusal> {
    if instance.spec.domain.devices.autoattach_graphics_device == Some(false) {
        return Err(Refusal::bad_request("the guest has no display (spec.domain.devices.autoattachGraphicsDevice is false)"));
    }
    must_run(instance)
}

fn has_usb_redirection(case: &Case<'_>, instance: &VirtualMachineInstance) -> Result<(), Refusal> {
    if instance.spec.architecture == "s390x" {
        return Err(case.instance_conflict("guests of s390x have no USB"));
    }
    if instance.spec.domain.devices.client_passthrough.is_none() {
        return Err(case.instance_conflict("the guest has no USB redirection (spec.domain.devices.clientPassthrough)"));
    }
    must_run(instance)
}

fn has_vsock(_: &Case<'_>, instance: &VirtualMachineInstance) -> Result<(), Refusal> {
    if instance.spec.domain.devices.autoattach_vsock == Some(true) {
        return Ok(());
    }
    Err(Refusal::bad_request("the guest has no VSOCK (spec.domain.devices.autoattachVSOCK)"))
}
