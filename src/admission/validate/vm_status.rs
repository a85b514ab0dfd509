//! What a virtual machine's status holds up: snapshots, restores, and requests to plug in volumes.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::hotplug;
use super::spec::{self, Subject};
use crate::admission::{Cause, Operation, Path, Request};
use crate::api::v1::{AddVolumeOptions, VirtualMachine, VirtualMachineInstance, VirtualMachineRunStrategy, VirtualMachineSpec, Volume};
use crate::lifecycle::volumes::apply_request;

/// While a snapshot or a restore is being made, what it hangs on stays.
pub(crate) fn in_progress(vm: &VirtualMachine, old: Option<&VirtualMachine>, request: &Request, causes: &mut Vec<Cause>) {
    let Some(old) = old.filter(|_| request.operation == Operation::Update) else { return };
    if let Some(snapshot) = &vm.status.snapshot_in_progress {
        let volumes = |vm: &'_ VirtualMachine| vm.spec.template.as_ref().map(|t| t.spec.volumes.clone());
        if volumes(vm) != volumes(old) {
            causes.push(Cause::not_supported(
                "spec",
                format!("volumes stay as they are until the snapshot {snapshot:?} is complete; try again then"),
            ));
        } else if !same_run(&vm.spec, &old.spec) {
            causes.push(Cause::not_supported(
                "spec",
                format!("the run strategy stays as it is until the snapshot {snapshot:?} is complete; try again then"),
            ));
        }
    }
    if let (Some(restore), true) = (&vm.status.restore_in_progress, causes.is_empty())
        && strategy(&vm.spec) != strategy(&old.spec)
    {
        causes.push(Cause::not_supported(
            "spec",
            format!("the run strategy stays as it is until the restore {restore:?} is complete; try again then"),
        ));
    }
}

fn same_run(new: &VirtualMachineSpec, old: &VirtualMachineSpec) -> bool {
    match ((new.running, old.running), (&new.run_strategy, &old.run_strategy)) {
        ((Some(new), Some(old)), _) => new == old,
        (_, (Some(new), Some(old))) => new == old,
        _ => false,
    }
}

/// When the machine runs; nothing where the two fields contradict each other.
fn strategy(spec: &VirtualMachineSpec) -> Option<VirtualMachineRunStrategy> {
    match (spec.running, &spec.run_strategy) {
        (Some(_), Some(_)) => None,
        (Some(true), None) => Some(VirtualMachineRunStrategy::Always),
        (None, Some(strategy)) => Some(strategy.clone()),
        _ => Some(VirtualMachineRunStrategy::Halted),
    }
}

const REQUESTS: Path = Path::new("status.volumeRequests");

/// Requests to plug in or take out volumes can be carried out, in the template and in the running instance.
pub(crate) fn volume_requests(vm: &VirtualMachine, _old: Option<&VirtualMachine>, request: &Request, causes: &mut Vec<Cause>) {
    let (Some(template), false) = (&vm.spec.template, vm.status.volume_requests.is_empty()) else { return };
    let mut instance = vm.status.ready.then(|| running(vm, request.cluster)).flatten();
    let mut spec = template.spec.clone();
    let (mut adds, mut removes) = (Vec::new(), Vec::new());
    for asked in &vm.status.volume_requests {
        match (&asked.add_volume_options, &asked.remove_volume_options) {
            (Some(add), None) => {
                if adds.contains(&&add.name) {
                    causes.push(Cause::invalid(REQUESTS, format!("{:?} is asked to be plugged in twice; keep one request", add.name)));
                }
                adds.push(&add.name);
                hotplug::pluggable(&REQUESTS, add.disk.as_ref(), &add.name, causes);
                collides(add, &template.spec.volumes, "template", causes);
                if let Some(instance) = &instance {
                    collides(add, &instance.spec.volumes, "running instance", causes);
                }
            }
            (None, Some(remove)) => {
                if removes.contains(&&remove.name) {
                    causes.push(Cause::invalid(REQUESTS, format!("{:?} is asked to be taken out twice; keep one request", remove.name)));
                }
                removes.push(&remove.name);
            }
            _ => causes.push(Cause::invalid(REQUESTS, "a request does one thing; give either addVolumeOptions or removeVolumeOptions")),
        }
        if !causes.is_empty() {
            return;
        }
        apply_request(&mut spec, asked);
        if let Some(instance) = &mut instance {
            apply_request(&mut instance.spec, asked);
        }
    }
    let at = Path::new("spec.template.spec");
    spec::judge(&Subject { at: &at, spec: &spec, config: request.config }, causes);
    if let (Some(instance), true) = (&instance, causes.is_empty()) {
        spec::judge(&Subject { at: &at, spec: &instance.spec, config: request.config }, causes);
        let moving = instance.status.migration_state.as_ref().is_some_and(|m| m.start_timestamp.is_some() && m.end_timestamp.is_none());
        if moving && causes.is_empty() {
            causes.push(Cause::not_supported(
                "spec",
                "volumes cannot be plugged in or taken out while the instance migrates; try again then",
            ));
        }
    }
}

