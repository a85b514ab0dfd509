//! Volumes that a feature needs: hooks, plugins, huge pages, attaching at run time, device facts, shared directories.

use k8s_openapi::api::core::v1::{DownwardAPIVolumeFile, DownwardAPIVolumeSource, EmptyDirVolumeSource, ObjectFieldSelector, Volume};

use crate::api::names::NETWORK_INFO_ANNOTATION;
use crate::api::v1::{NetworkBindingDownwardApiType, VirtualMachineInstance};
use crate::config::{ClusterConfig, Gate};

use super::super::hooks::Sidecar;
use super::super::{paths, traits};
use super::base::HOTPLUG_DISKS;
use super::{Plan, from_host, mount};

/// The sockets of hook sidecars.
pub(in super::super) const HOOK_SOCKETS: &str = "hook-sidecar-sockets";
/// What the pod's networks say of their devices.
pub(in super::super) const NETWORK_INFO: &str = "network-info-annotation";
/// The sockets of virtiofs daemons.
pub(in super::super) const VIRTIOFS: &str = "virtiofs-containers";
const PLUGIN_SOCKETS: &str = "kubevirt-plugin-sockets";
const HUGE_PAGES: &str = "hugepages";
const LIBVIRT_HUGE_PAGES: &str = "hugetblfs-dir";

/// The names of volumes that stand for a feature, not for a volume of the VMI.
pub(in super::super) const FEATURES: [&str; 5] = [HOOK_SOCKETS, VIRTIOFS, PLUGIN_SOCKETS, HUGE_PAGES, LIBVIRT_HUGE_PAGES];

pub(super) fn add(plan: &mut Plan, vmi: &VirtualMachineInstance, config: &ClusterConfig, hooks: &[Sidecar]) {
    let devices = &vmi.spec.domain.devices;
    if !hooks.is_empty() {
        plan.empty_dir(HOOK_SOCKETS);
        plan.mount(mount(HOOK_SOCKETS, paths::HOOKS));
    }
    if config.enabled(Gate::Plugins) {
        plan.empty_dir(PLUGIN_SOCKETS);
        plan.mount(mount(PLUGIN_SOCKETS, paths::PLUGINS));
    }
    if vmi.spec.domain.memory.as_ref().is_some_and(|m| m.hugepages.is_some()) {
        let source = EmptyDirVolumeSource { medium: Some("HugePages".to_owned()), size_limit: None };
        plan.volume(Volume { name: HUGE_PAGES.to_owned(), empty_dir: Some(source), ..Volume::default() });
        plan.mount(mount(HUGE_PAGES, paths::HUGE_PAGES));
        plan.empty_dir(LIBVIRT_HUGE_PAGES);
        plan.mount(mount(LIBVIRT_HUGE_PAGES, paths::LIBVIRT_HUGE_PAGES));
    }
    if !devices.disable_hotplug {
        plan.empty_dir(HOTPLUG_DISKS);
        plan.mount(from_host(HOTPLUG_DISKS, paths::HOTPLUG_DISKS));
    }
    if traits::has_sriov(&devices.interfaces) || wants_device_info(vmi, config) {
        plan.mount(mount(NETWORK_INFO, paths::POD_INFO));
        plan.volume(network_info());
    }
    if devices.filesystems.iter().any(|f| f.virtiofs.is_some()) {
        plan.mount(mount(VIRTIOFS, paths::VIRTIOFS));
        plan.empty_dir(VIRTIOFS);
    }
}

/// Whether a network binding plugin asks for what Multus knows of the interface's device.
fn wants_device_info(vmi: &VirtualMachineInstance, config: &ClusterConfig) -> bool {
    let mut names = vmi.spec.domain.devices.interfaces.iter().filter_map(|i| i.binding.as_ref());
    names.any(|binding| {
        let plugin = config.network_bindings().and_then(|plugins| plugins.get(&binding.name));
        plugin.is_some_and(|p| p.downward_api == NetworkBindingDownwardApiType::DeviceInfo)
    })
}

fn network_info() -> Volume {
    let field_path = format!("metadata.annotations['{NETWORK_INFO_ANNOTATION}']");
    let field_ref = Some(ObjectFieldSelector { field_path, api_version: None });
    let file = DownwardAPIVolumeFile { path: "network-info".to_owned(), field_ref, ..DownwardAPIVolumeFile::default() };
    let source = DownwardAPIVolumeSource { items: Some(vec![file]), ..DownwardAPIVolumeSource::default() };
    Volume { name: NETWORK_INFO.to_owned(), downward_api: Some(source), ..Volume::default() }
}
