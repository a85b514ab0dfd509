//! Short VMIs and facts for the tests of this room.

use kubevirt_api::v1::VirtualMachineInstance;
use serde_json::{Value, json};

use super::facts::{HostCpu, NumaCell, VolumeFacts};
use super::{ConvertError, Domain, Facts, convert};

/// A VMI on amd64 with memory, over whose `spec.domain` the given fields are laid.
#[allow(clippy::needless_pass_by_value)] // so that `json!` can stand at the call
pub(super) fn vmi(domain: Value) -> VirtualMachineInstance {
    with(json!({ "spec": { "domain": domain } }))
}

/// The same, with fields of the whole object.
pub(super) fn with(object: Value) -> VirtualMachineInstance {
    let mut vmi = json!({
        "metadata": { "name": "vm-a", "namespace": "lab", "uid": "u" },
        "spec": { "architecture": "amd64", "domain": { "memory": { "guest": "1Gi" }, "devices": {} } },
    });
    lay_over(&mut vmi, object);
    serde_json::from_value(vmi).unwrap()
}

fn lay_over(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (name, value) in above {
                lay_over(below.entry(name).or_insert(Value::Null), value);
            }
        }
        (below, above) => *below = above,
    }
}

/// A pod with the given CPUs for itself on a host of two cells with two cores of two threads each.
pub(super) fn facts(cpu_set: &[u32]) -> Facts {
    let core = |id: u32| [id, id + 10].map(|thread| HostCpu { id: thread, siblings: vec![id, id + 10] });
    let cell = |id: u32, cores: [u32; 2]| NumaCell { id, memory: 8 << 30, cpus: cores.into_iter().flat_map(core).collect() };
    let mut facts = Facts { cpu_set: cpu_set.to_vec(), numa_cells: vec![cell(0, [0, 1]), cell(1, [2, 3])], ..Facts::default() };
    facts.volumes.fallback = VolumeFacts { format: Some("qcow2".to_owned()), ..VolumeFacts::default() };
    facts
}

/// The domain of a VMI on an ordinary host.
pub(super) fn domain(fields: Value) -> Domain {
    convert(&vmi(fields), &facts(&[])).unwrap()
}

/// The error of a VMI on an ordinary host.
pub(super) fn error(object: Value) -> ConvertError {
    convert(&with(object), &facts(&[])).unwrap_err()
}
