//! Why a VMI has no launcher pod.

/// Why a VMI has no launcher pod. Each names the field of the VMI to look at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A name that every object in a cluster has.
    #[error("{field} is empty: a launcher pod is named after it")]
    NoName {
        /// The field.
        field: &'static str,
    },
    /// The claim is not there, or not yet.
    #[error("{field}: there is no PersistentVolumeClaim {claim:?} in the VMI's namespace; create it, or name one that exists")]
    ClaimNotFound {
        /// The field.
        field: String,
        /// The claim's name.
        claim: String,
    },
    /// The claim for the machine's own state is not there yet.
    #[error("{field} needs a PersistentVolumeClaim for the machine's state, which is not there yet")]
    NoStateClaim {
        /// The field that needs it.
        field: &'static str,
    },
    /// A volume without what it is made from.
    #[error("{field} is missing: {wanted}")]
    NoSource {
        /// The field.
        field: String,
        /// What would be right.
        wanted: &'static str,
    },
    /// The administrator did not permit the device.
    #[error("{field}: {device:?} is none of the resources in the KubeVirt configuration's permittedHostDevices")]
    DeviceNotPermitted {
        /// The field.
        field: String,
        /// The resource's name.
        device: String,
    },
    /// A network binding plugin that nobody registered.
    #[error("{field}: no network binding {binding:?} is registered in the KubeVirt configuration's network.binding")]
    UnknownBinding {
        /// The field.
        field: String,
        /// The binding's name.
        binding: String,
    },
    /// The annotation that asks for hook sidecars is no list of them.
    #[error("metadata.annotations[hooks.kubevirt.io/hookSidecars] must be a JSON list of sidecars: {reason}")]
    HookSidecars {
        /// What the JSON reader found.
        reason: String,
    },
    /// The label that sets the verbosity of the log is no number.
    #[error("metadata.labels[logVerbosity] is {value:?}, must be a whole number from 0")]
    LogVerbosity {
        /// What it is.
        value: String,
    },
    /// The SELinux level that the launcher runs with is not known yet.
    #[error("status.selinuxContext is {value:?}, must be user:role:type:level, or none on a node without SELinux")]
    SelinuxContext {
        /// What it is.
        value: String,
    },
    /// The image that the source of a migration runs cannot be told.
    #[error("{field}: the source pod reports the image as {image_id:?}, without a digest that the target could repeat")]
    NoImageDigest {
        /// The field.
        field: String,
        /// What the source's status says.
        image_id: String,
    },
    /// Nobody knows the CPU that the guest sees.
    #[error("spec.domain.cpu.model is host-model, and the source's node has no label host-model-cpu.node.kubevirt.io/MODEL to tell which")]
    NoHostModel,
}

impl Error {
    /// The field of the VMI.
    pub fn field(&self) -> &str {
        match self {
            Self::NoName { field } | Self::NoStateClaim { field } => field,
            Self::ClaimNotFound { field, .. }
            | Self::NoSource { field, .. }
            | Self::DeviceNotPermitted { field, .. }
            | Self::UnknownBinding { field, .. }
            | Self::NoImageDigest { field, .. } => field,
            Self::HookSidecars { .. } => "metadata.annotations",
            Self::LogVerbosity { .. } => "metadata.labels",
            Self::SelinuxContext { .. } => "status.selinuxContext",
            Self::NoHostModel => "spec.domain.cpu.model",
        }
    }

    /// The reason of the event and the label of the metric.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NoName { .. } => "FailedNameless",
            Self::ClaimNotFound { .. } => "FailedPvcNotFound",
            Self::NoStateClaim { .. } => "FailedBackendStorageCreate",
            Self::NoSource { .. } => "FailedVolumeSource",
            Self::DeviceNotPermitted { .. } => "FailedHostDeviceNotPermitted",
            Self::UnknownBinding { .. } => "FailedNetworkBinding",
            Self::HookSidecars { .. } => "FailedHookSidecars",
            Self::LogVerbosity { .. } => "FailedLogVerbosity",
            Self::SelinuxContext { .. } => "FailedSelinuxContext",
            Self::NoImageDigest { .. } => "FailedImageDigest",
            Self::NoHostModel => "FailedHostModel",
        }
    }
}
