//! What the controller answers: its health and its metrics.

use prometheus::{IntGauge, Registry};

use crate::serve::health::Health;
use crate::serve::{Request, Response, Service, metrics as exposition, reply};

/// The server of the role.
pub(super) struct Answers {
    /// Whether all that is needed is known.
    pub(super) health: Health,
    /// What is counted.
    pub(super) metrics: Metrics,
}

/// What is counted, under the names that alerts expect.
#[derive(Clone)]
pub(super) struct Metrics {
    registry: Registry,
    /// Whether this replica acts.
    pub(super) leading: IntGauge,
    /// Whether this replica can act.
    ready: IntGauge,
}

impl Metrics {
    /// All at zero.
    pub(super) fn new() -> prometheus::Result<Self> {
        let registry = Registry::new();
        let leading = IntGauge::new("kubevirt_virt_controller_leading_status", "Whether this virt-controller is the one that acts.")?;
        let ready = IntGauge::new("kubevirt_virt_controller_ready_status", "Whether this virt-controller is ready to act.")?;
        registry.register(Box::new(leading.clone()))?;
        registry.register(Box::new(ready.clone()))?;
        Ok(Self { registry, leading, ready })
    }
}

impl Service for Answers {
    async fn answer(&self, request: Request) -> Response {
        match request.path() {
            "/healthz" | "/livez" => reply::text(200, "ok"),
            // A stand-by is ready as soon as it could take over.
            "/readyz" | "/leader" => self.health.answer(),
            "/metrics" => {
                self.metrics.ready.set(i64::from(self.health.missing().is_empty()));
                exposition::answer(&self.metrics.registry)
            }
            path => {
                let message = format!("the controller serves nothing at {path}");
                reply::refuse(404, message)
            }
        }
    }
}
