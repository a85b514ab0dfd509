//! Sockets, cores and threads: how many virtual CPUs the guest has, now and at most.

use kubevirt_api::v1::{Cpu, DomainSpec};

use super::error::{ConvertError, Fault, Result};
use super::guest::Guest;
use super::model::{Topology, Vcpus};

/// The most virtual CPUs that are written out one by one; far more than any machine type has.
const MOST: u32 = 16384;

/// The topology that the guest starts with. Where the VMI sets none, the CPUs that it asks for become sockets.
pub(super) fn requested(domain: &DomainSpec) -> Result<Topology> {
    let given = |value: u32| value.max(1);
    if let Some(cpu) = domain.cpu.as_ref().filter(|cpu| cpu.cores != 0 || cpu.sockets != 0 || cpu.threads != 0) {
        return Ok(Topology { sockets: given(cpu.sockets), cores: given(cpu.cores), threads: given(cpu.threads) });
    }
    let resources = &domain.resources;
    let limit = resources.limits.get("cpu").map(|cpus| ("limits", cpus));
    let asked = limit.or_else(|| resources.requests.get("cpu").map(|cpus| ("requests", cpus)));
    let sockets = match asked {
        Some((which, cpus)) => u32::try_from(cpus.value()).map_err(|_| {
            let field = format!("spec.domain.resources.{which}.cpu");
            ConvertError::new(field, Fault::value(cpus.as_str(), "ask for a number of CPUs that a machine can have"))
        })?,
        None => 1,
    };
    Ok(Topology { sockets: given(sockets), cores: 1, threads: 1 })
}

/// The virtual CPUs of a topology.
pub(super) fn count(topology: Topology, field: &str) -> Result<u32> {
    let Topology { sockets, cores, threads } = topology;
    let count = u64::from(sockets).saturating_mul(cores.into()).saturating_mul(threads.into());
    u32::try_from(count).ok().filter(|count| *count <= MOST).ok_or_else(|| {
        let right = format!("sockets, cores and threads must multiply to at most {MOST}");
        ConvertError::new(field, Fault::value(format_args!("{sockets}×{cores}×{threads}"), right))
    })
}

/// The topology with all sockets that can be plugged in, its virtual CPUs, and which of them are there at the start.
/// The first socket cannot be unplugged.
pub(super) fn with_room(guest: &Guest<'_>) -> Result<(Topology, u32, Option<Vcpus>)> {
    let now = guest.topology;
    let most = guest.spec().cpu.as_ref().map_or(0, |cpu| cpu.max_sockets);
    if most == 0 || !guest.rules.cpu_hotplug {
        return Ok((now, guest.vcpus, None));
    }
    let topology = Topology { sockets: most, ..now };
    let count = count(topology, "spec.domain.cpu.maxSockets")?;
    let vcpus = Vcpus { count, enabled: guest.vcpus, fixed: now.cores.saturating_mul(now.threads) };
    Ok((topology, count, Some(vcpus)))
}

/// The CPUs of the host that the virtual CPUs take when each has one: a number that is not set counts as one.
pub(super) fn dedicated(cpu: &Cpu) -> u32 {
    let set = [cpu.sockets, cpu.cores, cpu.threads].into_iter().filter(|number| *number != 0);
    set.reduce(u32::saturating_mul).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use kubevirt_api::Quantity;

    use super::*;

    fn domain(sockets: u32, cores: u32, threads: u32, limit: &str, request: &str) -> DomainSpec {
        let mut domain = DomainSpec { cpu: Some(Cpu { sockets, cores, threads, ..Cpu::default() }), ..DomainSpec::default() };
        let quantity = |text: &str| text.parse::<Quantity>().unwrap();
        if !limit.is_empty() {
            domain.resources.limits.insert("cpu".into(), quantity(limit));
        }
        if !request.is_empty() {
            domain.resources.requests.insert("cpu".into(), quantity(request));
        }
        domain
    }

    #[test]
    fn a_topology_comes_from_the_cpu_or_from_what_is_asked_for() {
        for (domain, expected) in [
            (domain(2, 3, 4, "8", "8"), (2, 3, 4)),
            (domain(0, 3, 0, "8", "8"), (1, 3, 1)),
            (domain(0, 0, 0, "8", "4"), (8, 1, 1)),
            (domain(0, 0, 0, "", "1500m"), (2, 1, 1)),
            (domain(0, 0, 0, "", ""), (1, 1, 1)),
            (domain(0, 0, 0, "0", ""), (1, 1, 1)),
        ] {
            let Topology { sockets, cores, threads } = requested(&domain).unwrap();
            assert_eq!((sockets, cores, threads), expected);
        }
    }

    #[test]
    fn more_cpus_than_any_machine_has_are_refused_with_their_field() {
        assert_eq!(requested(&domain(0, 0, 0, "", "5G")).unwrap_err().field, "spec.domain.resources.requests.cpu");
        assert_eq!(requested(&domain(0, 0, 0, "-1", "")).unwrap_err().field, "spec.domain.resources.limits.cpu");
        let much = Topology { sockets: u32::MAX, cores: u32::MAX, threads: u32::MAX };
        assert_eq!(count(much, "spec.domain.cpu").unwrap_err().field, "spec.domain.cpu");
        assert_eq!(count(Topology { sockets: 4, cores: 64, threads: 64 }, ""), Ok(MOST));
    }
}
