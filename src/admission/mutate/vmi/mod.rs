//! Defaults of a `VirtualMachineInstance`.

mod architecture;
mod hotplug;
mod hyperv;
mod network;
mod objects;
mod presets;
pub(super) mod spec;

pub(crate) use hyperv::{REQUIRE, VMX};
pub use spec::{attachments, defaults as spec_defaults};

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::admission::{Cause, Findings, Operation, Request, Seed};
use crate::api::names;
use crate::api::v1::{VirtualMachineInstance, VirtualMachineInstancePhase, VirtualMachineInstancePhaseTransitionTimestamp};
use crate::config::{ClusterConfig, Gate};

/// The user that guests run as unless the cluster lets them be root.
const NONROOT_USER: u64 = 107;
/// The layout of the PCI bus of new guests.
const PCI_TOPOLOGY: &str = "v3";
const PRESETS_DEPRECATED: &str = "kubevirt.io/v1 VirtualMachineInstancePresets is now deprecated and will be removed in v2.";

/// Fills in what the object leaves open.
pub fn admit(vmi: &mut VirtualMachineInstance, old: Option<&VirtualMachineInstance>, request: &Request, findings: &mut Findings) {
    match (request.operation, old) {
        (Operation::Create, _) => {
            if let Err(cause) = create(vmi, request, findings) {
                findings.deny(cause);
            }
        }
        // The status belongs to KubeVirt's components: what others write there is put back.
        (Operation::Update, Some(old)) if !request.is_component() => vmi.status = old.status.clone(),
        _ => {}
    }
}

fn create(vmi: &mut VirtualMachineInstance, request: &Request, findings: &mut Findings) -> Result<(), Cause> {
    presets::apply(vmi, request.cluster)?;
    defaults(vmi, request.config, request.seed)?;
    // An instance that a controller makes has been through this once already.
    let finalizers = vmi.metadata.finalizers.get_or_insert_default();
    if !finalizers.iter().any(|f| f == names::VIRTUAL_MACHINE_INSTANCE_FINALIZER) {
        finalizers.push(names::VIRTUAL_MACHINE_INSTANCE_FINALIZER.to_owned());
    }
    vmi.status.phase = VirtualMachineInstancePhase::Pending;
    let times = &mut vmi.status.phase_transition_timestamps;
    if !times.iter().any(|t| t.phase == VirtualMachineInstancePhase::Pending) {
        times.push(VirtualMachineInstancePhaseTransitionTimestamp {
            phase: VirtualMachineInstancePhase::Pending,
            phase_transition_timestamp: Some(Time(request.now)),
        });
    }
    if vmi.metadata.annotations.iter().flatten().any(|(key, _)| key.contains("virtualmachinepreset")) {
        findings.warn(PRESETS_DEPRECATED);
    }
    Ok(())
}

/// Everything that a new instance gets whoever creates it.
pub(super) fn defaults(vmi: &mut VirtualMachineInstance, config: &ClusterConfig, seed: Seed) -> Result<(), Cause> {
    spec::defaults(&mut vmi.spec, config)?;
    architecture::features(&mut vmi.spec);
    objects::fill(&mut vmi.spec, seed);
    hyperv::complete(&mut vmi.spec);
    architecture::devices(&mut vmi.spec);
    spec::cpu_model(&mut vmi.spec, config);
    hotplug::record(vmi);
    if vmi.spec.architecture != "arm64" && config.live_update() {
        hotplug::limits(&mut vmi.spec, config);
    }
    annotate(vmi, config);
    if !config.enabled(Gate::Root) {
        vmi.status.runtime_user = NONROOT_USER;
    }
    Ok(())
}

fn annotate(vmi: &mut VirtualMachineInstance, config: &ClusterConfig) {
    let pcie = spec::has_pcie_hotplug(&vmi.spec);
    let isolated = vmi.spec.domain.cpu.as_ref().is_some_and(|cpu| cpu.isolate_emulator_thread);
    let tdx = vmi.spec.domain.launch_security.as_ref().is_some_and(|l| l.tdx.is_some());
    let annotations = &mut vmi.metadata.annotations;
    if pcie {
        pci_topology(annotations);
    }
    if isolated && config.emulator_thread_to_even_parity() && config.enabled(Gate::AlignCpus) {
        annotations.get_or_insert_default().insert(names::EMULATOR_THREAD_COMPLETE_TO_EVEN_PARITY.to_owned(), String::new());
    }
    let socket = config.tdx_quote_socket();
    if tdx && !socket.is_empty() {
        annotations.get_or_insert_default().insert(names::QGS_SOCKET_PATH_ANNOTATION.to_owned(), socket.to_owned());
    }
}

/// Marks which layout of the PCI bus the guest is made with, so that it keeps it for life.
pub(super) fn pci_topology(annotations: &mut Option<BTreeMap<String, String>>) {
    let key = names::PCI_TOPOLOGY_VERSION_ANNOTATION.to_owned();
    annotations.get_or_insert_default().entry(key).or_insert_with(|| PCI_TOPOLOGY.to_owned());
}
