//! Rules of a `VirtualMachine`.

use super::spec::Subject;
use super::{data_volumes, metadata, spec, vm_status, vmi};
use crate::admission::{Cause, Findings, Operation, Path, Reason, Request, live_update, mutate};
use crate::api::v1::{DomainSpec, VirtualMachine, VirtualMachineInstance, VirtualMachineRunStrategy, VirtualMachineSpec};
use crate::config::{ClusterConfig, Gate};
use crate::instancetype::{self, Conflict, requirements};

/// Told to who still sets `spec.running`.
const RUNNING_DEPRECATED: &str = "spec.running is deprecated, please use spec.runStrategy instead.";

/// Judges the defaulted object. Each step asks more than the one before, and the first with faults speaks for itself.
pub fn judge(vm: &VirtualMachine, old: Option<&VirtualMachine>, request: &Request, findings: &mut Findings) {
    // What is on its way out is not held up.
    if vm.metadata.deletion_timestamp.is_some() || request.operation == Operation::Delete {
        return;
    }
    run(&[completed, data_volumes::namespaces, vm_status::in_progress, vm_status::volume_requests], vm, old, request, findings);
    if findings.causes.is_empty() && vm.spec.running.is_some() {
        findings.warn(RUNNING_DEPRECATED);
    }
}

/// Judges a change of the status alone.
pub fn judge_status(vm: &VirtualMachine, old: Option<&VirtualMachine>, request: &Request, findings: &mut Findings) {
    run(&[vm_status::volume_requests, vm_status::in_progress], vm, old, request, findings);
}

type Step = fn(&VirtualMachine, Option<&VirtualMachine>, &Request, &mut Vec<Cause>);

fn run(steps: &[Step], vm: &VirtualMachine, old: Option<&VirtualMachine>, request: &Request, findings: &mut Findings) {
    for step in steps {
        step(vm, old, request, &mut findings.causes);
        if !findings.causes.is_empty() {
            return;
        }
    }
}

/// Judges the machine as its instance will be: with its instance type, its preference and the defaults.
fn completed(vm: &VirtualMachine, old: Option<&VirtualMachine>, request: &Request, causes: &mut Vec<Cause>) {
    let mut whole = vm.clone();
    let applied = match instancetype::apply_to_vm(&mut whole, &instancetype::Objects(request.cluster)) {
        Ok(applied) => applied,
        Err(conflicts) => {
            causes.extend(conflicts.0.iter().map(Cause::from));
            return;
        }
    };
    if let Some(template) = &mut whole.spec.template {
        if let Err(cause) = mutate::vmi::spec_defaults(&mut template.spec, request.config) {
            causes.push(Cause { field: cause.field.replacen("spec", "spec.template.spec", 1), ..cause });
            return;
        }
        let demands = requirements::check(applied.instancetype.as_ref(), applied.preference.as_ref(), &template.spec);
        if let Err(conflicts) = demands {
            causes.extend(conflicts.0.iter().map(Cause::from));
            return;
        }
        if request.operation == Operation::Create {
            spec::discontinued_bindings(&Path::new("spec.template.spec"), &template.spec, causes);
            if !causes.is_empty() {
                return;
            }
        }
    }
    vm_spec(&Path::new("spec"), &whole.spec, request.config, request.is_component(), causes);
    // What is not there yet may bring what is missing, and what runs already is not held up by what is asked of new
    // machines.
    let settled =
        vm.spec.instancetype.is_some() == applied.instancetype.is_some() && vm.spec.preference.is_some() == applied.preference.is_some();
    let known = old.is_some_and(|old| old.spec.template == vm.spec.template);
    if causes.is_empty() && settled && !known {
        first_instance(&whole, request, causes);
    }
}

/// Judges the instance that the machine will make, so that its author hears now what would keep it from starting.
fn first_instance(vm: &VirtualMachine, request: &Request, causes: &mut Vec<Cause>) {
    let Some(template) = &vm.spec.template else { return };
    let mut vmi = VirtualMachineInstance { metadata: template.metadata.clone(), spec: template.spec.clone(), ..Default::default() };
    vmi.metadata.name.clone_from(&vm.metadata.name);
    vmi.metadata.namespace.clone_from(&vm.metadata.namespace);
    if mutate::vmi(&mut vmi, request.config, request.seed).is_ok() {
        // A machine that does not run yet may be told later how much memory it has, by its instance type at best.
        let waits = vm.spec.running == Some(false) || vm.spec.run_strategy == Some(VirtualMachineRunStrategy::Halted);
        let may_wait = |cause: &Cause| waits && cause.reason == Reason::Required && cause.field == "spec.domain.memory.guest";
        let found = vmi::create(&vmi, request.config, request.is_component()).into_iter().filter(|cause| !may_wait(cause));
        causes.extend(found.map(|cause| Cause { field: format!("spec.template.{}", cause.field), ..cause }));
    }
}

impl From<&Conflict> for Cause {
    fn from(conflict: &Conflict) -> Self {
        Self::invalid(conflict.field(), conflict.to_string())
    }
}

/// Judges the specification of a machine, whose template has its defaults.
pub(crate) fn vm_spec(at: &Path, vm: &VirtualMachineSpec, config: &ClusterConfig, component: bool, causes: &mut Vec<Cause>) {
    let Some(template) = &vm.template else {
        causes.push(Cause::required(at.key("template"), "nothing says what the machine's instances are like; give a template"));
        return;
    };
    let meta = at.key("template.metadata");
    metadata::judge(&meta, &template.metadata, config, component, causes);
    spec::grace_annotations(&meta, &template.spec, template.metadata.annotations.as_ref(), config, causes);
    let below = at.key("template.spec");
    spec::judge(&Subject { at: &below, spec: &template.spec, config }, causes);
    data_volumes::templates(at, vm, causes);
    run_strategy(at, vm, config, causes);
    if config.live_update() {
        growing(&below, &template.spec.domain, causes);
        let most = template.spec.domain.memory.as_ref().and_then(|memory| memory.max_guest.as_ref());
        if most.is_some()
            && let Err(why) = live_update::memory(&template.spec, most)
        {
            causes.push(Cause::invalid(below.key("domain.memory.guest"), why));
        }
    }
}

