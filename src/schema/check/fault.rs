//! A fault, and where it is.

use std::fmt;

use serde::Serialize;

/// Something wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Where: `spec.template.spec.domain.devices.disks[0].name`.
    pub path: String,
    /// What kind of fault.
    pub kind: FaultKind,
    /// What would be right.
    pub message: String,
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum FaultKind {
    /// The kind of the document is not known.
    Kind,
    /// A string where a number must be, and the like.
    Type,
    /// A field that must be there is not.
    Required,
    /// A value outside of an enumeration.
    Value,
    /// A number that is too small or too large.
    Bounds,
    /// A string or a list that is too short or too long.
    Length,
    /// A string that does not match its pattern.
    Pattern,
    /// A scalar that is not written as its format wants.
    Format,
    /// An item of a list that stands there twice.
    Duplicate,
    /// A rule that does not hold.
    Rule,
    /// A field that the schema does not know: the API server drops it with a warning.
    UnknownField,
    /// A document that is too large to look at.
    TooLarge,
}

impl Fault {
    /// Whether the API server would take the document nevertheless.
    pub fn is_warning(&self) -> bool {
        self.kind == FaultKind::UnknownField
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}

/// A place in a document, linked to the place that holds it, so that walking costs nothing.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Field(&'a str),
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    pub(super) fn root() -> Self {
        Self { parent: None, step: Step::Root }
    }

    pub(super) fn field(&'a self, name: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Field(name) }
    }

    pub(super) fn key(&'a self, key: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Key(key) }
    }

    pub(super) fn index(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index) }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        let first = self.parent.is_none_or(|p| matches!(p.step, Step::Root));
        match self.step {
            Step::Root => Ok(()),
            Step::Field(name) if first => f.write_str(name),
            Step::Field(name) => write!(f, ".{name}"),
            Step::Key(key) => write!(f, "[{key}]"),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}
