//! `objectgraph`: everything that a machine or an instance stands on, for tools that back up or move it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::TypedObjectReference;
use serde_json::json;

use super::{Answer, Case, Kind, Reason, Refusal, Success, body};
use crate::api::names;
use crate::api::selector;
use crate::api::v1::{
    InstancetypeStatusRef, ObjectGraphNode, ObjectGraphOptions, VirtualMachine, VirtualMachineInstanceSpec as Spec, Volume,
};
use crate::config::Gate;
use crate::lifecycle::persistent_state;

/// The label of a node that says what the object is for.
const DEPENDENCY_LABEL: &str = "kubevirt.io/dependency-type";
const LAUNCHER: &str = "virt-launcher";

/// A kind of object in the graph: its API group, its name and what it is for.
struct Sort(&'static str, &'static str, &'static str);

const MACHINE: Sort = Sort("kubevirt.io", "VirtualMachine", "compute");
const INSTANCE: Sort = Sort("kubevirt.io", "VirtualMachineInstance", "compute");
const POD: Sort = Sort("", "Pod", "compute");
const DATA_VOLUME: Sort = Sort("cdi.kubevirt.io", "DataVolume", "storage");
const CLAIM: Sort = Sort("", "PersistentVolumeClaim", "storage");
const CONFIG_MAP: Sort = Sort("", "ConfigMap", "config");
const SECRET: Sort = Sort("", "Secret", "config");
const SERVICE_ACCOUNT: Sort = Sort("", "ServiceAccount", "config");
const REVISION: Sort = Sort("apps", "ControllerRevision", "config");
const NETWORK: Sort = Sort("k8s.cni.cncf.io", "NetworkAttachmentDefinition", "network");
/// The kinds that a machine may refer to by instance type or preference, in lower case; whether they have a namespace.
const MATCHED: [(&str, Sort, bool); 4] = [
    ("virtualmachineinstancetype", Sort("instancetype.kubevirt.io", "VirtualMachineInstancetype", "config"), true),
    ("virtualmachineclusterinstancetype", Sort("instancetype.kubevirt.io", "VirtualMachineClusterInstancetype", "config"), false),
    ("virtualmachinepreference", Sort("instancetype.kubevirt.io", "VirtualMachinePreference", "config"), true),
    ("virtualmachineclusterpreference", Sort("instancetype.kubevirt.io", "VirtualMachineClusterPreference", "config"), false),
];

pub(super) fn graph(case: &mut Case<'_>) -> Answer {
    if !case.config.enabled(Gate::ObjectGraph) {
        return Err(Refusal::bad_request("the feature gate ObjectGraph must be enabled for this"));
    }
    let mut root = match case.request.kind {
        Kind::Machine => of_machine(case, case.machine()?)?,
        Kind::Instance => {
            let instance = case.instance()?;
            let mut root = node(&INSTANCE, case.request.name, case.request.namespace);
            root.children.extend(launcher(case));
            root.children.extend(credentials(case, &instance.spec));
            root.children.extend(volumes(case, &instance.spec.volumes));
            let state = instance.status.volume_status.iter().find(|v| v.name.starts_with(persistent_state::PREFIX));
            if persistent_state::is_needed(&instance.spec, instance.status.changed_block_tracking.as_ref())
                && let Some(info) = state.and_then(|v| v.persistent_volume_claim_info.as_ref())
            {
                root.children.push(node(&CLAIM, &info.claim_name, case.request.namespace));
            }
            root.children.extend(networks(case, &instance.spec));
            root
        }
    };
    let options: ObjectGraphOptions = body::decode(case.request.body)?;
    filter(&mut root.children, &options);
    Ok(Success::Object(json!(root)))
}

fn of_machine(case: &Case<'_>, machine: &VirtualMachine) -> Result<ObjectGraphNode, Refusal> {
    let namespace = case.request.namespace;
    let spec = machine.spec.template.as_ref().map(|t| t.spec.clone()).unwrap_or_default();
    let mut root = node(&MACHINE, case.request.name, namespace);
    if machine.status.created {
        let mut instance = node(&INSTANCE, case.request.name, namespace);
        instance.children.extend(launcher(case));
        root.children.push(instance);
    }
    if let Some(matcher) = &machine.spec.instancetype {
        let kind = if matcher.kind.is_empty() { "virtualmachineclusterinstancetype" } else { &matcher.kind };
        root.children.extend(matched(case, kind, &matcher.name, &matcher.revision_name, machine.status.instancetype_ref.as_ref()));
    }
    if let Some(matcher) = &machine.spec.preference {
        let kind = if matcher.kind.is_empty() { "virtualmachineclusterpreference" } else { &matcher.kind };
        root.children.extend(matched(case, kind, &matcher.name, &matcher.revision_name, machine.status.preference_ref.as_ref()));
    }
    root.children.extend(credentials(case, &spec));
    root.children.extend(volumes(case, &spec.volumes));
    if persistent_state::is_needed(&spec, machine.status.changed_block_tracking.as_ref()) {
        let claim = persistent_state::claim_of(&case.observed.claims, case.request.name).and_then(|c| c.metadata.name.as_deref());
        let claim = claim.ok_or_else(|| {
            Refusal::bad_request("the claim for the persistent state of the guest is not there yet; ask again when it has been started")
                .as_reason(Reason::InternalError)
        })?;
        root.children.push(node(&CLAIM, claim, namespace));
    }
    root.children.extend(networks(case, &spec));
    Ok(root)
}

fn node(sort: &Sort, name: &str, namespace: &str) -> ObjectGraphNode {
    let Sort(group, kind, purpose) = sort;
    ObjectGraphNode {
        object_reference: TypedObjectReference {
            api_group: Some((*group).to_owned()),
            kind: (*kind).to_owned(),
            name: name.to_owned(),
            namespace: Some(namespace.to_owned()),
        },
        labels: BTreeMap::from([(DEPENDENCY_LABEL.to_owned(), (*purpose).to_owned())]),
        ..ObjectGraphNode::default()
    }
}

fn launcher(case: &Case<'_>) -> Option<ObjectGraphNode> {
    let name = case.request.name;
    let pod = case.observed.pods.iter().find(|pod| {
        let meta = &pod.metadata;
        let is_launcher = meta.labels.as_ref().and_then(|l| l.get(names::APP_LABEL)).is_some_and(|l| l == LAUNCHER);
        let owned = meta.owner_references.iter().flatten().any(|o| o.kind == INSTANCE.1 && o.name == name);
        let annotated = meta.annotations.as_ref().and_then(|a| a.get(names::DOMAIN_ANNOTATION)).is_some_and(|d| d == name);
        is_launcher && (owned || annotated)
    })?;
    Some(node(&POD, pod.metadata.name.as_deref().unwrap_or_default(), case.request.namespace))
}

fn matched(case: &Case<'_>, kind: &str, name: &str, revision: &str, status: Option<&InstancetypeStatusRef>) -> Vec<ObjectGraphNode> {
    let mut nodes = Vec::new();
    if let Some((_, sort, namespaced)) = MATCHED.iter().find(|(lower, ..)| *lower == kind.to_lowercase()) {
        let mut matched = node(sort, name, if *namespaced { case.request.namespace } else { "" });
        matched.optional = Some(true);
        nodes.push(matched);
    }
    let recorded = status.and_then(|s| s.controller_revision_ref.as_ref()).map(|r| r.name.as_str());
    // Until the status knows, the spec may name the revision.
    let named = (status.is_none() && !revision.is_empty()).then_some(revision);
    nodes.extend(recorded.or(named).map(|revision| node(&REVISION, revision, case.request.namespace)));
    nodes
}

fn credentials(case: &Case<'_>, spec: &Spec) -> Vec<ObjectGraphNode> {
    let secret = |credential: &crate::api::v1::AccessCredential| {
        let key = credential.ssh_public_key.as_ref().and_then(|k| k.source.secret.as_ref());
        let password = || credential.user_password.as_ref().and_then(|p| p.source.secret.as_ref());
        key.or_else(password).map(|s| node(&SECRET, &s.secret_name, case.request.namespace))
    };
    spec.access_credentials.iter().filter_map(secret).collect()
}

fn volumes(case: &Case<'_>, volumes: &[Volume]) -> Vec<ObjectGraphNode> {
    let plain = |sort: &Sort, name: &str| node(sort, name, case.request.namespace);
    let mut nodes = Vec::new();
    for volume in volumes {
        if let Some(source) = &volume.data_volume {
            let mut data_volume = plain(&DATA_VOLUME, &source.name);
            data_volume.children.push(plain(&CLAIM, &source.name));
            nodes.push(data_volume);
        } else if let Some(source) = &volume.persistent_volume_claim {
            nodes.push(plain(&CLAIM, &source.claim_name));
        } else if let Some(source) = &volume.config_map {
            nodes.push(plain(&CONFIG_MAP, &source.name));
        } else if let Some(source) = &volume.secret {
            nodes.push(plain(&SECRET, &source.secret_name));
        } else if let Some(source) = &volume.service_account {
            nodes.push(plain(&SERVICE_ACCOUNT, &source.service_account_name));
        } else {
            let no_cloud = volume.cloud_init_no_cloud.as_ref().map(|s| [&s.secret_ref, &s.network_data_secret_ref]);
            let drive = volume.cloud_init_config_drive.as_ref().map(|s| [&s.secret_ref, &s.network_data_secret_ref]);
            let references = no_cloud.or(drive).into_iter().flatten().flatten();
            nodes.extend(references.map(|reference| plain(&SECRET, &reference.name)));
        }
    }
    nodes
}

fn networks(case: &Case<'_>, spec: &Spec) -> Vec<ObjectGraphNode> {
    let named = spec.networks.iter().filter_map(|n| n.multus.as_ref()).map(|m| m.network_name.as_str()).filter(|n| !n.is_empty());
    named
        .map(|name| {
            let (namespace, name) = match name.split_once('/') {
                Some((namespace, rest)) if !rest.contains('/') => (namespace, rest),
                _ => (case.request.namespace, name),
            };
            let mut network = node(&NETWORK, name, namespace);
            network.optional = Some(true);
            network
        })
        .collect()
}

fn filter(nodes: &mut Vec<ObjectGraphNode>, options: &ObjectGraphOptions) {
    nodes.retain_mut(|node| {
        let unwanted = node.optional == Some(true) && options.include_optional_nodes == Some(false);
        // A selector that makes no sense hides nothing.
        let selected = options.label_selector.as_ref().is_none_or(|s| selector::matches(s, &node.labels).unwrap_or(true));
        filter(&mut node.children, options);
        !unwanted && selected
    });
}
