//! What the role counts, under KubeVirt's names.

use prometheus::{GaugeVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

/// The metrics of the role.
pub(super) struct Metrics {
    /// Where they are gathered.
    pub(super) registry: Registry,
    /// Whether the server is ready.
    pub(super) ready: IntGauge,
    /// Questions answered, by path.
    pub(super) reviews: IntCounterVec,
    consoles: IntGaugeVec,
    screens: IntGaugeVec,
    usb: IntGaugeVec,
    tunnels: IntGaugeVec,
    last: GaugeVec,
}

/// A stream that is counted for as long as it is open.
pub(super) struct Open {
    gauge: Option<IntGauge>,
    last: prometheus::Gauge,
}

impl Metrics {
    pub(super) fn new() -> prometheus::Result<Self> {
        const GUEST: [&str; 2] = ["namespace", "vmi"];
        let streams = |name: &str, what: &str| IntGaugeVec::new(Opts::new(name, format!("Open {what}, by guest.")), &GUEST);
        let metrics = Self {
            registry: Registry::new(),
            ready: IntGauge::new("kubevirt_virt_api_ready_status", "Whether the server is ready for requests.")?,
            reviews: IntCounterVec::new(Opts::new("kubevirt_virt_api_reviews_total", "Admission reviews answered, by path."), &["path"])?,
            consoles: streams("kubevirt_console_active_connections", "serial consoles")?,
            screens: streams("kubevirt_vnc_active_connections", "VNC connections")?,
            usb: streams("kubevirt_usbredir_active_connections", "redirected USB devices")?,
            tunnels: streams("kubevirt_portforward_active_tunnels", "forwarded ports")?,
            last: GaugeVec::new(
                Opts::new("kubevirt_vmi_last_api_connection_timestamp_seconds", "When a stream to the guest was last open."),
                &GUEST,
            )?,
        };
        metrics.registry.register(Box::new(metrics.ready.clone()))?;
        metrics.registry.register(Box::new(metrics.reviews.clone()))?;
        for streams in [&metrics.consoles, &metrics.screens, &metrics.usb, &metrics.tunnels] {
            metrics.registry.register(Box::new(streams.clone()))?;
        }
        metrics.registry.register(Box::new(metrics.last.clone()))?;
        Ok(metrics)
    }

    /// Counts a stream until what comes back is dropped.
    pub(super) fn open(&self, operation: &str, namespace: &str, name: &str) -> Open {
        let guest = [namespace, name];
        let streams = match operation {
            "console" => Some(&self.consoles),
            "vnc" => Some(&self.screens),
            "usbredir" => Some(&self.usb),
            "portforward" => Some(&self.tunnels),
            _ => None,
        };
        let gauge = streams.map(|streams| streams.with_label_values(&guest));
        gauge.iter().for_each(IntGauge::inc);
        Open { gauge, last: self.last.with_label_values(&guest) }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.gauge.iter().for_each(IntGauge::dec);
        self.last.set(jiff::Timestamp::now().as_second() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_counted_while_they_are_open() {
        let metrics = Metrics::new().unwrap();
        let open = metrics.open("console", "lab", "vm");
        let count = || metrics.consoles.with_label_values(&["lab", "vm"]).get();
        assert_eq!(count(), 1);
        drop(open);
        assert_eq!(count(), 0);
        assert!(metrics.last.with_label_values(&["lab", "vm"]).get() > 0.0);
    }
}
