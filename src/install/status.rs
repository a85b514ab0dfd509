//! What an installation says of itself: its phase, its conditions, and the versions that are wanted and there.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;

use super::readiness::missing;
use super::{Installation, Live, Plan};
use crate::api::v1::{GenerationStatus, KubeVirt, KubeVirtCondition, KubeVirtConditionType, KubeVirtPhase, KubeVirtStatus};

/// The conditions' reasons, which tools wait for.
mod reason {
    pub(super) const DEPLOYING: &str = "DeploymentInProgress";
    pub(super) const UPDATING: &str = "UpdateInProgress";
    pub(super) const DELETING: &str = "DeletionInProgress";
    pub(super) const CREATED: &str = "AllResourcesCreated";
    pub(super) const READY: &str = "AllComponentsReady";
    pub(super) const FAILED: &str = "DeploymentFailed";
    pub(super) const DELETION_FAILED: &str = "DeletionFailed";
    pub(super) const EXISTING: &str = "ExistingDeployment";
}

/// What a pass came to.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// There is another installation, or the object is in a namespace that the operator does not serve.
    NotOurs(&'a str),
    /// Nothing can be installed by these settings.
    Refused(&'a str),
    /// The pass did what it was to do.
    Done {
        /// What was installed.
        installation: &'a Installation,
        /// What the pass came to.
        plan: &'a Plan,
        /// Everything that there was before it.
        live: &'a Live,
        /// Why an action failed, if one did.
        failure: Option<&'a str>,
        /// The generations of what was written.
        generations: &'a [GenerationStatus],
    },
}

/// Who says it.
#[derive(Clone, Copy, Debug)]
pub struct Speaker<'a> {
    /// The version of the operator.
    pub version: &'a str,
    /// The architecture of its node, which is that of machines that name none.
    pub architecture: &'a str,
}

/// The status after a pass.
pub fn report(kubevirt: &KubeVirt, outcome: &Outcome, speaker: &Speaker, now: Timestamp) -> KubeVirtStatus {
    let mut status = kubevirt.status.clone();
    match outcome {
        Outcome::NotOurs(why) => set(&mut status, KubeVirtConditionType::Synchronized, false, reason::EXISTING, why),
        Outcome::Refused(why) => failed(&mut status, why),
        Outcome::Done { installation, plan, live, failure, generations } => {
            status.operator_version = format!("v{}", speaker.version);
            if status.default_architecture.is_empty() {
                speaker.architecture.clone_into(&mut status.default_architecture);
            }
            if kubevirt.metadata.deletion_timestamp.is_some() {
                deleting(&mut status, plan, *failure);
            } else {
                target(&mut status, installation);
                status.generations = generations.to_vec();
                installing(kubevirt, &mut status, installation, plan, live, *failure);
            }
        }
    }
    stamp(&kubevirt.status, &mut status, now);
    status
}

fn deleting(status: &mut KubeVirtStatus, plan: &Plan, failure: Option<&str>) {
    let is_over = plan.is_complete() || plan.actions.contains(&super::Action::Release);
    status.phase = if is_over { KubeVirtPhase::Deleted } else { KubeVirtPhase::Deleting };
    remove(status, &[KubeVirtConditionType::Created, KubeVirtConditionType::Synchronized]);
    let message = if plan.waiting.is_empty() {
        "the installation is being removed".to_owned()
    } else {
        format!("the installation is being removed; waiting for {}", plan.waiting.join(", "))
    };
    set(status, KubeVirtConditionType::Available, false, reason::DELETING, &message);
    set(status, KubeVirtConditionType::Progressing, false, reason::DELETING, &message);
    set(status, KubeVirtConditionType::Degraded, true, reason::DELETING, &message);
    if let Some(why) = failure {
        set(status, KubeVirtConditionType::Synchronized, false, reason::DELETION_FAILED, why);
    }
}

fn target(status: &mut KubeVirtStatus, installation: &Installation) {
    status.target_kubevirt_version.clone_from(&installation.version);
    status.target_kubevirt_registry.clone_from(&installation.registry);
    status.target_deployment_id.clone_from(&installation.id);
    status.target_deployment_config = json!({
        "id": installation.id,
        "namespace": installation.namespace,
        "registry": installation.registry,
        "kubeVirtVersion": installation.version,
        "image": installation.image,
    })
    .to_string();
}

