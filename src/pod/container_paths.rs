//! Directories that others put into the launcher's container, shared with the guest.
//!
//! What a webhook of somebody else's mounts (a token, certificates) is in the pod only when it is created. So the
//! containers that share such paths are added then, by our own webhook, after theirs.

use k8s_openapi::api::core::v1::{Container, Pod, Volume as PodVolume, VolumeMount};

use super::COMPUTE;
use super::virtiofs::{Share, container, daemon};
use crate::api::v1::{VirtualMachineInstance, Volume};
use crate::config::ClusterConfig;

/// Where the daemons see what they share: no path that a webhook might mount something at.
const INTERNAL: &str = "/virtiofs-data";

/// The containers that a launcher pod lacks for the paths that its instance shares. A path that nothing is mounted
/// at, or that is not read-only, is passed over: the instance says so in its conditions.
pub fn missing(vmi: &VirtualMachineInstance, pod: &Pod, config: &ClusterConfig) -> Vec<Container> {
    let Some(spec) = &pod.spec else { return Vec::new() };
    let Some(compute) = spec.containers.iter().find(|container| container.name == COMPUTE) else { return Vec::new() };
    let filesystems = &vmi.spec.domain.devices.filesystems;
    let shared = |volume: &&Volume| filesystems.iter().any(|f| f.name == volume.name && f.virtiofs.is_some());
    let absent = |volume: &&Volume| spec.containers.iter().all(|other| other.name != container(&volume.name));
    let container = |volume: &Volume| {
        let path = volume.container_path.as_ref().filter(|path| path.read_only == Some(true))?;
        let (mount, below) = mounted(compute.volume_mounts.as_deref().unwrap_or_default(), &path.path)?;
        let source = spec.volumes.iter().flatten().find(|source| source.name == mount.name).filter(|source| is_contained(source))?;
        let directory = format!("{INTERNAL}/{}", volume.name);
        let mount = VolumeMount {
            name: mount.name.clone(),
            mount_path: directory.clone(),
            sub_path: (!below.is_empty()).then(|| below.to_owned()),
            read_only: Some(true),
            ..VolumeMount::default()
        };
        let image = compute.image.as_deref().unwrap_or_default();
        Some(daemon(volume, vmi, config, image, Share { directory, mount: Some(mount), token: holds_token(source) }))
    };
    vmi.spec.volumes.iter().filter(shared).filter(absent).filter_map(container).collect()
}

/// The mount that a path belongs to, the deepest of them, and what is left of the path below it.
fn mounted<'a>(mounts: &'a [VolumeMount], path: &'a str) -> Option<(&'a VolumeMount, &'a str)> {
    let below = |mount: &'a VolumeMount| {
        let rest = path.strip_prefix(mount.mount_path.as_str())?;
        if rest.is_empty() { Some((mount, rest)) } else { rest.strip_prefix('/').map(|rest| (mount, rest)) }
    };
    mounts.iter().filter_map(below).max_by_key(|(mount, _)| mount.mount_path.len())
}

/// Whether Kubernetes itself fills the volume, so that no link in it leads out of it.
fn is_contained(volume: &PodVolume) -> bool {
    volume.config_map.is_some()
        || volume.secret.is_some()
        || volume.projected.is_some()
        || volume.downward_api.is_some()
        || volume.empty_dir.is_some()
}

fn holds_token(volume: &PodVolume) -> bool {
    let sources = volume.projected.as_ref().and_then(|projected| projected.sources.as_ref());
    sources.into_iter().flatten().any(|source| source.service_account_token.is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn instance(read_only: Option<bool>) -> VirtualMachineInstance {
        from_value(json!({"spec": {
            "domain": {"devices": {"filesystems": [{"name": "token", "virtiofs": {}}, {"name": "other", "virtiofs": {}}]}},
            "volumes": [
                {"name": "token", "containerPath": {"path": "/var/run/secrets/aws/token", "readOnly": read_only}},
                {"name": "other", "configMap": {"name": "c"}},
            ],
        }}))
        .unwrap()
    }

    fn pod(mount_path: &str, volume: Value, containers: &[&str]) -> Pod {
        let mut volume = volume;
        volume["name"] = json!("injected");
        let mut all = vec![json!({"name": COMPUTE, "image": "launcher:1", "volumeMounts": [
            {"name": "root", "mountPath": "/var"}, {"name": "injected", "mountPath": mount_path},
        ]})];
        all.extend(containers.iter().map(|name| json!({"name": name})));
        from_value(json!({"spec": {"containers": all, "volumes": [{"name": "root", "hostPath": {"path": "/"}}, volume]}})).unwrap()
    }

    fn names(vmi: &VirtualMachineInstance, pod: &Pod) -> Vec<String> {
        missing(vmi, pod, &ClusterConfig::new(&Default::default())).into_iter().map(|container| container.name).collect()
    }

    #[test]
    fn a_path_that_is_mounted_gets_its_container_once() {
        let projected = || json!({"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}});
        for (mount, volume, containers, read_only, want) in [
            ("/var/run/secrets/aws", projected(), &[][..], Some(true), &["virtiofs-token"][..]),
            ("/var/run/secrets/aws/token", json!({"secret": {}}), &[], Some(true), &["virtiofs-token"]),
            ("/var/run/secrets/aws", projected(), &["virtiofs-token"], Some(true), &[]),
            ("/var/run/secrets/aws", projected(), &[], Some(false), &[]),
            ("/var/run/secrets/aws", projected(), &[], None, &[]),
            ("/var/run/secrets/aw", projected(), &[], Some(true), &[]),
            ("/var/run/secrets/aws", json!({"hostPath": {"path": "/"}}), &[], Some(true), &[]),
        ] {
            assert_eq!(names(&instance(read_only), &pod(mount, volume.clone(), containers)), want, "{mount} {volume} {read_only:?}");
        }
        assert!(names(&instance(Some(true)), &Pod::default()).is_empty());
    }

    #[test]
    fn the_container_shares_what_the_guest_asks_for_and_no_more() {
        let source = json!({"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}});
        let pod = pod("/var/run/secrets/aws", source, &[]);
        let containers = missing(&instance(Some(true)), &pod, &ClusterConfig::new(&Default::default()));
        let container = serde_json::to_value(&containers[0]).unwrap();
        assert_eq!(container["image"], "launcher:1");
        let mount = json!({"name": "injected", "mountPath": "/virtiofs-data/token", "subPath": "token", "readOnly": true});
        assert_eq!(container["volumeMounts"][1], mount);
        let arguments = container["args"].as_array().unwrap();
        assert!(arguments.contains(&json!("--shared-dir=/virtiofs-data/token")), "{arguments:?}");
        assert!(arguments.iter().any(|a| a.as_str().unwrap().starts_with("--translate-uid=host:")), "{arguments:?}");
    }
}
