//! Rules of a `VirtualMachineInstance`.

use super::spec::Subject;
use super::{architecture, hyperv, instance, metadata, spec, vmi_update};
use crate::admission::{Cause, Findings, Operation, Path, Request, startable};
use crate::api::v1::VirtualMachineInstance;
use crate::config::ClusterConfig;

/// Judges the defaulted object.
pub fn judge(vmi: &VirtualMachineInstance, old: Option<&VirtualMachineInstance>, request: &Request, findings: &mut Findings) {
    match (request.operation, old) {
        (Operation::Create, _) => findings.causes.extend(create(vmi, request.config, request.is_component())),
        (Operation::Update, Some(old)) => vmi_update::judge(vmi, old, request, &mut findings.causes),
        _ => {}
    }
}

/// Judges a new instance that has its defaults; `component` says that one of KubeVirt's own makes it.
pub fn create(vmi: &VirtualMachineInstance, config: &ClusterConfig, component: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    let (at, meta) = (Path::new("spec"), Path::new("metadata"));
    let subject = Subject { at: &at, spec: &vmi.spec, config };
    spec::discontinued_bindings(&at, &vmi.spec, &mut causes);
    spec::judge(&subject, &mut causes);
    instance::volumes_are_shown(&subject, &mut causes);
    instance::memory_is_given(&subject, &mut causes);
    metadata::judge(&meta, &vmi.metadata, config, component, &mut causes);
    spec::grace_annotations(&meta, &vmi.spec, vmi.metadata.annotations.as_ref(), config, &mut causes);
    hyperv::judge(&subject, &mut causes);
    architecture::judge(&subject, &mut causes);
    if causes.is_empty() {
        startable::judge(vmi, config, &mut causes);
    }
    causes
}
