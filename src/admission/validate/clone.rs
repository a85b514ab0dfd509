//! Rules for `VirtualMachineClone`.

use crate::admission::{Cause, Findings, Operation, Path, Request};
use crate::api::clone::{VirtualMachineClone, VirtualMachineCloneSpec};
use crate::config::Gate;
use k8s_openapi::api::core::v1::TypedLocalObjectReference;

use super::reference::gated;

const MACHINE: &str = "VirtualMachine";
const SOURCES: [&str; 2] = [MACHINE, "VirtualMachineSnapshot"];

/// Judges a clone.
pub fn judge(clone: &VirtualMachineClone, _: Option<&VirtualMachineClone>, request: &Request, findings: &mut Findings) {
    if request.operation == Operation::Create && !gated(request, Gate::Snapshot, findings) {
        return;
    }
    let (spec, path) = (&clone.spec, Path::new("spec"));
    for (list, name) in [
        (&spec.annotation_filters, "annotationFilters"),
        (&spec.label_filters, "labelFilters"),
        (&spec.template.annotation_filters, "template.annotationFilters"),
        (&spec.template.label_filters, "template.labelFilters"),
    ] {
        filters(list, &path.key(name), findings);
    }
    ends(spec, &path, findings);
    let addresses = path.key("newMacAddresses");
    for (interface, address) in &spec.new_mac_addresses {
        if !address.is_empty() && !is_mac_address(address) {
            findings.deny(Cause::invalid(addresses.key(interface), format!("{address:?} is no MAC address, such as 02:00:00:00:00:01")));
        }
    }
    for (i, patch) in spec.patches.iter().enumerate() {
        if serde_json::from_str::<serde::de::IgnoredAny>(patch).is_err() {
            findings.deny(Cause::invalid(path.key("patches").index(i), format!("{patch:?} is no JSON")));
        }
    }
}

/// A filter is a name, with `!` before it where it excludes, and `*` behind it where it stands for all that begin so.
fn filters(list: &[String], path: &Path, findings: &mut Findings) {
    for (i, filter) in list.iter().enumerate() {
        let rest = filter.strip_prefix('!').unwrap_or(filter);
        let name = rest.strip_suffix('*').unwrap_or(rest);
        let text = if filter.is_empty() {
            "an empty filter stands for nothing; \"*\" stands for all".to_owned()
        } else if filter == "!" {
            "a filter that excludes needs a name behind the \"!\"".to_owned()
        } else if rest.contains('!') {
            format!("{filter:?} has a \"!\" that is not its first character")
        } else if name.contains('*') {
            format!("{filter:?} has a \"*\" that is not its last character")
        } else {
            continue;
        };
        findings.deny(Cause::invalid(path.index(i), text));
    }
}

/// Where it comes from and where it goes.
fn ends(spec: &VirtualMachineCloneSpec, path: &Path, findings: &mut Findings) {
    let (source, target) = (path.key("source"), path.key("target"));
    let Some(from) = &spec.source else {
        findings.deny(Cause::invalid(source, "the source is missing: the virtual machine or snapshot to clone"));
        return;
    };
    if !SOURCES.contains(&from.kind.as_str()) {
        findings.deny(Cause::invalid(source.key("kind"), format!("{:?} cannot be cloned; it must be {}", from.kind, SOURCES.join(" or "))));
    }
    if from.api_group.as_deref().unwrap_or_default().is_empty() {
        findings.deny(Cause::invalid(source.key("apiGroup"), "the group of the source is missing"));
    }
    if from.name.is_empty() {
        findings.deny(Cause::invalid(source.key("name"), "the name of the source is missing"));
    }
    if let Some(to) = &spec.target {
        goal(from, to, &target, findings);
    }
}

fn goal(from: &TypedLocalObjectReference, to: &TypedLocalObjectReference, path: &Path, findings: &mut Findings) {
    if to.kind != MACHINE {
        findings.deny(Cause::invalid(path.key("kind"), format!("{:?} cannot be made by cloning; it must be {MACHINE}", to.kind)));
    } else if from.kind == MACHINE && from.name == to.name {
        findings
            .deny(Cause::invalid(path.key("name"), format!("a machine cannot be cloned to itself; choose another name than {}", to.name)));
    }
}

/// Six bytes in hexadecimal: pairs joined by `:` or `-`, or fours joined by `.`.
fn is_mac_address(text: &str) -> bool {
    [(':', 2), ('-', 2), ('.', 4)].into_iter().any(|(separator, digits)| {
        let mut parts = 0;
        let fits = text.split(separator).all(|part| {
            parts += 1;
            part.len() == digits && part.bytes().all(|c| c.is_ascii_hexdigit())
        });
        fits && parts * digits == 12
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::admission::testing::denied;

    fn judged(rest: Value) -> Vec<String> {
        let mut spec =
            json!({"source": {"apiGroup": "kubevirt.io", "kind": MACHINE, "name": "a"}, "target": {"kind": MACHINE, "name": "b"}});
        spec.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        denied("VirtualMachineClone", &json!({"metadata": {"name": "c"}, "spec": spec}), &json!({}), &json!([]))
    }

    #[test]
    fn a_clone_has_two_ends() {
        let source = |group: &str, kind: &str, name: &str| json!({"source": {"apiGroup": group, "kind": kind, "name": name}});
        let target = |kind: &str, name: &str| json!({"target": {"kind": kind, "name": name}});
        for (spec, want) in [
            (json!({}), &[] as &[&str]),
            (source("snapshot.kubevirt.io", "VirtualMachineSnapshot", "b"), &[]),
            (source("v1", "Pod", "a"), &["spec.source.kind"]),
            (source("", MACHINE, ""), &["spec.source.apiGroup", "spec.source.name"]),
            (target("Pod", "b"), &["spec.target.kind"]),
            (target(MACHINE, "a"), &["spec.target.name"]),
            (json!({"patches": ["{}", "{"]}), &["spec.patches[1]"]),
            (json!({"newMacAddresses": {"x": "DE-AD-00-00-BE-AF", "y": "dead.0000.beaf", "z": ""}}), &[]),
            (
                json!({"newMacAddresses": {"x": "02:00:00:00:00", "y": "02:00:00:00:00:0g"}}),
                &["spec.newMacAddresses.x", "spec.newMacAddresses.y"],
            ),
        ] {
            assert_eq!(judged(spec.clone()), want, "{spec}");
        }
    }

    #[test]
    fn filters_have_their_signs_at_their_ends() {
        for (filter, fits) in [
            ("*", true),
            ("", false),
            ("a*", true),
            ("!a", true),
            ("!a*", true),
            ("!*", true),
            ("!", false),
            ("a!b", false),
            ("!!a", false),
            ("*a", false),
            ("a**", false),
        ] {
            for place in ["annotationFilters", "labelFilters"] {
                let field = format!("spec.{place}[0]");
                let want: &[&str] = if fits { &[] } else { &[&field] };
                assert_eq!(judged(json!({place: [filter]})), want, "{filter}");
                let field = format!("spec.template.{place}[0]");
                let want: &[&str] = if fits { &[] } else { &[&field] };
                assert_eq!(judged(json!({"template": {place: [filter]}})), want, "{filter}");
            }
        }
    }
}
