//! Defaults of a `VirtualMachineClone`.

use crate::admission::{Findings, Operation, Request};
use crate::api::clone::VirtualMachineClone;
use crate::api::names::GROUP;
use crate::api::v1::VirtualMachine;
use k8s_openapi::Resource;
use k8s_openapi::api::core::v1::TypedLocalObjectReference;

/// How long the random end of a generated name is.
const SUFFIX: usize = 5;

/// Names the target, where it has no name.
pub fn admit(clone: &mut VirtualMachineClone, _: Option<&VirtualMachineClone>, request: &Request, _: &mut Findings) {
    if request.operation != Operation::Create {
        return;
    }
    // a clone without a source is refused by validation
    let Some(source) = &clone.spec.source else { return };
    let name = || format!("clone-{}-{}", source.name, request.seed.suffix(0, SUFFIX));
    match &mut clone.spec.target {
        None => {
            let target =
                TypedLocalObjectReference { api_group: Some(GROUP.to_owned()), kind: VirtualMachine::KIND.to_owned(), name: name() };
            clone.spec.target = Some(target);
        }
        Some(target) if target.name.is_empty() => target.name = name(),
        Some(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;
    use crate::admission::review;
    use crate::admission::testing::request;

    #[test]
    fn a_clone_without_a_name_gets_one() {
        let source = json!({"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "a"});
        for (target, named) in [
            (json!(null), true),
            (json!({"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": ""}), true),
            (json!({"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "b"}), false),
        ] {
            let object = json!({"metadata": {"name": "c"}, "spec": {"source": source, "target": target}});
            let mut clone: VirtualMachineClone = from_value(object.clone()).unwrap();
            request("VirtualMachineClone", &object, |request| {
                admit(&mut clone, None, request, &mut Findings::default());
                assert!(review(request).allowed, "{target}");
            });
            let got = to_value(clone.spec.target).unwrap();
            assert_eq!((&got["apiGroup"], &got["kind"]), (&json!("kubevirt.io"), &json!("VirtualMachine")));
            let name = got["name"].as_str().unwrap();
            assert_eq!(name.starts_with("clone-a-") && name.len() == 13, named, "{name}");
        }
    }
}
