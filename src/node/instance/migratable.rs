//! Whether a guest can migrate, and if not, why.

use crate::api::names;
use crate::api::v1::{
    EvictionStrategy, Interface, VirtualMachineInstance, VirtualMachineInstanceCondition as Condition,
    VirtualMachineInstanceConditionType as Kind, VirtualMachineInstanceMigrationMethod as Method, Volume,
};
use crate::config::{ClusterConfig, Gate};
use crate::lifecycle::action::Event;
use crate::lifecycle::conditions;

/// What keeps a guest where it is: the reason of the condition, and why.
type Obstacle = (&'static str, String);

/// Tells both: whether the guest can migrate with the disks that it has, and whether it can with disks that are copied.
pub(super) fn tell(told: &mut VirtualMachineInstance, config: &ClusterConfig, host_model: bool) -> Option<Event> {
    let guest = Guest { instance: told, config, host_model };
    let (copies, disks) = guest.disks();
    let live = guest.obstacle(disks);
    let storage = guest.storage_obstacles();
    let before = conditions::find(&told.status.conditions, &Kind::LiveMigratable).map(|c| c.status.clone());
    let condition = |kind, obstacle: Option<Obstacle>| match obstacle {
        None => Condition { type_: kind, status: "True".to_owned(), ..Condition::default() },
        Some((reason, message)) => {
            Condition { type_: kind, status: "False".to_owned(), reason: reason.to_owned(), message, ..Condition::default() }
        }
    };
    let unwelcome = live.as_ref().filter(|_| before.as_deref() != Some("False") && wants_to_leave(told, config)).map(|(_, why)| Event {
        warning: true,
        reason: "Migrated",
        message: format!("the eviction strategy asks for a migration, but the guest cannot migrate: {why}"),
    });
    conditions::set(&mut told.status.conditions, condition(Kind::LiveMigratable, live));
    let all = storage.iter().map(|(reason, why)| format!("{reason}: {why}")).collect::<Vec<_>>().join(", ");
    let storage = (!storage.is_empty()).then_some((names::VMI_REASON_NOT_MIGRATABLE, all));
    conditions::set(&mut told.status.conditions, condition(Kind::StorageLiveMigratable, storage));
    told.status.migration_method = if copies { Method::BlockMigration } else { Method::LiveMigration };
    unwelcome
}

/// Whether an eviction migrates the guest come what may.
fn wants_to_leave(instance: &VirtualMachineInstance, config: &ClusterConfig) -> bool {
    let strategy = instance.spec.eviction_strategy.as_ref().or(config.spec().eviction_strategy.as_ref());
    strategy == Some(&EvictionStrategy::LiveMigrate)
}

struct Guest<'a> {
    instance: &'a VirtualMachineInstance,
    config: &'a ClusterConfig,
    host_model: bool,
}