fn running(vm: &VirtualMachine, cluster: &[Value]) -> Option<VirtualMachineInstance> {
    let instances = cluster.iter().filter(|object| object.get("kind").and_then(Value::as_str) == Some("VirtualMachineInstance"));
    let mut instances = instances.filter_map(|object| VirtualMachineInstance::deserialize(object).ok());
    let same = |vmi: &VirtualMachineInstance| vmi.metadata.name == vm.metadata.name && vmi.metadata.namespace == vm.metadata.namespace;
    instances.find(|vmi| same(vmi) && vmi.metadata.deletion_timestamp.is_none())
}

fn collides(add: &AddVolumeOptions, volumes: &[Volume], whose: &str, causes: &mut Vec<Cause>) {
    let source = add.volume_source.clone().unwrap_or_default();
    let mut asked = Volume { name: add.name.clone(), ..Volume::default() };
    match source.persistent_volume_claim {
        Some(claim) => asked.persistent_volume_claim = Some(claim),
        None => asked.data_volume = source.data_volume,
    }
    let by_name: BTreeMap<&str, &Volume> = volumes.iter().map(|volume| (volume.name.as_str(), volume)).collect();
    if by_name.get(add.name.as_str()).is_some_and(|volume| **volume != asked) {
        let message = format!("the {whose} has another volume {:?} already; take another name", add.name);
        causes.push(Cause::invalid(REQUESTS, message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Seed;
    use crate::config::ClusterConfig;
    use serde_json::json;

    type Step = fn(&VirtualMachine, Option<&VirtualMachine>, &Request, &mut Vec<Cause>);

    fn fields(step: Step, vm: &Value, old: Option<&Value>) -> Vec<String> {
        let config = ClusterConfig::new(&Default::default());
        let request = Request {
            kind: "VirtualMachine",
            operation: Operation::Update,
            config: &config,
            object: vm,
            old,
            user: "me",
            user_node: None,
            namespace: "kubevirt",
            cluster: &[],
            seed: Seed(0),
            now: jiff::Timestamp::UNIX_EPOCH,
        };
        let read = |value: &Value| -> VirtualMachine { serde_json::from_value(value.clone()).unwrap() };
        let mut causes = Vec::new();
        step(&read(vm), old.map(read).as_ref(), &request, &mut causes);
        causes.into_iter().map(|c| c.field).collect()
    }

    #[test]
    fn what_a_snapshot_hangs_on_stays() {
        let vm = |strategy: &str, volume: &str, status: Value| json!({"spec": {"runStrategy": strategy, "template": {"spec": {"domain": {"devices": {}}, "volumes": [{"name": volume}]}}}, "status": status});
        let (snapshot, restore) = (json!({"snapshotInProgress": "s"}), json!({"restoreInProgress": "r"}));
        for (new, old, wanted) in [
            (vm("Always", "a", snapshot.clone()), vm("Always", "a", json!({})), &[][..]),
            (vm("Always", "b", snapshot.clone()), vm("Always", "a", json!({})), &["spec"]),
            (vm("Halted", "a", snapshot), vm("Always", "a", json!({})), &["spec"]),
            (vm("Halted", "a", restore.clone()), vm("Always", "a", json!({})), &["spec"]),
            (vm("Always", "b", restore), vm("Always", "a", json!({})), &[]),
            (vm("Halted", "b", json!({})), vm("Always", "a", json!({})), &[]),
        ] {
            assert_eq!(fields(in_progress, &new, Some(&old)), wanted, "{new}");
        }
    }

    #[test]
    fn requests_can_be_carried_out() {
        let vm = |requests: Value| {
            json!({
                "spec": {"template": {"spec": {"domain": {"devices": {}, "memory": {"guest": "1Gi"}}, "architecture": "amd64"}}},
                "status": {"volumeRequests": requests}
            })
        };
        let add = |bus: &str| json!({"addVolumeOptions": {"name": "d", "disk": {"name": "d", "disk": {"bus": bus}}, "volumeSource": {"dataVolume": {"name": "d"}}}});
        let remove = json!({"removeVolumeOptions": {"name": "d"}});
        for (requests, wanted) in [
            (json!([add("scsi")]), &[][..]),
            (json!([add("sata")]), &["status.volumeRequests"]),
            (json!([add("scsi"), add("scsi")]), &["status.volumeRequests"]),
            (json!([remove, remove]), &["status.volumeRequests"]),
            (json!([{}]), &["status.volumeRequests"]),
        ] {
            assert_eq!(fields(volume_requests, &vm(requests.clone()), None), wanted, "{requests}");
        }
    }
}
