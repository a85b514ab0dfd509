//! Which request goes where.

use std::sync::Arc;

use super::documents;
use super::metrics::Metrics;
use super::subresources::Subresources;
use crate::serve::health::Health;
use crate::serve::webhooks::Gate;
use crate::serve::{Request, Response, Service, metrics as exposition, reply};

/// The server of the role.
pub(super) struct Api {
    /// The webhooks.
    pub(super) gate: Gate,
    /// The aggregated API.
    pub(super) subresources: Subresources,
    /// Whether all that is needed is known.
    pub(super) health: Health,
    /// What is counted.
    pub(super) metrics: Arc<Metrics>,
}

impl Service for Api {
    async fn answer(&self, mut request: Request) -> Response {
        if let Some(response) = self.gate.answer(&mut request).await {
            self.metrics.reviews.with_label_values(&[request.path()]).inc();
            return response;
        }
        match request.path() {
            "/healthz" | "/livez" => return reply::text(200, "ok"),
            "/readyz" => return self.health.answer(),
            "/metrics" => {
                self.metrics.ready.set(i64::from(self.health.missing().is_empty()));
                return exposition::answer(&self.metrics.registry);
            }
            _ => {}
        }
        if let Some(response) = documents::answer(&request, &self.health, &self.subresources.configuration) {
            return response;
        }
        self.subresources.answer(request).await
    }
}
