//! Volumes: one source each, complete and permitted.

use super::{Rule, Subject, closed, repeated};
use crate::admission::validate::paths;
use crate::admission::{Cause, Path};
use crate::api::v1::{HostDisk, HostDiskType, Volume};
use crate::config::Gate;

pub(super) const RULES: &[Rule] = &[names, sources, contents, at_most_one, images];

fn names(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key("volumes");
    repeated(s.spec.volumes.iter().map(|v| v.name.as_str()), |i, first, name| {
        causes.push(Cause::invalid(list.index(i).key("name"), format!("{name:?} is the name of volume {first}, too; take another one")));
    });
}

fn count_sources(volume: &Volume) -> usize {
    let given = [
        volume.host_disk.is_some(),
        volume.persistent_volume_claim.is_some(),
        volume.cloud_init_no_cloud.is_some(),
        volume.cloud_init_config_drive.is_some(),
        volume.sysprep.is_some(),
        volume.container_disk.is_some(),
        volume.ephemeral.is_some(),
        volume.empty_disk.is_some(),
        volume.data_volume.is_some(),
        volume.config_map.is_some(),
        volume.secret.is_some(),
        volume.downward_api.is_some(),
        volume.service_account.is_some(),
        volume.downward_metrics.is_some(),
        volume.memory_dump.is_some(),
        volume.container_path.is_some(),
    ];
    given.into_iter().filter(|given| *given).count()
}

fn sources(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key("volumes");
    for (i, volume) in s.spec.volumes.iter().enumerate() {
        match count_sources(volume) {
            1 => {}
            0 => causes.push(Cause::invalid(
                list.index(i),
                format!("nothing says what {:?} holds; give one source, such as containerDisk", volume.name),
            )),
            n => causes.push(Cause::invalid(list.index(i), format!("{:?} has {n} sources; keep one of them", volume.name))),
        }
    }
}

fn contents(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key("volumes");
    for (i, volume) in s.spec.volumes.iter().enumerate() {
        let at = list.index(i);
        if volume.data_volume.as_ref().is_some_and(|source| source.name.is_empty()) {
            causes.push(Cause::required(at.key("dataVolume.name"), "name the DataVolume"));
        }
        let named = [
            ("configMap.name", volume.config_map.as_ref().map(|source| &source.name)),
            ("secret.secretName", volume.secret.as_ref().map(|source| &source.secret_name)),
            ("serviceAccount.serviceAccountName", volume.service_account.as_ref().map(|source| &source.service_account_name)),
        ];
        for (key, name) in named {
            if name.is_some_and(String::is_empty) {
                causes.push(Cause::invalid(at.key(key), "name the object that the volume shows"));
            }
        }
        if volume.downward_metrics.is_some() && !s.enabled(Gate::DownwardMetrics) {
            causes.push(Cause::invalid(at, closed(Gate::DownwardMetrics)));
        }
        if let Some(disk) = &volume.host_disk {
            if !s.enabled(Gate::HostDisk) {
                causes.push(Cause::invalid(at, closed(Gate::HostDisk)));
            }
            host_disk(&at.key("hostDisk"), disk, causes);
        }
    }
}

fn host_disk(at: &Path, disk: &HostDisk, causes: &mut Vec<Cause>) {
    if disk.path.is_empty() {
        causes.push(Cause::not_found(at.key("path"), "name the file on the node"));
    }
    if !disk.type_.is_known() {
        let message = format!("{:?} is no kind of host disk; take {}", disk.type_.as_str(), HostDiskType::VALUES.join(" or "));
        causes.push(Cause::invalid(at.key("type"), message));
    }
    if disk.type_ == HostDiskType::Disk && !disk.capacity.is_zero() {
        causes.push(Cause::invalid(
            at.key("capacity"),
            "a disk that is already there has its size; leave this out, or set type to DiskOrCreate",
        ));
    }
}

