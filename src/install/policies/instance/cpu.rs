//! CPUs: how many, pinned where, with which features.

use super::{Area, Rule};

pub(super) const AREAS: &[Area] = &[
    Area::when("$requests.?cpu.hasValue() || $limits.?cpu.hasValue()", AMOUNTS),
    Area::when("$dedicated", DEDICATED),
    Area::when("$cpu != {}", TOPOLOGY),
];

const AMOUNTS: &[Rule] = &[
    Rule::one(
        "cpu-request-positive",
        "$cpu_request.compareTo($nothing) < 0",
        "spec.domain.resources.requests.cpu",
        "{$requests.cpu} is negative; give a number of CPUs, or none",
    ),
    Rule::one(
        "cpu-limit-positive",
        "$cpu_limit.compareTo($nothing) < 0",
        "spec.domain.resources.limits.cpu",
        "{$limits.cpu} is negative; give a number of CPUs, or none",
    ),
    Rule::one(
        "cpu-request-within-limit",
        "$cpu_limit.compareTo($nothing) > 0 && $cpu_request.compareTo($cpu_limit) > 0",
        "spec.domain.resources.requests.cpu",
        "{$requests.cpu} is more than the limit of {$limits.cpu}; ask for less, or raise the limit",
    ),
];

const DEDICATED: &[Rule] = &[
    Rule::one(
        "dedicated-memory",
        "$complete && $dedicated && $memory_limit.compareTo($nothing) == 0 && $memory_request.compareTo($nothing) == 0 && \
         $memory_guest.compareTo($nothing) == 0 && !$memory.?hugepages.hasValue()",
        "spec.domain.resources.limits.memory",
        "dedicated CPUs need to know the memory; set it here, in requests, or by memory.guest or memory.hugepages",
    ),
    Rule::one(
        "dedicated-request-whole",
        "$dedicated && $cpu_request.compareTo($nothing) > 0 && !$cpu_request.isInteger()",
        "spec.domain.resources.requests.cpu",
        "{$requests.cpu} is no whole number; dedicated CPUs come whole",
    ),
    Rule::one(
        "dedicated-limit-whole",
        "$dedicated && $cpu_limit.compareTo($nothing) > 0 && !$cpu_limit.isInteger()",
        "spec.domain.resources.limits.cpu",
        "{$limits.cpu} is no whole number; dedicated CPUs come whole",
    ),
    Rule::one(
        "dedicated-memory-fixed",
        "$dedicated && $memory_request.compareTo($nothing) > 0 && $memory_limit.compareTo($nothing) > 0 && \
         $memory_request.compareTo($memory_limit) != 0",
        "spec.domain.resources.requests.memory",
        "{$requests.memory} differs from the limit of {$limits.memory}; with dedicated CPUs both must be the same",
    ),
    Rule::one(
        "dedicated-count-fixed",
        "$dedicated && $cpu_request.isInteger() && $cpu_limit.isInteger() && $cpu_request.compareTo($nothing) > 0 && \
         $cpu_limit.compareTo($nothing) > 0 && $cpu_request.compareTo($cpu_limit) != 0",
        "spec.domain.cpu.dedicatedCpuPlacement",
        "{$requests.cpu} CPUs are requested and {$limits.cpu} the limit; for dedicated CPUs both must be the same",
    ),
    Rule::one(
        "dedicated-count",
        "$dedicated && $vcpus > 0 && $cpu_request.isInteger() && $cpu_limit.isInteger() && \
         ($cpu_request.compareTo($nothing) > 0 || $cpu_limit.compareTo($nothing) > 0) && \
         $cpu_request.asInteger() != $vcpus && $cpu_limit.asInteger() != $vcpus",
        "spec.domain.cpu.dedicatedCpuPlacement",
        "the topology has {$vcpus} CPUs, but the resources say otherwise; make them the same, or leave one out",
    ),
    Rule::one(
        "dedicated-threads",
        "$dedicated && $cpu.?threads.orValue(0) > 2",
        "spec.domain.cpu.dedicatedCpuPlacement",
        "a dedicated core has at most 2 threads, but cpu.threads is {$cpu.threads}",
    ),
    Rule::one(
        "dedicated-threads-arm64",
        "$dedicated && $cpu.?threads.orValue(0) > 1 && $architecture == 'arm64'",
        "spec.architecture",
        "CPUs of arm64 have one thread, but cpu.threads is {$cpu.threads}; leave it out",
    ),
];

const TOPOLOGY: &[Rule] = &[
    Rule::one(
        "numa-dedicated",
        "$complete && $cpu.?numa.?guestMappingPassthrough.hasValue() && !$dedicated",
        "spec.domain.cpu.numa.guestMappingPassthrough",
        "NUMA cells can be mirrored for dedicated CPUs only; set cpu.dedicatedCpuPlacement to true",
    ),
    Rule::one(
        "numa-pages",
        "$complete && $cpu.?numa.?guestMappingPassthrough.hasValue() && !$memory.?hugepages.hasValue()",
        "spec.domain.cpu.numa.guestMappingPassthrough",
        "NUMA cells can be mirrored for memory on huge pages only; set memory.hugepages",
    ),
    Rule::one(
        "isolated-emulator",
        "$complete && $cpu.?isolateEmulatorThread.orValue(false) && !$dedicated",
        "spec.domain.cpu.isolateEmulatorThread",
        "the emulator gets a CPU of its own only beside dedicated ones; set cpu.dedicatedCpuPlacement to true",
    ),
    Rule::one(
        "feature-policies",
        "$cpu.?features.orValue([]).exists(f, !(f.?policy.orValue('') in ['', 'force', 'require', 'optional', 'disable', 'forbid']))",
        "spec.domain.cpu.features.policy",
        "a feature has an unknown policy; give force, require, optional, disable or forbid",
    ),
    Rule::one(
        "sockets-within-limit",
        "$cpu.?maxSockets.orValue(0) != 0 && $cpu.?sockets.orValue(0) > $cpu.maxSockets",
        "spec.domain.cpu.sockets",
        "{$cpu.sockets} sockets are more than maxSockets, which is {$cpu.maxSockets}; raise that, or take fewer",
    ),
    Rule::one(
        "realtime-dedicated",
        "$complete && $cpu.?realtime.hasValue() && !$dedicated",
        "spec.domain.cpu.dedicatedCpuPlacement",
        "realtime needs dedicated CPUs; set this to true",
    ),
    Rule::one(
        "realtime-numa",
        "$complete && $cpu.?realtime.hasValue() && !$cpu.?numa.?guestMappingPassthrough.hasValue()",
        "spec.domain.cpu.numa.guestMappingPassthrough",
        "realtime needs mirrored NUMA cells; set this to an empty object",
    ),
];
