//! What a pool tells about itself.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{Action, Pass, is_ready, record};
use crate::api::pool::{VirtualMachinePoolCondition as Condition, VirtualMachinePoolConditionType as Kind};
use crate::api::v1::VirtualMachine;
use crate::lifecycle::action::Event;
use crate::lifecycle::patch::Patch;
use crate::lifecycle::replicaset::written;

/// Counts the machines, and tells what has failed.
pub(super) fn report(pass: &Pass<'_>, members: &[VirtualMachine], failure: Option<(&'static str, String)>, plan: &mut Vec<Action>) {
    let pool = &pass.observed.pool;
    let mut status = pool.status.clone();
    let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    status.replicas = count(members.len());
    status.ready_replicas = count(members.iter().filter(|m| is_ready(m)).count());
    status.label_selector = written(pass.selector);
    let mut tell = |kind: Kind, told: Option<(&str, &str)>| {
        let there = status.conditions.iter().any(|c| c.type_ == kind);
        match told {
            Some((reason, message)) if !there => status.conditions.push(Condition {
                type_: kind,
                status: "True".to_owned(),
                reason: reason.to_owned(),
                message: message.to_owned(),
                last_transition_time: Some(Time(pass.now)),
                ..Condition::default()
            }),
            None if there => status.conditions.retain(|c| c.type_ != kind),
            _ => return false,
        }
        true
    };
    let paused = pool.spec.paused.then_some(("SuccessfulPaused", "the pool is paused: nothing is made, updated or deleted"));
    let toggled = tell(Kind::ReplicaPaused, paused);
    let news = tell(Kind::ReplicaFailure, failure.as_ref().map(|(reason, message)| (*reason, message.as_str())));
    plan.extend(Patch::of_status(&pool.status, &status).map(Action::PatchStatus));
    if toggled {
        plan.push(if pool.spec.paused { record("SuccessfulPaused", "paused") } else { record("SuccessfulResume", "resumed") });
    }
    if let (true, Some((reason, message))) = (news, failure) {
        plan.push(Action::Record(Event { warning: true, reason, message }));
    }
}