impl Guest<'_> {
    fn obstacle(&self, disks: Option<String>) -> Option<Obstacle> {
        let (interface, cpu, device, clock) = (self.interface(), self.cpu(), self.device(), self.clock());
        let (protected, secure) = (self.protected(), self.secure_execution());
        let disks = disks.map(|why| (names::VMI_REASON_DISKS_NOT_MIGRATABLE, why));
        interface.or(cpu).or(device).or(protected).or(secure).or(clock).or_else(|| self.passthrough()).or(disks)
    }

    fn storage_obstacles(&self) -> Vec<Obstacle> {
        [self.interface(), self.cpu(), self.device(), self.protected(), self.reservation(), self.clock(), self.passthrough()]
            .into_iter()
            .flatten()
            .collect()
    }

    fn interface(&self) -> Option<Obstacle> {
        let devices = &self.instance.spec.domain.devices;
        let pod = self.instance.spec.networks.iter().find(|n| n.pod.is_some()).filter(|_| !devices.interfaces.is_empty())?;
        let Some(primary) = devices.interfaces.iter().find(|i| i.name == pod.name) else {
            return Some((names::VMI_REASON_INTERFACE_NOT_MIGRATABLE, format!("no interface is plugged into the network {}", pod.name)));
        };
        let why = "the interface on the pod network is bound neither by masquerade nor by a plugin that can migrate";
        (!self.migrates(primary)).then(|| (names::VMI_REASON_INTERFACE_NOT_MIGRATABLE, why.to_owned()))
    }

    fn migrates(&self, interface: &Interface) -> bool {
        let annotations = self.instance.metadata.annotations.as_ref();
        let allowed = annotations.is_some_and(|a| a.contains_key(names::ALLOW_POD_BRIDGE_NETWORK_LIVE_MIGRATION_ANNOTATION));
        let plugin = interface.binding.as_ref().and_then(|b| self.config.network_bindings()?.get(&b.name));
        interface.masquerade.is_some()
            || interface.passt_binding.is_some()
            || interface.bridge.is_some() && allowed
            || plugin.is_some_and(|p| p.migration.is_some())
    }

    fn cpu(&self) -> Option<Obstacle> {
        let own = self.instance.spec.domain.cpu.as_ref().is_some_and(|cpu| cpu.model == "host-model");
        let why = || format!("the node {} does not know the model of its CPU, which host-model asks for", self.instance.status.node_name);
        (own && !self.host_model).then(|| (names::VMI_REASON_CPU_MODE_NOT_MIGRATABLE, why()))
    }

    fn device(&self) -> Option<Obstacle> {
        let devices = &self.instance.spec.domain.devices;
        let mediated =
            |name: &str| self.config.permitted_host_devices().is_some_and(|p| p.mediated_devices.iter().any(|d| d.resource_name == name));
        let why = match devices.gpus.as_slice() {
            _ if !devices.host_devices.is_empty() => "a device of the host is handed to the guest",
            [] => return None,
            [_] if !self.config.enabled(Gate::VgpuLiveMigration) => "a GPU migrates only with the feature gate VGPULiveMigration",
            [gpu] if mediated(&gpu.device_name) => return None,
            [_] => "the GPU is not one that can migrate",
            _ => "more than one GPU cannot migrate",
        };
        Some((names::VMI_REASON_HOST_DEVICE_NOT_MIGRATABLE, why.to_owned()))
    }

    fn protected(&self) -> Option<Obstacle> {
        let security = self.instance.spec.domain.launch_security.as_ref()?;
        if security.sev.is_some() || security.snp.is_some() {
            return Some((names::VMI_REASON_SEV_NOT_MIGRATABLE, "the guest is protected by SEV".to_owned()));
        }
        security.tdx.as_ref().map(|_| (names::VMI_REASON_TDX_NOT_MIGRATABLE, "the guest is protected by TDX".to_owned()))
    }

    fn secure_execution(&self) -> Option<Obstacle> {
        let secure = self.instance.spec.architecture == "s390x" && self.instance.spec.domain.launch_security.is_some();
        secure.then(|| (names::VMI_REASON_SECURE_EXECUTION_NOT_MIGRATABLE, "the guest is protected by Secure Execution".to_owned()))
    }

    fn clock(&self) -> Option<Obstacle> {
        let hyperv = self.instance.spec.domain.features.as_ref().and_then(|f| f.hyperv.as_ref());
        let follows = hyperv.and_then(|h| h.reenlightenment.as_ref()).is_some_and(|r| r.enabled == Some(true));
        let features = self.instance.spec.domain.cpu.iter().flat_map(|cpu| &cpu.features);
        // such a guest does not even start without
        let invariant = features.filter(|f| f.name == "invtsc").any(|f| matches!(f.policy.as_str(), "require" | "force"));
        let hinted = self.instance.status.topology_hints.as_ref().is_some_and(|h| h.tsc_frequency.is_some());
        let why = "Hyper-V's reenlightenment needs the frequency of the time stamp counter, which no node has told";
        let lacks = self.instance.spec.architecture == "amd64" && follows && !invariant && !hinted;
        lacks.then(|| (names::VMI_REASON_NO_TSC_FREQUENCY_MIGRATABLE, why.to_owned()))
    }

    fn passthrough(&self) -> Option<Obstacle> {
        let passed = self.instance.spec.domain.features.as_ref().and_then(|f| f.hyperv_passthrough.as_ref());
        let passed = passed.is_some_and(|p| p.enabled == Some(true));
        passed
            .then(|| (names::VMI_REASON_HYPERV_PASSTHROUGH_NOT_MIGRATABLE, "every enlightenment of the host is passed through".to_owned()))
    }

    fn reservation(&self) -> Option<Obstacle> {
        let disks = &self.instance.spec.domain.devices.disks;
        let reserves = disks.iter().filter_map(|d| d.lun.as_ref()).any(|lun| lun.reservation);
        reserves.then(|| (names::VMI_REASON_PR_NOT_MIGRATABLE, "a disk takes persistent reservations".to_owned()))
    }

    /// Whether disks are copied when the guest migrates, and what keeps it from that.
    fn disks(&self) -> (bool, Option<String>) {
        let mut copies = !self.instance.status.migrated_volumes.is_empty();
        for volume in &self.instance.spec.volumes {
            match self.disk(volume) {
                Disk::Shared => {}
                Disk::Copied => copies = true,
                Disk::Stays(why) => return (true, Some(why)),
            }
        }
        (copies, None)
    }

    fn disk(&self, volume: &Volume) -> Disk {
        let status = self.instance.status.volume_status.iter().find(|s| s.name == volume.name);
        let claim = status.and_then(|s| s.persistent_volume_claim_info.as_ref());
        let moves = self.instance.status.migrated_volumes.iter().any(|m| m.volume_name == volume.name);
        let shared = claim.map(|claim| moves || claim.access_modes.iter().any(|mode| mode == "ReadWriteMany"));
        if volume.memory_dump.is_some() {
            // it is the launcher's, and no disk that the guest would miss
            return Disk::Shared;
        }
        if let Some(name) = crate::lifecycle::volumes::claim_name(volume) {
            return match shared {
                None => Disk::Stays(format!("nothing is known yet of the claim {name}; it must be ReadWriteMany")),
                Some(false) => Disk::Stays(format!("the claim {name} is used by one node at a time; it must be ReadWriteMany")),
                Some(true) => Disk::Shared,
            };
        }
        if let Some(disk) = &volume.host_disk {
            return match (shared, disk.shared) {
                (Some(true), _) | (None, Some(true)) => Disk::Shared,
                _ => Disk::Stays(format!("the disk {} is a file of this node that is not shared", volume.name)),
            };
        }
        let devices = &self.instance.spec.domain.devices;
        let filesystem = devices.filesystems.iter().any(|f| f.name == volume.name);
        let cdrom = |d: &crate::api::v1::Disk| d.name == volume.name && d.cdrom.as_ref().is_some_and(|c| c.readonly != Some(false));
        if filesystem || devices.disks.iter().any(cdrom) { Disk::Shared } else { Disk::Copied }
    }
}

/// What becomes of a disk when the guest migrates.
enum Disk {
    Shared,
    Copied,
    Stays(String),
}
