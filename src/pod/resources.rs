//! What the compute container asks for and is limited to: CPU, memory, huge pages, storage and devices.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ResourceClaim, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::api::Quantity;
use crate::api::names::{self, DEVICE_PREFIX};
use crate::api::selector;
use crate::api::v1::{Cpu, IoThreadsPolicy, Memory, VirtualMachineInstance};
use crate::config::{ClusterConfig, Gate};

use super::{Context, Error, settings, traits};

const CPU: &str = "cpu";
const MEMORY: &str = "memory";
const EPHEMERAL_STORAGE: &str = "ephemeral-storage";
/// What the launcher itself writes beside the guest's disks.
const EPHEMERAL_OVERHEAD: i128 = 50_000_000;
/// The limit in namespaces where a quota demands one, as a multiple of the request.
const MEMORY_LIMIT_RATIO: f64 = 2.0;

type Amounts = BTreeMap<String, Quantity>;

/// The resources in the making. What the user wrote wins over what is worked out, so the two are kept apart.
#[derive(Default)]
struct Draft {
    requests: Amounts,
    limits: Amounts,
    derived_requests: Amounts,
    derived_limits: Amounts,
    claims: Vec<ResourceClaim>,
}

/// The resources of the compute container.
pub(super) fn compute(
    vmi: &VirtualMachineInstance,
    config: &ClusterConfig,
    context: &Context,
    overhead: &Quantity,
) -> Result<ResourceRequirements, Error> {
    permitted_devices(vmi, config)?;
    let domain = &vmi.spec.domain;
    let mut draft = Draft { requests: domain.resources.requests.clone(), limits: domain.resources.limits.clone(), ..Draft::default() };
    draft.ephemeral_storage();
    draft.base_devices(vmi, config);
    // overcommit goes before the overhead: it is the guest's memory that may be more than what is there
    if traits::requested_memory(vmi).is_zero() {
        draft.guest_memory(domain.memory.as_ref(), config.memory_overcommit().into());
    }
    match domain.cpu.as_ref().filter(|cpu| cpu.dedicated_cpu_placement) {
        Some(cpu) => draft.dedicated_cpus(vmi, cpu),
        None => draft.shared_cpus(vmi, config.cpu_allocation_ratio(), limits_cpu(vmi, config, context)),
    }
    match domain.memory.as_ref().and_then(|m| m.hugepages.as_ref().map(|h| (m, h.page_size.as_str()))) {
        Some((memory, page_size)) => draft.huge_pages(memory, page_size, overhead),
        None => draft.overhead(domain.resources.overcommit_guest_overhead, overhead),
    }
    if context.quota.memory && !domain.resources.limits.contains_key(MEMORY) {
        draft.memory_limit(&context.namespace_labels);
    }
    draft.devices(vmi, config, context);
    Ok(draft.finish())
}

impl Draft {
    fn ephemeral_storage(&mut self) {
        let overhead = Quantity::from_units(EPHEMERAL_OVERHEAD);
        let request = self.requests.entry(EPHEMERAL_STORAGE.to_owned()).or_default();
        *request = request.plus(&overhead);
        if let Some(limit) = self.limits.get_mut(EPHEMERAL_STORAGE) {
            *limit = limit.plus(&overhead);
        }
    }

    fn base_devices(&mut self, vmi: &VirtualMachineInstance, config: &ClusterConfig) {
        let devices = &vmi.spec.domain.devices;
        let hardware = !config.allow_emulation();
        let virtio = devices.interfaces.iter().any(|i| matches!(i.model.as_str(), "" | "virtio"));
        for (wanted, device) in [
            (!devices.interfaces.is_empty() || devices.autoattach_pod_interface != Some(false), "tun"),
            (virtio && hardware, "vhost-net"),
            (hardware, settings::hypervisor_device(config)),
            (devices.autoattach_vsock == Some(true), "vhost-vsock"),
        ] {
            if wanted {
                self.limits.insert(format!("{DEVICE_PREFIX}/{device}"), Quantity::from_units(1));
            }
        }
    }

