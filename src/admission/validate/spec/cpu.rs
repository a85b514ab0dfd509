//! CPUs: how many, pinned where, with which features.

use super::{Rule, Subject, closed};
use crate::admission::Cause;
use crate::api::Quantity;
use crate::api::v1::Cpu;
use crate::config::Gate;

pub(super) const RULES: &[Rule] = &[
    amounts,
    dedicated_memory,
    dedicated_whole_cpus,
    dedicated_memory_fixed,
    dedicated_count,
    dedicated_threads,
    numa,
    isolated_emulator,
    feature_policies,
    sockets_within_limit,
    realtime,
];

const POLICIES: [&str; 6] = ["", "force", "require", "optional", "disable", "forbid"];
/// Pinned CPUs are pairs of hyperthreads at most.
const MOST_PINNED_THREADS: u32 = 2;

fn amounts(s: &Subject, causes: &mut Vec<Cause>) {
    let (asked, most) = (s.request("cpu"), s.limit("cpu"));
    for (key, amount) in [("domain.resources.requests.cpu", asked), ("domain.resources.limits.cpu", most)] {
        if amount.millis() < 0 {
            causes.push(Cause::invalid(s.at.key(key), format!("{amount} is negative; give a number of CPUs, or none")));
        }
    }
    if most.millis() > 0 && asked.millis() > most.millis() {
        let message = format!("{asked} is more than the limit of {most}; ask for less, or raise the limit");
        causes.push(Cause::invalid(s.at.key("domain.resources.requests.cpu"), message));
    }
}

/// The CPU section, if the guest's CPUs are its own.
fn dedicated<'a>(s: &Subject<'a>) -> Option<&'a Cpu> {
    s.cpu().filter(|cpu| cpu.dedicated_cpu_placement)
}

fn dedicated_memory(s: &Subject, causes: &mut Vec<Cause>) {
    if dedicated(s).is_none() {
        return;
    }
    let given = |list: &std::collections::BTreeMap<String, Quantity>| list.get("memory").is_some_and(|q| !q.is_zero());
    let resources = &s.domain().resources;
    let guest = s.domain().memory.as_ref().is_some_and(|m| m.hugepages.is_some() || m.guest.as_ref().is_some_and(|q| !q.is_zero()));
    if !given(&resources.limits) && !given(&resources.requests) && !guest {
        let message = "dedicated CPUs need to know the memory; set it here, in requests, or by memory.guest or memory.hugepages";
        causes.push(Cause::invalid(s.at.key("domain.resources.limits.memory"), message));
    }
}

fn dedicated_whole_cpus(s: &Subject, causes: &mut Vec<Cause>) {
    if dedicated(s).is_none() {
        return;
    }
    for (key, amount) in [("domain.resources.requests.cpu", s.request("cpu")), ("domain.resources.limits.cpu", s.limit("cpu"))] {
        if amount.value() > 0 && amount.value() * 1000 != amount.millis() {
            causes.push(Cause::invalid(s.at.key(key), format!("{amount} is no whole number; dedicated CPUs come whole")));
        }
    }
}

fn dedicated_memory_fixed(s: &Subject, causes: &mut Vec<Cause>) {
    let (asked, most) = (s.request("memory"), s.limit("memory"));
    if dedicated(s).is_some() && asked.value() > 0 && most.value() > 0 && asked.value() != most.value() {
        let message = format!("{asked} differs from the limit of {most}; with dedicated CPUs both must be the same");
        causes.push(Cause::invalid(s.at.key("domain.resources.requests.memory"), message));
    }
}

