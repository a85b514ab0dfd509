//! What is wrong with an object, field by field.

use std::fmt;

use serde::{Serialize, Serializer};

/// The kind of a fault, as Kubernetes names it in the causes of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Something that the field names is not there.
    NotFound,
    /// The field must be set.
    Required,
    /// The value must be unique and is not.
    Duplicate,
    /// The value is malformed or breaks a rule.
    Invalid,
    /// The value is none of those that may stand here, or what it asks for is not offered.
    NotSupported,
    /// The field may not be set, or not changed.
    Forbidden,
    /// The value is longer than it may be.
    TooLong,
    /// The value has another type than the field.
    TypeInvalid,
}

impl Reason {
    /// The reason on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One fault of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The kind of the fault.
    pub reason: Reason,
    /// The field, as `spec.domain.devices.disks[0].name`; empty when it is the whole object.
    pub field: String,
    /// What is wrong, with the value, and what would be right.
    pub message: String,
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident $reason:ident;)*) => {
        impl Cause {$(
            $(#[$doc])*
            pub fn $name(field: impl Into<String>, message: impl Into<String>) -> Self {
                Self { reason: Reason::$reason, field: field.into(), message: message.into() }
            }
        )*}
    };
}

constructors! {
    /// Something that the field names is not there.
    not_found NotFound;
    /// The field must be set.
    required Required;
    /// The value must be unique and is not.
    duplicate Duplicate;
    /// The value is malformed or breaks a rule.
    invalid Invalid;
    /// The value is none of those that may stand here, or asks for what is not offered.
    not_supported NotSupported;
    /// The field may not be set, or not changed.
    forbidden Forbidden;
    /// The value is longer than it may be.
    too_long TooLong;
    /// The value has another type than the field.
    type_invalid TypeInvalid;
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.field, self.message) }
    }
}

/// What judging an object brought up: its faults, and what its author should know although it may pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// The faults; none of them means that the object may pass.
    pub causes: Vec<Cause>,
    /// Warnings, shown to who wrote the object.
    pub warnings: Vec<String>,
}

impl Findings {
    /// Adds a fault.
    pub fn deny(&mut self, cause: Cause) {
        self.causes.push(cause);
    }

    /// Adds a warning.
    pub fn warn(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }
}
