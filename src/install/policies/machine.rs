//! Rules of a virtual machine beyond those of its template.

use crate::config::Gate;

use super::variables::Table;
use super::{Area, Rule};

/// The variables of a machine; a policy brings `vm`, its specification, and `old_vm`, what that was.
pub(super) const VARIABLES: Table = &[
    ("template", "$vm.?template.orValue({})"),
    ("spec", "$template.?spec.orValue({})"),
    ("metadata", "$template.?metadata.orValue({})"),
    ("complete", "!$vm.?instancetype.hasValue() && !$vm.?preference.hasValue()"),
    ("default_bus", "''"),
];

/// The variables of memory that may grow; after those of the instance.
pub(super) const GROWING: Table = &[
    ("data_volumes", "$vm.?dataVolumeTemplates.orValue([])"),
    ("most", "$memory.?maxGuest.hasValue() ? quantity(string($memory.maxGuest)) : $nothing"),
    (
        "first_memory",
        "$memory_guest.compareTo($nothing) != 0 ? $memory_guest : $memory_request.compareTo($nothing) != 0 ? $memory_request : $memory_limit",
    ),
    ("block", "$page_size == '1Gi' ? 1073741824 : 2097152"),
    ("grows", "$memory.?maxGuest.hasValue() && $live_update"),
];

const GUEST: &str = "spec.domain.memory.guest";

/// A reference to an instance type or a preference.
macro_rules! matcher {
    ($nothing:literal, $name:literal, $kind:literal, $policy:literal, $revision:literal, $key:literal) => {
        [
            Rule::one(
                $nothing,
                concat!(
                    "$vm.?",
                    $key,
                    ".hasValue() && $vm.",
                    $key,
                    ".?name.orValue('') == '' && $vm.",
                    $key,
                    ".?inferFromVolume.orValue('') == ''"
                ),
                concat!("vm.", $key),
                "nothing is named; give a name, or inferFromVolume",
            ),
            Rule::one(
                $name,
                // What was inferred gets its name, and the volume is no longer asked.
                concat!("$vm.?", $key, ".?inferFromVolume.orValue('') != '' && $vm.", $key, ".?name.orValue('') != ''"),
                concat!("vm.", $key, ".name"),
                concat!("\"{$vm.", $key, ".name}\" contradicts inferFromVolume, which finds the name out; give only one of them"),
            ),
            Rule::one(
                $kind,
                concat!("$vm.?", $key, ".?inferFromVolume.orValue('') != '' && $vm.", $key, ".?kind.orValue('') != ''"),
                concat!("vm.", $key, ".kind"),
                concat!("\"{$vm.", $key, ".kind}\" contradicts inferFromVolume, which finds the kind out; give only one of them"),
            ),
            Rule::one(
                $policy,
                concat!("!($vm.?", $key, ".?inferFromVolumeFailurePolicy.orValue('Reject') in ['Reject', 'Ignore'])"),
                concat!("vm.", $key, ".inferFromVolumeFailurePolicy"),
                concat!("\"{$vm.", $key, ".inferFromVolumeFailurePolicy}\" is no policy; give Reject or Ignore"),
            ),
            Rule::one(
                $revision,
                concat!(
                    "$vm.?",
                    $key,
                    ".?revisionName.orValue('') != '' && $old_vm.?",
                    $key,
                    ".hasValue() && $vm.",
                    $key,
                    ".revisionName == $old_vm.",
                    $key,
                    ".?revisionName.orValue('') && $vm.",
                    $key,
                    ".?name.orValue('') != $old_vm.",
                    $key,
                    ".?name.orValue('')"
                ),
                concat!("vm.", $key, ".revisionName"),
                concat!(
                    "\"{$vm.",
                    $key,
                    ".revisionName}\" is a revision of another name than before; clear revisionName along with the change of name"
                ),
            ),
        ]
    };
}

const INSTANCETYPE: [Rule; 5] = matcher!(
    "instancetype-named",
    "instancetype-name",
    "instancetype-kind",
    "instancetype-policy",
    "instancetype-revision",
    "instancetype"
);
const PREFERENCE: [Rule; 5] =
    matcher!("preference-named", "preference-name", "preference-kind", "preference-policy", "preference-revision", "preference");

/// Of machines that are objects, not those of a pool.
pub(super) const MACHINE: &[Area] = &[
    Area::when("$vm.?instancetype.hasValue()", INSTANCETYPES),
    Area::when("$vm.?preference.hasValue()", PREFERENCES),
    Area::when("$data_volumes != []", NAMESPACES),
    Area::always(SNAPSHOTS),
];

const INSTANCETYPES: &[Rule] = &[INSTANCETYPE[0], INSTANCETYPE[1], INSTANCETYPE[2], INSTANCETYPE[3], INSTANCETYPE[4]];

const PREFERENCES: &[Rule] = &[PREFERENCE[0], PREFERENCE[1], PREFERENCE[2], PREFERENCE[3], PREFERENCE[4]];

const NAMESPACES: &[Rule] = &[Rule::each(
    "data-volume-namespace",
    "data_volumes",
    "it.?metadata.?namespace.orValue('') != '' && has(object.metadata.namespace) && it.metadata.namespace != object.metadata.namespace && \
         $old_vm.?dataVolumeTemplates.orValue([]) != $data_volumes",
    "vm.dataVolumeTemplates[#]",
    "the DataVolume is in \"{it.metadata.namespace}\", where the machine is not; leave the namespace out",
)];

