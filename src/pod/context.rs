//! What a launcher pod depends on beside the VMI and the configuration: facts of its namespace and of the installation.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;

/// The facts. A role fills them from its stores, a tool from its arguments.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The one image of this project.
    pub image: String,
    /// The image of hook sidecars that name none.
    pub sidecar_shim_image: String,
    /// The pull secret that the installation itself was given; may be empty.
    pub image_pull_secret: String,
    /// How long the launcher waits for QEMU, in seconds. The caller spreads it, so that a hundred launchers
    /// that started together don't give up together.
    pub qemu_timeout: u32,
    /// Labels of the VMI's namespace.
    pub namespace_labels: BTreeMap<String, String>,
    /// Which limits a ResourceQuota of the namespace demands.
    pub quota: Quota,
    /// The claims that the VMI's volumes name, by name.
    pub claims: BTreeMap<String, Claim>,
    /// The claim that holds the TPM's state, the EFI variables and the backup bitmaps, if the VMI needs one.
    pub state_claim: Option<String>,
    /// The device plugin resource that a network's attachment definition names, by the VMI's network name.
    pub network_resources: BTreeMap<String, String>,
    /// The value of the annotation of the KubeVirt object that turns off the hooks of backups.
    pub skip_backup_hooks: Option<String>,
    /// Images with their digests as the source of a migration runs them, by volume name.
    pub image_ids: BTreeMap<String, String>,
    /// What the pod is made for.
    pub purpose: Purpose,
}

/// What a launcher pod is made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// To run the guest.
    #[default]
    Run,
    /// To be scheduled once, so that volumes which wait for their first consumer get bound; then it ends.
    BindVolumes,
}

/// Which limits every pod of a namespace has to state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// `limits.cpu`
    pub cpu: bool,
    /// `limits.memory`
    pub memory: bool,
}

/// What counts of a PersistentVolumeClaim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// A device instead of a file system.
    pub block: bool,
    /// Several nodes may write at once.
    pub shared: bool,
    /// Its uid; empty as long as it is unknown.
    pub uid: String,
}

impl From<&PersistentVolumeClaim> for Claim {
    fn from(claim: &PersistentVolumeClaim) -> Self {
        let spec = claim.spec.as_ref();
        Self {
            block: spec.and_then(|s| s.volume_mode.as_deref()) == Some("Block"),
            shared: spec.and_then(|s| s.access_modes.as_ref()).is_some_and(|modes| modes.iter().any(|m| m == "ReadWriteMany")),
            uid: claim.metadata.uid.clone().unwrap_or_default(),
        }
    }
}