fn installing(
    kubevirt: &KubeVirt,
    status: &mut KubeVirtStatus,
    installation: &Installation,
    plan: &Plan,
    live: &Live,
    failure: Option<&str>,
) {
    if status.phase.as_str().is_empty() {
        status.phase = KubeVirtPhase::Deploying;
    }
    if let Some(why) = failure {
        failed(status, why);
        return;
    }
    let is_update = !status.observed_deployment_id.is_empty() && status.observed_deployment_id != status.target_deployment_id;
    remove(status, &[KubeVirtConditionType::Synchronized]);
    let missing = missing(live, &installation.namespace);
    if plan.is_complete() {
        set(status, KubeVirtConditionType::Created, true, reason::CREATED, "every object is there");
    } else if is_update {
        remove(status, &[KubeVirtConditionType::Created]);
    }
    // What is mended while everything runs is no new installation.
    let is_installed = status.observed_deployment_id == status.target_deployment_id;
    if missing.is_empty() && (plan.is_complete() || is_installed) {
        observed(status);
        if plan.is_complete() {
            status.observed_generation = kubevirt.metadata.generation;
        }
        return;
    }
    let waiting = if plan.waiting.is_empty() { missing.join(", ") } else { plan.waiting.join(", ") };
    let tail = if waiting.is_empty() { String::new() } else { format!("; waiting for {waiting}") };
    let (reason, is_available, message) = if is_update {
        let from = &status.observed_kubevirt_version;
        (reason::UPDATING, true, format!("{from} is being replaced by {}{tail}", installation.version))
    } else {
        (reason::DEPLOYING, false, format!("{} is being installed{tail}", installation.version))
    };
    set(status, KubeVirtConditionType::Available, is_available, reason, &message);
    set(status, KubeVirtConditionType::Progressing, true, reason, &message);
    set(status, KubeVirtConditionType::Degraded, is_update, reason, &message);
}

/// Everything is there and runs.
fn observed(status: &mut KubeVirtStatus) {
    status.phase = KubeVirtPhase::Deployed;
    status.observed_kubevirt_version.clone_from(&status.target_kubevirt_version);
    status.observed_kubevirt_registry.clone_from(&status.target_kubevirt_registry);
    status.observed_deployment_id.clone_from(&status.target_deployment_id);
    status.observed_deployment_config.clone_from(&status.target_deployment_config);
    const MESSAGE: &str = "every component is ready";
    set(status, KubeVirtConditionType::Available, true, reason::READY, MESSAGE);
    set(status, KubeVirtConditionType::Progressing, false, reason::READY, MESSAGE);
    set(status, KubeVirtConditionType::Degraded, false, reason::READY, MESSAGE);
}

fn failed(status: &mut KubeVirtStatus, why: &str) {
    // What runs goes on running: nothing was changed.
    let is_available = status.phase == KubeVirtPhase::Deployed
        && status.conditions.iter().any(|c| c.type_ == KubeVirtConditionType::Available && c.status == "True");
    set(status, KubeVirtConditionType::Synchronized, false, reason::FAILED, why);
    if !is_available {
        set(status, KubeVirtConditionType::Available, false, reason::FAILED, why);
    }
    set(status, KubeVirtConditionType::Progressing, false, reason::FAILED, why);
    set(status, KubeVirtConditionType::Degraded, true, reason::FAILED, why);
}

fn set(status: &mut KubeVirtStatus, type_: KubeVirtConditionType, holds: bool, reason: &str, message: &str) {
    let text = if holds { "True" } else { "False" };
    let at = status.conditions.iter().position(|condition| condition.type_ == type_);
    let new =
        KubeVirtCondition { type_, status: text.to_owned(), reason: reason.to_owned(), message: message.to_owned(), ..Default::default() };
    match at.and_then(|at| status.conditions.get_mut(at)) {
        Some(old) => {
            *old = KubeVirtCondition {
                last_probe_time: old.last_probe_time.clone(),
                last_transition_time: old.last_transition_time.clone(),
                ..new
            };
        }
        None => status.conditions.push(new),
    }
}

fn remove(status: &mut KubeVirtStatus, types: &[KubeVirtConditionType]) {
    status.conditions.retain(|condition| !types.contains(&condition.type_));
}

