//! Input, sound, video, panic and other devices, threads for I/O, and devices that are claimed.

use crate::config::Gate;

use super::super::forms::{no_dns_label, no_dns_subdomain};
use super::{Area, Rule};

/// A device that is taken from a claim.
macro_rules! is_claimed {
    ($it:literal) => {
        concat!(
            "(",
            $it,
            ".?deviceName.orValue('') == '' && (",
            $it,
            ".?claimName.orValue('') != '' || ",
            $it,
            ".?requestName.orValue('') != ''))"
        )
    };
}

/// The rules of one list of devices.
macro_rules! device {
    ($unnamed:literal, $both:literal, $part:literal, $list:literal, $field:literal) => {
        [
            Rule::each(
                $unnamed,
                $list,
                "it.?deviceName.orValue('') == '' && it.?claimName.orValue('') == '' && it.?requestName.orValue('') == ''",
                concat!("spec.domain.devices.", $field, "[#]"),
                "the device says neither its deviceName nor the claim that it is taken from; give one of them",
            ),
            Rule::each(
                $both,
                $list,
                "it.?deviceName.orValue('') != '' && (it.?claimName.orValue('') != '' || it.?requestName.orValue('') != '')",
                concat!("spec.domain.devices.", $field, "[#]"),
                "\"{it.deviceName}\" has both a deviceName and a claim; leave one of them out",
            ),
            Rule::each(
                $part,
                $list,
                "it.?deviceName.orValue('') == '' && (it.?claimName.orValue('') != '') != (it.?requestName.orValue('') != '')",
                concat!("spec.domain.devices.", $field, "[#]"),
                "a claimed device names its claim and the request in it; give both claimName and requestName",
            ),
        ]
    };
}

const GPUS: [Rule; 3] = device!("gpu-source", "gpu-one-source", "gpu-request", "gpus", "gpus");
const HOST_DEVICES: [Rule; 3] =
    device!("host-device-source", "host-device-one-source", "host-device-request", "host_devices", "hostDevices");

pub(super) const AREAS: &[Area] = &[
    Area::when("$inputs != []", INPUTS),
    Area::when("$domain.?ioThreadsPolicy.hasValue()", THREADS),
    Area::when("$devices.?sound.hasValue()", SOUND),
    Area::when("$devices.?panicDevices.hasValue()", PANIC),
    Area::when("$gpus != [] || $host_devices != []", PASSED),
    Area::when("$spec.?resourceClaims.hasValue()", CLAIMS),
    Area::always(OTHERS),
];

const INPUTS: &[Rule] = &[
    Rule::each(
        "input-bus",
        "inputs",
        "!(it.?bus.orValue('') in ['', 'usb', 'virtio'])",
        "spec.domain.devices.inputs[#].bus",
        "\"{it.bus}\" is no bus for input devices; take usb or virtio",
    ),
    Rule::each(
        "input-type",
        "inputs",
        "!(it.?type.orValue('') in ['', 'tablet'])",
        "spec.domain.devices.inputs[#].type",
        "\"{it.type}\" is no input device; only tablet is",
    ),
];

const THREADS: &[Rule] = &[
    Rule::one(
        "io-threads-policy",
        "$domain.?ioThreadsPolicy.hasValue() && !($domain.ioThreadsPolicy in ['shared', 'auto', 'supplementalPool'])",
        "spec.domain.ioThreadsPolicy",
        "\"{$domain.ioThreadsPolicy}\" is no policy; take one of shared, auto and supplementalPool",
    ),
    Rule::one(
        "io-threads-count",
        "$complete && $domain.?ioThreadsPolicy.orValue('') == 'supplementalPool' && \
         $domain.?ioThreads.?supplementalPoolThreadCount.orValue(0) < 1",
        "spec.domain.ioThreads.supplementalPoolThreadCount",
        "a supplemental pool has a count of threads; set this to 1 or more",
    ),
];

const SOUND: &[Rule] = &[
    Rule::one(
        "sound-model",
        "$devices.?sound.hasValue() && !($devices.sound.?model.orValue('') in ['', 'ich9', 'ac97'])",
        "spec.domain.devices.sound",
        "\"{$devices.sound.model}\" is no model of a sound card; take ich9 or ac97",
    ),
    Rule::one(
        "sound-name",
        "$devices.?sound.hasValue() && $devices.sound.?name.orValue('') == ''",
        "spec.domain.devices.sound",
        "give the sound card a name",
    ),
];

const PANIC: &[Rule] = &[
    Rule::one(
        "panic-devices-s390x",
        "$architecture == 's390x' && $devices.?panicDevices.orValue([]) != []",
        "spec.domain.devices.panicDevices",
        "guests on s390x always have a panic device, and no other; leave these out",
    ),
    Rule::one(
        "panic-device-model",
        "$devices.?panicDevices.orValue([]).exists(d, !(d.?model.orValue('isa') in ['hyperv', 'isa', 'pvpanic']))",
        "spec.domain.devices.panicDevices.model",
        "a panic device has an unknown model; take one of hyperv, isa and pvpanic",
    ),
];

