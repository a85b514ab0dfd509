//! Rules of what is made of machines: snapshots, restores, exports, clones, backups.

use crate::config::Gate;

use super::Rule;
use super::forms::{no_duration, no_mac_address};

/// What says what is to be done once stays as it is.
const UNCHANGED: Rule = Rule::one(
    "unchanged",
    "!$creates && object.?spec.orValue({}) != oldObject.?spec.orValue({})",
    "spec",
    "it cannot be changed once the object exists; delete it and create another",
);

/// A reference to a machine.
macro_rules! machine {
    ($group:literal, $given:literal, $kind:literal, $path:literal) => {
        [
            Rule::one(
                $given,
                concat!("$creates && !object.spec.?", $path, ".?apiGroup.hasValue()"),
                concat!("spec.", $path, ".apiGroup"),
                "the group is missing; it must be kubevirt.io",
            ),
            Rule::one(
                $group,
                concat!("$creates && object.spec.?", $path, ".?apiGroup.orValue('kubevirt.io') != 'kubevirt.io'"),
                concat!("spec.", $path, ".apiGroup"),
                concat!("\"{object.spec.", $path, ".apiGroup}\" must be kubevirt.io"),
            ),
            Rule::one(
                $kind,
                concat!(
                    "$creates && object.spec.?",
                    $path,
                    ".?apiGroup.orValue('') == 'kubevirt.io' && object.spec.",
                    $path,
                    ".?kind.orValue('') != 'VirtualMachine'"
                ),
                concat!("spec.", $path, ".kind"),
                concat!("\"{object.spec.", $path, ".kind}\" must be VirtualMachine"),
            ),
        ]
    };
}

/// A span of time.
macro_rules! duration {
    ($id:literal, $path:literal) => {
        Rule::one(
            $id,
            concat!("[object.spec.?", $path, ".orValue('0s')].exists(t, ", no_duration!("t"), ")"),
            concat!("spec.", $path),
            concat!("\"{object.spec.", $path, "}\" is no span of time, such as 90m"),
        )
    };
}

const SOURCE: [Rule; 3] = machine!("source-group", "source-group-given", "source-kind", "source");
const TARGET: [Rule; 3] = machine!("target-group", "target-group-given", "target-kind", "target");

/// Of snapshots.
pub(super) const SNAPSHOT: &[Rule] = &[
    Rule::gated("feature", Gate::Snapshot, "$creates", "spec"),
    SOURCE[0],
    SOURCE[1],
    SOURCE[2],
    UNCHANGED,
    duration!("deadline", "failureDeadline"),
];

/// Of restores.
pub(super) const RESTORE: &[Rule] = &[
    Rule::gated("feature", Gate::Snapshot, "$creates", "spec"),
    TARGET[0],
    TARGET[1],
    TARGET[2],
    UNCHANGED,
    Rule::one(
        "volume-policy",
        "$creates && object.spec.?volumeRestorePolicy.hasValue() && !(object.spec.volumeRestorePolicy in ['RandomizeNames', 'InPlace', 'PrefixTargetName'])",
        "spec.volumeRestorePolicy",
        "\"{object.spec.volumeRestorePolicy}\" is unknown; give RandomizeNames, InPlace or PrefixTargetName",
    ),
    Rule::one(
        "ownership-policy",
        "$creates && object.spec.?volumeOwnershipPolicy.hasValue() && !(object.spec.volumeOwnershipPolicy in ['Vm', 'None'])",
        "spec.volumeOwnershipPolicy",
        "\"{object.spec.volumeOwnershipPolicy}\" is unknown; give Vm or None",
    ),
    Rule::one(
        "override-volume",
        "$creates && object.spec.?volumeRestoreOverrides.orValue([]).exists(o, o.?volumeName.orValue('') == '')",
        "spec.volumeRestoreOverrides.volumeName",
        "the name of the volume is missing",
    ),
    Rule::one(
        "override-changes",
        "$creates && object.spec.?volumeRestoreOverrides.orValue([]).exists(o, o.?restoreName.orValue('') == '' && \
         o.?annotations.orValue({}) == {} && o.?labels.orValue({}) == {})",
        "spec.volumeRestoreOverrides",
        "an override changes nothing; give a restoreName, labels or annotations",
    ),
];

/// The groups of the kinds that can be exported.
macro_rules! exported {
    () => {
        "{'PersistentVolumeClaim': '', 'VirtualMachineSnapshot': 'snapshot.kubevirt.io', 'VirtualMachine': 'kubevirt.io', \
         'VirtualMachineBackup': 'backup.kubevirt.io', 'VirtualMachineTemplate': 'template.kubevirt.io'}"
    };
}

