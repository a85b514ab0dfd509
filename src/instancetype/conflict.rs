//! What an instance type and a VM say about the same thing.

use std::fmt;

/// Why a VM cannot have its instance type or preference: the field, and the reason in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The instance type decides what the VM says as well.
    #[error("{field} is decided by the instance type; remove it from the virtual machine, or choose another instance type")]
    Decided {
        /// The field of the VM.
        field: String,
    },
    /// The vCPUs of the instance type cannot be spread as the preference wants it.
    #[error("{guest} vCPUs of the instance type cannot be spread {across} with a ratio of {ratio}; they must be a multiple of {unit}")]
    Spread {
        /// The vCPUs.
        guest: u32,
        /// What the preference spreads them across.
        across: String,
        /// The ratio that it asks for.
        ratio: u32,
        /// What the vCPUs would have to be a multiple of.
        unit: u32,
    },
    /// A preference demands more than the VM or its instance type provide.
    #[error("the preference demands {demanded}, {provider} provides {provided}")]
    Insufficient {
        /// The field that would have to be larger.
        field: String,
        /// Who provides it.
        provider: &'static str,
        /// What is demanded.
        demanded: String,
        /// What is provided.
        provided: String,
    },
}

impl Conflict {
    pub(super) fn decided(base: &str, field: &str) -> Self {
        Self::Decided { field: format!("{base}.{field}") }
    }

    /// The path of the field at fault.
    pub fn field(&self) -> &str {
        match self {
            Self::Decided { field } | Self::Insufficient { field, .. } => field,
            Self::Spread { .. } => "instancetype.spec.cpu.guest",
        }
    }
}

/// One conflict or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicts(pub Vec<Conflict>);

impl Conflicts {
    pub(super) fn or<T>(conflicts: Vec<Conflict>, ok: T) -> Result<T, Self> {
        if conflicts.is_empty() { Ok(ok) } else { Err(Self(conflicts)) }
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, conflict) in self.0.iter().enumerate() {
            write!(f, "{}{conflict}", if i == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl std::error::Error for Conflicts {}