fn dedicated_count(s: &Subject, causes: &mut Vec<Cause>) {
    let Some(cpu) = dedicated(s) else { return };
    let at = s.at.key("domain.cpu.dedicatedCpuPlacement");
    let (asked, most, count) = (s.request("cpu").value(), s.limit("cpu").value(), vcpus(cpu));
    if asked == 0 && most == 0 && count == 0 {
        causes.push(Cause::invalid(at, "nothing says how many CPUs are dedicated; set cores, or requests or limits of cpu"));
    }
    if asked > 0 && most > 0 && asked != most {
        causes
            .push(Cause::invalid(at, format!("{asked} CPUs are requested and {most} the limit; for dedicated CPUs both must be the same")));
    }
    if (asked > 0 || most > 0) && count > 0 && asked != count && most != count {
        let given = if asked > 0 { asked } else { most };
        causes.push(Cause::invalid(
            at,
            format!("the topology has {count} CPUs, but the resources say {given}; make them the same, or leave one out"),
        ));
    }
}

/// The virtual CPUs of a topology; what is not given counts as one, unless nothing is.
fn vcpus(cpu: &Cpu) -> i128 {
    let given = [cpu.cores, cpu.sockets, cpu.threads].into_iter().filter(|n| *n != 0).map(i128::from);
    given.reduce(|count, n| count * n).unwrap_or(0)
}

fn dedicated_threads(s: &Subject, causes: &mut Vec<Cause>) {
    let Some(cpu) = dedicated(s) else { return };
    if cpu.threads > 1 && s.architecture() == "arm64" {
        let message = format!("CPUs of arm64 have one thread, but cpu.threads is {}; leave it out", cpu.threads);
        causes.push(Cause::invalid(s.at.key("architecture"), message));
    }
    if cpu.threads > MOST_PINNED_THREADS {
        let message = format!("a dedicated core has at most {MOST_PINNED_THREADS} threads, but cpu.threads is {}", cpu.threads);
        causes.push(Cause::invalid(s.at.key("domain.cpu.dedicatedCpuPlacement"), message));
    }
}

fn numa(s: &Subject, causes: &mut Vec<Cause>) {
    let Some(cpu) = s.cpu().filter(|cpu| cpu.numa.as_ref().is_some_and(|n| n.guest_mapping_passthrough.is_some())) else { return };
    let at = s.at.key("domain.cpu.numa.guestMappingPassthrough");
    if !s.enabled(Gate::Numa) {
        causes.push(Cause::invalid(at, closed(Gate::Numa)));
    }
    if !cpu.dedicated_cpu_placement {
        causes.push(Cause::invalid(at, "NUMA cells can be mirrored for dedicated CPUs only; set cpu.dedicatedCpuPlacement to true"));
    }
    if s.domain().memory.as_ref().is_none_or(|m| m.hugepages.is_none()) {
        causes.push(Cause::invalid(at, "NUMA cells can be mirrored for memory on huge pages only; set memory.hugepages"));
    }
}

fn isolated_emulator(s: &Subject, causes: &mut Vec<Cause>) {
    if s.cpu().is_some_and(|cpu| cpu.isolate_emulator_thread && !cpu.dedicated_cpu_placement) {
        let message = "the emulator gets a CPU of its own only beside dedicated ones; set cpu.dedicatedCpuPlacement to true";
        causes.push(Cause::invalid(s.at.key("domain.cpu.isolateEmulatorThread"), message));
    }
}

fn feature_policies(s: &Subject, causes: &mut Vec<Cause>) {
    let features = s.at.key("domain.cpu.features");
    for (i, feature) in s.cpu().into_iter().flat_map(|cpu| &cpu.features).enumerate() {
        if !POLICIES.contains(&feature.policy.as_str()) {
            let message =
                format!("{:?} is no policy for {:?}; give force, require, optional, disable or forbid", feature.policy, feature.name);
            causes.push(Cause::not_supported(features.index(i).key("policy"), message));
        }
    }
}

fn sockets_within_limit(s: &Subject, causes: &mut Vec<Cause>) {
    if let Some(cpu) = s.cpu().filter(|cpu| cpu.max_sockets != 0 && cpu.sockets > cpu.max_sockets) {
        let message = format!("{} sockets are more than maxSockets, which is {}; raise that, or take fewer", cpu.sockets, cpu.max_sockets);
        causes.push(Cause::invalid(s.at.key("domain.cpu.sockets"), message));
    }
}

