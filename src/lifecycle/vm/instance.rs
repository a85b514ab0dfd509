//! The instance that a machine starts.

use super::pass::Pass;
use super::strategy::paused_start_requested;
use super::{firmware, instancetypes, memory_dump, tracking};
use crate::api::names;
use crate::api::v1::{
    Disk, Input, Interface, InterfaceBridge, InterfaceMasquerade, Network, PodNetwork, StartStrategy, VirtualMachineInstance,
    VirtualMachineInstanceSpec, VirtualMachineRunStrategy as Strategy,
};
use crate::config::ClusterConfig;
use crate::lifecycle::action::Failure;
use crate::lifecycle::owner;

/// Makes the instance of the machine's template.
pub(super) fn render(pass: &mut Pass<'_>, revision: String) -> Result<VirtualMachineInstance, Failure> {
    let machine = &pass.machine;
    let template = machine.spec.template.clone().unwrap_or_default();
    let mut instance = VirtualMachineInstance {
        api_version: "kubevirt.io/v1".to_owned(),
        kind: "VirtualMachineInstance".to_owned(),
        metadata: template.metadata,
        spec: template.spec,
        ..VirtualMachineInstance::default()
    };
    let meta = &mut instance.metadata;
    meta.name.clone_from(&machine.metadata.name);
    meta.namespace.clone_from(&machine.metadata.namespace);
    meta.generate_name = None;
    meta.owner_references = Some(vec![owner::reference("kubevirt.io/v1", "VirtualMachine", &machine.metadata)]);
    // The machine must have seen how the guest ended before the instance goes.
    owner::add_finalizer(meta, names::VIRTUAL_MACHINE_CONTROLLER_FINALIZER);
    let annotations = meta.annotations.get_or_insert_default();
    let generation = machine.metadata.generation.unwrap_or_default();
    annotations.insert(names::VIRTUAL_MACHINE_GENERATION_ANNOTATION.to_owned(), generation.to_string());
    if machine.spec.run_strategy == Some(Strategy::WaitAsReceiver) {
        annotations.insert(names::CREATE_MIGRATION_TARGET.to_owned(), "true".to_owned());
    }
    instance.status.virtual_machine_revision_name = revision;
    instance.status.changed_block_tracking = tracking::of_new_instance(pass);

    let spec = &mut instance.spec;
    if paused_start_requested(machine) {
        spec.start_strategy = Some(StartStrategy::Paused);
    }
    memory_dump::drop_completed(machine, spec);
    let identity = spec.domain.firmware.get_or_insert_default();
    if identity.uuid.is_empty() {
        identity.uuid = firmware::legacy_uuid(machine.metadata.name.as_deref().unwrap_or_default());
    }
    attach_volumes(spec);
    instancetypes::attach(pass, &mut instance);
    attach_input(&mut instance.spec);
    attach_network(&mut instance.spec, pass.config);
    instancetypes::apply_to_instance(pass, &mut instance)?;
    Ok(instance)
}

/// Gives a disk to every volume that nothing uses. A memory dump is not for the guest.
fn attach_volumes(spec: &mut VirtualMachineInstanceSpec) {
    let devices = &mut spec.domain.devices;
    for volume in spec.volumes.iter().filter(|v| v.memory_dump.is_none()) {
        let used = devices.disks.iter().any(|d| d.name == volume.name) || devices.filesystems.iter().any(|f| f.name == volume.name);
        if !used {
            devices.disks.push(Disk { name: volume.name.clone(), ..Disk::default() });
        }
    }
}

/// Gives an input device to a guest that wants one and names none; a preference or the defaults say which.
fn attach_input(spec: &mut VirtualMachineInstanceSpec) {
    let devices = &mut spec.domain.devices;
    if devices.autoattach_input_device == Some(true) && devices.inputs.is_empty() {
        devices.inputs.push(Input { name: "default-0".to_owned(), ..Input::default() });
    }
}

/// Connects a guest that says nothing of networks to that of the pod.
fn attach_network(spec: &mut VirtualMachineInstanceSpec, config: &ClusterConfig) {
    const NAME: &str = "default";
    let devices = &mut spec.domain.devices;
    if devices.autoattach_pod_interface == Some(false) || !spec.networks.is_empty() || !devices.interfaces.is_empty() {
        return;
    }
    let mut interface = Interface { name: NAME.to_owned(), ..Interface::default() };
    match config.default_network_interface() {
        "bridge" if config.bridge_on_pod_network() => interface.bridge = Some(InterfaceBridge {}),
        "masquerade" => interface.masquerade = Some(InterfaceMasquerade {}),
        // Admission says what is wrong with the others.
        _ => return,
    }
    devices.interfaces.push(interface);
    spec.networks.push(Network { name: NAME.to_owned(), pod: Some(PodNetwork::default()), ..Network::default() });
}
