//! Questions about a VMI that several parts of its pod ask.

use std::collections::BTreeSet;

use crate::api::Quantity;
use crate::api::names;
use crate::api::v1::{Cpu, Gpu, HostDevice, Interface, KernelBootContainer, LaunchSecurity, Network, VirtualMachineInstance, Volume};

/// The value of an annotation.
pub(super) fn annotation<'a>(vmi: &'a VirtualMachineInstance, key: &str) -> Option<&'a str> {
    vmi.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

/// The value of a label.
pub(super) fn label<'a>(vmi: &'a VirtualMachineInstance, key: &str) -> Option<&'a str> {
    vmi.metadata.labels.as_ref()?.get(key).map(String::as_str)
}

/// Whether the launcher runs as an ordinary user. Admission writes the user into the status; the annotation is how
/// old releases did it.
pub(super) fn non_root(vmi: &VirtualMachineInstance) -> bool {
    vmi.status.runtime_user != 0 || annotation(vmi, names::DEPRECATED_NON_ROOT_VMI_ANNOTATION).is_some()
}

/// Whether every vCPU has a CPU of its own.
pub(super) fn dedicated_cpus(vmi: &VirtualMachineInstance) -> bool {
    vmi.spec.domain.cpu.as_ref().is_some_and(|cpu| cpu.dedicated_cpu_placement)
}

/// Whether the user asks for the QoS class `Guaranteed`: requests and limits of CPU and memory are the same.
/// A memory limit alone counts, since the request will be made equal to it.
pub(super) fn guaranteed(vmi: &VirtualMachineInstance) -> bool {
    let resources = &vmi.spec.domain.resources;
    let requested = |name: &str| resources.requests.get(name).filter(|q| !q.is_zero());
    let limited = |name: &str| resources.limits.get(name).filter(|q| !q.is_zero());
    let memory = match (requested("memory"), limited("memory")) {
        (None, limit) => limit.is_some(),
        (request, limit) => request == limit,
    };
    memory && requested("cpu").is_some() && requested("cpu") == limited("cpu")
}

/// Whether the pod has to be one whose CPUs and memory are its own.
pub(super) fn exclusive(vmi: &VirtualMachineInstance) -> bool {
    dedicated_cpus(vmi) || guaranteed(vmi)
}

/// Sockets × cores × threads, where what is not given counts as one; 0 if nothing is given.
pub(super) fn vcpus(cpu: &Cpu) -> i64 {
    [cpu.cores, cpu.sockets, cpu.threads]
        .into_iter()
        .filter(|n| *n != 0)
        .fold(0u32, |product, n| if product == 0 { n } else { product.wrapping_mul(n) })
        .into()
}

/// IO threads that get CPUs of their own.
pub(super) fn supplemental_io_threads(vmi: &VirtualMachineInstance) -> u32 {
    vmi.spec.domain.io_threads.as_ref().and_then(|t| t.supplemental_pool_thread_count).unwrap_or(0)
}

/// The requested memory; zero if there is no request.
pub(super) fn requested_memory(vmi: &VirtualMachineInstance) -> Quantity {
    vmi.spec.domain.resources.requests.get("memory").cloned().unwrap_or_default()
}

/// Whether the guest gets a device of the host by VFIO, so that all its memory is pinned.
pub(super) fn has_vfio(vmi: &VirtualMachineInstance) -> bool {
    let devices = &vmi.spec.domain.devices;
    !devices.host_devices.is_empty() || !devices.gpus.is_empty() || has_sriov(&devices.interfaces)
}

/// Whether an interface is a virtual function of a network card.
pub(super) fn has_sriov(interfaces: &[Interface]) -> bool {
    interfaces.iter().any(|i| i.sriov.is_some())
}

fn launch_security(vmi: &VirtualMachineInstance) -> Option<&LaunchSecurity> {
    vmi.spec.domain.launch_security.as_ref()
}

/// AMD's encrypted guests, of whatever generation.
pub(super) fn is_sev(vmi: &VirtualMachineInstance) -> bool {
    launch_security(vmi).is_some_and(|l| l.sev.is_some() || l.snp.is_some())
}

/// AMD's encrypted guests whose registers are encrypted as well.
pub(super) fn is_sev_es(vmi: &VirtualMachineInstance) -> bool {
    launch_security(vmi).and_then(|l| l.sev.as_ref()?.policy.as_ref()?.encrypted_state).unwrap_or(false)
}

/// AMD's encrypted guests with integrity.
pub(super) fn is_sev_snp(vmi: &VirtualMachineInstance) -> bool {
    launch_security(vmi).is_some_and(|l| l.snp.is_some())
}

/// Intel's encrypted guests.
pub(super) fn is_tdx(vmi: &VirtualMachineInstance) -> bool {
    launch_security(vmi).is_some_and(|l| l.tdx.is_some())
}

/// IBM's encrypted guests.
pub(super) fn is_secure_execution(vmi: &VirtualMachineInstance) -> bool {
    launch_security(vmi).is_some() && vmi.spec.architecture == "s390x"
}

/// Whether there is a TPM.
pub(super) fn has_tpm(vmi: &VirtualMachineInstance) -> bool {
    vmi.spec.domain.devices.tpm.as_ref().is_some_and(|tpm| tpm.enabled != Some(false))
}

/// Whether a container brings the kernel.
pub(super) fn kernel_boot(vmi: &VirtualMachineInstance) -> Option<&KernelBootContainer> {
    vmi.spec.domain.firmware.as_ref()?.kernel_boot.as_ref()?.container.as_ref()
}

/// Whether a GPU is one of those that a resource claim provides, not a device plugin.
pub(super) fn claimed_gpu(gpu: &Gpu) -> bool {
    gpu.device_name.is_empty() && has_claim(&gpu.claim_name, &gpu.request_name)
}

/// Whether a host device is one of those that a resource claim provides, not a device plugin.
pub(super) fn claimed_device(device: &HostDevice) -> bool {
    device.device_name.is_empty() && has_claim(&device.claim_name, &device.request_name)
}

/// Whether a claim is named at all.
pub(super) fn has_claim(claim: &str, request: &str) -> bool {
    !claim.is_empty() || !request.is_empty()
}

/// Whether the network is the pod's own, as Multus or as the cluster sets it up.
pub(super) fn is_secondary_multus(network: &Network) -> bool {
    network.multus.as_ref().is_some_and(|m| !m.default)
}

/// The names of the volumes that are attached while the guest runs, and so are no part of its pod.
pub(super) fn hotplugged(vmi: &VirtualMachineInstance) -> BTreeSet<&str> {
    let attached = vmi.status.volume_status.iter().filter(|s| s.hotplug_volume.is_some()).map(|s| s.name.as_str());
    let waiting = vmi.spec.volumes.iter().filter(|v| is_hotpluggable(v)).map(|v| v.name.as_str());
    attached.chain(waiting).collect()
}

fn is_hotpluggable(volume: &Volume) -> bool {
    volume.data_volume.as_ref().is_some_and(|d| d.hotpluggable) || volume.persistent_volume_claim.as_ref().is_some_and(|c| c.hotpluggable)
}