    fn guest_memory(&mut self, memory: Option<&Memory>, overcommit: i128) {
        if let Some(limit) = self.limits.get(MEMORY).filter(|limit| !limit.is_zero()) {
            self.requests.insert(MEMORY.to_owned(), limit.clone());
        }
        if self.requests.contains_key(MEMORY) {
            return;
        }
        let Some(memory) = memory else { return };
        let page = memory.hugepages.as_ref().and_then(|h| h.page_size.parse().ok());
        let Some(wanted) = memory.guest.clone().or(page).filter(|q| q.value() > 0) else { return };
        let request = match overcommit {
            100 | ..=0 => wanted,
            percent => wanted.with_value(wanted.value().saturating_mul(100) / percent),
        };
        self.requests.insert(MEMORY.to_owned(), request);
    }

    fn dedicated_cpus(&mut self, vmi: &VirtualMachineInstance, cpu: &Cpu) {
        let io_threads = i128::from(traits::supplemental_io_threads(vmi));
        match traits::vcpus(cpu) {
            0 => {
                let more = Quantity::from_bytes(io_threads);
                for amounts in [&mut self.limits, &mut self.requests] {
                    if let Some(amount) = amounts.get_mut(CPU) {
                        *amount = amount.plus(&more);
                    }
                }
            }
            vcpus => {
                let total = Quantity::from_bytes(i128::from(vcpus) + io_threads);
                self.limits.insert(CPU.to_owned(), total.clone());
                self.requests.insert(CPU.to_owned(), total);
            }
        }
        if cpu.isolate_emulator_thread {
            self.emulator_thread(vmi);
        }
        // CPUs are given away whole only to pods whose memory is limited to what they request
        if let Some(request) = self.requests.get(MEMORY) {
            self.limits.insert(MEMORY.to_owned(), request.clone());
        }
    }

    /// A CPU for QEMU's own thread. On a node that gives away whole cores only, two where one would make the sum odd.
    fn emulator_thread(&mut self, vmi: &VirtualMachineInstance) {
        let pooled = matches!(vmi.spec.domain.io_threads_policy, Some(IoThreadsPolicy::SupplementalPool));
        let pool = if pooled { i128::from(traits::supplemental_io_threads(vmi)) } else { 0 };
        let limit = self.limits.entry(CPU.to_owned()).or_default();
        let to_even = traits::annotation(vmi, names::EMULATOR_THREAD_COMPLETE_TO_EVEN_PARITY).is_some();
        let more = if to_even && (limit.value() + pool) % 2 == 0 { 2 } else { 1 };
        let more = Quantity::from_bytes(more);
        *limit = limit.plus(&more);
        if let Some(request) = self.requests.get_mut(CPU) {
            *request = request.plus(&more);
        }
    }

    fn shared_cpus(&mut self, vmi: &VirtualMachineInstance, ratio: i64, limited: bool) {
        let vcpus = vmi.spec.domain.cpu.as_ref().map_or(1, traits::vcpus);
        let total = vcpus + i64::from(traits::supplemental_io_threads(vmi));
        if total == 0 || ratio <= 0 {
            return;
        }
        let share = total as f64 / ratio as f64;
        let text = if share < 1.0 { format!("{}m", share * 1000.0) } else { share.to_string() };
        if let Ok(share) = text.parse() {
            self.derived_requests.insert(CPU.to_owned(), share);
        }
        if limited {
            self.derived_limits.insert(CPU.to_owned(), Quantity::from_units(total.into()));
        }
    }

    /// The guest lives in huge pages; of ordinary memory the pod needs the overhead, and what was requested beyond
    /// the guest's own.
    fn huge_pages(&mut self, memory: &Memory, page_size: &str, overhead: &Quantity) {
        let request = self.requests.get(MEMORY).cloned().unwrap_or_default();
        let limit = self.limits.get(MEMORY).cloned();
        let guest = memory.guest.as_ref();
        let beyond = |amount: &Quantity| match guest {
            Some(guest) if amount.value() > guest.value() => amount.minus(guest),
            _ => Quantity::default(),
        };
        let pages = guest.filter(|guest| request.value() > guest.value()).unwrap_or(&request);
        let name = format!("hugepages-{page_size}");
        self.derived_requests.insert(name.clone(), pages.clone());
        self.derived_limits.insert(name, pages.clone());
        self.requests.insert(MEMORY.to_owned(), beyond(&request).plus(overhead));
        if let Some(limit) = limit {
            self.limits.insert(MEMORY.to_owned(), beyond(&limit).plus(overhead));
        }
    }

