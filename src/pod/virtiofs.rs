//! The containers that share directories with the guest, one a volume.

use k8s_openapi::api::core::v1::{Container, VolumeMount};

use crate::api::v1::{VirtualMachineInstance, Volume};
use crate::config::ClusterConfig;

use super::support::{self, Support};
use super::volumes::{VIRTIOFS, mount, source_dir};
use super::{Context, paths, programs, security, traits};

/// The containers. A path inside a container of somebody else's has none here: that container is not yet known.
pub(super) fn containers(vmi: &VirtualMachineInstance, config: &ClusterConfig, context: &Context) -> Vec<Container> {
    let filesystems = &vmi.spec.domain.devices.filesystems;
    let shared = vmi.spec.volumes.iter().filter(|v| v.container_path.is_none() && filesystems.iter().any(|f| f.name == v.name));
    let container = |volume: &Volume| {
        let directory = directory(volume);
        let own = volume.service_account.is_none().then(|| mount(&volume.name, directory.clone()));
        daemon(volume, vmi, config, &context.image, Share { directory, mount: own, token: volume.service_account.is_some() })
    };
    shared.map(container).collect()
}

/// What a daemon shares.
pub(super) struct Share {
    /// The directory in its container.
    pub(super) directory: String,
    /// How it gets there, unless Kubernetes mounts it unasked.
    pub(super) mount: Option<VolumeMount>,
    /// Whether it holds the token of a service account.
    pub(super) token: bool,
}

/// The name of the container that shares a volume.
pub fn container(volume: &str) -> String {
    format!("virtiofs-{volume}")
}

/// The container that shares a directory with the guest as the filesystem of a volume.
pub(super) fn daemon(volume: &Volume, vmi: &VirtualMachineInstance, config: &ClusterConfig, image: &str, share: Share) -> Container {
    let arguments = arguments(volume, &share);
    Container {
        name: container(&volume.name),
        image: Some(image.to_owned()),
        image_pull_policy: Some("IfNotPresent".to_owned()),
        command: Some(vec![programs::VIRTIOFSD.to_owned()]),
        args: Some(arguments),
        volume_mounts: Some([mount(VIRTIOFS, paths::VIRTIOFS)].into_iter().chain(share.mount).collect()),
        resources: Some(support::resources(Support::Virtiofs, traits::exclusive(vmi), config)),
        security_context: Some(security::container(security::USER, Some(security::no_capabilities()))),
        ..Container::default()
    }
}

/// The directory that is shared. The token of the service account is mounted by Kubernetes itself.
fn directory(volume: &Volume) -> String {
    if volume.service_account.is_some() {
        return paths::SERVICE_ACCOUNT.to_owned();
    }
    source_dir(volume).unwrap_or_else(|| format!("/{}", volume.name))
}

fn arguments(volume: &Volume, share: &Share) -> Vec<String> {
    let mut arguments = vec![
        format!("--socket-path={}", paths::virtiofs_socket(&volume.name)),
        format!("--shared-dir={}", share.directory),
        "--sandbox=none".to_owned(),
        "--cache=auto".to_owned(),
        // a file that cannot be followed to the target gives errors there; it does not stop the migration
        "--migration-on-error=guest-error".to_owned(),
        // files are found again by their paths, which needs no privilege
        "--migration-mode=find-paths".to_owned(),
    ];
    if share.token {
        // the token's link belongs to the pod's user, and a guest's kernel follows links in a sticky directory only
        // for their owner; the mount is for reading only, so its owner may as well be root
        arguments.push(format!("--translate-uid=host:{}:0:1", security::USER));
    }
    arguments
}
