//! More CPU sockets for a guest that runs.

use super::super::pass::Pass;
use super::{require_restart, wanted};
use crate::api::Quantity;
use crate::api::v1::VirtualMachineInstanceConditionType as Kind;
use crate::lifecycle::action::Failure;
use crate::lifecycle::vmi::cpu_count;
use crate::lifecycle::{conditions, migrations};

const FAILED: &str = "HotPlugCPUError";
const CPU: &str = "cpu";

/// Gives the guest the sockets of the template.
pub(super) fn follow(pass: &mut Pass<'_>) -> Result<(), Failure> {
    let (Some(wanted), Some(instance)) = (wanted(pass), pass.instance.clone()) else {
        return Ok(());
    };
    let (Some(cpu), Some(has)) = (&wanted.domain.cpu, &instance.spec.domain.cpu) else {
        return Ok(());
    };
    if cpu.sockets == has.sockets {
        return Ok(());
    }
    if conditions::has(&instance.status.conditions, &Kind::HotVcpuChange, "True") {
        return Err(Failure::new(FAILED, "the guest is still being given CPUs; the next change follows"));
    }
    if migrations::is_migrating(&instance, pass.now) {
        return Err(Failure::new(FAILED, "the guest migrates; it is given CPUs when it has arrived"));
    }
    let too_many = cpu.sockets > has.max_sockets;
    let why = match () {
        () if too_many => Some(format!("the guest was started for at most {} CPU sockets, not {}", has.max_sockets, cpu.sockets)),
        () if cpu.sockets < has.sockets => Some("the guest has to be restarted to have fewer CPU sockets".to_owned()),
        () if wanted.architecture == "arm64" => Some("a guest on arm64 has to be restarted for other CPU sockets".to_owned()),
        () => None,
    };
    if let Some(why) = why {
        require_restart(pass, why);
        return Ok(());
    }
    let more = cpu_count(cpu.cores, cpu.sockets, cpu.threads) - cpu_count(has.cores, has.sockets, has.threads);
    let each = 1000 / pass.config.cpu_allocation_ratio().max(1);
    let more = Quantity::from_millis(i128::from(more.saturating_mul(each)));
    let asks = |map: &std::collections::BTreeMap<String, Quantity>| map.get(CPU).is_some_and(|q| !q.is_zero());
    let resources = &wanted.domain.resources;
    let (requests, limits) = (asks(&resources.requests), asks(&resources.limits));
    if let Some(instance) = &mut pass.instance {
        if let Some(has) = &mut instance.spec.domain.cpu {
            has.sockets = cpu.sockets;
        }
        let resources = &mut instance.spec.domain.resources;
        for map in [requests.then_some(&mut resources.requests), limits.then_some(&mut resources.limits)].into_iter().flatten() {
            let sum = map.get(CPU).map_or_else(|| more.clone(), |has| has.plus(&more));
            map.insert(CPU.to_owned(), sum);
        }
    }
    Ok(())
}