    fn overhead(&mut self, left_out: bool, overhead: &Quantity) {
        let request = self.requests.entry(MEMORY.to_owned()).or_default();
        if !left_out {
            *request = request.plus(overhead);
        }
        if let Some(limit) = self.limits.get_mut(MEMORY) {
            *limit = limit.plus(overhead);
        }
    }

    fn memory_limit(&mut self, namespace_labels: &BTreeMap<String, String>) {
        let wanted = namespace_labels.get(names::AUTO_MEMORY_LIMITS_RATIO_LABEL).and_then(|text| text.parse().ok());
        let ratio = wanted.filter(|ratio: &f64| *ratio >= 1.0).unwrap_or(MEMORY_LIMIT_RATIO);
        let request = self.requests.get(MEMORY).cloned().unwrap_or_default();
        let limit = request.with_value((request.value() as f64 * ratio) as i128);
        self.derived_limits.insert(MEMORY.to_owned(), limit);
    }

    fn devices(&mut self, vmi: &VirtualMachineInstance, config: &ClusterConfig, context: &Context) {
        let spec = &vmi.spec;
        let devices = &spec.domain.devices;
        if !config.enabled(Gate::ExternalNetResourceInjection) {
            let multus = spec.networks.iter().filter(|n| n.multus.is_some());
            multus.filter_map(|n| context.network_resources.get(&n.name)).filter(|r| !r.is_empty()).for_each(|r| self.one_more(r));
        }
        for gpu in &devices.gpus {
            if !gpu.device_name.is_empty() && !traits::has_claim(&gpu.claim_name, &gpu.request_name) {
                self.one_more(&gpu.device_name);
            } else if traits::claimed_gpu(gpu) && config.enabled(Gate::GpusWithDra) {
                self.claim(&gpu.claim_name, &gpu.request_name);
            }
        }
        for device in &devices.host_devices {
            if !device.device_name.is_empty() && !traits::has_claim(&device.claim_name, &device.request_name) {
                self.one_more(&device.device_name);
            } else if traits::claimed_device(device) && config.enabled(Gate::HostDevicesWithDra) {
                self.claim(&device.claim_name, &device.request_name);
            }
        }
        if config.enabled(Gate::NetworkDevicesWithDra) {
            for claim in spec.networks.iter().filter_map(|n| n.resource_claim.as_ref()) {
                self.claim(&claim.claim_name, &claim.request_name);
            }
        }
        for (wanted, device) in [
            (traits::is_sev(vmi), "sev"),
            (traits::is_tdx(vmi), "tdx"),
            (devices.disks.iter().any(|d| d.lun.as_ref().is_some_and(|l| l.reservation)), "pr-helper"),
            (config.enabled(Gate::Iommufd), "iommufd"),
        ] {
            if wanted {
                self.one_more(&format!("{DEVICE_PREFIX}/{device}"));
            }
        }
    }

    /// One more of a device plugin's resource. Such a resource is always limited to what is requested.
    fn one_more(&mut self, resource: &str) {
        let one = Quantity::from_units(1);
        for (own, derived) in [(&self.requests, &mut self.derived_requests), (&self.limits, &mut self.derived_limits)] {
            let before = own.get(resource).or_else(|| derived.get(resource)).cloned().unwrap_or_default();
            derived.insert(resource.to_owned(), before.plus(&one));
        }
    }

    fn claim(&mut self, name: &str, request: &str) {
        let request = Some(request.to_owned()).filter(|r| !r.is_empty());
        self.claims.push(ResourceClaim { name: name.to_owned(), request });
    }

    fn finish(mut self) -> ResourceRequirements {
        self.derived_requests.extend(self.requests);
        self.derived_limits.extend(self.limits);
        ResourceRequirements {
            requests: Some(printed(self.derived_requests)),
            limits: Some(printed(self.derived_limits)),
            claims: Some(self.claims).filter(|c| !c.is_empty()),
        }
    }
}

