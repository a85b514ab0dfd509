//! The structure of an object: what its schema refuses, in the words of admission.

use std::sync::LazyLock;

use kubevirt_api::schema::{Node, object_meta};

use super::{Cause, Findings, Operation, Reason, Request};
use crate::schema::{self, Fault, FaultKind};

/// Kinds in whose specification a field that nobody knows is a fault: what is misspelled there would be missed in the
/// guest. Elsewhere it is dropped with a warning.
const STRICT: [&str; 12] = [
    "KubeVirt",
    "VirtualMachine",
    "VirtualMachineClone",
    "VirtualMachineClusterInstancetype",
    "VirtualMachineClusterPreference",
    "VirtualMachineInstance",
    "VirtualMachineInstanceMigration",
    "VirtualMachineInstancePreset",
    "VirtualMachineInstanceReplicaSet",
    "VirtualMachineInstancetype",
    "VirtualMachinePool",
    "VirtualMachinePreference",
];

/// Where templates have their metadata.
const TEMPLATES: [(&str, &[&str]); 3] = [
    ("VirtualMachine", &["spec.template.metadata"]),
    ("VirtualMachineInstanceReplicaSet", &["spec.template.metadata"]),
    ("VirtualMachinePool", &["spec.virtualMachineTemplate.metadata", "spec.virtualMachineTemplate.spec.template.metadata"]),
];

static METADATA: LazyLock<Node> = LazyLock::new(object_meta);

/// Judges the document as it was given, before anything is filled in.
pub(super) fn judge(request: &Request, findings: &mut Findings) {
    if request.operation == Operation::Delete || schema::node(request.kind).is_none() {
        return;
    }
    let strict = STRICT.contains(&request.kind);
    let faults = schema::check_update(request.kind, request.object, request.old);
    for fault in faults.into_iter().chain(template_metadata(request)) {
        if fault.is_warning() && !(strict && is_in_specification(&fault.path)) {
            findings.warn(format!("{fault}"));
        } else {
            findings.deny(cause(fault));
        }
    }
}

/// What is wrong with the metadata of templates. Their schema leaves them open, and what stands there by mistake would
/// be lost with every object that is made.
fn template_metadata(request: &Request) -> Vec<Fault> {
    let paths = TEMPLATES.iter().find(|(kind, _)| *kind == request.kind).map_or(&[][..], |(_, paths)| paths);
    let mut faults = Vec::new();
    for path in paths {
        let Some(metadata) = request.object.pointer(&format!("/{}", path.replace('.', "/"))).filter(|value| !value.is_null()) else {
            continue;
        };
        let found = schema::check_value(&METADATA, metadata, None).into_iter();
        faults.extend(found.map(|fault| Fault { path: format!("{path}.{}", fault.path), ..fault }));
    }
    faults
}

/// Whether a field is none of the metadata or the status, which others than the author write as well.
fn is_in_specification(path: &str) -> bool {
    !["metadata", "status"].iter().any(|other| path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '['])))
}

fn cause(fault: Fault) -> Cause {
    let reason = match fault.kind {
        FaultKind::Type => Reason::TypeInvalid,
        FaultKind::Required => Reason::Required,
        FaultKind::Kind | FaultKind::Value => Reason::NotSupported,
        FaultKind::Length | FaultKind::TooLarge => Reason::TooLong,
        FaultKind::Duplicate => Reason::Duplicate,
        FaultKind::UnknownField => Reason::Forbidden,
        FaultKind::Bounds | FaultKind::Pattern | FaultKind::Format | FaultKind::Rule => Reason::Invalid,
    };
    Cause { reason, field: fault.path, message: fault.message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Seed;
    use crate::config::ClusterConfig;
    use serde_json::{Value, json};

    fn judged(kind: &str, object: &Value) -> (Vec<String>, usize) {
        let config = ClusterConfig::new(&Default::default());
        let mut findings = Findings::default();
        let request = Request {
            kind,
            operation: Operation::Create,
            config: &config,
            object,
            old: None,
            user: "me",
            user_node: None,
            namespace: "kubevirt",
            cluster: &[],
            seed: Seed(0),
            now: jiff::Timestamp::UNIX_EPOCH,
        };
        judge(&request, &mut findings);
        (findings.causes.into_iter().map(|c| c.field).collect(), findings.warnings.len())
    }

    #[test]
    fn what_is_lost_in_the_metadata_of_a_template_is_told() {
        let with = |metadata: Value| json!({"metadata": {}, "spec": {"runStrategy": "Halted", "template": {"metadata": metadata, "spec": {"domain": {"devices": {}}}}}});
        for (metadata, wanted) in [
            (json!({"labels": {"a": "b"}, "creationTimestamp": null}), vec![]),
            (json!({"spec": {}}), vec!["spec.template.metadata.spec".to_owned()]),
        ] {
            assert_eq!(judged("VirtualMachine", &with(metadata)).0, wanted);
        }
    }

    #[test]
    fn unknown_fields_are_faults_where_their_author_would_miss_them() {
        let domain = json!({"devices": {}});
        for (object, wanted, warnings) in [
            (json!({"metadata": {}, "spec": {"domain": domain}}), &[][..], 0),
            (json!({"metadata": {}, "spec": {"domain": domain, "hostnam": "a"}}), &["spec.hostnam"], 0),
            (json!({"metadata": {"selfLink": "/a", "nam": "a"}, "spec": {"domain": domain}}), &[], 1),
            (json!({"metadata": {}, "spec": {"domain": {}}}), &["spec.domain.devices"], 0),
            (json!({"metadata": {}, "spec": {"domain": {"devices": []}}}), &["spec.domain.devices"], 0),
        ] {
            assert_eq!(judged("VirtualMachineInstance", &object), (wanted.iter().map(|f| (*f).to_owned()).collect(), warnings), "{object}");
        }
    }
}
