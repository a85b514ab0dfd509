//! Why a VMI has no domain.

use std::fmt::Display;

/// Why a VMI cannot be converted: the field at fault, and what would be right.
///
/// Admission converts every VMI that it lets in, so that a user sees the fault at once and not when the guest starts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {fault}")]
pub struct ConvertError {
    /// The path of the field in the VMI, such as `spec.domain.devices.disks[0].disk.pciAddress`.
    pub field: String,
    /// What is wrong with it.
    pub fault: Fault,
}

impl ConvertError {
    pub(super) fn new(field: impl Into<String>, fault: Fault) -> Self {
        Self { field: field.into(), fault }
    }

    /// The stable name of the kind of fault: the reason of events and conditions.
    pub fn reason(&self) -> &'static str {
        match self.fault {
            Fault::Value { .. } | Fault::NoPciAddress(_) | Fault::Missing { .. } | Fault::Conflict { .. } => "InvalidDomain",
            Fault::NoSuchVolume(_) | Fault::NoSuchNetwork(_) => "InvalidReference",
            Fault::Unsupported { .. } => "UnsupportedDomain",
            Fault::Host { .. } => "HostLacksResource",
        }
    }

    /// Whether the same VMI can be converted on another host, or with other facts.
    pub fn depends_on_host(&self) -> bool {
        matches!(self.fault, Fault::Host { .. })
    }
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A value that has no meaning here.
    #[error("{value:?} cannot be used; {right}")]
    Value {
        /// The value.
        value: String,
        /// What would be right.
        right: String,
    },
    /// Nothing where something must be.
    #[error("nothing is set; {right}")]
    Missing {
        /// What would be right.
        right: &'static str,
    },
    /// Two things that exclude each other.
    #[error("{what}; {right}")]
    Conflict {
        /// What excludes each other.
        what: String,
        /// What would be right.
        right: &'static str,
    },
    /// No PCI address.
    #[error("{0:?} is no PCI address; write DOMAIN:BUS:SLOT.FUNCTION in hexadecimal digits, such as 0000:01:00.0")]
    NoPciAddress(String),
    /// A disk without its volume.
    #[error("no volume is named {0:?}; add it to spec.volumes or take the disk away")]
    NoSuchVolume(String),
    /// An interface without its network.
    #[error("no network is named {0:?}; add it to spec.networks or take the interface away")]
    NoSuchNetwork(String),
    /// Something that an architecture does not have.
    #[error("{what} is not available on {architecture}; {right}")]
    Unsupported {
        /// What is asked for.
        what: &'static str,
        /// The guest's architecture.
        architecture: super::Architecture,
        /// What would be right.
        right: &'static str,
    },
    /// Something that the host does not give.
    #[error("{lack}; {right}")]
    Host {
        /// What the host lacks.
        lack: String,
        /// What would be right.
        right: &'static str,
    },
}

impl Fault {
    pub(super) fn value(value: impl Display, right: impl Into<String>) -> Self {
        Self::Value { value: value.to_string(), right: right.into() }
    }

    pub(super) fn host(lack: impl Into<String>, right: &'static str) -> Self {
        Self::Host { lack: lack.into(), right }
    }
}

pub(super) type Result<T, E = ConvertError> = std::result::Result<T, E>;