/// Quantities as a pod holds them.
pub(super) fn printed<K: Into<String>>(
    amounts: impl IntoIterator<Item = (K, Quantity)>,
) -> BTreeMap<String, k8s_openapi::apimachinery::pkg::api::resource::Quantity> {
    let print = |q: Quantity| k8s_openapi::apimachinery::pkg::api::resource::Quantity(q.to_string());
    amounts.into_iter().map(|(name, amount)| (name.into(), print(amount))).collect()
}

/// Whether the CPU has to be limited although the user did not.
fn limits_cpu(vmi: &VirtualMachineInstance, config: &ClusterConfig, context: &Context) -> bool {
    if vmi.spec.domain.resources.limits.contains_key(CPU) {
        return false;
    }
    let selected = |s: &LabelSelector| selector::matches(s, &context.namespace_labels).unwrap_or(false);
    context.quota.cpu || config.spec().auto_cpu_limit_namespace_label_selector.as_ref().is_some_and(selected)
}

/// A device plugin's resource may be used only if the administrator lists it. Where there is no list at all, the
/// device plugins are somebody else's and nobody is asked.
fn permitted_devices(vmi: &VirtualMachineInstance, config: &ClusterConfig) -> Result<(), Error> {
    let Some(permitted) = config.permitted_host_devices() else { return Ok(()) };
    let known = |device: &str| {
        permitted.pci_host_devices.iter().any(|d| d.resource_name == device)
            || permitted.mediated_devices.iter().any(|d| d.resource_name == device)
            || permitted.usb.iter().any(|d| d.resource_name == device)
    };
    let devices = &vmi.spec.domain.devices;
    let gpus = devices.gpus.iter().enumerate().map(|(i, d)| ("gpus", i, &d.device_name, &d.claim_name, &d.request_name, Gate::GpusWithDra));
    let others = devices.host_devices.iter().enumerate();
    let others = others.map(|(i, d)| ("hostDevices", i, &d.device_name, &d.claim_name, &d.request_name, Gate::HostDevicesWithDra));
    for (list, index, device, claim, request, gate) in gpus.chain(others) {
        let claimed = config.enabled(gate) && traits::has_claim(claim, request);
        if !claimed && !known(device) {
            let field = format!("spec.domain.devices.{list}[{index}].deviceName");
            return Err(Error::DeviceNotPermitted { field, device: device.clone() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::Quota;
    use crate::pod::fixture::{config, vmi};

    /// Requests and limits in one line each, without what every container has.
    fn found(spec: &str, settings: &str, context: &Context) -> String {
        let resources = compute(&vmi(spec), &config(settings), context, &Quantity::from_bytes(1 << 20)).expect(spec);
        let common = ["ephemeral-storage", "devices.kubevirt.io/kvm", "devices.kubevirt.io/tun"];
        let print = |amounts: Option<BTreeMap<String, k8s_openapi::apimachinery::pkg::api::resource::Quantity>>| {
            let own = amounts.into_iter().flatten().filter(|(name, _)| !common.contains(&name.as_str()));
            own.map(|(name, amount)| format!("{}={}", name.trim_start_matches("devices.kubevirt.io/"), amount.0))
                .collect::<Vec<_>>()
                .join(" ")
        };
        format!("{} / {}", print(resources.requests), print(resources.limits))
    }

    #[test]
    fn a_guest_gets_what_it_needs_and_no_more() {
        let devices = "devices: {}";
        for (domain, settings, expected) in [
            (devices.to_owned(), "{}", "cpu=100m memory=1Mi / "),
            (format!("memory: {{guest: 1Gi}}, {devices}"), "{}", "cpu=100m memory=1025Mi / "),
            (format!("memory: {{guest: 1Gi}}, resources: {{requests: {{memory: 512Mi}}}}, {devices}"), "{}", "cpu=100m memory=513Mi / "),
            (format!("resources: {{limits: {{memory: 64Mi}}}}, {devices}"), "{}", "cpu=100m memory=65Mi / memory=65Mi"),
            (
                format!("memory: {{guest: 100Mi}}, {devices}"),
                "{developerConfiguration: {memoryOvercommit: 200}}",
                "cpu=100m memory=51Mi / ",
            ),
            (
                format!("memory: {{guest: 1Gi}}, resources: {{overcommitGuestOverhead: true, limits: {{memory: 2Gi}}}}, {devices}"),
                "{}",
                "cpu=100m memory=2Gi / memory=2049Mi",
            ),
            (format!("cpu: {{cores: 2, threads: 2}}, {devices}"), "{}", "cpu=400m memory=1Mi / "),
            (format!("cpu: {{cores: 30}}, {devices}"), "{}", "cpu=3 memory=1Mi / "),
            (format!("cpu: {{cores: 1}}, {devices}"), "{developerConfiguration: {cpuAllocationRatio: 1}}", "cpu=1 memory=1Mi / "),
            (format!("cpu: {{cores: 1}}, resources: {{requests: {{cpu: 250m}}}}, {devices}"), "{}", "cpu=250m memory=1Mi / "),
            (format!("ioThreads: {{supplementalPoolThreadCount: 4}}, {devices}"), "{}", "cpu=500m memory=1Mi / "),
        ] {
            assert_eq!(found(&format!("{{domain: {{{domain}}}}}"), settings, &Context::default()), expected, "{domain} {settings}");
        }
    }

    #[test]
    fn cpus_of_its_own_come_whole_and_with_as_much_memory_as_is_requested() {
        for (cpu, more, expected) in [
            ("cores: 2", "", "cpu=2 memory=65Mi / cpu=2 memory=65Mi"),
            ("cores: 2, isolateEmulatorThread: true", "", "cpu=3 memory=65Mi / cpu=3 memory=65Mi"),
            ("cores: 1", "ioThreads: {supplementalPoolThreadCount: 2}, ", "cpu=3 memory=65Mi / cpu=3 memory=65Mi"),
            ("model: a", "resources: {requests: {cpu: 4}, limits: {cpu: 4}}, ", "cpu=4 memory=65Mi / cpu=4 memory=65Mi"),
        ] {
            let spec = format!("{{domain: {{cpu: {{dedicatedCpuPlacement: true, {cpu}}}, memory: {{guest: 64Mi}}, {more}devices: {{}}}}}}");
            assert_eq!(found(&spec, "{}", &Context::default()), expected, "{cpu}");
        }
    }

    #[test]
    fn the_emulators_thread_makes_the_sum_even_where_that_is_asked_for() {
        // IO threads of a pool count twice in the question whether the sum is even, as they do in KubeVirt
        for (cores, policy, expected) in
            [(2, "shared", "4"), (3, "shared", "4"), (2, "supplementalPool", "5"), (3, "supplementalPool", "5")]
        {
            let mut vmi = vmi(&format!(
                "{{domain: {{cpu: {{cores: {cores}, dedicatedCpuPlacement: true, isolateEmulatorThread: true}}, ioThreadsPolicy: {policy}, \
                 ioThreads: {{supplementalPoolThreadCount: {}}}, devices: {{}}}}}}",
                i32::from(policy == "supplementalPool")
            ));
            vmi.metadata.annotations = Some([(names::EMULATOR_THREAD_COMPLETE_TO_EVEN_PARITY.to_owned(), String::new())].into());
            let resources = compute(&vmi, &config("{}"), &Context::default(), &Quantity::default()).expect("no device");
            let cpus = resources.limits.as_ref().and_then(|l| l.get(CPU)).map(|q| q.0.as_str());
            assert_eq!(cpus, Some(expected), "{cores} {policy}");
        }
    }

    #[test]
    fn huge_pages_hold_the_guest_and_ordinary_memory_the_rest() {
        for (memory, expected) in [
            ("memory: {guest: 64Mi, hugepages: {pageSize: 2Mi}}", "cpu=100m hugepages-2Mi=64Mi memory=1Mi / hugepages-2Mi=64Mi"),
            ("memory: {hugepages: {pageSize: 1Gi}}", "cpu=100m hugepages-1Gi=1Gi memory=1Mi / hugepages-1Gi=1Gi"),
            (
                "memory: {guest: 64Mi, hugepages: {pageSize: 2Mi}}, resources: {requests: {memory: 80Mi}, limits: {memory: 96Mi}}",
                "cpu=100m hugepages-2Mi=64Mi memory=17Mi / hugepages-2Mi=64Mi memory=33Mi",
            ),
        ] {
            let spec = format!("{{domain: {{{memory}, devices: {{}}}}}}");
            assert_eq!(found(&spec, "{}", &Context::default()), expected, "{memory}");
        }
    }

    #[test]
    fn a_namespace_with_quotas_gets_limits() {
        let labels = |ratio: &str| [(names::AUTO_MEMORY_LIMITS_RATIO_LABEL.to_owned(), ratio.to_owned())].into();
        let quota = Quota { cpu: true, memory: true };
        let selector = "{autoCPULimitNamespaceLabelSelector: {matchLabels: {alpha.kubevirt.io/auto-memory-limits-ratio: '1.5'}}}";
        for (namespace_labels, quota, settings, expected) in [
            (BTreeMap::new(), quota, "{}", "cpu=100m memory=9Mi / cpu=1 memory=18Mi"),
            (labels("1.5"), quota, "{}", "cpu=100m memory=9Mi / cpu=1 memory=13824Ki"),
            (labels("0.5"), quota, "{}", "cpu=100m memory=9Mi / cpu=1 memory=18Mi"),
            (labels("1.5"), Quota::default(), selector, "cpu=100m memory=9Mi / cpu=1"),
            (labels("1.6"), Quota::default(), selector, "cpu=100m memory=9Mi / "),
        ] {
            let context = Context { namespace_labels, quota, ..Context::default() };
            let spec = "{domain: {cpu: {cores: 1}, resources: {requests: {memory: 8Mi}}, devices: {}}}";
            assert_eq!(found(spec, settings, &context), expected, "{context:?}");
            let own = "{domain: {resources: {requests: {memory: 8Mi}, limits: {memory: 8Mi, cpu: 2}}, devices: {}}}";
            assert_eq!(found(own, settings, &context), "cpu=100m memory=9Mi / cpu=2 memory=9Mi");
        }
    }

    #[test]
    fn devices_are_counted_or_claimed() {
        let permitted = "{permittedHostDevices: {pciHostDevices: [{pciVendorSelector: 'a:b', resourceName: a/gpu}]}}";
        let emulated = "{developerConfiguration: {useEmulation: true, featureGates: [IOMMUFD, NetworkDevicesWithDRA]}}";
        let gpus = "gpus: [{name: x, deviceName: a/gpu}, {name: y, deviceName: a/gpu}, {name: z, claimName: c, requestName: r}]";
        let networks = Context { network_resources: [("n".to_owned(), "a/nic".to_owned())].into(), ..Context::default() };
        for (devices, more, settings, expected) in [
            (gpus, "", permitted, "a/gpu=2 cpu=100m memory=1Mi / a/gpu=2"),
            ("interfaces: [{name: n, bridge: {}}]", "", "{}", "cpu=100m memory=1Mi / vhost-net=1"),
            ("interfaces: [{name: n, model: e1000, bridge: {}}]", "", "{}", "cpu=100m memory=1Mi / "),
            ("interfaces: [{name: n, bridge: {}}]", "", emulated, "cpu=100m iommufd=1 memory=1Mi / iommufd=1"),
            ("autoattachVSOCK: true", "", "{}", "cpu=100m memory=1Mi / vhost-vsock=1"),
            ("disks: [{name: d, lun: {reservation: true}}]", "", "{}", "cpu=100m pr-helper=1 memory=1Mi / pr-helper=1"),
            (
                "interfaces: [{name: n, model: e1000, sriov: {}}]",
                ", networks: [{name: n, multus: {networkName: n}}]",
                "{developerConfiguration: {disabledFeatureGates: [ExternalNetResourceInjection]}}",
                "a/nic=1 cpu=100m memory=1Mi / a/nic=1",
            ),
            (
                "interfaces: [{name: n, model: e1000, sriov: {}}]",
                ", networks: [{name: n, multus: {networkName: n}}]",
                "{}",
                "cpu=100m memory=1Mi / ",
            ),
        ] {
            assert_eq!(found(&format!("{{domain: {{devices: {{{devices}}}}}{more}}}"), settings, &networks), expected, "{devices}");
        }
        let other = vmi("{domain: {devices: {hostDevices: [{name: a, deviceName: a/gpu}, {name: b, deviceName: a/other}]}}}");
        let error = compute(&other, &config(permitted), &networks, &Quantity::default()).expect_err("nobody permits it");
        assert_eq!(error.field(), "spec.domain.devices.hostDevices[1].deviceName");
    }
}
