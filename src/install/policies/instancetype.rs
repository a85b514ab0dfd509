//! Rules of instance types, preferences and presets.

use super::Rule;

/// Of instance types.
pub(super) const INSTANCETYPE: &[Rule] = &[
    Rule::one(
        "overcommit",
        "object.spec.?memory.?overcommitPercent.orValue(0) < 0 || object.spec.?memory.?overcommitPercent.orValue(0) > 100",
        "spec.memory.overcommitPercent",
        "{object.spec.memory.overcommitPercent} is no share of the memory; it must be between 0 and 100",
    ),
    Rule::one(
        "overcommit-pages",
        "object.spec.?memory.?overcommitPercent.orValue(0) != 0 && object.spec.?memory.?hugepages.hasValue()",
        "spec.memory.overcommitPercent",
        "huge pages are reserved one for one and cannot be overcommitted; remove this or spec.memory.hugepages",
    ),
];

/// Whether vCPUs are spread.
macro_rules! spread {
    () => {
        "object.spec.?cpu.?preferredCPUTopology.orValue('') in ['spread', 'preferSpread']"
    };
}

/// Of preferences.
pub(super) const PREFERENCE: &[Rule] = &[
    Rule::one(
        "topology",
        "!(object.spec.?cpu.?preferredCPUTopology.orValue('any') in ['sockets', 'cores', 'threads', 'spread', 'any', 'preferSockets', \
         'preferCores', 'preferThreads', 'preferSpread', 'preferAny'])",
        "spec.cpu.preferredCPUTopology",
        "\"{object.spec.cpu.preferredCPUTopology}\" is unknown; it must be one of sockets, cores, threads, spread and any",
    ),
    Rule::one(
        "spread-across",
        concat!(
            spread!(),
            " && !(object.spec.cpu.?spreadOptions.?across.orValue('SocketsCores') in ['SocketsCoresThreads', 'SocketsCores', 'CoresThreads'])"
        ),
        "spec.cpu.spreadOptions.across",
        "\"{object.spec.cpu.spreadOptions.across}\" is unknown; it must be one of SocketsCoresThreads, SocketsCores and CoresThreads",
    ),
    Rule::one(
        "spread-ratio",
        concat!(
            spread!(),
            " && object.spec.cpu.?spreadOptions.?across.orValue('') == 'CoresThreads' && \
             !(object.spec.cpu.?spreadOptions.?ratio.orValue(object.spec.?preferSpreadSocketToCoreRatio.orValue(2)) in [0, 2])"
        ),
        "spec.cpu.spreadOptions.ratio",
        "a core has 2 threads, so that the ratio must be 2 when vCPUs are spread over cores and threads",
    ),
];
