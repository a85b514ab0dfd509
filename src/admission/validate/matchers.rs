//! How a virtual machine names its instance type and preference.

use crate::admission::{Cause, Findings, Operation, Path, Request};
use crate::api::v1::{InferFromVolumeFailurePolicy, VirtualMachine};

/// What both kinds of reference have in common.
struct Matcher<'a> {
    name: &'a str,
    kind: &'a str,
    revision: &'a str,
    infer_from: &'a str,
    failure_policy: Option<&'a InferFromVolumeFailurePolicy>,
}

macro_rules! matcher {
    ($reference:expr) => {
        $reference.as_ref().map(|m| Matcher {
            name: &m.name,
            kind: &m.kind,
            revision: &m.revision_name,
            infer_from: &m.infer_from_volume,
            failure_policy: m.infer_from_volume_failure_policy.as_ref(),
        })
    };
}

/// Judges the references; the first that is wrong speaks for itself.
pub(crate) fn judge(vm: &VirtualMachine, old: Option<&VirtualMachine>, request: &Request, findings: &mut Findings) {
    let old = old.filter(|_| request.operation == Operation::Update);
    let references = [
        ("spec.instancetype", matcher!(vm.spec.instancetype), old.and_then(|old| matcher!(old.spec.instancetype))),
        ("spec.preference", matcher!(vm.spec.preference), old.and_then(|old| matcher!(old.spec.preference))),
    ];
    for (path, new, old) in &references {
        if let (Some(new), Some(old)) = (new, old) {
            update(&Path::new(path), new, old, &mut findings.causes);
        }
    }
    for (path, new, _) in &references {
        if let (Some(new), true) = (new, findings.causes.is_empty()) {
            reference(&Path::new(path), new, &mut findings.causes);
        }
    }
}

/// A revision belongs to the name that it was made of.
fn update(path: &Path, new: &Matcher, old: &Matcher, causes: &mut Vec<Cause>) {
    if !new.revision.is_empty() && new.name != old.name && new.revision == old.revision {
        let message = format!(
            "{:?} is a revision of {:?}, not of {:?}; clear revisionName along with the change of name",
            new.revision, old.name, new.name
        );
        causes.push(Cause::invalid(path.key("revisionName"), message));
    }
}

fn reference(path: &Path, matcher: &Matcher, causes: &mut Vec<Cause>) {
    if matcher.name.is_empty() && matcher.infer_from.is_empty() {
        causes.push(Cause::not_found(path, "nothing is named; give a name, or inferFromVolume"));
    }
    if !matcher.infer_from.is_empty() {
        for (key, value) in [("name", matcher.name), ("kind", matcher.kind)] {
            if !value.is_empty() {
                let message = format!("{value:?} contradicts inferFromVolume, which finds the {key} out; give only one of them");
                causes.push(Cause::not_supported(path.key(key), message));
            }
        }
    }
    if let Some(policy) = matcher.failure_policy.filter(|policy| !policy.is_known()) {
        let message = format!("{policy:?} is no policy; give Reject or Ignore", policy = policy.as_str());
        causes.push(Cause::invalid(path.key("inferFromVolumeFailurePolicy"), message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Reason;
    use serde_json::{Value, json};

    fn fields(matcher: Value) -> Vec<(Reason, String)> {
        let vm: VirtualMachine = serde_json::from_value(json!({"spec": {"instancetype": matcher}})).unwrap();
        let mut causes = Vec::new();
        reference(&Path::new("i"), &matcher!(vm.spec.instancetype).unwrap(), &mut causes);
        causes.into_iter().map(|c| (c.reason, c.field)).collect()
    }

    #[test]
    fn a_reference_names_one_thing() {
        for (matcher, wanted) in [
            (json!({"name": "u1.small"}), vec![]),
            (json!({"inferFromVolume": "v"}), vec![]),
            (json!({}), vec![(Reason::NotFound, "i")]),
            (
                json!({"inferFromVolume": "v", "name": "n", "kind": "k"}),
                vec![(Reason::NotSupported, "i.name"), (Reason::NotSupported, "i.kind")],
            ),
            (
                json!({"inferFromVolume": "v", "inferFromVolumeFailurePolicy": "Shrug"}),
                vec![(Reason::Invalid, "i.inferFromVolumeFailurePolicy")],
            ),
        ] {
            let wanted: Vec<_> = wanted.into_iter().map(|(reason, field)| (reason, field.to_owned())).collect();
            assert_eq!(fields(matcher.clone()), wanted, "{matcher}");
        }
    }

    #[test]
    fn a_revision_goes_with_its_name() {
        let matcher = |name, revision| Matcher { name, kind: "", revision, infer_from: "", failure_policy: None };
        for (new, old, denied) in [
            (matcher("b", "r1"), matcher("a", "r1"), true),
            (matcher("b", ""), matcher("a", "r1"), false),
            (matcher("b", "r2"), matcher("a", "r1"), false),
            (matcher("a", "r1"), matcher("a", "r1"), false),
        ] {
            let mut causes = Vec::new();
            update(&Path::new("i"), &new, &old, &mut causes);
            assert_eq!(!causes.is_empty(), denied, "{} {}", new.name, new.revision);
        }
    }
}
