//! Rules of an instance that a template need not keep yet: what its defaults have settled by then.

use super::spec::Subject;
use crate::admission::Cause;
use crate::api::v1::Volume;

/// The directories that KubeVirt keeps for itself.
const RESERVED_DIRECTORIES: [&str; 2] = ["/var/run/kubevirt", "/var/run/libvirt"];

/// Every volume is shown to the guest, in a way that it can be shown in.
pub(super) fn volumes_are_shown(s: &Subject, causes: &mut Vec<Cause>) {
    let devices = &s.spec.domain.devices;
    let list = s.at.key("volumes");
    for (i, volume) in s.spec.volumes.iter().enumerate().filter(|(_, volume)| volume.memory_dump.is_none()) {
        let disk = devices.disks.iter().any(|disk| disk.name == volume.name);
        let filesystem = devices.filesystems.iter().any(|filesystem| filesystem.name == volume.name);
        let at = list.index(i);
        if !disk && !filesystem {
            let message = format!("neither a disk nor a filesystem shows {:?} to the guest; add one of that name", volume.name);
            causes.push(Cause::invalid(at.key("name"), message));
        }
        if disk && volume.container_path.is_some() {
            causes.push(Cause::invalid(at, "a directory of the pod cannot be a disk; show it by a filesystem"));
        }
        if !filesystem && volume.container_path.is_some() {
            causes.push(Cause::invalid(at, "a directory of the pod is shown by a filesystem; add one of that name to devices.filesystems"));
        }
        if let Some(directory) = reserved_directory(volume) {
            let message = format!("{directory:?} belongs to KubeVirt; name another directory of the pod");
            causes.push(Cause::invalid(at.key("containerPath.path"), message));
        }
    }
}

fn reserved_directory(volume: &Volume) -> Option<&'static str> {
    let path = &volume.container_path.as_ref()?.path;
    RESERVED_DIRECTORIES.into_iter().find(|directory| path.starts_with(directory))
}

/// The guest has memory.
pub(super) fn memory_is_given(s: &Subject, causes: &mut Vec<Cause>) {
    let domain = &s.spec.domain;
    let requested = domain.resources.requests.get("memory").is_some_and(|q| q.value() != 0);
    let given = domain.memory.as_ref().is_some_and(|m| m.guest.is_some() || m.hugepages.is_some());
    if !requested && !given {
        let message =
            "nothing says how much memory the guest has; set memory.guest, memory.hugepages.pageSize or resources.requests.memory";
        causes.push(Cause::required(s.at.key("domain.memory.guest"), message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Path;
    use crate::config::ClusterConfig;
    use serde_json::{Value, json};

    fn fields(rule: fn(&Subject, &mut Vec<Cause>), spec: Value) -> Vec<String> {
        let spec = serde_json::from_value(spec).unwrap();
        let config = ClusterConfig::new(&Default::default());
        let mut causes = Vec::new();
        rule(&Subject { at: &Path::new("s"), spec: &spec, config: &config }, &mut causes);
        causes.into_iter().map(|c| c.field).collect()
    }

    #[test]
    fn volumes_are_shown_in_a_way_that_works() {
        let directory = |path: &str| json!({"name": "a", "containerPath": {"path": path}});
        for (spec, wanted) in [
            (json!({"volumes": [{"name": "a"}], "domain": {"devices": {"disks": [{"name": "a"}]}}}), &[][..]),
            (json!({"volumes": [{"name": "a"}]}), &["s.volumes[0].name"]),
            (json!({"volumes": [{"name": "a", "memoryDump": {"claimName": "c"}}]}), &[]),
            (json!({"volumes": [directory("/x")], "domain": {"devices": {"filesystems": [{"name": "a", "virtiofs": {}}]}}}), &[]),
            (json!({"volumes": [directory("/x")], "domain": {"devices": {"disks": [{"name": "a"}]}}}), &["s.volumes[0]", "s.volumes[0]"]),
            (
                json!({"volumes": [directory("/var/run/kubevirt/a")], "domain": {"devices": {"filesystems": [{"name": "a", "virtiofs": {}}]}}}),
                &["s.volumes[0].containerPath.path"],
            ),
        ] {
            assert_eq!(fields(volumes_are_shown, spec.clone()), wanted, "{spec}");
        }
    }

    #[test]
    fn a_guest_has_memory() {
        for (domain, given) in [
            (json!({}), false),
            (json!({"memory": {}}), false),
            (json!({"memory": {"guest": "1Gi"}}), true),
            (json!({"memory": {"hugepages": {"pageSize": "2Mi"}}}), true),
            (json!({"resources": {"requests": {"memory": "1Gi"}}}), true),
        ] {
            assert_eq!(fields(memory_is_given, json!({"domain": domain})).is_empty(), given, "{domain}");
        }
    }
}
