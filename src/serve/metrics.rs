//! What is counted, in the text form of Prometheus.

use prometheus::{Encoder as _, Registry, TextEncoder};

use super::{Response, reply};

/// The answer to `/metrics`.
pub(crate) fn answer(registry: &Registry) -> Response {
    let encoder = TextEncoder::new();
    let mut text = Vec::new();
    match encoder.encode(&registry.gather(), &mut text) {
        Ok(()) => reply::bytes(200, encoder.format_type(), text),
        Err(error) => reply::refuse(500, format!("the metrics cannot be written: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_told() {
        let registry = Registry::new();
        let counter = prometheus::IntCounter::new("kubevirt_test_total", "A test.").unwrap();
        registry.register(Box::new(counter.clone())).unwrap();
        counter.inc();
        let response = answer(&registry);
        assert_eq!(response.status(), 200);
        assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/plain"));
    }
}
