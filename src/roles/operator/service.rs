//! What the operator answers: its health, its metrics, and the webhooks of the installation's object.

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::PostParams;
use kubevirt_rs::api::v1::KubeVirt;
use kubevirt_rs::install::webhooks::{OPERATOR, Webhook, path};
use kubevirt_rs::install::{Trial, trials};
use prometheus::{IntCounter, IntGauge, Registry};
use serde::Deserialize as _;

use crate::cluster::Error;
use crate::serve::health::Health;
use crate::serve::review::{self, Question, Reply};
use crate::serve::webhooks::Gate;
use crate::serve::{Request, Response, Service, metrics as exposition, reply};

/// The server of the role.
pub(super) struct Operator {
    /// The webhooks.
    pub(super) gate: Gate,
    /// Whether all that is needed is known.
    pub(super) health: Health,
    /// What is counted.
    pub(super) metrics: Metrics,
}

/// What is counted.
#[derive(Clone)]
pub(super) struct Metrics {
    registry: Registry,
    /// Whether this replica acts.
    pub(super) leading: IntGauge,
    /// Whether this replica can act.
    pub(super) ready: IntGauge,
    /// Passes that were made.
    pub(super) passes: IntCounter,
    /// Passes that failed.
    pub(super) failures: IntCounter,
}

impl Metrics {
    /// All at zero.
    pub(super) fn new() -> prometheus::Result<Self> {
        let registry = Registry::new();
        let metrics = Self {
            leading: IntGauge::new("kubevirt_virt_operator_leading_status", "Whether this virt-operator is the one that acts.")?,
            ready: IntGauge::new("kubevirt_virt_operator_ready_status", "Whether this virt-operator is ready to act.")?,
            passes: IntCounter::new("kubevirt_rs_operator_passes_total", "Passes over the installation.")?,
            failures: IntCounter::new("kubevirt_rs_operator_failures_total", "Passes over the installation that failed.")?,
            registry,
        };
        let all: [Box<dyn prometheus::core::Collector>; 4] = [
            Box::new(metrics.leading.clone()),
            Box::new(metrics.ready.clone()),
            Box::new(metrics.passes.clone()),
            Box::new(metrics.failures.clone()),
        ];
        all.into_iter().try_for_each(|metric| metrics.registry.register(metric))?;
        Ok(metrics)
    }
}

impl Operator {
    /// Judges what is asked; where components are to run, the API server has a word.
    async fn judge(&self, webhook: &Webhook, question: Question) -> Reply {
        let tried = if webhook.path == path::KUBEVIRT_VALIDATE_UPDATE { placements(&question, &self.gate) } else { Vec::new() };
        let verdict = self.gate.judge(webhook, question).await;
        if !verdict.is_allowed() {
            return verdict;
        }
        for trial in tried {
            if let Err(why) = self.attempt(&trial).await {
                return Reply::deny(422, format!("{}: no pod can be placed so: {why}", trial.field));
            }
        }
        verdict
    }

    /// Asks the API server whether it would take such pods. Only its refusal counts, not that it cannot answer.
    async fn attempt(&self, trial: &Trial) -> Result<(), String> {
        let deployment: Deployment = serde_json::from_value(trial.deployment.value().clone()).map_err(|error| error.to_string())?;
        let api: Api<Deployment> = Api::namespaced(self.gate.client.clone(), &self.gate.namespace);
        let params = PostParams { dry_run: true, ..PostParams::default() };
        match api.create(&params, &deployment).await.map_err(Error::from) {
            Err(Error::Refused(why)) => Err(why),
            _ => Ok(()),
        }
    }
}

/// The placements that the change brings.
fn placements(question: &Question, gate: &Gate) -> Vec<Trial> {
    match (KubeVirt::deserialize(&question.object), KubeVirt::deserialize(&question.old_object)) {
        (Ok(new), Ok(old)) => trials(&new.spec, &old.spec, &gate.namespace),
        // What cannot be read is denied by the judgement.
        _ => Vec::new(),
    }
}

impl Service for Operator {
    async fn answer(&self, mut request: Request) -> Response {
        match request.path() {
            "/healthz" | "/livez" => reply::text(200, "ok"),
            "/readyz" => self.health.answer(),
            "/metrics" => {
                self.metrics.ready.set(i64::from(self.health.missing().is_empty()));
                exposition::answer(&self.metrics.registry)
            }
            path => match OPERATOR.iter().find(|webhook| webhook.path == path) {
                Some(webhook) => review::serve(&mut request, |question| self.judge(webhook, question)).await,
                None => {
                    let message = format!("the operator serves nothing at {path}");
                    reply::refuse(404, message)
                }
            },
        }
    }
}
