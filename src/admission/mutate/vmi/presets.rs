//! Presets: parts of a domain that instances with certain labels get.

use serde::Deserialize;
use serde_json::Value;

use crate::admission::Cause;
use crate::api::selector;
use crate::api::v1::{Clock, DomainSpec, VirtualMachineInstance, VirtualMachineInstancePreset};

/// An instance with this annotation gets no presets.
const EXCLUDE: &str = "virtualmachineinstancepresets.admission.kubevirt.io/exclude";
/// Notes which presets were applied, together with their names.
const APPLIED: &str = "virtualmachinepreset.kubevirt.io/";
const VERSION: &str = "kubevirt.io/v1";

/// Applies the presets of the instance's namespace whose selector it matches.
pub(super) fn apply(vmi: &mut VirtualMachineInstance, cluster: &[Value]) -> Result<(), Cause> {
    let excluded = vmi.metadata.annotations.as_ref().and_then(|all| all.get(EXCLUDE)).is_some_and(|value| value == "true");
    if excluded {
        return Ok(());
    }
    let presets = matching(vmi, cluster)?;
    for (i, (name, preset)) in presets.iter().enumerate() {
        for (other, earlier) in presets.iter().take(i) {
            if let Some(field) = conflict(preset, earlier) {
                let message =
                    format!("the presets {other:?} and {name:?} both match and set {field} differently; let only one of them match");
                return Err(Cause::invalid(format!("spec.domain.{field}"), message));
            }
        }
    }
    for (name, preset) in presets {
        if merge(&preset, &mut vmi.spec.domain) {
            vmi.metadata.annotations.get_or_insert_default().insert(format!("{APPLIED}{name}"), VERSION.to_owned());
        }
    }
    Ok(())
}

fn matching(vmi: &VirtualMachineInstance, cluster: &[Value]) -> Result<Vec<(String, DomainSpec)>, Cause> {
    let mut found = Vec::new();
    let labels = vmi.metadata.labels.clone().unwrap_or_default();
    for object in cluster.iter().filter(|object| object.get("kind").and_then(Value::as_str) == Some("VirtualMachineInstancePreset")) {
        let Ok(preset) = VirtualMachineInstancePreset::deserialize(object) else { continue };
        if preset.metadata.namespace != vmi.metadata.namespace {
            continue;
        }
        let name = preset.metadata.name.unwrap_or_default();
        let matched = selector::matches(&preset.spec.selector, &labels).map_err(|_| {
            Cause::invalid(
                "metadata.labels",
                format!("the preset {name:?} of this namespace has a selector that cannot be read; correct it"),
            )
        })?;
        if let (true, Some(domain)) = (matched, preset.spec.domain) {
            found.push((name, domain));
        }
    }
    Ok(found)
}

/// The parts that both set and set differently, if any.
fn conflict(one: &DomainSpec, other: &DomainSpec) -> Option<&'static str> {
    fn differ<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
        matches!((one, other), (Some(one), Some(other)) if one != other)
    }
    let clock = |d: &'_ DomainSpec| d.clock.as_ref().map(offset);
    let timer = |d: &'_ DomainSpec| d.clock.as_ref().and_then(|c| c.timer.clone());
    let requests = one.resources.requests.iter().any(|(name, amount)| other.resources.requests.get(name).is_some_and(|o| o != amount));
    let parts = [
        (requests, "resources.requests"),
        (differ(one.cpu.as_ref(), other.cpu.as_ref()), "cpu"),
        (differ(one.firmware.as_ref(), other.firmware.as_ref()), "firmware"),
        (differ(clock(one).as_ref(), clock(other).as_ref()), "clock"),
        (differ(timer(one).as_ref(), timer(other).as_ref()), "clock.timer"),
        (differ(one.features.as_ref(), other.features.as_ref()), "features"),
        (differ(one.devices.watchdog.as_ref(), other.devices.watchdog.as_ref()), "devices.watchdog"),
        (differ(one.io_threads_policy.as_ref(), other.io_threads_policy.as_ref()), "ioThreadsPolicy"),
    ];
    parts.into_iter().find_map(|(differs, name)| differs.then_some(name))
}

/// A clock without its timers.
fn offset(clock: &Clock) -> Clock {
    Clock { timer: None, ..clock.clone() }
}

/// Gives the guest what it leaves open; whether anything of the preset holds for it then.
fn merge(preset: &DomainSpec, domain: &mut DomainSpec) -> bool {
    fn part<T: Clone + PartialEq>(preset: Option<&T>, own: &mut Option<T>) -> bool {
        preset.is_some_and(|preset| own.get_or_insert_with(|| preset.clone()) == preset)
    }
    let mut applied = false;
    if !preset.resources.requests.is_empty() {
        if domain.resources.requests.is_empty() {
            domain.resources.requests.clone_from(&preset.resources.requests);
        }
        applied |= domain.resources.requests == preset.resources.requests;
    }
    applied |= part(preset.cpu.as_ref(), &mut domain.cpu);
    applied |= part(preset.firmware.as_ref(), &mut domain.firmware);
    if let Some(clock) = &preset.clock {
        let own = domain.clock.get_or_insert_with(|| offset(clock));
        applied |= own == clock;
        applied |= part(clock.timer.as_ref(), &mut own.timer);
    }
    applied |= part(preset.features.as_ref(), &mut domain.features);
    applied |= part(preset.devices.watchdog.as_ref(), &mut domain.devices.watchdog);
    applied |= part(preset.io_threads_policy.as_ref(), &mut domain.io_threads_policy);
    applied
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn preset(name: &str, namespace: &str, domain: Value) -> Value {
        json!({"kind": "VirtualMachineInstancePreset", "metadata": {"name": name, "namespace": namespace},
               "spec": {"selector": {"matchLabels": {"size": "big"}}, "domain": domain}})
    }

    fn instance(annotations: Value) -> VirtualMachineInstance {
        let value = json!({"metadata": {"name": "a", "namespace": "n", "labels": {"size": "big"}, "annotations": annotations}, "spec": {"domain": {"devices": {}}}});
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn an_instance_gets_the_presets_that_it_matches() {
        let cpu = json!({"cpu": {"cores": 4}});
        for (annotations, namespace, applied) in
            [(json!({}), "n", true), (json!({}), "other", false), (json!({EXCLUDE: "true"}), "n", false)]
        {
            let mut vmi = instance(annotations);
            apply(&mut vmi, &[preset("p", namespace, cpu.clone())]).unwrap();
            assert_eq!(vmi.spec.domain.cpu.is_some(), applied);
            assert_eq!(vmi.metadata.annotations.unwrap_or_default().contains_key("virtualmachinepreset.kubevirt.io/p"), applied);
        }
    }

    #[test]
    fn presets_that_contradict_each_other_are_refused() {
        let cluster = [preset("p", "n", json!({"cpu": {"cores": 4}})), preset("q", "n", json!({"cpu": {"cores": 2}}))];
        assert_eq!(apply(&mut instance(json!({})), &cluster).unwrap_err().field, "spec.domain.cpu");
    }
}