fn realtime(s: &Subject, causes: &mut Vec<Cause>) {
    let Some(cpu) = s.cpu().filter(|cpu| cpu.realtime.is_some()) else { return };
    if !cpu.dedicated_cpu_placement {
        causes.push(Cause::required(s.at.key("domain.cpu.dedicatedCpuPlacement"), "realtime needs dedicated CPUs; set this to true"));
    }
    if cpu.numa.as_ref().is_none_or(|n| n.guest_mapping_passthrough.is_none()) {
        causes.push(Cause::required(
            s.at.key("domain.cpu.numa.guestMappingPassthrough"),
            "realtime needs mirrored NUMA cells; set this to {}",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;
    use serde_json::{Value, json};

    fn pinned(cpu: Value, requests: Value, limits: Value) -> Value {
        let mut cpu = cpu;
        cpu["dedicatedCpuPlacement"] = json!(true);
        json!({"domain": {"cpu": cpu, "resources": {"requests": requests, "limits": limits}, "memory": {"guest": "1Gi"}}})
    }

    const PINNED: &[&str] = &["s.domain.cpu.dedicatedCpuPlacement"];

    #[test]
    fn dedicated_cpus_are_whole_and_counted_once() {
        check(
            RULES,
            &[],
            &[
                (pinned(json!({"cores": 2}), json!({}), json!({})), &[]),
                (pinned(json!({}), json!({"cpu": "2"}), json!({})), &[]),
                (pinned(json!({}), json!({}), json!({})), PINNED),
                (pinned(json!({"cores": 3}), json!({"cpu": "2"}), json!({})), PINNED),
                (pinned(json!({}), json!({"cpu": "1"}), json!({"cpu": "2"})), PINNED),
                (pinned(json!({"cores": 2, "threads": 3}), json!({}), json!({})), PINNED),
                (pinned(json!({}), json!({"cpu": "1500m"}), json!({})), &["s.domain.resources.requests.cpu"]),
                (pinned(json!({}), json!({}), json!({"cpu": "1500m"})), &["s.domain.resources.limits.cpu"]),
                (pinned(json!({"cores": 2}), json!({"memory": "1Gi"}), json!({"memory": "2Gi"})), &["s.domain.resources.requests.memory"]),
                (json!({"domain": {"cpu": {"dedicatedCpuPlacement": true, "cores": 1}}}), &["s.domain.resources.limits.memory"]),
                (
                    json!({"architecture": "arm64", "domain": {"cpu": {"dedicatedCpuPlacement": true, "threads": 2}, "memory": {"guest": "1Gi"}}}),
                    &["s.architecture"],
                ),
            ],
        );
    }

    #[test]
    fn cpus_are_what_they_can_be() {
        const NUMA: &str = "s.domain.cpu.numa.guestMappingPassthrough";
        check(
            RULES,
            &[],
            &[
                (json!({"domain": {"resources": {"requests": {"cpu": "-1"}}}}), &["s.domain.resources.requests.cpu"]),
                (json!({"domain": {"resources": {"limits": {"cpu": "-1"}}}}), &["s.domain.resources.limits.cpu"]),
                (
                    json!({"domain": {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}}),
                    &["s.domain.resources.requests.cpu"],
                ),
                (json!({"domain": {"cpu": {"numa": {"guestMappingPassthrough": {}}}}}), &[NUMA, NUMA]),
                (json!({"domain": {"cpu": {"isolateEmulatorThread": true}}}), &["s.domain.cpu.isolateEmulatorThread"]),
                (
                    json!({"domain": {"cpu": {"features": [{"name": "a"}, {"name": "b", "policy": "maybe"}]}}}),
                    &["s.domain.cpu.features[1].policy"],
                ),
                (json!({"domain": {"cpu": {"sockets": 3, "maxSockets": 2}}}), &["s.domain.cpu.sockets"]),
                (json!({"domain": {"cpu": {"realtime": {}}}}), &["s.domain.cpu.dedicatedCpuPlacement", NUMA]),
            ],
        );
    }
}
