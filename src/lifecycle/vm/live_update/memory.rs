//! More memory for a guest that runs.

use std::collections::BTreeMap;

use super::super::pass::Pass;
use super::{require_restart, wanted};
use crate::admission::memory_can_grow;
use crate::api::Quantity;
use crate::api::v1::{VirtualMachineInstance, VirtualMachineInstanceConditionType as Kind, VirtualMachineInstanceSpec as Spec};
use crate::lifecycle::action::Failure;
use crate::lifecycle::{conditions, migrations};

const FAILED: &str = "HotPlugMemoryError";
const MEMORY: &str = "memory";

/// Gives the guest the memory of the template.
pub(super) fn follow(pass: &mut Pass<'_>) -> Result<(), Failure> {
    let (Some(wanted), Some(mut instance)) = (wanted(pass), pass.instance.clone()) else {
        return Ok(());
    };
    let guest = wanted.domain.memory.as_ref().and_then(|m| m.guest.clone());
    let current = instance.status.memory.as_ref().and_then(|m| m.guest_current.clone());
    let (Some(guest), Some(current), Some(has)) = (guest, current, instance.spec.domain.memory.as_ref().and_then(|m| m.guest.clone()))
    else {
        return Ok(());
    };
    let of_guest = &instance.status.conditions;
    if conditions::has(of_guest, &Kind::HotMemoryChange, "False") {
        require_restart(pass, "memory could not be added to the running guest; it is given at the next start");
        return Ok(());
    }
    if guest == has {
        return Ok(());
    }
    if let Some(why) = restart_only(&instance) {
        require_restart(pass, why);
        return Ok(());
    }
    if conditions::has(of_guest, &Kind::HotMemoryChange, "True") {
        return Err(Failure::new(FAILED, "the guest is still being given memory; the next change follows"));
    }
    if migrations::is_migrating(&instance, pass.now) {
        return Err(Failure::new(FAILED, "the guest migrates; it is given memory when it has arrived"));
    }
    if let Some(why) = beyond_bounds(&wanted, &guest, &instance) {
        require_restart(pass, why);
        return Ok(());
    }
    grow(&mut instance, &wanted, &guest, &current);
    pass.instance = Some(instance);
    Ok(())
}

/// Why the guest was not made to be given memory while it runs, if so.
fn restart_only(instance: &VirtualMachineInstance) -> Option<String> {
    if !conditions::has(&instance.status.conditions, &Kind::LiveMigratable, "True") {
        return Some("memory can be added only to a guest that can migrate; it is given at the next start".to_owned());
    }
    let memory = instance.spec.domain.memory.as_ref();
    memory.is_none_or(|m| m.max_guest.is_none()).then(|| "the guest was not started so that its memory could grow".to_owned())
}

/// Why the guest cannot be given so much or so little, if so.
fn beyond_bounds(wanted: &Spec, guest: &Quantity, instance: &VirtualMachineInstance) -> Option<String> {
    let most = instance.spec.domain.memory.as_ref().and_then(|m| m.max_guest.as_ref());
    if let Err(why) = memory_can_grow(wanted, most) {
        return Some(why);
    }
    let at_boot = instance.status.memory.as_ref().and_then(|m| m.guest_at_boot.as_ref());
    if let Some(at_boot) = at_boot.filter(|at_boot| guest < *at_boot) {
        return Some(format!("the guest has to be restarted to have less memory than the {at_boot} that it started with"));
    }
    most.filter(|most| guest > *most).map(|most| format!("the guest was started for at most {most} of memory, not {guest}"))
}

fn grow(instance: &mut VirtualMachineInstance, wanted: &Spec, guest: &Quantity, current: &Quantity) {
    let domain = &mut instance.spec.domain;
    if let Some(memory) = &mut domain.memory {
        memory.guest = Some(guest.clone());
    }
    let mut more = guest.minus(current);
    let asks = |map: &BTreeMap<String, Quantity>| map.get(MEMORY).filter(|q| !q.is_zero()).cloned();
    if let Some(requested) = asks(&domain.resources.requests) {
        let mut sum = requested.plus(&more);
        // After memory was taken away not all of it may have come back: never request less than the guest has.
        if sum < *guest {
            sum = guest.clone();
            more = Quantity::from_bytes(0);
        }
        domain.resources.requests.insert(MEMORY.to_owned(), sum);
    }
    if asks(&wanted.domain.resources.limits).is_some() {
        let limit = domain.resources.limits.get(MEMORY).map_or_else(|| more.clone(), |limit| limit.plus(&more));
        domain.resources.limits.insert(MEMORY.to_owned(), limit);
    }
}