const PASSED: &[Rule] = &[
    Rule::one(
        "one-boot-display",
        "$gpus.filter(g, g.?virtualGPUOptions.?display.hasValue() && g.virtualGPUOptions.display.?enabled.orValue(true) && \
         (!g.virtualGPUOptions.display.?ramFB.hasValue() || g.virtualGPUOptions.display.ramFB.?enabled.orValue(true))).size() > 1",
        "spec.domain.devices.gpus",
        "several GPUs show the boot by ramFB, which one can; set display.ramFB.enabled to false on the others",
    ),
    Rule::gated("host-devices", Gate::HostDevices, "$host_devices != []", "spec.domain.devices.hostDevices"),
    GPUS[0],
    GPUS[1],
    GPUS[2],
    Rule::gated("gpu-claims", Gate::GpusWithDra, concat!("$gpus.exists(d, ", is_claimed!("d"), ")"), "spec.domain.devices.gpus"),
    Rule::one(
        "gpus-alike",
        concat!("$gpus.exists(d, ", is_claimed!("d"), ") && !$gpus.all(d, ", is_claimed!("d"), ")"),
        "spec.domain.devices.gpus",
        "some devices are claimed and some named; name all of them by deviceName, or claim all of them",
    ),
    HOST_DEVICES[0],
    HOST_DEVICES[1],
    HOST_DEVICES[2],
    Rule::gated(
        "host-device-claims",
        Gate::HostDevicesWithDra,
        concat!("$host_devices.exists(d, ", is_claimed!("d"), ")"),
        "spec.domain.devices.hostDevices",
    ),
    Rule::one(
        "claims-there",
        "($gpus + $host_devices).exists(d, d.?deviceName.orValue('') == '' && d.?claimName.orValue('') != '' && \
         d.?requestName.orValue('') != '' && !$spec.?resourceClaims.orValue([]).exists(c, c.?name.orValue('') == d.claimName))",
        "spec.resourceClaims",
        "a device is taken from a claim that is not here; add it",
    ),
];

const CLAIMS: &[Rule] = &[
    Rule::one(
        "claim-names",
        concat!("$spec.?resourceClaims.orValue([]).map(c, c.?name.orValue('')).exists(n, ", no_dns_label!("n"), ")"),
        "spec.resourceClaims.name",
        "a claim has no name, or one that is none; use at most 63 lower-case letters, digits and dashes",
    ),
    Rule::one(
        "claim-names-unique",
        "$spec.?resourceClaims.orValue([]).exists(c, $spec.resourceClaims.filter(o, o.?name.orValue('') == c.?name.orValue('')).size() > 1)",
        "spec.resourceClaims.name",
        "two claims have one name; give each its own",
    ),
    Rule::one(
        "claim-source",
        "$spec.?resourceClaims.orValue([]).exists(c, has(c.resourceClaimName) == has(c.resourceClaimTemplateName))",
        "spec.resourceClaims",
        "a claim has one source; give either resourceClaimName or resourceClaimTemplateName",
    ),
    Rule::one(
        "claim-source-names",
        concat!(
            "$spec.?resourceClaims.orValue([]).exists(c, ['resourceClaimName', 'resourceClaimTemplateName'].exists(k, k in c && ",
            no_dns_subdomain!("c[k]"),
            "))"
        ),
        "spec.resourceClaims",
        "a claim refers to what is no name of an object; use at most 253 lower-case letters, digits, dashes and dots",
    ),
];

const OTHERS: &[Rule] = &[
    Rule::gated("vsock", Gate::Vsock, "$devices.?autoattachVSOCK.orValue(false)", "spec.domain.devices.autoattachVSOCK"),
    Rule::gated("downward-metrics", Gate::DownwardMetrics, "$devices.?downwardMetrics.hasValue()", "spec.domain.devices.downwardMetrics"),
    Rule::one(
        "video-or-none",
        "$devices.?video.hasValue() && !$devices.?autoattachGraphicsDevice.orValue(true)",
        "spec.domain.devices.video",
        "a video device is described, but autoattachGraphicsDevice says that there is none; leave one of them out",
    ),
    Rule::gated("reboot-policy", Gate::RebootPolicy, "$domain.?rebootPolicy.hasValue()", "spec.domain.rebootPolicy"),
    Rule::one(
        "claims-once",
        "$claimed.exists(c, $claimed.filter(o, o == c).size() > 1)",
        "spec.domain.devices, networks",
        "one request of a claim is taken twice; take another one",
    ),
];
