//! What passes the gate can be started: neither the pod nor the domain refuses it for what it says itself.
//!
//! Both are made here as they will be in the cluster, on a host that has everything. What they lack of this cluster
//! or of the node is no fault of the object: it may be there when the guest starts.

use super::Cause;
use crate::api::v1::VirtualMachineInstance;
use crate::config::ClusterConfig;
use crate::domain::facts::{Efi, Firmware, HostCpu, NumaCell, Rom, VolumeFacts, Volumes};
use crate::domain::{self, Facts};
use crate::pod;

/// The CPUs of the imagined host, more than any guest has.
const CPUS: u32 = 1024;
const GIBIBYTE: u64 = 1 << 30;

/// Judges an instance that has its defaults.
pub(super) fn judge(vmi: &VirtualMachineInstance, config: &ClusterConfig, causes: &mut Vec<Cause>) {
    if let Err(error) = domain::convert(vmi, &host(vmi))
        && !error.depends_on_host()
    {
        causes.push(Cause::invalid(error.field, error.fault.to_string()));
        return;
    }
    if let Err(error) = pod::render(vmi, config, &pod::Context::default())
        && is_own_fault(&error)
    {
        causes.push(Cause::invalid(error.field(), error.to_string()));
    }
}

/// Whether the object itself is at fault, and not what else there is in the cluster, or is not yet.
fn is_own_fault(error: &pod::Error) -> bool {
    use pod::Error;
    match error {
        Error::NoSource { .. } | Error::HookSidecars { .. } | Error::LogVerbosity { .. } => true,
        // A name is generated after admission; claims, devices and plugins come and go.
        Error::NoName { .. }
        | Error::ClaimNotFound { .. }
        | Error::NoStateClaim { .. }
        | Error::DeviceNotPermitted { .. }
        | Error::UnknownBinding { .. }
        | Error::SelinuxContext { .. }
        | Error::NoImageDigest { .. }
        | Error::NoHostModel => false,
    }
}

fn host(vmi: &VirtualMachineInstance) -> Facts {
    let efi = || Some(Efi { code: "/code.fd".to_owned(), vars: "/vars.fd".to_owned() });
    let rom = || Some(Rom { code: "/code.fd".to_owned(), secure: false });
    let dedicated = vmi.spec.domain.cpu.as_ref().is_some_and(|cpu| cpu.dedicated_cpu_placement);
    let cpus = if dedicated { CPUS } else { 0 };
    Facts {
        cpu_set: (0..cpus).collect(),
        numa_cells: vec![NumaCell {
            id: 0,
            memory: 64 * 1024 * GIBIBYTE,
            cpus: (0..cpus).map(|id| HostCpu { id, siblings: Vec::new() }).collect(),
        }],
        firmware: Firmware {
            auto_selection: false,
            plain: efi(),
            secure_boot: efi(),
            sev: efi(),
            snp: rom(),
            tdx: rom(),
            tdx_secure_boot: rom(),
        },
        volumes: Volumes {
            fallback: VolumeFacts { format: Some("qcow2".to_owned()), virtual_size: Some(GIBIBYTE), ..VolumeFacts::default() },
            ..Volumes::default()
        },
        ..Facts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn fields(annotations: Value) -> Vec<String> {
        let value = json!({
            "metadata": {"name": "a", "namespace": "n", "annotations": annotations},
            "spec": {"architecture": "amd64", "domain": {"devices": {}, "memory": {"guest": "64Mi"}, "machine": {"type": "q35"}, "cpu": {"cores": 1, "sockets": 1, "threads": 1}}}
        });
        let mut causes = Vec::new();
        judge(&serde_json::from_value(value).unwrap(), &ClusterConfig::new(&Default::default()), &mut causes);
        causes.into_iter().map(|c| c.field).collect()
    }

    #[test]
    fn what_the_pod_refuses_is_refused_here() {
        assert_eq!(fields(json!({})), Vec::<String>::new());
        assert_eq!(fields(json!({"hooks.kubevirt.io/hookSidecars": "not a list"})), ["metadata.annotations"]);
    }
}
