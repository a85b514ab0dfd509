//! Volumes: one source each, complete and permitted; what cloud-init is told.

use crate::config::Gate;

use super::super::forms::no_file;
use super::{Area, Rule};

/// The sources that a volume may have, of which it has one.
macro_rules! sources {
    () => {
        "['hostDisk', 'persistentVolumeClaim', 'cloudInitNoCloud', 'cloudInitConfigDrive', 'sysprep', 'containerDisk', 'ephemeral', \
         'emptyDisk', 'dataVolume', 'configMap', 'secret', 'downwardAPI', 'serviceAccount', 'downwardMetrics', 'memoryDump', \
         'containerPath'].filter(s, s in it)"
    };
}

/// A volume that shows an object, which it names.
macro_rules! named {
    ($id:literal, $source:literal, $key:literal) => {
        Rule::each(
            $id,
            "volumes",
            concat!("has(it.", $source, ") && it.", $source, ".?", $key, ".orValue('') == ''"),
            concat!("spec.volumes[#].", $source, ".", $key),
            "name the object that the volume shows",
        )
    };
}

/// A kind of volume of which there is one.
macro_rules! one {
    ($id:literal, $source:literal) => {
        Rule::one(
            $id,
            concat!("$volumes.filter(v, has(v.", $source, ")).size() > 1"),
            "spec.volumes",
            concat!("several volumes are of the kind ", $source, ", of which there is one; keep one of them"),
        )
    };
}

/// The data of one kind for cloud-init: where it may come from, and how much.
macro_rules! cloud_data {
    ($one:literal, $short:literal, $source:literal, $data:literal, $secret:literal) => {
        [
            Rule::each(
                $one,
                "volumes",
                concat!(
                    "has(it.",
                    $source,
                    ") && [it.",
                    $source,
                    ".?",
                    $data,
                    ".orValue(''), it.",
                    $source,
                    ".?",
                    $data,
                    "Base64.orValue(''), it.",
                    $source,
                    ".?",
                    $secret,
                    ".?name.orValue('')].filter(d, d != '').size() > 1"
                ),
                concat!("spec.volumes[#].", $source),
                concat!($data, " comes from several places; keep one of ", $data, ", ", $data, "Base64 and ", $secret),
            ),
            Rule::each(
                $short,
                "volumes",
                // Base64 of three bytes has four characters, line breaks not counted.
                concat!(
                    "has(it.",
                    $source,
                    ") && (it.",
                    $source,
                    ".?",
                    $data,
                    ".orValue('').size() > 2048 || it.",
                    $source,
                    ".?",
                    $data,
                    "Base64.orValue('').replace('\\n', '').replace('=', '').size() > 2731)"
                ),
                concat!("spec.volumes[#].", $source),
                concat!($data, " has more than 2048 bytes; put it into a secret and name that in ", $secret),
            ),
        ]
    };
}

macro_rules! cloud_nothing {
    ($id:literal, $source:literal) => {
        Rule::each(
            $id,
            "volumes",
            concat!(
                "has(it.",
                $source,
                ") && ['userData', 'userDataBase64', 'networkData', 'networkDataBase64'].all(k, !(k in it.",
                $source,
                ") || it.",
                $source,
                "[k] == '') && it.",
                $source,
                ".?secretRef.?name.orValue('') == '' && it.",
                $source,
                ".?networkDataSecretRef.?name.orValue('') == ''"
            ),
            concat!("spec.volumes[#].", $source),
            "cloud-init is told nothing; give userData or networkData, or a secret with them",
        )
    };
}

const NO_CLOUD: [[Rule; 2]; 2] = [
    cloud_data!("no-cloud-user", "no-cloud-user-size", "cloudInitNoCloud", "userData", "secretRef"),
    cloud_data!("no-cloud-network", "no-cloud-network-size", "cloudInitNoCloud", "networkData", "networkDataSecretRef"),
];
const CONFIG_DRIVE: [[Rule; 2]; 2] = [
    cloud_data!("config-drive-user", "config-drive-user-size", "cloudInitConfigDrive", "userData", "secretRef"),
    cloud_data!("config-drive-network", "config-drive-network-size", "cloudInitConfigDrive", "networkData", "networkDataSecretRef"),
];

