//! How much memory the guest has, and where it comes from.

use kubevirt_api::{Quantity, names};

use super::error::{ConvertError, Fault, Result};
use super::guest::Guest;
use super::model::{Domain, MemoryBacking, Numa, NumaCell};

/// Sets the memory that the guest starts with and up to which it can grow.
pub(super) fn amount(guest: &Guest<'_>, domain: &mut Domain) -> Result<()> {
    let (field, at_start) = at_start(guest)?;
    domain.memory = bytes(field, at_start)?;
    if let Some(most) = guest.spec().memory.as_ref().and_then(|memory| memory.max_guest.as_ref()) {
        let explicit = guest.spec().memory.as_ref().is_some_and(|memory| memory.guest.is_some());
        if !explicit {
            let right = "set the memory that the guest starts with next to maxGuest";
            return Err(ConvertError::new("spec.domain.memory.guest", Fault::Missing { right }));
        }
        let room = bytes("spec.domain.memory.maxGuest", most)?;
        if most != at_start && guest.facts.memory_hotplug {
            domain.max_memory = Some(room);
        }
    }
    Ok(())
}

/// The memory that the guest starts with: its own field, or what the VMI requests, or its limit.
pub(super) fn at_start<'a>(guest: &Guest<'a>) -> Result<(&'static str, &'a Quantity)> {
    let spec = guest.spec();
    let own = spec.memory.as_ref().and_then(|memory| memory.guest.as_ref()).map(|memory| ("spec.domain.memory.guest", memory));
    let resource = |which: &'static str, map: &'a std::collections::BTreeMap<String, Quantity>| map.get("memory").map(|m| (which, m));
    own.or_else(|| resource("spec.domain.resources.requests.memory", &spec.resources.requests))
        .or_else(|| resource("spec.domain.resources.limits.memory", &spec.resources.limits))
        .ok_or_else(|| {
            let right = "set the guest's memory, such as 1Gi";
            ConvertError::new("spec.domain.memory.guest", Fault::Missing { right })
        })
}

/// Whole bytes; a part of a byte is dropped.
pub(super) fn bytes(field: &str, quantity: &Quantity) -> Result<u64> {
    u64::try_from(quantity.nanos().div_euclid(1_000_000_000))
        .map_err(|_| ConvertError::new(field, Fault::value(quantity.as_str(), "memory cannot be negative")))
}

/// Sets where the memory comes from. Whoever shares it needs it as a file in memory, and huge pages are such a file
/// because SELinux lets nobody at the usual ones; libvirt has such files only for guests with a NUMA cell.
pub(super) fn backing(guest: &Guest<'_>, domain: &mut Domain) -> Result<()> {
    let huge = guest.spec().memory.as_ref().is_some_and(|memory| memory.hugepages.is_some());
    let devices = guest.devices();
    let shared = devices.filesystems.iter().any(|filesystem| filesystem.virtiofs.is_some())
        || devices.interfaces.iter().any(|interface| interface.passt_binding.is_some());
    if !huge && !shared {
        return Ok(());
    }
    let memfd = shared || guest.annotation(names::MEMFD_MEMORY_BACKEND) != Some("false");
    domain.memory_backing = Some(MemoryBacking { hugepages: huge.then(Vec::new), memfd, shared, ..MemoryBacking::default() });
    if memfd && domain.cpu.numa.is_none() {
        let (field, memory) = at_start(guest)?;
        let cell = NumaCell {
            id: 0,
            cpus: format!("0-{}", domain.vcpu_count.saturating_sub(1)),
            memory: bytes(field, memory)? / 1024,
            unit: "KiB",
        };
        domain.cpu.numa = Some(Numa { cells: vec![cell] });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{domain, error, facts, vmi};
    use super::super::{Facts, convert};

    #[test]
    fn memory_has_a_start_and_perhaps_room() {
        for (memory, resources, expected) in [
            (json!({ "guest": "1Gi" }), json!({}), (1 << 30, None)),
            (json!({ "guest": "1Gi", "maxGuest": "1Gi" }), json!({}), (1 << 30, None)),
            (json!({ "guest": "1Gi", "maxGuest": "4Gi" }), json!({}), (1 << 30, Some(4 << 30))),
            (json!(null), json!({ "requests": { "memory": "64M" }, "limits": { "memory": "128M" } }), (64_000_000, None)),
            (json!(null), json!({ "limits": { "memory": "128M" } }), (128_000_000, None)),
            (json!({ "guest": "1500m" }), json!({}), (1, None)),
        ] {
            let domain = domain(json!({ "memory": memory, "resources": resources }));
            assert_eq!((domain.memory, domain.max_memory), expected);
        }
    }

    #[test]
    fn there_is_no_room_where_memory_cannot_be_plugged_in() {
        let facts = Facts { memory_hotplug: false, ..facts(&[]) };
        let domain = convert(&vmi(json!({ "memory": { "guest": "1Gi", "maxGuest": "4Gi" } })), &facts).unwrap();
        assert_eq!((domain.memory, domain.max_memory), (1 << 30, None));
    }

    #[test]
    fn memory_that_is_missing_or_negative_is_named() {
        for (memory, field) in [
            (json!(null), "spec.domain.memory.guest"),
            (json!({ "guest": null, "maxGuest": "1Gi" }), "spec.domain.memory.guest"),
            (json!({ "guest": "-1Gi" }), "spec.domain.memory.guest"),
            (json!({ "guest": "1Gi", "maxGuest": "-1" }), "spec.domain.memory.maxGuest"),
        ] {
            assert_eq!(error(json!({ "spec": { "domain": { "memory": memory } } })).field, field);
        }
        let both = json!({ "memory": { "guest": null, "maxGuest": "1Gi" }, "resources": { "requests": { "memory": "1Gi" } } });
        assert_eq!(error(json!({ "spec": { "domain": both } })).field, "spec.domain.memory.guest");
    }

    #[test]
    fn whoever_shares_memory_gets_it_as_a_file() {
        for (fields, expected) in [
            (json!({}), None),
            (json!({ "memory": { "hugepages": { "pageSize": "2Mi" } } }), Some((true, false, "0-0"))),
            (json!({ "devices": { "filesystems": [{ "name": "f", "virtiofs": {} }] }, "cpu": { "cores": 3 } }), Some((true, true, "0-2"))),
        ] {
            let domain = domain(fields);
            let cpus = domain.cpu.numa.map(|numa| numa.cells[0].cpus.clone());
            assert_eq!(
                domain.memory_backing.map(|b| (b.memfd, b.shared, cpus.as_deref().unwrap().to_owned())),
                expected.map(|(m, s, c)| (m, s, c.to_owned()))
            );
        }
    }
}
