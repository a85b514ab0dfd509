//! `expand-spec`: the machine that stands on its own, its instance type and preference written out. Of a machine that is
//! there, or of one that was sent.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::StatusCause;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, Case, Refusal, Success, body};
use crate::api::v1::VirtualMachine;
use crate::config::ClusterConfig;
use crate::instancetype::{self, Objects};
use crate::schema;

pub(super) fn expand(case: &mut Case<'_>) -> Answer {
    let machine = case.machine()?;
    let expanded = written_out(machine, &case.observed.instancetypes, case.config).map_err(Refusal::internal)?;
    Ok(Success::Object(json!(expanded)))
}

/// Writes out a machine that was sent to `namespaces/NAMESPACE/expand-vm-spec`.
pub fn expand_document(sent: &[u8], namespace: &str, objects: &[Value], config: &ClusterConfig) -> Result<Value, Refusal> {
    let document = body::first_document(sent)?;
    if document.is_null() {
        return Err(Refusal::bad_request("a body with a VirtualMachine is needed"));
    }
    let faults = schema::check("VirtualMachine", &document);
    if !faults.is_empty() {
        let cause = |f: schema::Fault| StatusCause { field: Some(f.path), message: Some(f.message), ..StatusCause::default() };
        let mut refusal = Refusal::bad_request("the body is no valid VirtualMachine");
        refusal.causes = faults.into_iter().map(cause).collect();
        return Err(refusal);
    }
    let machine = VirtualMachine::deserialize(document);
    let mut machine = machine.map_err(|e| Refusal::bad_request(format!("the body is no VirtualMachine: {e}")))?;
    if machine.metadata.namespace.as_deref().is_some_and(|own| !own.is_empty() && own != namespace) {
        return Err(Refusal::bad_request(format!("metadata.namespace must be {namespace:?}, or be left out")));
    }
    machine.metadata.namespace = Some(namespace.to_owned());
    written_out(&machine, objects, config).map(|machine| json!(machine)).map_err(Refusal::bad_request)
}

fn written_out(machine: &VirtualMachine, objects: &[Value], config: &ClusterConfig) -> Result<VirtualMachine, String> {
    let objects = Objects(objects);
    let found = instancetype::find(machine, &objects).map_err(|e| e.to_string())?;
    let preferred = instancetype::find_preference(machine, &objects).map_err(|e| e.to_string())?;
    instancetype::expand(machine, found.as_deref(), preferred.as_deref(), config).map_err(|e| match e {
        instancetype::ExpandError::Conflicts(conflicts) => conflicts.to_string(),
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(sent: &str) -> Result<Value, Refusal> {
        expand_document(sent.as_bytes(), "lab", &[], &ClusterConfig::new(&crate::api::v1::KubeVirtConfiguration::default()))
    }

    #[test]
    fn a_machine_that_was_sent_is_written_out_or_refused() {
        let machine = |spec: &str, meta: &str| {
            format!(
                r#"{{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {{"name": "a"{meta}}},
                    "spec": {{"running": true, "template": {{"spec": {{"domain": {{"devices": {{}}}}}}}}{spec}}}}}"#
            )
        };
        let expanded = expand(&machine(r#", "instancetype": {"name": "u1.small"}"#, "")).unwrap();
        assert!(expanded["spec"].get("instancetype").is_none());
        assert!(expanded["spec"]["template"]["spec"]["domain"]["memory"]["guest"].is_string());
        for (sent, word) in [
            (String::new(), "needed"),
            ("{".to_owned(), "cannot be read"),
            (r#"{"spec": {"running": "yes"}}"#.to_owned(), "no valid VirtualMachine"),
            (machine("", r#", "namespace": "other""#), "namespace"),
            (machine(r#", "instancetype": {"name": "none"}"#, ""), "none"),
        ] {
            let refusal = expand(&sent).unwrap_err();
            assert_eq!(refusal.reason.code(), 400, "{sent}");
            assert!(refusal.message.contains(word), "{sent}: {refusal}");
        }
    }
}
