//! What the operator answers: its health, its metrics, and the webhooks of the installation's object.

use kubevirt_rs::install::webhooks::OPERATOR;
use prometheus::{IntCounter, IntGauge, Registry};

use crate::serve::health::Health;
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

impl Service for Operator {
    async fn answer(&self, mut request: Request) -> Response {
        match request.path() {
            "/healthz" | "/livez" => reply::text(200, "ok"),
            "/readyz" => self.health.answer(),
            "/metrics" => {
                self.metrics.ready.set(i64::from(self.health.missing().is_empty()));
                exposition::answer(&self.metrics.registry)
            }
            path if OPERATOR.iter().any(|webhook| webhook.path == path) => match self.gate.answer(&mut request).await {
                Some(response) => response,
                None => reply::refuse(404, "the operator serves nothing here"),
            },
            path => {
                let message = format!("the operator serves nothing at {path}");
                reply::refuse(404, message)
            }
        }
    }
}