const SNAPSHOTS: &[Rule] = &[Rule::one(
    "snapshot-volumes",
    "!$creates && object.?status.?snapshotInProgress.hasValue() && \
         $volumes != $old_vm.?template.?spec.?volumes.orValue([])",
    "vm",
    "volumes stay as they are until the snapshot \"{object.status.snapshotInProgress}\" is complete; try again then",
)];

/// Of the specification of a machine.
pub(super) const TEMPLATE: &[Area] = &[Area::when("$data_volumes != []", DATA_VOLUMES), Area::when("$grows", GROWS), Area::always(RUN)];

const DATA_VOLUMES: &[Rule] = &[
    Rule::each(
        "data-volume-name",
        "data_volumes",
        "it.?metadata.?name.orValue('') == ''",
        "vm.dataVolumeTemplates[#].metadata.name",
        "give the DataVolume a name in its metadata",
    ),
    Rule::each(
        "data-volume-used",
        "data_volumes",
        "it.?metadata.?name.orValue('') != '' && !$volumes.exists(v, v.?dataVolume.?name.orValue('') == it.metadata.name || \
         v.?persistentVolumeClaim.?claimName.orValue('') == it.metadata.name)",
        "vm.dataVolumeTemplates[#]",
        "no volume of the template uses \"{it.metadata.name}\"; add one with that name in dataVolume",
    ),
    Rule::each(
        "data-volume-size",
        "data_volumes",
        "has(it.spec) && has(it.spec.pvc) == has(it.spec.storage)",
        "vm.dataVolumeTemplates[#].spec.storage",
        "one thing says how large the DataVolume is; give either storage or pvc",
    ),
    Rule::each(
        "data-volume-source",
        "data_volumes",
        "has(it.spec) && has(it.spec.pvc) != has(it.spec.storage) && [it.spec.?pvc.orValue(it.spec.?storage.orValue({}))].exists(c, \
         (has(c.dataSource) || has(c.dataSourceRef)) == (has(it.spec.source) || has(it.spec.sourceRef)))",
        "vm.dataVolumeTemplates[#].spec.source",
        "one thing fills the DataVolume; give either source or sourceRef, or the claim's dataSource",
    ),
    Rule::each(
        "data-volume-one-source",
        "data_volumes",
        "it.?spec.?source.hasValue() && ['http', 's3', 'gcs', 'registry', 'pvc', 'upload', 'blank', 'imageio', 'vddk', \
         'snapshot'].filter(k, k in it.spec.source).size() != 1",
        "vm.dataVolumeTemplates[#].spec.source",
        "a DataVolume has one source, such as http, registry or blank; give exactly one",
    ),
];

const GROWS: &[Rule] = &[
    Rule::one(
        "grow-realtime",
        "$grows && $cpu.?realtime.hasValue()",
        GUEST,
        "the memory of a realtime guest cannot grow; leave out maxGuest or realtime",
    ),
    Rule::one(
        "grow-numa",
        "$grows && $cpu.?numa.?guestMappingPassthrough.hasValue()",
        GUEST,
        "the memory of a guest that mirrors NUMA cells cannot grow; leave out maxGuest or numa",
    ),
    Rule::one(
        "grow-encrypted",
        "$grows && $domain.?launchSecurity.hasValue()",
        GUEST,
        "the memory of an encrypted guest cannot grow; leave out maxGuest or launchSecurity",
    ),
    Rule::one(
        "grow-from",
        "$grows && $complete && $first_memory.compareTo($nothing) == 0 && !$memory.?hugepages.hasValue()",
        GUEST,
        "memory that can grow needs a size to start with; set guest",
    ),
    Rule::one(
        "grow-to-more",
        "$grows && $first_memory.compareTo($most) > 0",
        GUEST,
        "guest is more than maxGuest, which is {$memory.maxGuest}; raise that, or take less",
    ),
    Rule::one(
        "grow-in-blocks",
        "$grows && ($first_memory.isInteger() && $first_memory.asInteger() % $block != 0 || $most.isInteger() && $most.asInteger() % $block != 0)",
        GUEST,
        "memory that can grow comes in blocks; make guest and maxGuest multiples of {$block} bytes",
    ),
    Rule::one(
        "grow-on-amd64",
        "$grows && $own_architecture != '' && $own_architecture != 'amd64'",
        GUEST,
        "the memory of a guest on {$own_architecture} cannot grow, only on amd64; leave out maxGuest",
    ),
    Rule::one(
        "grow-from-enough",
        "$grows && $first_memory.compareTo($nothing) > 0 && $first_memory.compareTo(quantity('1073741823')) <= 0",
        GUEST,
        "memory that can grow starts at 1Gi at least; give the guest more, or leave out maxGuest",
    ),
];

const RUN: &[Rule] = &[
    Rule::one(
        "run-strategy",
        "!($vm.?runStrategy.orValue('Always') in ['Always', 'Halted', 'Manual', 'RerunOnFailure', 'Once', 'WaitAsReceiver'])",
        "vm.runStrategy",
        "\"{$vm.runStrategy}\" is no strategy; take one of Always, Halted, Manual, RerunOnFailure, Once and WaitAsReceiver",
    ),
    Rule::gated("run-as-receiver", Gate::DecentralizedLiveMigration, "$vm.?runStrategy.orValue('') == 'WaitAsReceiver'", "vm.runStrategy"),
    Rule::one(
        "run-once",
        "$vm.?running.hasValue() && $vm.?runStrategy.hasValue()",
        "vm.running",
        "running contradicts runStrategy; leave running out, which is deprecated",
    ),
    Rule::one(
        "run-at-all",
        "!$vm.?running.hasValue() && !$vm.?runStrategy.hasValue()",
        "vm.running",
        "nothing says when the machine runs; give runStrategy, such as Always or Halted",
    ),
];