pub(super) const AREAS: &[Area] = &[
    Area::when("$volumes.exists(v, has(v.cloudInitNoCloud) || has(v.cloudInitConfigDrive))", CLOUD_INIT),
    Area::when("$volumes.exists(v, has(v.hostDisk))", HOST_DISKS),
    Area::when("$volumes.exists(v, has(v.configMap) || has(v.secret) || has(v.serviceAccount) || has(v.dataVolume))", OBJECTS),
    Area::when("$volumes.exists(v, has(v.containerDisk))", IMAGES),
    Area::when("$volumes != []", VOLUMES),
];

const CLOUD_INIT: &[Rule] = &[
    cloud_nothing!("no-cloud-nothing", "cloudInitNoCloud"),
    NO_CLOUD[0][0],
    NO_CLOUD[0][1],
    NO_CLOUD[1][0],
    NO_CLOUD[1][1],
    cloud_nothing!("config-drive-nothing", "cloudInitConfigDrive"),
    CONFIG_DRIVE[0][0],
    CONFIG_DRIVE[0][1],
    CONFIG_DRIVE[1][0],
    CONFIG_DRIVE[1][1],
];

const HOST_DISKS: &[Rule] = &[
    Rule::gated_each("volume-host-disk", Gate::HostDisk, "volumes", "has(it.hostDisk)", "spec.volumes[#]"),
    Rule::each(
        "host-disk-path",
        "volumes",
        "has(it.hostDisk) && it.hostDisk.?path.orValue('') == ''",
        "spec.volumes[#].hostDisk.path",
        "name the file on the node",
    ),
    Rule::each(
        "host-disk-type",
        "volumes",
        "has(it.hostDisk) && !(it.hostDisk.?type.orValue('') in ['DiskOrCreate', 'Disk'])",
        "spec.volumes[#].hostDisk.type",
        "\"{it.hostDisk.?type.orValue('')}\" is no kind of host disk; take DiskOrCreate or Disk",
    ),
];

const OBJECTS: &[Rule] = &[
    named!("volume-data-volume", "dataVolume", "name"),
    named!("volume-config-map", "configMap", "name"),
    named!("volume-secret", "secret", "secretName"),
    named!("volume-service-account", "serviceAccount", "serviceAccountName"),
    one!("one-service-account", "serviceAccount"),
];

const IMAGES: &[Rule] = &[
    Rule::each(
        "image-path",
        "volumes",
        concat!("it.?containerDisk.?path.orValue('') != '' && ", no_file!("it.containerDisk.path")),
        "spec.volumes[#].containerDisk",
        "\"{it.containerDisk.path}\" is no absolute path of a file; write it from the root on, without \".\" and \"..\"",
    ),
    Rule::each(
        "image-pull-policy",
        "volumes",
        "!(it.?containerDisk.?imagePullPolicy.orValue('') in ['', 'Always', 'IfNotPresent', 'Never'])",
        "spec.volumes[#].containerDisk.imagePullPolicy",
        "\"{it.containerDisk.imagePullPolicy}\" is no policy; take Always, IfNotPresent or Never",
    ),
];

const VOLUMES: &[Rule] = &[
    Rule::each(
        "volume-name-unique",
        "volumes",
        "$volume_names.indexOf(it.?name.orValue('')) != $volume_names.lastIndexOf(it.?name.orValue(''))",
        "spec.volumes[#].name",
        "\"{it.name}\" is the name of another volume, too; give each its own",
    ),
    Rule::each(
        "volume-one-source",
        "volumes",
        concat!(sources!(), ".size() != 1"),
        "spec.volumes[#]",
        concat!("\"{it.name}\" has {", sources!(), ".size()} sources; give exactly one, such as containerDisk"),
    ),
    Rule::gated_each("volume-metrics", Gate::DownwardMetrics, "volumes", "has(it.downwardMetrics)", "spec.volumes[#]"),
    one!("one-metrics", "downwardMetrics"),
    one!("one-memory-dump", "memoryDump"),
];