fn at_most_one(s: &Subject, causes: &mut Vec<Cause>) {
    type Kind = (&'static str, fn(&Volume) -> bool);
    let kinds: [Kind; 3] = [
        ("serviceAccount", |v| v.service_account.is_some()),
        ("downwardMetrics", |v| v.downward_metrics.is_some()),
        ("memoryDump", |v| v.memory_dump.is_some()),
    ];
    for (kind, is) in kinds {
        let count = s.spec.volumes.iter().filter(|volume| is(volume)).count();
        if count > 1 {
            causes.push(Cause::invalid(
                s.at.key("volumes"),
                format!("{count} volumes are of the kind {kind}, of which there is one; keep one of them"),
            ));
        }
    }
}

fn images(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key("volumes");
    for (i, disk) in s.spec.volumes.iter().enumerate().filter_map(|(i, v)| Some((i, v.container_disk.as_ref()?))) {
        let element = list.index(i);
        let at = element.key("containerDisk");
        if !disk.path.is_empty() {
            paths::file(&at, &disk.path, causes);
        }
        pull_policy(&at, &disk.image_pull_policy, causes);
    }
}

/// When an image is pulled.
pub(super) fn pull_policy(at: &Path, policy: &str, causes: &mut Vec<Cause>) {
    if !matches!(policy, "" | "Always" | "IfNotPresent" | "Never") {
        let message = format!("{policy:?} is no policy; take Always, IfNotPresent or Never");
        causes.push(Cause::not_supported(at.key("imagePullPolicy"), message));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;
    use serde_json::{Value, json};

    fn volume(source: Value) -> Value {
        let mut source = source;
        source["name"] = json!("a");
        json!({"volumes": [source]})
    }

    #[test]
    fn a_volume_has_one_source_that_is_complete() {
        check(
            RULES,
            &[Gate::HostDisk],
            &[
                (volume(json!({"emptyDisk": {"capacity": "1Gi"}})), &[]),
                (volume(json!({})), &["s.volumes[0]"]),
                (volume(json!({"emptyDisk": {"capacity": "1Gi"}, "containerDisk": {"image": "i"}})), &["s.volumes[0]"]),
                (volume(json!({"dataVolume": {"name": ""}})), &["s.volumes[0].dataVolume.name"]),
                (volume(json!({"configMap": {}})), &["s.volumes[0].configMap.name"]),
                (volume(json!({"secret": {}})), &["s.volumes[0].secret.secretName"]),
                (volume(json!({"serviceAccount": {}})), &["s.volumes[0].serviceAccount.serviceAccountName"]),
                (volume(json!({"downwardMetrics": {}})), &["s.volumes[0]"]),
                (volume(json!({"hostDisk": {"path": "/a", "type": "DiskOrCreate", "capacity": "1Gi"}})), &[]),
                (volume(json!({"hostDisk": {"path": "", "type": "Tape"}})), &["s.volumes[0].hostDisk.path", "s.volumes[0].hostDisk.type"]),
                (volume(json!({"hostDisk": {"path": "/a", "type": "Disk", "capacity": "1Gi"}})), &["s.volumes[0].hostDisk.capacity"]),
                (volume(json!({"containerDisk": {"image": "i", "path": "../a"}})), &["s.volumes[0].containerDisk"]),
                (
                    volume(json!({"containerDisk": {"image": "i", "imagePullPolicy": "Sometimes"}})),
                    &["s.volumes[0].containerDisk.imagePullPolicy"],
                ),
                (json!({"volumes": [{"name": "a", "sysprep": {}}, {"name": "a", "sysprep": {}}]}), &["s.volumes[1].name"]),
                (
                    json!({"volumes": [{"name": "a", "memoryDump": {"claimName": "c"}}, {"name": "b", "memoryDump": {"claimName": "c"}}]}),
                    &["s.volumes"],
                ),
            ],
        );
    }

    #[test]
    fn host_disks_need_their_gate() {
        check(RULES, &[], &[(volume(json!({"hostDisk": {"path": "/a", "type": "Disk"}})), &["s.volumes[0]"])]);
    }
}
