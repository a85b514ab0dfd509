//! Follows the controllers' plans to their end in a cluster in memory: what is left when nothing is left to do.

use k8s_openapi::jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::action::Action;
use super::store::{Log, Store};
use super::{vm, vmi};
use crate::config::ClusterConfig;
use crate::pod::Context;

/// More passes than any state needs: a plan that never settles must not hang anyone.
const MOST_PASSES: usize = 50;

/// Follows the machine controller.
pub fn machine(store: &mut Store, config: &ClusterConfig, now: Timestamp) -> serde_json::Result<Log> {
    let mut log = Log::default();
    // Nobody tells this controller of the DataVolumes that it makes: what fills them is not part of the picture.
    let known: Vec<_> = store.data_volumes.keys().cloned().collect();
    for _ in 0..MOST_PASSES {
        let mut observed = observe_machine(store)?;
        observed.data_volumes.retain(|d| d.metadata.name.as_ref().is_some_and(|name| known.contains(name)));
        let before = store.clone();
        let plan = vm::plan(&observed, config, now);
        carry_out(store, &mut log, &plan, |action, error| vm::failed(&observed, config, now, action, error));
        if *store == before {
            break;
        }
    }
    Ok(log)
}

/// What the machine controller sees of a store.
pub fn observe_machine(store: &Store) -> serde_json::Result<vm::Observed> {
    Ok(vm::Observed {
        machine: store.machine.as_ref().map(Deserialize::deserialize).transpose()?.unwrap_or_default(),
        instance: store.instance.as_ref().map(Deserialize::deserialize).transpose()?,
        data_volumes: store.data_volumes.values().cloned().collect(),
        claims: store.claims.values().cloned().collect(),
        revisions: store.revisions.values().cloned().collect(),
        ..vm::Observed::default()
    })
}

/// Follows the instance controller. The pass that makes a pod is the last: what becomes of the pod is not part of the
/// picture. An instance that shall go and that nobody holds any more is gone.
pub fn instance(store: &mut Store, config: &ClusterConfig, now: Timestamp, context: &Context) -> serde_json::Result<Log> {
    let mut log = Log::default();
    for _ in 0..MOST_PASSES {
        let Some(observed) = observe_instance(store, context)? else {
            break;
        };
        let before = store.clone();
        let plan = vmi::plan(&observed, config, now);
        carry_out(store, &mut log, &plan, |action, error| vmi::failed(&observed, config, now, action, error));
        let released = store.instance.as_ref().is_some_and(|instance| {
            let finalizers = instance.pointer("/metadata/finalizers").and_then(Value::as_array);
            instance.pointer("/metadata/deletionTimestamp").is_some() && finalizers.is_none_or(Vec::is_empty)
        });
        if released {
            store.instance = None;
        }
        if *store == before || log.made.contains(&"pod") {
            break;
        }
    }
    Ok(log)
}

/// What the instance controller sees of a store.
pub fn observe_instance(store: &Store, context: &Context) -> serde_json::Result<Option<vmi::Observed>> {
    let Some(instance) = &store.instance else {
        return Ok(None);
    };
    Ok(Some(vmi::Observed {
        instance: Deserialize::deserialize(instance)?,
        pods: store.pods.values().cloned().collect(),
        claims: store.claims.values().cloned().collect(),
        data_volumes: store.data_volumes.values().cloned().collect(),
        owner_exists: store.machine.is_some(),
        context: context.clone(),
        ..vmi::Observed::default()
    }))
}

fn carry_out(store: &mut Store, log: &mut Log, plan: &[Action], told: impl Fn(&Action, &str) -> Vec<Action>) {
    for action in plan {
        if let Err(error) = store.apply(action, log) {
            // What cannot even be told is told by the next pass.
            told(action, &error.to_string()).iter().try_for_each(|action| store.apply(action, log)).ok();
            break;
        }
    }
}

#[cfg(test)]
mod tests;