/// Notes when a condition changed. One that says the same is not touched: that would be a write for nothing.
fn stamp(old: &KubeVirtStatus, new: &mut KubeVirtStatus, now: Timestamp) {
    let time = Some(Time(now));
    for condition in &mut new.conditions {
        let before = old.conditions.iter().find(|other| other.type_ == condition.type_);
        let said = |c: &KubeVirtCondition| (c.status.clone(), c.reason.clone(), c.message.clone());
        match before {
            Some(before) if said(before) == said(condition) => {}
            Some(before) if before.status == condition.status => condition.last_probe_time.clone_from(&time),
            _ => {
                condition.last_probe_time.clone_from(&time);
                condition.last_transition_time.clone_from(&time);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::settings::testing;
    use crate::install::{Action, Cluster, Id, Kind};
    use serde_json::Value;

    const SPEAKER: Speaker = Speaker { version: "1", architecture: "amd64" };

    fn ready(names: &[&str]) -> Live {
        let object = |name: &str| {
            let (kind, status) = match name {
                "virt-handler" => ("DaemonSet", json!({"desiredNumberScheduled": 1, "numberReady": 1, "updatedNumberScheduled": 1})),
                _ => ("Deployment", json!({"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1})),
            };
            let id = Id { kind: Kind::named(kind).unwrap(), namespace: Some("kubevirt".to_owned()), name: name.to_owned() };
            (id, json!({"kind": kind, "status": status}))
        };
        names.iter().map(|name| object(name)).collect()
    }

    const ALL: [&str; 3] = ["virt-api", "virt-controller", "virt-handler"];

    fn step(kubevirt: &mut KubeVirt, spec: Value, plan: &Plan, live: &Live, failure: Option<&str>) -> Vec<(String, String, String)> {
        let installation = testing(spec, Cluster::default()).unwrap();
        let outcome = Outcome::Done { installation: &installation, plan, live, failure, generations: &[] };
        kubevirt.status = report(kubevirt, &outcome, &SPEAKER, Timestamp::UNIX_EPOCH);
        let said = kubevirt.status.conditions.iter().map(|c| (c.type_.as_str().to_owned(), c.status.clone(), c.reason.clone()));
        said.filter(|(type_, ..)| matches!(type_.as_str(), "Available" | "Progressing" | "Degraded")).collect()
    }

    fn three(reason: &str, states: [&str; 3]) -> Vec<(String, String, String)> {
        let types = ["Available", "Progressing", "Degraded"];
        types.iter().zip(states).map(|(type_, state)| ((*type_).to_owned(), state.to_owned(), reason.to_owned())).collect()
    }

    #[test]
    fn from_the_first_object_to_an_update() {
        let mut kubevirt = KubeVirt::default();
        kubevirt.metadata.generation = Some(7);
        let busy = Plan { actions: vec![Action::Hold], ..Plan::default() };
        let said = step(&mut kubevirt, json!({}), &busy, &Live::new(), None);
        assert_eq!(said, three("DeploymentInProgress", ["False", "True", "False"]));
        assert_eq!(kubevirt.status.phase, KubeVirtPhase::Deploying);

        let said = step(&mut kubevirt, json!({}), &Plan::default(), &ready(&["virt-api"]), None);
        assert_eq!(said, three("DeploymentInProgress", ["False", "True", "False"]));
        assert!(kubevirt.status.conditions.iter().any(|c| c.message.contains("virt-controller")));

        let said = step(&mut kubevirt, json!({}), &Plan::default(), &ready(&ALL), None);
        assert_eq!(said, three("AllComponentsReady", ["True", "False", "False"]));
        let status = &kubevirt.status;
        assert_eq!((status.phase.as_str(), status.observed_generation), ("Deployed", Some(7)));
        assert_eq!((status.observed_kubevirt_version.as_str(), &status.observed_deployment_id), ("v1.9.0", &status.target_deployment_id));

        // what is mended while all runs
        let said = step(&mut kubevirt, json!({}), &busy, &ready(&ALL), None);
        assert_eq!(said, three("AllComponentsReady", ["True", "False", "False"]));

        let update = json!({"imageTag": "v2"});
        let said = step(&mut kubevirt, update.clone(), &busy, &ready(&ALL), None);
        assert_eq!(said, three("UpdateInProgress", ["True", "True", "True"]));
        let said = step(&mut kubevirt, update, &Plan::default(), &ready(&ALL), None);
        assert_eq!(said, three("AllComponentsReady", ["True", "False", "False"]));
        assert_eq!(kubevirt.status.observed_kubevirt_version, "v2");
    }

    #[test]
    fn a_failure_says_why_and_goes_when_it_is_mended() {
        let mut kubevirt = KubeVirt::default();
        let said = step(&mut kubevirt, json!({}), &Plan::default(), &Live::new(), Some("the quota is full"));
        assert_eq!(said, three("DeploymentFailed", ["False", "False", "True"]));
        let synchronized =
            |kubevirt: &KubeVirt| kubevirt.status.conditions.iter().find(|c| c.type_ == KubeVirtConditionType::Synchronized).cloned();
        assert_eq!(synchronized(&kubevirt).unwrap().message, "the quota is full");
        step(&mut kubevirt, json!({}), &Plan::default(), &ready(&ALL), None);
        assert_eq!(synchronized(&kubevirt), None);
        // a bad change leaves what runs
        kubevirt.status = report(&kubevirt, &Outcome::Refused("no"), &SPEAKER, Timestamp::UNIX_EPOCH);
        let available = kubevirt.status.conditions.iter().find(|c| c.type_ == KubeVirtConditionType::Available).unwrap();
        assert_eq!(available.status, "True");
    }

    #[test]
    fn what_says_the_same_is_the_same() {
        let mut kubevirt = KubeVirt::default();
        step(&mut kubevirt, json!({}), &Plan::default(), &Live::new(), None);
        let before = kubevirt.status.clone();
        let installation = testing(json!({}), Cluster::default()).unwrap();
        let (plan, live) = (Plan::default(), Live::new());
        let outcome = Outcome::Done { installation: &installation, plan: &plan, live: &live, failure: None, generations: &[] };
        let later = Timestamp::from_second(1000).unwrap();
        assert_eq!(report(&kubevirt, &outcome, &SPEAKER, later), before);
    }

    #[test]
    fn another_installation_is_told_so_and_nothing_else() {
        let status = report(&KubeVirt::default(), &Outcome::NotOurs("there is one"), &SPEAKER, Timestamp::UNIX_EPOCH);
        assert_eq!(status.conditions.len(), 1);
        assert_eq!(status.conditions[0].reason, "ExistingDeployment");
    }
}
