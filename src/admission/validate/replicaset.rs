//! Rules for `VirtualMachineInstanceReplicaSet`.

use crate::admission::{Cause, Findings, Operation, Path, Request};
use crate::api::selector;
use crate::api::v1::VirtualMachineInstanceReplicaSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use super::{selectors, spec};

/// Judges a replica set. Its instances are judged again when they are made, with their defaults.
pub fn judge(
    set: &VirtualMachineInstanceReplicaSet,
    _: Option<&VirtualMachineInstanceReplicaSet>,
    request: &Request,
    findings: &mut Findings,
) {
    if request.operation == Operation::Delete {
        return;
    }
    let Some(template) = &set.spec.template else {
        findings.deny(Cause::required("spec.template", "the template is missing, from which instances are made"));
        return;
    };
    let causes = &mut findings.causes;
    let (at, meta) = (Path::new("spec.template.spec"), Path::new("spec.template.metadata"));
    spec::grace_annotations(&meta, &template.spec, template.metadata.annotations.as_ref(), request.config, causes);
    spec::judge(&spec::Subject { at: &at, spec: &template.spec, config: request.config }, causes);
    selects(&Path::new("spec.selector"), set.spec.selector.as_ref(), &template.metadata, causes);
    if request.operation == Operation::Create {
        spec::discontinued_bindings(&at, &template.spec, causes);
    }
}

/// The selector has its form and finds what is made from the template; one that is missing finds nothing.
pub(super) fn selects(at: &Path, selector: Option<&LabelSelector>, template: &ObjectMeta, causes: &mut Vec<Cause>) {
    let Some(selector) = selector else {
        causes.push(Cause::invalid(at, "the selector is missing, by which what is made from the template is found"));
        return;
    };
    let before = causes.len();
    selectors::selector(at, selector, causes);
    let labels = template.labels.clone().unwrap_or_default();
    if causes.len() == before && selector::matches(selector, &labels) != Ok(true) {
        causes.push(Cause::invalid(at, "the selector does not match the labels of the template; what is made from it would not be found"));
    }
}
