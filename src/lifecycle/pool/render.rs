//! The machine of a number: the pool's template with the number in the names of what must be its own.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::LocalObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use serde_json::json;

use super::{FINALIZER, Pass};
use crate::api::names;
use crate::api::pool::VirtualMachinePoolSpec;
use crate::api::v1::{VirtualMachine, VirtualMachineSpec, Volume};
use crate::lifecycle::owner;

const API_VERSION: &str = "pool.kubevirt.io/v1beta1";
const KIND: &str = "VirtualMachinePool";

/// The name of the revision of the pool's spec as it is.
pub(super) fn revision_name(pass: &Pass<'_>) -> String {
    let meta = &pass.observed.pool.metadata;
    format!("{}-{}", meta.name.as_deref().unwrap_or_default(), meta.generation.unwrap_or_default())
}

/// The revision that keeps the pool's spec as it is.
pub(super) fn revision(pass: &Pass<'_>) -> ControllerRevision {
    let pool = &pass.observed.pool;
    ControllerRevision {
        metadata: ObjectMeta {
            name: Some(revision_name(pass)),
            namespace: pool.metadata.namespace.clone(),
            owner_references: Some(vec![owner::reference(API_VERSION, KIND, &pool.metadata)]),
            ..ObjectMeta::default()
        },
        data: Some(RawExtension(json!(pool.spec))),
        revision: pool.metadata.generation.unwrap_or_default(),
    }
}

/// The spec that a revision keeps.
pub(super) fn spec_of(pass: &Pass<'_>, revision: &str) -> Option<VirtualMachinePoolSpec> {
    let kept = pass.observed.revisions.iter().find(|r| r.metadata.name.as_deref() == Some(revision))?;
    serde::Deserialize::deserialize(&kept.data.as_ref()?.0).ok()
}

/// The new machine of that number.
pub(super) fn machine(pass: &Pass<'_>, number: u64) -> VirtualMachine {
    let pool = &pass.observed.pool.metadata;
    let mut machine = VirtualMachine {
        api_version: "kubevirt.io/v1".to_owned(),
        kind: "VirtualMachine".to_owned(),
        metadata: ObjectMeta {
            name: Some(format!("{}-{number}", pool.name.as_deref().unwrap_or_default())),
            namespace: pool.namespace.clone(),
            owner_references: Some(vec![owner::reference(API_VERSION, KIND, pool)]),
            finalizers: Some(vec![FINALIZER.to_owned()]),
            ..ObjectMeta::default()
        },
        ..VirtualMachine::default()
    };
    bring_up_to_date(pass, &mut machine, number);
    machine
}

/// Makes a machine what the pool's template is by now. Who the guest is stays: by its firmware it knows itself.
pub(super) fn bring_up_to_date(pass: &Pass<'_>, machine: &mut VirtualMachine, number: u64) {
    let template = pass.template;
    let identity = machine.spec.template.as_ref().and_then(|t| t.spec.domain.firmware.clone());
    machine.metadata.labels.clone_from(&template.metadata.labels);
    machine.metadata.annotations.clone_from(&template.metadata.annotations);
    machine.spec = numbered(&pass.observed.pool.spec, &template.spec, number);
    let revision = revision_name(pass);
    let bear = |meta: &mut ObjectMeta| {
        meta.labels.get_or_insert_default().insert(names::VIRTUAL_MACHINE_POOL_REVISION_NAME.to_owned(), revision.clone());
    };
    bear(&mut machine.metadata);
    if let Some(template) = &mut machine.spec.template {
        bear(&mut template.metadata);
        if let Some(identity) = identity {
            let firmware = template.spec.domain.firmware.get_or_insert_default();
            if !identity.uuid.is_empty() {
                firmware.uuid = identity.uuid;
            }
            if !identity.serial.is_empty() {
                firmware.serial = identity.serial;
            }
        }
    }
}

fn numbered(pool: &VirtualMachinePoolSpec, template: &VirtualMachineSpec, number: u64) -> VirtualMachineSpec {
    let mut spec = template.clone();
    let mut own = BTreeMap::new();
    for data_volume in &mut spec.data_volume_templates {
        let name = data_volume.metadata.name.get_or_insert_default();
        let numbered = format!("{name}-{number}");
        own.insert(std::mem::replace(name, numbered.clone()), numbered);
    }
    let generation = pool.name_generation.as_ref();
    let config_maps = generation.and_then(|g| g.append_index_to_config_map_refs).unwrap_or(false);
    let secrets = generation.and_then(|g| g.append_index_to_secret_refs).unwrap_or(false);
    if let Some(template) = &mut spec.template {
        for volume in &mut template.spec.volumes {
            rename(volume, &own, config_maps.then_some(number), secrets.then_some(number));
        }
    }
    spec
}

fn rename(volume: &mut Volume, own: &BTreeMap<String, String>, config_maps: Option<u64>, secrets: Option<u64>) {
    if let Some(claim) = &mut volume.persistent_volume_claim {
        own.get(&claim.claim_name).inspect(|name| claim.claim_name.clone_from(name));
    } else if let Some(source) = &mut volume.data_volume {
        own.get(&source.name).inspect(|name| source.name.clone_from(name));
    } else if let (Some(source), Some(number)) = (&mut volume.config_map, config_maps) {
        source.name.push_str(&format!("-{number}"));
    } else if let Some(number) = secrets {
        let append = |reference: &mut Option<LocalObjectReference>| {
            if let Some(reference) = reference {
                reference.name.push_str(&format!("-{number}"));
            }
        };
        if let Some(source) = &mut volume.secret {
            source.secret_name.push_str(&format!("-{number}"));
        } else if let Some(source) = &mut volume.cloud_init_no_cloud {
            append(&mut source.secret_ref);
            append(&mut source.network_data_secret_ref);
        } else if let Some(source) = &mut volume.cloud_init_config_drive {
            append(&mut source.secret_ref);
            append(&mut source.network_data_secret_ref);
        }
    }
}