/// Of exports.
pub(super) const EXPORT: &[Rule] = &[
    UNCHANGED,
    duration!("lifetime", "ttlDuration"),
    Rule::one(
        "source-kind",
        concat!("$creates && object.spec.?source.hasValue() && !(object.spec.source.?kind.orValue('') in ", exported!(), ")"),
        "spec.source.kind",
        "\"{object.spec.source.kind}\" cannot be exported; it must be one of PersistentVolumeClaim, VirtualMachineSnapshot, VirtualMachine, VirtualMachineBackup and VirtualMachineTemplate",
    ),
    Rule::one(
        "source-template",
        "$creates && object.spec.?source.?kind.orValue('') == 'VirtualMachineTemplate' && \
         !($gate_OCIExport && $gate_Template && $templates_deployed)",
        "spec.source.kind",
        "templates can be exported only with the feature gate OCIExport and the deployment of virt-template enabled",
    ),
    Rule::one(
        "source-name",
        concat!("$creates && object.spec.?source.?kind.orValue('') in ", exported!(), " && object.spec.source.?name.orValue('') == ''"),
        "spec.source.name",
        "the name of the source is missing",
    ),
    Rule::one(
        "source-group",
        concat!(
            "$creates && object.spec.?source.?kind.orValue('') in ",
            exported!(),
            " && object.spec.source.?apiGroup.orValue('') != ",
            exported!(),
            "[object.spec.source.kind]"
        ),
        "spec.source.APIGroup",
        "this is not the group of a {object.spec.source.kind}; give the group of its API, or none for what is in the core",
    ),
];

/// Filters of labels or annotations, which may begin with `!` and end with `*`.
macro_rules! filters {
    ($id:literal, $path:literal, $field:literal) => {
        Rule::one(
            $id,
            concat!("object.spec.?", $path, ".orValue([]).exists(f, f == '!' || !f.matches('^!?[^!*]*[*]?$') || f == '')"),
            concat!("spec.", $field),
            "a filter is a name, with \"!\" before it where it excludes, and \"*\" behind it where it stands for all that begin so",
        )
    };
}

/// Of clones.
pub(super) const CLONE: &[Rule] = &[
    Rule::gated("feature", Gate::Snapshot, "$creates", "spec"),
    filters!("annotation-filters", "annotationFilters", "annotationFilters"),
    filters!("label-filters", "labelFilters", "labelFilters"),
    filters!("template-annotation-filters", "template.?annotationFilters", "template.annotationFilters"),
    filters!("template-label-filters", "template.?labelFilters", "template.labelFilters"),
    Rule::one(
        "source-kind",
        "!(object.spec.?source.?kind.orValue('VirtualMachine') in ['VirtualMachine', 'VirtualMachineSnapshot'])",
        "spec.source.kind",
        "\"{object.spec.source.kind}\" cannot be cloned; it must be VirtualMachine or VirtualMachineSnapshot",
    ),
    Rule::one(
        "source-group",
        "object.spec.?source.hasValue() && object.spec.source.?apiGroup.orValue('') == ''",
        "spec.source.apiGroup",
        "the group of the source is missing",
    ),
    Rule::one(
        "source-name",
        "object.spec.?source.hasValue() && object.spec.source.?name.orValue('') == ''",
        "spec.source.name",
        "the name of the source is missing",
    ),
    Rule::one(
        "target-kind",
        "object.spec.?target.?kind.orValue('VirtualMachine') != 'VirtualMachine'",
        "spec.target.kind",
        "\"{object.spec.target.kind}\" cannot be made by cloning; it must be VirtualMachine",
    ),
    Rule::one(
        "target-other",
        "object.spec.?source.?kind.orValue('') == 'VirtualMachine' && object.spec.?target.?kind.orValue('') == 'VirtualMachine' && \
         object.spec.source.?name.orValue('') == object.spec.target.?name.orValue('')",
        "spec.target.name",
        "a machine cannot be cloned to itself; choose another name",
    ),
    Rule::one(
        "addresses",
        concat!(
            "object.spec.?newMacAddresses.orValue({}).exists(k, object.spec.newMacAddresses[k] != '' && ",
            no_mac_address!("object.spec.newMacAddresses[k]"),
            ")"
        ),
        "spec.newMacAddresses",
        "an address is no MAC address, such as 02:00:00:00:00:01",
    ),
];

/// Of backups and their trackers.
pub(super) const BACKUP: &[Rule] =
    &[Rule::gated("feature", Gate::IncrementalBackup, "$creates", "spec"), duration!("lifetime", "ttlDuration")];
