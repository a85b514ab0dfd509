//! The names that are a contract between KubeVirt and everyone who works with it: labels, annotations, finalizers and
//! the reasons of conditions. Each stands here once.

/// The name of the API group of virtual machines.
pub const GROUP: &str = "kubevirt.io";
/// The group of the aggregated API: what is done to a running machine.
pub const SUBRESOURCE_GROUP: &str = "subresources.kubevirt.io";

// Labels, annotations and finalizers.

/// `app.kubernetes.io/managed-by`: who installed an object.
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
/// The value of [`MANAGED_BY_LABEL`] of all that the operator installs.
pub const MANAGED_BY_OPERATOR: &str = "virt-operator";
/// `app.kubernetes.io/name`
pub const APP_NAME_LABEL: &str = "app.kubernetes.io/name";
/// `app.kubernetes.io/version`: that of the product, which a distribution sets.
pub const APP_VERSION_LABEL: &str = "app.kubernetes.io/version";
/// `app.kubernetes.io/part-of`: the product, which a distribution sets.
pub const APP_PART_OF_LABEL: &str = "app.kubernetes.io/part-of";
/// `app.kubernetes.io/component`
pub const APP_COMPONENT_LABEL: &str = "app.kubernetes.io/component";
/// `prometheus.kubevirt.io`: pods and services with metrics.
pub const PROMETHEUS_LABEL: &str = "prometheus.kubevirt.io";
/// `kubevirt.io/foregroundDeleteKubeVirt`: the operator removes what it installed before its object goes.
pub const KUBEVIRT_FINALIZER: &str = "kubevirt.io/foregroundDeleteKubeVirt";
/// `foregroundDeleteKubeVirt`, as older versions had it.
pub const DEPRECATED_KUBEVIRT_FINALIZER: &str = "foregroundDeleteKubeVirt";
/// The release of KubeVirt whose API this is.
pub const KUBEVIRT_VERSION: &str = "v1.9.0";
/// `kubevirt.io/vga-display-efi-x86`
pub const VGA_DISPLAY_FOR_EFI_GUESTS_X_86_ANNOTATION: &str = "kubevirt.io/vga-display-efi-x86";
/// `kubevirt.io`
pub const APP_LABEL: &str = "kubevirt.io";
/// `operator.kubevirt.io`
pub const OPERATOR_LABEL: &str = "operator.kubevirt.io";
/// `kubevirt.io/domain`
pub const DOMAIN_ANNOTATION: &str = "kubevirt.io/domain";
/// `kubevirt.io/migrationJobName`
pub const MIGRATION_JOB_NAME_ANNOTATION: &str = "kubevirt.io/migrationJobName";
/// `kubevirt.io/latest-observed-api-version`
pub const CONTROLLER_API_LATEST_VERSION_OBSERVED_ANNOTATION: &str = "kubevirt.io/latest-observed-api-version";
/// `kubevirt.io/storage-observed-api-version`
pub const CONTROLLER_API_STORAGE_VERSION_OBSERVED_ANNOTATION: &str = "kubevirt.io/storage-observed-api-version";
/// `kubevirt.io/func-test-force-launcher-migration-failure`
pub const FUNC_TEST_FORCE_LAUNCHER_MIGRATION_FAILURE_ANNOTATION: &str = "kubevirt.io/func-test-force-launcher-migration-failure";
/// `kubevirt.io/func-test-block-migration-target-preparation`
pub const FUNC_TEST_BLOCK_LAUNCHER_PREPARE_MIGRATION_TARGET_ANNOTATION: &str = "kubevirt.io/func-test-block-migration-target-preparation";
/// `kubevirt.io/func-test-migration-target-image-override`
pub const FUNC_TEST_MIGRATION_TARGET_IMAGE_OVERRIDE_ANNOTATION: &str = "kubevirt.io/func-test-migration-target-image-override";
/// `kubevirt.io/func-test-virt-launcher-fail-fast`
pub const FUNC_TEST_LAUNCHER_FAIL_FAST_ANNOTATION: &str = "kubevirt.io/func-test-virt-launcher-fail-fast";
/// `kubevirt.io/func-test-ignore-migration-backoff`
pub const FUNC_TEST_FORCE_IGNORE_MIGRATION_BACKOFF_ANNOTATION: &str = "kubevirt.io/func-test-ignore-migration-backoff";
/// `kubevirt.io/func-test-memory-hotplug-fail`
pub const FUNC_TEST_MEMORY_HOTPLUG_FAIL_ANNOTATION: &str = "kubevirt.io/func-test-memory-hotplug-fail";
/// `kubevirt.io/created-by`
pub const CREATED_BY_LABEL: &str = "kubevirt.io/created-by";
/// `kubevirt.io/migrationJobUID`
pub const MIGRATION_JOB_LABEL: &str = "kubevirt.io/migrationJobUID";
/// `kubevirt.io/migrationName`
pub const MIGRATION_NAME_LABEL: &str = "kubevirt.io/migrationName";
/// `kubevirt.io/nodeName`
pub const NODE_NAME_LABEL: &str = "kubevirt.io/nodeName";
/// `kubevirt.io/migrationTargetNodeName`
pub const MIGRATION_TARGET_NODE_NAME_LABEL: &str = "kubevirt.io/migrationTargetNodeName";
/// `kubevirt.io/evacuationMigration`
pub const EVACUATION_MIGRATION_ANNOTATION: &str = "kubevirt.io/evacuationMigration";
/// `kubevirt.io/workloadUpdateMigration`
pub const WORKLOAD_UPDATE_MIGRATION_ANNOTATION: &str = "kubevirt.io/workloadUpdateMigration";
/// `kubevirt.io/testWorkloadUpdateMigrationAbortion`
pub const WORKLOAD_UPDATE_MIGRATION_ABORTION_ANNOTATION: &str = "kubevirt.io/testWorkloadUpdateMigrationAbortion";
/// `kubevirt.io/schedulable`
pub const NODE_SCHEDULABLE: &str = "kubevirt.io/schedulable";
/// `kubevirt.io/heartbeat`
pub const VIRT_HANDLER_HEARTBEAT: &str = "kubevirt.io/heartbeat";
/// `kubevirt.io/outdatedLauncherImage`
pub const OUTDATED_LAUNCHER_IMAGE_LABEL: &str = "kubevirt.io/outdatedLauncherImage";
/// `kubevirt.io/install-strategy-version`
pub const INSTALL_STRATEGY_VERSION_ANNOTATION: &str = "kubevirt.io/install-strategy-version";
/// `kubevirt.io/install-strategy-registry`
pub const INSTALL_STRATEGY_REGISTRY_ANNOTATION: &str = "kubevirt.io/install-strategy-registry";
/// `kubevirt.io/install-strategy-identifier`
pub const INSTALL_STRATEGY_IDENTIFIER_ANNOTATION: &str = "kubevirt.io/install-strategy-identifier";
/// `kubevirt.io/install-strategy-cm-encoding`
pub const INSTALL_STRATEGY_CONFIG_MAP_ENCODING: &str = "kubevirt.io/install-strategy-cm-encoding";
/// `kubevirt.io/customizer-identifier`
pub const KUBEVIRT_CUSTOMIZE_COMPONENT_ANNOTATION_HASH: &str = "kubevirt.io/customizer-identifier";
/// `kubevirt.io/generation`
pub const KUBEVIRT_GENERATION_ANNOTATION: &str = "kubevirt.io/generation";
/// `kubevirt.io/ephemeral-backup-object`
pub const EPHEMERAL_BACKUP_OBJECT: &str = "kubevirt.io/ephemeral-backup-object";
/// `kubevirt.io/ephemeral-provisioning`
pub const EPHEMERAL_PROVISIONING_OBJECT: &str = "kubevirt.io/ephemeral-provisioning";
/// `kubevirt.io/memory-overhead-bytes`
pub const MEMORY_OVERHEAD_ANNOTATION_BYTES: &str = "kubevirt.io/memory-overhead-bytes";
/// `kubevirt.io/install-strategy`
pub const INSTALL_STRATEGY_LABEL: &str = "kubevirt.io/install-strategy";
/// `kubevirt.io/virtOperatorFinalizer`
pub const VIRT_OPERATOR_COMPONENT_FINALIZER: &str = "kubevirt.io/virtOperatorFinalizer";
/// `kubevirt.io/foregroundDeleteVirtualMachine`
pub const VIRTUAL_MACHINE_INSTANCE_FINALIZER: &str = "kubevirt.io/foregroundDeleteVirtualMachine";
/// `foregroundDeleteVirtualMachine`
pub const DEPRECATED_VIRTUAL_MACHINE_INSTANCE_FINALIZER: &str = "foregroundDeleteVirtualMachine";
/// `kubevirt.io/virtualMachineControllerFinalize`
pub const VIRTUAL_MACHINE_CONTROLLER_FINALIZER: &str = "kubevirt.io/virtualMachineControllerFinalize";
/// `kubevirt.io/migrationJobFinalize`
pub const VIRTUAL_MACHINE_INSTANCE_MIGRATION_FINALIZER: &str = "kubevirt.io/migrationJobFinalize";
/// `kubevirt.io/cpumanager`
pub const CPU_MANAGER: &str = "kubevirt.io/cpumanager";
/// `kubevirt.io/ignitiondata`
pub const IGNITION_ANNOTATION: &str = "kubevirt.io/ignitiondata";
/// `kubevirt.io/placePCIDevicesOnRootComplex`
pub const PLACE_PCI_DEVICES_ON_ROOT_COMPLEX: &str = "kubevirt.io/placePCIDevicesOnRootComplex";
/// `kubevirt.io/pci-topology-version`
pub const PCI_TOPOLOGY_VERSION_ANNOTATION: &str = "kubevirt.io/pci-topology-version";
/// `kubevirt.io/pci-interface-slot-count`
pub const PCI_INTERFACE_SLOT_COUNT_ANNOTATION: &str = "kubevirt.io/pci-interface-slot-count";
/// `cpu-feature.node.kubevirt.io/`
pub const CPU_FEATURE_LABEL: &str = "cpu-feature.node.kubevirt.io/";
/// `cpu-model.node.kubevirt.io/`
pub const CPU_MODEL_LABEL: &str = "cpu-model.node.kubevirt.io/";
/// `cpu-model-migration.node.kubevirt.io/`
pub const SUPPORTED_HOST_MODEL_MIGRATION_CPU: &str = "cpu-model-migration.node.kubevirt.io/";
/// `cpu-timer.node.kubevirt.io/`
pub const CPU_TIMER_LABEL: &str = "cpu-timer.node.kubevirt.io/";
/// `hyperv.node.kubevirt.io/`
pub const HYPERV_LABEL: &str = "hyperv.node.kubevirt.io/";
/// `cpu-vendor.node.kubevirt.io/`
pub const CPU_MODEL_VENDOR_LABEL: &str = "cpu-vendor.node.kubevirt.io/";
/// `machine-type.node.kubevirt.io/`
pub const SUPPORTED_MACHINE_TYPE_LABEL: &str = "machine-type.node.kubevirt.io/";
/// `host-model-cpu.node.kubevirt.io/`
pub const HOST_MODEL_CPU_LABEL: &str = "host-model-cpu.node.kubevirt.io/";
/// `host-model-required-features.node.kubevirt.io/`
pub const HOST_MODEL_REQUIRED_FEATURES_LABEL: &str = "host-model-required-features.node.kubevirt.io/";
/// `node-labeller.kubevirt.io/obsolete-host-model`
pub const NODE_HOST_MODEL_IS_OBSOLETE_LABEL: &str = "node-labeller.kubevirt.io/obsolete-host-model";
/// `node-labeller.kubevirt.io/skip-node`
pub const LABELLER_SKIP_NODE_ANNOTATION: &str = "node-labeller.kubevirt.io/skip-node";
/// `kubevirt.io/memfd`
pub const MEMFD_MEMORY_BACKEND: &str = "kubevirt.io/memfd";
/// `kubevirt.io/vmi-name`
pub const MIGRATION_SELECTOR_LABEL: &str = "kubevirt.io/vmi-name";
/// `kubevirt.io/restore-run-strategy`
pub const RESTORE_RUN_STRATEGY: &str = "kubevirt.io/restore-run-strategy";
/// `kubevirt.io/nonroot`
pub const DEPRECATED_NON_ROOT_VMI_ANNOTATION: &str = "kubevirt.io/nonroot";
/// `kubevirt.io/create-migration-target`
pub const CREATE_MIGRATION_TARGET: &str = "kubevirt.io/create-migration-target";
/// `kubevirt.io/keep-launcher-alive-after-failure`
pub const KEEP_LAUNCHER_AFTER_FAILURE_ANNOTATION: &str = "kubevirt.io/keep-launcher-alive-after-failure";
/// `kubevirt.io/migrationTransportUnix`
pub const MIGRATION_TRANSPORT_UNIX_ANNOTATION: &str = "kubevirt.io/migrationTransportUnix";
/// `kubevirt.io/migrationUnschedulablePodTimeoutSeconds`
pub const MIGRATION_UNSCHEDULABLE_POD_TIMEOUT_SECONDS_ANNOTATION: &str = "kubevirt.io/migrationUnschedulablePodTimeoutSeconds";
/// `kubevirt.io/migrationPendingPodTimeoutSeconds`
pub const MIGRATION_PENDING_POD_TIMEOUT_SECONDS_ANNOTATION: &str = "kubevirt.io/migrationPendingPodTimeoutSeconds";
/// `kubevirt.io/migrationUtilityVolumesTimeoutSeconds`
pub const MIGRATION_UTILITY_VOLUMES_TIMEOUT_SECONDS_ANNOTATION: &str = "kubevirt.io/migrationUtilityVolumesTimeoutSeconds";
/// `kubevirt.io/libvirt-log-filters`
pub const CUSTOM_LIBVIRT_LOG_FILTERS_ANNOTATION: &str = "kubevirt.io/libvirt-log-filters";
/// `kubevirt.io/realtime`
pub const REALTIME_LABEL: &str = "kubevirt.io/realtime";
/// `kubevirt.io/sev`
pub const SEV_LABEL: &str = "kubevirt.io/sev";
/// `kubevirt.io/sev-es`
pub const SEVES_LABEL: &str = "kubevirt.io/sev-es";
/// `kubevirt.io/s390-pv`
pub const SECURE_EXECUTION_LABEL: &str = "kubevirt.io/s390-pv";
/// `kubevirt.io/sev-snp`
pub const SEVSNP_LABEL: &str = "kubevirt.io/sev-snp";
/// `kubevirt.io/tdx`
pub const TDX_LABEL: &str = "kubevirt.io/tdx";
/// `kubevirt.io/vm-arch-`
pub const VM_ARCH_LABEL: &str = "kubevirt.io/vm-arch-";
/// `kubevirt.io/ksm-enabled`
pub const KSM_ENABLED_LABEL: &str = "kubevirt.io/ksm-enabled";
/// `kubevirt.io/ksm-handler-managed`
pub const KSM_HANDLER_MANAGED_ANNOTATION: &str = "kubevirt.io/ksm-handler-managed";
/// `kubevirt.io/ksm-pages-boost-override`
pub const KSM_PAGES_BOOST_OVERRIDE: &str = "kubevirt.io/ksm-pages-boost-override";
/// `kubevirt.io/ksm-pages-decay-override`
pub const KSM_PAGES_DECAY_OVERRIDE: &str = "kubevirt.io/ksm-pages-decay-override";
/// `kubevirt.io/ksm-pages-min-override`
pub const KSM_PAGES_MIN_OVERRIDE: &str = "kubevirt.io/ksm-pages-min-override";
/// `kubevirt.io/ksm-pages-max-override`
pub const KSM_PAGES_MAX_OVERRIDE: &str = "kubevirt.io/ksm-pages-max-override";
/// `kubevirt.io/ksm-pages-init-override`
pub const KSM_PAGES_INIT_OVERRIDE: &str = "kubevirt.io/ksm-pages-init-override";
/// `kubevirt.io/ksm-sleep-ms-baseline-override`
pub const KSM_SLEEP_MS_BASELINE_OVERRIDE: &str = "kubevirt.io/ksm-sleep-ms-baseline-override";
/// `kubevirt.io/ksm-free-percent-override`
pub const KSM_FREE_PERCENT_OVERRIDE: &str = "kubevirt.io/ksm-free-percent-override";
/// `kubevirt.io/instancetype-name`
pub const INSTANCETYPE_ANNOTATION: &str = "kubevirt.io/instancetype-name";
/// `kubevirt.io/cluster-instancetype-name`
pub const CLUSTER_INSTANCETYPE_ANNOTATION: &str = "kubevirt.io/cluster-instancetype-name";
/// `kubevirt.io/preference-name`
pub const PREFERENCE_ANNOTATION: &str = "kubevirt.io/preference-name";
/// `kubevirt.io/cluster-preference-name`
pub const CLUSTER_PREFERENCE_ANNOTATION: &str = "kubevirt.io/cluster-preference-name";
/// `kubevirt.io/vm-pool-revision-name`
pub const VIRTUAL_MACHINE_POOL_REVISION_NAME: &str = "kubevirt.io/vm-pool-revision-name";
/// `vm.kubevirt.io/name`
pub const DEPRECATED_VIRTUAL_MACHINE_NAME_LABEL: &str = "vm.kubevirt.io/name";
/// `vmi.kubevirt.io/id`
pub const VIRTUAL_MACHINE_INSTANCE_ID_LABEL: &str = "vmi.kubevirt.io/id";
/// `pr.kubevirt.io/`
pub const PERSISTENT_RESERVATION_LABEL_PREFIX: &str = "pr.kubevirt.io/";
/// `kubevirt.io/memory-dump`
pub const PVC_MEMORY_DUMP_ANNOTATION: &str = "kubevirt.io/memory-dump";
/// `kubevirt.io/allow-pod-bridge-network-live-migration`
pub const ALLOW_POD_BRIDGE_NETWORK_LIVE_MIGRATION_ANNOTATION: &str = "kubevirt.io/allow-pod-bridge-network-live-migration";
/// `kubevirt.io/vm-generation`
pub const VIRTUAL_MACHINE_GENERATION_ANNOTATION: &str = "kubevirt.io/vm-generation";
/// `kubevirt.io/migration-target-ready-timestamp`
pub const MIGRATION_TARGET_READY_TIMESTAMP: &str = "kubevirt.io/migration-target-ready-timestamp";
/// `kubevirt.io/free-page-reporting-disabled`
pub const FREE_PAGE_REPORTING_DISABLED_ANNOTATION: &str = "kubevirt.io/free-page-reporting-disabled";
/// `kubevirt.io/vmi-pod-cpu-resource-limits`
pub const VIRTUAL_MACHINE_POD_CPU_LIMITS_LABEL: &str = "kubevirt.io/vmi-pod-cpu-resource-limits";
/// `kubevirt.io/vmi-pod-memory-resource-requests`
pub const VIRTUAL_MACHINE_POD_MEMORY_REQUESTS_LABEL: &str = "kubevirt.io/vmi-pod-memory-resource-requests";
/// `kubevirt.io/memory-hotplug-overhead-ratio`
pub const MEMORY_HOTPLUG_OVERHEAD_RATIO_LABEL: &str = "kubevirt.io/memory-hotplug-overhead-ratio";
/// `alpha.kubevirt.io/auto-memory-limits-ratio`
pub const AUTO_MEMORY_LIMITS_RATIO_LABEL: &str = "alpha.kubevirt.io/auto-memory-limits-ratio";
/// `kubevirt-rs.io/memory-overhead`: by which figures the memory of launcher pods is estimated. Ours alone.
pub const MEMORY_OVERHEAD_PROFILE_ANNOTATION: &str = "kubevirt-rs.io/memory-overhead";
/// `alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity`
pub const EMULATOR_THREAD_COMPLETE_TO_EVEN_PARITY: &str = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity";
/// `kubevirt.io/volume-update-migration`
pub const VOLUMES_UPDATE_MIGRATION: &str = "kubevirt.io/volume-update-migration";
/// `kubevirt.io/immediate-data-volume-creation`
pub const IMMEDIATE_DATA_VOLUME_CREATION: &str = "kubevirt.io/immediate-data-volume-creation";
/// `kubevirt.io/disablePCIHole64`
pub const DISABLE_PCI_HOLE_64: &str = "kubevirt.io/disablePCIHole64";
/// `kubevirt.io/eviction-source`
pub const EVICTION_SOURCE_ANNOTATION: &str = "kubevirt.io/eviction-source";
/// `kubevirt.io/qgs-socket-path`
pub const QGS_SOCKET_PATH_ANNOTATION: &str = "kubevirt.io/qgs-socket-path";
/// `kubevirt.io/pause-guest-agent-probes`
pub const PAUSE_GUEST_AGENT_PROBES_ANNOTATION: &str = "kubevirt.io/pause-guest-agent-probes";
/// `np.kubevirt.io/allow-access-cluster-services`
pub const ALLOW_ACCESS_CLUSTER_SERVICES_NP_LABEL: &str = "np.kubevirt.io/allow-access-cluster-services";
/// `instancetype.kubevirt.io/default-instancetype`
pub const DEFAULT_INSTANCETYPE_LABEL: &str = "instancetype.kubevirt.io/default-instancetype";
/// `instancetype.kubevirt.io/default-instancetype-kind`
pub const DEFAULT_INSTANCETYPE_KIND_LABEL: &str = "instancetype.kubevirt.io/default-instancetype-kind";
/// `instancetype.kubevirt.io/default-preference`
pub const DEFAULT_PREFERENCE_LABEL: &str = "instancetype.kubevirt.io/default-preference";
/// `instancetype.kubevirt.io/default-preference-kind`
pub const DEFAULT_PREFERENCE_KIND_LABEL: &str = "instancetype.kubevirt.io/default-preference-kind";
/// `instancetype.kubevirt.io/object-generation`
pub const CONTROLLER_REVISION_OBJECT_GENERATION_LABEL: &str = "instancetype.kubevirt.io/object-generation";
/// `instancetype.kubevirt.io/object-kind`
pub const CONTROLLER_REVISION_OBJECT_KIND_LABEL: &str = "instancetype.kubevirt.io/object-kind";
/// `instancetype.kubevirt.io/object-name`
pub const CONTROLLER_REVISION_OBJECT_NAME_LABEL: &str = "instancetype.kubevirt.io/object-name";
/// `instancetype.kubevirt.io/object-uid`
pub const CONTROLLER_REVISION_OBJECT_UID_LABEL: &str = "instancetype.kubevirt.io/object-uid";
/// `instancetype.kubevirt.io/object-version`
pub const CONTROLLER_REVISION_OBJECT_VERSION_LABEL: &str = "instancetype.kubevirt.io/object-version";

