//! What a preference demands of a guest: vCPUs, memory, an architecture.

use crate::api::instancetype::{PreferenceRequirements, SpreadAcross, VirtualMachineInstancetypeSpec, VirtualMachinePreferenceSpec};
use crate::api::v1::{Cpu, VirtualMachineInstanceSpec};

use super::topology::Topology;
use super::{Conflict, Conflicts};

const CPU: &str = "spec.template.spec.domain.cpu";
const VM: &str = "the virtual machine";
const INSTANCETYPE: &str = "the instance type";

/// Judges whether a guest has what its preference demands. `spec` is the guest's after both have been applied.
pub fn check(
    instancetype: Option<&VirtualMachineInstancetypeSpec>,
    preference: Option<&VirtualMachinePreferenceSpec>,
    spec: &VirtualMachineInstanceSpec,
) -> Result<(), Conflicts> {
    let Some(preference) = preference else { return Ok(()) };
    let Some(demand) = &preference.requirements else { return Ok(()) };
    cpu(demand, instancetype, preference, spec)?;
    memory(demand, instancetype, spec)?;
    architecture(demand, spec)
}

fn insufficient<F: Into<String>>(fields: impl IntoIterator<Item = F>, provider: &'static str, demanded: &str, provided: &str) -> Conflicts {
    let one =
        |field: F| Conflict::Insufficient { field: field.into(), provider, demanded: demanded.to_owned(), provided: provided.to_owned() };
    Conflicts(fields.into_iter().map(one).collect())
}

fn cpu(
    demand: &PreferenceRequirements,
    instancetype: Option<&VirtualMachineInstancetypeSpec>,
    preference: &VirtualMachinePreferenceSpec,
    spec: &VirtualMachineInstanceSpec,
) -> Result<(), Conflicts> {
    let Some(demanded) = demand.cpu.as_ref().map(|cpu| cpu.guest) else { return Ok(()) };
    let text = format!("{demanded} vCPUs");
    if let Some(instancetype) = instancetype {
        let provided = instancetype.cpu.guest;
        return if provided < demanded {
            Err(insufficient(["spec.instancetype"], INSTANCETYPE, &text, &provided.to_string()))
        } else {
            Ok(())
        };
    }
    let Some(cpu) = &spec.domain.cpu else { return Err(insufficient([CPU], VM, &text, "none")) };
    let counted = counted(&Topology::of(Some(preference)));
    if counted.is_empty() {
        return Ok(());
    }
    // as many bits as the API has: a product that wraps around would count as few
    let provided = counted.iter().map(|(_, count)| u64::from(count(cpu))).fold(1, u64::saturating_mul);
    if provided < u64::from(demanded) {
        let fields: Vec<String> = counted.iter().map(|(name, _)| format!("{CPU}.{name}")).collect();
        let names: Vec<&str> = counted.iter().map(|(name, _)| *name).collect();
        return Err(insufficient(fields, VM, &format!("{text} as {}", names.join(" × ")), &provided.to_string()));
    }
    Ok(())
}

/// One factor of the number of vCPUs.
type Factor = (&'static str, fn(&Cpu) -> u32);

/// What counts as vCPUs depends on where the preference would put them.
fn counted(topology: &Topology) -> &'static [Factor] {
    const SOCKETS: Factor = ("sockets", |cpu| cpu.sockets);
    const CORES: Factor = ("cores", |cpu| cpu.cores);
    const THREADS: Factor = ("threads", |cpu| cpu.threads);
    match topology {
        Topology::Threads => &[THREADS],
        Topology::Cores => &[CORES],
        Topology::Sockets => &[SOCKETS],
        Topology::Any => &[CORES, SOCKETS, THREADS],
        Topology::Spread(spread) => match spread.across {
            SpreadAcross::SocketsCores => &[SOCKETS, CORES],
            SpreadAcross::CoresThreads => &[CORES, THREADS],
            SpreadAcross::SocketsCoresThreads => &[SOCKETS, CORES, THREADS],
            SpreadAcross::Other(_) => &[],
        },
        Topology::Unknown => &[],
    }
}

fn memory(
    demand: &PreferenceRequirements,
    instancetype: Option<&VirtualMachineInstancetypeSpec>,
    spec: &VirtualMachineInstanceSpec,
) -> Result<(), Conflicts> {
    let Some(demanded) = demand.memory.as_ref().map(|memory| &memory.guest) else { return Ok(()) };
    let (field, provider) = match instancetype {
        Some(_) => ("spec.instancetype", INSTANCETYPE),
        None => ("spec.template.spec.domain.memory", VM),
    };
    let provided = spec.domain.memory.as_ref().and_then(|memory| memory.guest.as_ref()).or(instancetype.map(|i| &i.memory.guest));
    if provided.is_some_and(|provided| provided >= demanded) || demanded.is_zero() {
        return Ok(());
    }
    let provided = provided.map_or_else(|| "none".to_owned(), ToString::to_string);
    Err(insufficient([field], provider, &format!("{demanded} of memory"), &provided))
}

