//! Rules of an instance's specification, which templates of instances keep as well: one file an area.

mod cpu;
mod devices;
mod disks;
mod firmware;
mod guest;
mod memory;
mod networks;
mod scheduling;
mod volumes;
mod whole;

use super::variables::Table;
use super::{Area, Rule};

/// Those that every template keeps.
pub(super) const TEMPLATE: &[&[Area]] = &[
    memory::AREAS,
    cpu::AREAS,
    firmware::AREAS,
    devices::AREAS,
    disks::AREAS,
    volumes::AREAS,
    networks::AREAS,
    scheduling::AREAS,
    guest::AREAS,
];

/// Those that an instance keeps beyond.
pub(super) const INSTANCE: &[Area] = whole::AREAS;

/// Those of metadata.
pub(super) const METADATA: &[Area] = guest::METADATA;

/// What the rules call the places of the pod; after [`VARIABLES`].
pub(super) const PLACES: Table = scheduling::VARIABLES;

/// What the rules call the parts of the specification.
///
/// A policy brings `spec` and `metadata`; `complete`, which tells that nothing is merged into the specification later
/// (an instance type, a preference), so that what is missing is missing; `defaulted`, which tells that what is missing
/// has the cluster's defaults when it is judged; and `default_bus`, the bus of disks that name none.
pub(super) const VARIABLES: Table = &[
    ("domain", "$spec.?domain.orValue({})"),
    ("devices", "$domain.?devices.orValue({})"),
    ("disks", "$devices.?disks.orValue([])"),
    ("disk_names", "$disks.map(d, d.?name.orValue(''))"),
    ("filesystem_names", "$devices.?filesystems.orValue([]).map(f, f.?name.orValue(''))"),
    ("interfaces", "$devices.?interfaces.orValue([])"),
    ("interface_names", "$interfaces.map(i, i.?name.orValue(''))"),
    ("inputs", "$devices.?inputs.orValue([])"),
    ("gpus", "$devices.?gpus.orValue([])"),
    ("host_devices", "$devices.?hostDevices.orValue([])"),
    (
        "claiming",
        "($gpus + $host_devices).filter(d, d.?deviceName.orValue('') == '') + \
      $spec.?networks.orValue([]).filter(n, has(n.resourceClaim)).map(n, n.resourceClaim)",
    ),
    (
        "claimed",
        "$claiming.filter(c, c.?claimName.orValue('') != '' && c.?requestName.orValue('') != '').map(c, [c.claimName, c.requestName])",
    ),
    ("volumes", "$spec.?volumes.orValue([])"),
    ("volume_names", "$volumes.map(v, v.?name.orValue(''))"),
    ("networks", "$spec.?networks.orValue([])"),
    ("network_names", "$networks.map(n, n.?name.orValue(''))"),
    ("pod_networks", "$networks.filter(n, has(n.pod)).map(n, n.?name.orValue(''))"),
    ("cpu", "$domain.?cpu.orValue({})"),
    ("memory", "$domain.?memory.orValue({})"),
    ("firmware", "$domain.?firmware.orValue({})"),
    ("efi", "$firmware.?bootloader.?efi"),
    ("features", "$domain.?features.orValue({})"),
    ("smm", "$features.?smm.hasValue() && $features.smm.?enabled.orValue(true)"),
    ("security", "$domain.?launchSecurity.orValue({})"),
    ("requests", "$domain.?resources.?requests.orValue({})"),
    ("limits", "$domain.?resources.?limits.orValue({})"),
    ("nothing", "quantity('0')"),
    ("memory_request", "$requests.?memory.hasValue() ? quantity(string($requests.memory)) : $nothing"),
    ("memory_limit", "$limits.?memory.hasValue() ? quantity(string($limits.memory)) : $nothing"),
    ("memory_guest", "$memory.?guest.hasValue() ? quantity(string($memory.guest)) : $nothing"),
    ("page_size", "$memory.?hugepages.?pageSize.orValue('')"),
    ("cpu_request", "$requests.?cpu.hasValue() ? quantity(string($requests.cpu)) : $nothing"),
    ("cpu_limit", "$limits.?cpu.hasValue() ? quantity(string($limits.cpu)) : $nothing"),
    ("dedicated", "$cpu.?dedicatedCpuPlacement.orValue(false)"),
    ("cores", "[$cpu.?cores.orValue(0), $cpu.?sockets.orValue(0), $cpu.?threads.orValue(0)].filter(n, n != 0)"),
    ("vcpus", "$cores == [] ? 0 : $cores[0] * (size($cores) > 1 ? $cores[1] : 1) * (size($cores) > 2 ? $cores[2] : 1)"),
    ("assumed_architecture", "$defaulted ? $default_architecture : ''"),
    ("own_architecture", "$spec.?architecture.orValue('')"),
    ("architecture", "$own_architecture != '' ? $own_architecture : $assumed_architecture"),
    ("known_architecture", "$architecture in ['amd64', 'arm64', 's390x']"),
    ("machines", "$emulated_machines[?$architecture].orValue(['*'])"),
    ("own_machine", "$domain.?machine.?type.orValue('')"),
    ("machine", "$own_machine != '' || !$complete || !$defaulted ? $own_machine : $machine_types[?$architecture].orValue('')"),
];
