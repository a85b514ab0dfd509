//! The memory of an instance type.

use crate::api::Quantity;
use crate::api::instancetype::MemoryInstancetype;
use crate::api::v1::{Memory, VirtualMachineInstanceSpec};

/// Writes the memory into the spec, or names the first field of the VM that speaks of it.
pub(super) fn apply(wanted: &MemoryInstancetype, spec: &mut VirtualMachineInstanceSpec, conflict: &mut impl FnMut(&str)) {
    let resources = &mut spec.domain.resources;
    let memory = spec.domain.memory.get_or_insert_with(Memory::default);
    let said = [
        (memory.guest.is_some(), "domain.memory.guest"),
        (memory.hugepages.is_some() && wanted.hugepages.is_some(), "domain.memory.hugepages"),
        (memory.max_guest.is_some() && wanted.max_guest.is_some(), "domain.memory.maxGuest"),
        (resources.requests.contains_key("memory"), "domain.resources.requests.memory"),
        (resources.limits.contains_key("memory"), "domain.resources.limits.memory"),
    ];
    if let Some((_, field)) = said.iter().find(|(said, _)| *said) {
        conflict(field);
        return;
    }
    memory.guest = Some(wanted.guest.clone());
    if wanted.overcommit_percent > 0 {
        resources.requests.insert("memory".to_owned(), overcommitted(&wanted.guest, wanted.overcommit_percent));
    }
    if wanted.hugepages.is_some() {
        memory.hugepages.clone_from(&wanted.hugepages);
    }
    if wanted.max_guest.is_some() {
        memory.max_guest.clone_from(&wanted.max_guest);
    }
}

/// What the pod asks for when `percent` of the guest's memory is not asked for.
///
/// In single precision, as KubeVirt calculates: pods of both must ask for the same number of bytes.
fn overcommitted(guest: &Quantity, percent: i64) -> Quantity {
    let bytes = guest.value() as f32 * (1.0 - percent as f32 / 100.0);
    guest.with_value(bytes as i64 as i128)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_pod_asks_for_less_where_memory_is_overcommitted() {
        for (guest, percent, want) in [
            ("1Gi", 50, "512Mi"),
            ("1000Mi", 15, "850Mi"),
            ("64Gi", 50, "32Gi"),
            ("1G", 50, "500M"),
            ("1Gi", 100, "0"),
            ("3Gi", 33, "2158220800"),
        ] {
            assert_eq!(overcommitted(&guest.parse().unwrap(), percent).to_string(), want, "{guest} {percent}");
        }
    }

    #[test]
    fn the_first_word_about_the_memory_conflicts() {
        let wanted: MemoryInstancetype =
            serde_json::from_value(json!({"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}, "maxGuest": "2Gi"})).unwrap();
        for (domain, want) in [
            (json!({"memory": {"guest": "1Gi"}, "resources": {"requests": {"memory": "1Gi"}}}), "domain.memory.guest"),
            (json!({"memory": {"hugepages": {}}}), "domain.memory.hugepages"),
            (json!({"memory": {"maxGuest": "4Gi"}}), "domain.memory.maxGuest"),
            (json!({"resources": {"requests": {"memory": "1Gi"}}}), "domain.resources.requests.memory"),
            (json!({"resources": {"limits": {"memory": "1Gi"}}}), "domain.resources.limits.memory"),
        ] {
            let mut spec: VirtualMachineInstanceSpec = serde_json::from_value(json!({"domain": domain})).unwrap();
            let mut got = Vec::new();
            apply(&wanted, &mut spec, &mut |field| got.push(field.to_owned()));
            assert_eq!(got, [want], "{domain}");
        }
    }
}