/// `kubevirt.io/virtual-machine-unpaused`: the readiness gate of a launcher pod.
pub const UNPAUSED_CONDITION: &str = "kubevirt.io/virtual-machine-unpaused";
/// `hooks.kubevirt.io/hookSidecars`
pub const HOOK_SIDECARS_ANNOTATION: &str = "hooks.kubevirt.io/hookSidecars";
/// `kubevirt.io/network-info`: what the networks' device plugins say about their devices.
pub const NETWORK_INFO_ANNOTATION: &str = "kubevirt.io/network-info";
/// `kubevirt.io/skip-backup-hooks`
pub const SKIP_BACKUP_HOOKS_ANNOTATION: &str = "kubevirt.io/skip-backup-hooks";
/// `scheduling.node.kubevirt.io/tsc-frequency`: a node that can show its guests this clock, `…-FREQUENCY=true`.
pub const TSC_FREQUENCY_SCHEDULING_LABEL: &str = "scheduling.node.kubevirt.io/tsc-frequency";
/// The prefix of the resources that a node's handler offers: `devices.kubevirt.io/kvm`.
pub const DEVICE_PREFIX: &str = "devices.kubevirt.io";

// Reasons of conditions.

/// `DisksNotLiveMigratable`
pub const VMI_REASON_DISKS_NOT_MIGRATABLE: &str = "DisksNotLiveMigratable";
/// `InterfaceNotLiveMigratable`
pub const VMI_REASON_INTERFACE_NOT_MIGRATABLE: &str = "InterfaceNotLiveMigratable";
/// `HotplugNotLiveMigratable`
pub const VMI_REASON_HOTPLUG_NOT_MIGRATABLE: &str = "HotplugNotLiveMigratable";
/// `CPUModeLiveMigratable`
pub const VMI_REASON_CPU_MODE_NOT_MIGRATABLE: &str = "CPUModeLiveMigratable";
/// `VirtIOFSNotLiveMigratable`
pub const VMI_REASON_VIRT_IOFS_NOT_MIGRATABLE: &str = "VirtIOFSNotLiveMigratable";
/// `HostDeviceNotLiveMigratable`
pub const VMI_REASON_HOST_DEVICE_NOT_MIGRATABLE: &str = "HostDeviceNotLiveMigratable";
/// `SEVNotLiveMigratable`
pub const VMI_REASON_SEV_NOT_MIGRATABLE: &str = "SEVNotLiveMigratable";
/// `SecureExecutionNotLiveMigratable`
pub const VMI_REASON_SECURE_EXECUTION_NOT_MIGRATABLE: &str = "SecureExecutionNotLiveMigratable";
/// `TDXNotLiveMigratable`
pub const VMI_REASON_TDX_NOT_MIGRATABLE: &str = "TDXNotLiveMigratable";
/// `NoTSCFrequencyNotLiveMigratable`
pub const VMI_REASON_NO_TSC_FREQUENCY_MIGRATABLE: &str = "NoTSCFrequencyNotLiveMigratable";
/// `HypervPassthroughNotLiveMigratable`
pub const VMI_REASON_HYPERV_PASSTHROUGH_NOT_MIGRATABLE: &str = "HypervPassthroughNotLiveMigratable";
/// `PersistentReservationNotLiveMigratable`
pub const VMI_REASON_PR_NOT_MIGRATABLE: &str = "PersistentReservationNotLiveMigratable";
/// `DecentralizedNotLiveMigratable`
pub const VMI_REASON_DECENTRALIZED_NOT_MIGRATABLE: &str = "DecentralizedNotLiveMigratable";
/// `NotAllDVsReady`
pub const VMI_REASON_NOT_ALL_D_VS_READY: &str = "NotAllDVsReady";
/// `AllDVsReady`
pub const VMI_REASON_ALL_D_VS_READY: &str = "AllDVsReady";
/// `NotMigratable`
pub const VMI_REASON_NOT_MIGRATABLE: &str = "NotMigratable";
/// `VolumesChangeCancellation`
pub const VMI_REASON_VOLUMES_CHANGE_CANCELLATION: &str = "VolumesChangeCancellation";
/// `AutoMigrationDueToLiveUpdate`
pub const VMI_REASON_AUTO_MIGRATION_DUE_TO_LIVE_UPDATE: &str = "AutoMigrationDueToLiveUpdate";
/// `AutoMigrationPending`
pub const VMI_REASON_AUTO_MIGRATION_PENDING: &str = "AutoMigrationPending";
/// `EvictionRequested`
pub const VMI_REASON_EVICTION_REQUESTED: &str = "EvictionRequested";
/// `PodTerminating`
pub const POD_TERMINATING_REASON: &str = "PodTerminating";
/// `PodNotExists`
pub const POD_NOT_EXISTS_REASON: &str = "PodNotExists";
/// `PodConditionMissing`
pub const POD_CONDITION_MISSING_REASON: &str = "PodConditionMissing";
/// `GuestNotRunning`
pub const GUEST_NOT_RUNNING_REASON: &str = "GuestNotRunning";
/// `ContainerPathVolumesDisabled`
pub const CONTAINER_PATH_VOLUMES_DISABLED_REASON: &str = "ContainerPathVolumesDisabled";
/// `MissingVirtiofsContainers`
pub const MISSING_VIRTIOFS_CONTAINERS_REASON: &str = "MissingVirtiofsContainers";
