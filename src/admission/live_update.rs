//! Whether a guest's memory can grow while it runs.

use crate::api::Quantity;
use crate::api::v1::VirtualMachineInstanceSpec;

const MEBIBYTE: i128 = 1024 * 1024;
/// The step in which memory can be added: a transparent huge page.
const BLOCK: i128 = 2 * MEBIBYTE;
/// The step for guests on 1 GiB pages, and the least memory of a guest that can grow.
const GIBIBYTE: i128 = 1024 * MEBIBYTE;

/// Says why the memory cannot grow up to `most`, if it cannot.
pub(crate) fn memory(spec: &VirtualMachineInstanceSpec, most: Option<&Quantity>) -> Result<(), String> {
    let domain = &spec.domain;
    let cpu = domain.cpu.as_ref();
    if cpu.is_some_and(|c| c.realtime.is_some()) {
        return Err("the memory of a realtime guest cannot grow; leave out maxGuest or realtime".to_owned());
    }
    if cpu.and_then(|c| c.numa.as_ref()).is_some_and(|n| n.guest_mapping_passthrough.is_some()) {
        return Err("the memory of a guest that mirrors NUMA cells cannot grow; leave out maxGuest or numa".to_owned());
    }
    if domain.launch_security.is_some() {
        return Err("the memory of an encrypted guest cannot grow; leave out maxGuest or launchSecurity".to_owned());
    }
    let Some((memory, guest)) = domain.memory.as_ref().and_then(|m| Some((m, m.guest.as_ref()?))) else {
        return Err("memory that can grow needs a size to start with; set guest".to_owned());
    };
    let Some(most) = most else {
        return Err("memory that can grow needs a limit; set maxGuest".to_owned());
    };
    let huge = memory.hugepages.as_ref().is_some_and(|pages| pages.page_size == "1Gi");
    let block = if huge { GIBIBYTE } else { BLOCK };
    if guest > most {
        return Err(format!("guest is {guest}, more than maxGuest, which is {most}"));
    }
    for (name, amount) in [("guest", guest), ("maxGuest", most)] {
        if amount.value() % block != 0 {
            return Err(format!("{name} is {amount}, but must be a multiple of {}", Quantity::from_bytes(block)));
        }
    }
    if spec.architecture != "amd64" {
        return Err(format!("the memory of a guest on {} cannot grow, only on amd64; leave out maxGuest", spec.architecture));
    }
    if guest.value() < GIBIBYTE {
        return Err(format!("guest is {guest}; memory that can grow starts at 1Gi at least"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn why(domain: Value, most: &str) -> Result<(), String> {
        let spec = serde_json::from_value(json!({"architecture": "amd64", "domain": domain})).unwrap();
        memory(&spec, most.parse().ok().as_ref())
    }

    #[test]
    fn memory_that_cannot_grow_says_why() {
        let plain = json!({"guest": "1Gi"});
        for (domain, most, word) in [
            (json!({"cpu": {"realtime": {}}, "memory": plain}), "2Gi", "realtime"),
            (json!({"cpu": {"numa": {"guestMappingPassthrough": {}}}, "memory": plain}), "2Gi", "NUMA"),
            (json!({"launchSecurity": {}, "memory": plain}), "2Gi", "encrypted"),
            (json!({}), "2Gi", "size to start with"),
            (json!({"memory": plain}), "", "set maxGuest"),
            (json!({"memory": {"guest": "3Gi"}}), "2Gi", "more than"),
            (json!({"memory": {"guest": "1025Mi"}}), "2Gi", "multiple of 2Mi"),
            (json!({"memory": plain}), "2049Mi", "multiple of 2Mi"),
            (json!({"memory": {"guest": "1Gi", "hugepages": {"pageSize": "1Gi"}}}), "1030Mi", "multiple of 1Gi"),
            (json!({"memory": {"guest": "512Mi"}}), "2Gi", "1Gi at least"),
        ] {
            let why = why(domain.clone(), most).unwrap_err();
            assert!(why.contains(word), "{domain}: {why}");
        }
        assert_eq!(why(json!({"memory": plain}), "2Gi"), Ok(()));
    }
}
