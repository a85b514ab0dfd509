//! The containers that share directories with the guest, one a volume.

use k8s_openapi::api::core::v1::Container;

use crate::api::v1::{VirtualMachineInstance, Volume};
use crate::config::ClusterConfig;

use super::support::{self, Support};
use super::volumes::{VIRTIOFS, mount, source_dir};
use super::{Context, paths, programs, security, traits};

/// The containers. A path inside a container of somebody else's has none here: that container is not yet known.
pub(super) fn containers(vmi: &VirtualMachineInstance, config: &ClusterConfig, context: &Context) -> Vec<Container> {
    let filesystems = &vmi.spec.domain.devices.filesystems;
    let shared = vmi.spec.volumes.iter().filter(|v| v.container_path.is_none() && filesystems.iter().any(|f| f.name == v.name));
    let resources = support::resources(Support::Virtiofs, traits::exclusive(vmi), config);
    let container = |volume: &Volume| {
        let directory = directory(volume);
        let mut mounts = vec![mount(VIRTIOFS, paths::VIRTIOFS)];
        if volume.service_account.is_none() {
            mounts.push(mount(&volume.name, directory.clone()));
        }
        Container {
            name: format!("virtiofs-{}", volume.name),
            image: Some(context.image.clone()),
            image_pull_policy: Some("IfNotPresent".to_owned()),
            command: Some(vec![programs::VIRTIOFSD.to_owned()]),
            args: Some(arguments(volume, &directory)),
            volume_mounts: Some(mounts),
            resources: Some(resources.clone()),
            security_context: Some(security::container(security::USER, Some(security::no_capabilities()))),
            ..Container::default()
        }
    };
    shared.map(container).collect()
}

/// The directory that is shared. The token of the service account is mounted by Kubernetes itself.
fn directory(volume: &Volume) -> String {
    if volume.service_account.is_some() {
        return paths::SERVICE_ACCOUNT.to_owned();
    }
    source_dir(volume).unwrap_or_else(|| format!("/{}", volume.name))
}

fn arguments(volume: &Volume, directory: &str) -> Vec<String> {
    let mut arguments = vec![
        format!("--socket-path={}", paths::virtiofs_socket(&volume.name)),
        format!("--shared-dir={directory}"),
        "--sandbox=none".to_owned(),
        "--cache=auto".to_owned(),
        // a file that cannot be followed to the target gives errors there; it does not stop the migration
        "--migration-on-error=guest-error".to_owned(),
        // files are found again by their paths, which needs no privilege
        "--migration-mode=find-paths".to_owned(),
    ];
    if volume.service_account.is_some() {
        // the token's link belongs to the pod's user, and a guest's kernel follows links in a sticky directory only
        // for their owner; the mount is for reading only, so its owner may as well be root
        arguments.push(format!("--translate-uid=host:{}:0:1", security::USER));
    }
    arguments
}
