//! References to the object that a snapshot, clone, export or backup is made of.

use crate::admission::{Cause, Findings, Path};
use k8s_openapi::api::core::v1::TypedLocalObjectReference;

/// A kind that may be referred to.
pub(super) struct Kind {
    pub(super) kind: &'static str,
    /// Its group; the core group has the empty name.
    pub(super) group: &'static str,
}

/// The reference is to one of the kinds, and complete: a kind that is unknown is named first, since the group that it
/// needs hangs on it.
pub(super) fn judge(path: &Path, reference: &TypedLocalObjectReference, kinds: &[Kind], findings: &mut Findings) {
    let Some(kind) = kinds.iter().find(|kind| kind.kind == reference.kind) else {
        let known = kinds.iter().map(|kind| kind.kind).collect::<Vec<_>>().join(", ");
        findings.deny(Cause::invalid(path.key("kind"), format!("{:?} cannot stand here; it must be one of {known}", reference.kind)));
        return;
    };
    if reference.name.is_empty() {
        findings.deny(Cause::invalid(path.key("name"), format!("the name of the {} is missing", kind.kind)));
    }
    let group = reference.api_group.as_deref().unwrap_or_default();
    if group != kind.group {
        let wanted = if kind.group.is_empty() { "left out".to_owned() } else { kind.group.to_owned() };
        findings.deny(Cause::invalid(path.key("apiGroup"), format!("the group of a {} must be {wanted}, not {group:?}", kind.kind)));
    }
}

/// A spec that says what is to be done once cannot be changed.
pub(super) fn unchanged<T: PartialEq>(new: &T, old: &T, findings: &mut Findings) {
    if new != old {
        findings.deny(Cause::invalid("spec", "it cannot be changed once the object exists; delete it and create another"));
    }
}

/// The object may be created only while a feature is enabled.
pub(super) fn gated(request: &crate::admission::Request, gate: crate::config::Gate, findings: &mut Findings) -> bool {
    let enabled = request.config.enabled(gate);
    if !enabled {
        findings.deny(Cause::forbidden("", format!("the feature gate {} is not enabled", gate.name())));
    }
    enabled
}