fn architecture(demand: &PreferenceRequirements, spec: &VirtualMachineInstanceSpec) -> Result<(), Conflicts> {
    match &demand.architecture {
        Some(demanded) if *demanded != spec.architecture => {
            Err(insufficient(["spec.template.spec.architecture"], VM, &format!("the architecture {demanded}"), &spec.architecture))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn fields(instancetype: Option<Value>, preference: Value, spec: Value) -> Vec<String> {
        let instancetype: Option<VirtualMachineInstancetypeSpec> = instancetype.map(|i| from_value(i).unwrap());
        let preference: VirtualMachinePreferenceSpec = from_value(preference).unwrap();
        match check(instancetype.as_ref(), Some(&preference), &from_value(spec).unwrap()) {
            Ok(()) => vec![],
            Err(conflicts) => {
                assert!(conflicts.to_string().contains("the preference demands"), "{conflicts}");
                conflicts.0.iter().map(|c| c.field().trim_start_matches("spec.template.spec.").to_owned()).collect()
            }
        }
    }

    #[test]
    fn vcpus_are_counted_where_the_preference_puts_them() {
        let cpu =
            |sockets: u32, cores: u32, threads: u32| json!({"domain": {"cpu": {"sockets": sockets, "cores": cores, "threads": threads}}});
        let all: &[&str] = &["domain.cpu.cores", "domain.cpu.sockets", "domain.cpu.threads"];
        for (topology, across, spec, want) in [
            (None, None, cpu(4, 1, 1), &[] as &[&str]),
            (None, None, cpu(1, 4, 1), &["domain.cpu.sockets"]),
            (Some("cores"), None, cpu(4, 1, 1), &["domain.cpu.cores"]),
            (Some("preferThreads"), None, cpu(4, 1, 1), &["domain.cpu.threads"]),
            (Some("any"), None, cpu(2, 2, 1), &[]),
            (Some("any"), None, cpu(1, 2, 1), all),
            (Some("any"), None, cpu(1 << 31, 2, 1), &[]),
            (Some("spread"), None, cpu(2, 1, 2), &["domain.cpu.sockets", "domain.cpu.cores"]),
            (Some("spread"), Some("CoresThreads"), cpu(4, 1, 2), &["domain.cpu.cores", "domain.cpu.threads"]),
            (Some("spread"), Some("SocketsCoresThreads"), cpu(2, 1, 2), &[]),
            (Some("spread"), Some("Elsewhere"), cpu(1, 1, 1), &[]),
            (None, None, json!({"domain": {}}), &["domain.cpu"]),
        ] {
            let preference = json!({
                "cpu": {"preferredCPUTopology": topology, "spreadOptions": {"across": across}}, "requirements": {"cpu": {"guest": 4}},
            });
            assert_eq!(fields(None, preference, spec.clone()), want, "{topology:?} {across:?} {spec}");
        }
        let demand = json!({"requirements": {"cpu": {"guest": 4}}});
        let instancetype = |guest: u32| Some(json!({"cpu": {"guest": guest}, "memory": {"guest": "1Gi"}}));
        assert_eq!(fields(instancetype(3), demand.clone(), json!({})), ["spec.instancetype"]);
        assert!(fields(instancetype(4), demand, json!({})).is_empty());
    }

    #[test]
    fn memory_and_architecture_are_demanded_too() {
        let memory = json!({"requirements": {"memory": {"guest": "2Gi"}}});
        let instancetype = || Some(json!({"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}));
        for (instancetype, spec, want) in [
            (None, json!({}), &["domain.memory"] as &[&str]),
            (None, json!({"domain": {"memory": {"guest": "2048Mi"}}}), &[]),
            (None, json!({"domain": {"memory": {"guest": "2047Mi"}}}), &["domain.memory"]),
            (instancetype(), json!({"domain": {"memory": {"guest": "2Gi"}}}), &[]),
            (instancetype(), json!({}), &["spec.instancetype"]),
        ] {
            assert_eq!(fields(instancetype, memory.clone(), spec.clone()), want, "{spec}");
        }
        let arch = json!({"requirements": {"architecture": "arm64"}});
        assert_eq!(fields(None, arch.clone(), json!({"architecture": "amd64"})), ["architecture"]);
        assert!(fields(None, arch, json!({"architecture": "arm64"})).is_empty());
    }
}