fn run_strategy(at: &Path, vm: &VirtualMachineSpec, config: &ClusterConfig, causes: &mut Vec<Cause>) {
    match (vm.running, &vm.run_strategy) {
        (Some(_), Some(_)) => {
            causes.push(Cause::invalid(at.key("running"), "running contradicts runStrategy; leave running out, which is deprecated"));
        }
        (None, None) => {
            causes
                .push(Cause::invalid(at.key("running"), "nothing says when the machine runs; give runStrategy, such as Always or Halted"));
        }
        _ => {}
    }
    let at = at.key("runStrategy");
    match &vm.run_strategy {
        Some(VirtualMachineRunStrategy::WaitAsReceiver) if !config.enabled(Gate::DecentralizedLiveMigration) => {
            let message = "WaitAsReceiver needs the feature gate DecentralizedLiveMigration, which is off; take another strategy";
            causes.push(Cause::invalid(at, message));
        }
        Some(strategy) if !strategy.is_known() => {
            let message = format!("{:?} is no strategy; take one of {}", strategy.as_str(), VirtualMachineRunStrategy::VALUES.join(", "));
            causes.push(Cause::invalid(at, message));
        }
        _ => {}
    }
}

fn growing(at: &Path, domain: &DomainSpec, causes: &mut Vec<Cause>) {
    // What the rules of the template say as well, but for machines whose instances can be changed.
    let Some(cpu) = &domain.cpu else { return };
    let told = causes.iter().any(|cause| cause.field.ends_with("domain.cpu.sockets"));
    if cpu.sockets != 0 && cpu.max_sockets != 0 && cpu.sockets > cpu.max_sockets && !told {
        let message = format!("{} sockets are more than maxSockets, which is {}", cpu.sockets, cpu.max_sockets);
        causes.push(Cause::invalid(at.key("domain.cpu.sockets"), message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::{Seed, review};
    use serde_json::{Value, json};

    fn fields(settings: Value, spec: Value) -> (Vec<String>, Vec<String>) {
        let config = ClusterConfig::new(&serde_json::from_value(settings).unwrap());
        let object = json!({"kind": "VirtualMachine", "metadata": {"name": "a", "namespace": "n"}, "spec": spec});
        let verdict = review(&Request {
            kind: "VirtualMachine",
            operation: Operation::Create,
            config: &config,
            object: &object,
            old: None,
            user: "me",
            user_node: None,
            namespace: "kubevirt",
            cluster: &[],
            seed: Seed(0),
            now: jiff::Timestamp::UNIX_EPOCH,
        });
        (verdict.causes.into_iter().map(|c| c.field).collect(), verdict.warnings)
    }

    #[test]
    fn a_machine_runs_by_one_strategy() {
        let with = |running: Value, strategy: Value| json!({"running": running, "runStrategy": strategy, "template": {"spec": {"domain": {"devices": {}, "memory": {"guest": "1Gi"}}}}});
        for (spec, wanted) in [
            (with(json!(null), json!("Always")), &[][..]),
            (with(json!(true), json!("Always")), &["spec.running"]),
            (with(json!(null), json!(null)), &["spec.running"]),
            (with(json!(null), json!("Sometimes")), &["spec.runStrategy"]),
            (with(json!(null), json!("WaitAsReceiver")), &["spec.runStrategy"]),
        ] {
            assert_eq!(fields(json!({}), spec.clone()).0, wanted, "{spec}");
        }
        assert_eq!(fields(json!({}), with(json!(true), json!(null))), (vec![], vec![RUNNING_DEPRECATED.to_owned()]));
    }

    #[test]
    fn a_machine_is_judged_as_its_instance_will_be() {
        let with = |mut domain: Value| {
            domain["devices"] = json!({});
            json!({"runStrategy": "Halted", "template": {"spec": {"domain": domain}}})
        };
        for (settings, spec, wanted) in [
            (json!({}), json!({"runStrategy": "Halted"}), &["spec.template"][..]),
            (json!({}), with(json!({"machine": {"type": "pc"}})), &["spec.template.spec.domain.machine.type"]),
            (json!({"network": {"defaultNetworkInterface": "slirp"}}), with(json!({})), &["spec.template.spec.domain.devices.interfaces"]),
            (json!({}), with(json!({"cpu": {"sockets": 2, "maxSockets": 1}})), &["spec.template.spec.domain.cpu.sockets"]),
            (json!({}), with(json!({"memory": {"guest": "2Gi", "maxGuest": "1Gi"}})), &["spec.template.spec.domain.memory.guest"]),
        ] {
            assert_eq!(fields(settings, spec.clone()).0, wanted, "{spec}");
        }
    }

    #[test]
    fn a_claim_that_takes_memory_dumps_is_no_disk() {
        let with = |name: &str| {
            json!({"runStrategy": "Always", "template": {"spec": {
                "domain": {"devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}, "memory": {"guest": "1Gi"}},
                "volumes": [{"name": "root", "containerDisk": {"image": "i"}}, {"name": name, "memoryDump": {"claimName": name, "hotpluggable": true}}],
            }}})
        };
        // a claim may have a name that no disk could have
        for name in ["dump", "a.claim"] {
            assert_eq!(fields(json!({}), with(name)), (vec![], vec![]), "{name}");
        }
    }
}
