//! The figures as an XML document, in the words and the order of KubeVirt's.

use std::fmt::Write as _;
use std::time::Duration;

use super::{Figures, Guest, Memory, Paging};
use crate::api::names;

const SECONDS: &str = "s";
const KIB: &str = "KiB";

/// A figure, of one of the types that readers know.
enum Value<'a> {
    Text(&'a str),
    Signed(u64),
    Unsigned(u64),
    Real(Duration),
}

impl Value<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::Signed(_) => "int64",
            Self::Unsigned(_) => "uint64",
            Self::Real(_) => "real64",
        }
    }

    fn append(&self, to: &mut String) {
        // writing to a text cannot fail
        let _ = match self {
            Self::Text(text) => {
                escape(text, to);
                Ok(())
            }
            Self::Signed(number) | Self::Unsigned(number) => write!(to, "{number}"),
            Self::Real(time) => write!(to, "{:.6}", time.as_secs_f64()),
        };
    }
}

/// The document; no line break at its end.
pub fn document(figures: &Figures) -> String {
    let mut metrics = Metrics::default();
    let Figures { host_name, product, guest, host, time } = figures;
    let texts = [
        ("HostName", host_name.as_str()),
        ("HostSystemInfo", "linux"),
        ("VirtualizationVendor", names::GROUP),
        ("VirtProductInfo", product.as_str()),
    ];
    for (name, text) in texts {
        metrics.host(name, "", &Value::Text(text));
    }

    let Guest { cpu_time, processors, memory } = *guest;
    metrics.guest("TotalCPUTime", SECONDS, &Value::Real(cpu_time));
    metrics.guest("ResourceProcessorLimit", "", &Value::Signed(processors.into()));
    // nobody takes memory away from a guest, so what it has is what it may have
    metrics.guest("PhysicalMemoryAllocatedToVirtualSystem", KIB, &Value::Unsigned(memory));
    metrics.guest("ResourceMemoryLimit", KIB, &Value::Unsigned(memory));

    if let Some(packages) = host.packages {
        metrics.host("NumberOfPhysicalCPUs", "", &Value::Signed(packages as u64));
    }
    if let Some(time) = host.cpu_time {
        metrics.host("TotalCPUTime", SECONDS, &Value::Real(time));
    }
    for (name, kib) in host.memory.iter().flat_map(memory_of).chain(host.paging.iter().flat_map(paging_of)) {
        metrics.host(name, KIB, &Value::Unsigned(kib));
    }
    metrics.host("Time", SECONDS, &Value::Signed(*time));
    metrics.finish()
}

fn memory_of(memory: &Memory) -> [(&'static str, u64); 4] {
    let Memory { total, free, buffers, cached, swap_total, swap_free, swap_cached } = *memory;
    let less = |all: u64, parts: &[u64]| parts.iter().fold(all, |all, part| all.saturating_sub(*part));
    [
        ("FreePhysicalMemory", free),
        ("FreeVirtualMemory", free.saturating_add(swap_free)),
        ("MemoryAllocatedToVirtualServers", less(total, &[free, buffers, cached])),
        ("UsedVirtualMemory", less(total.saturating_add(swap_total), &[free, cached, buffers, swap_cached])),
    ]
}

fn paging_of(paging: &Paging) -> [(&'static str, u64); 2] {
    [("PagedInMemory", paging.paged_in), ("PagedOutMemory", paging.paged_out)]
}

/// A document without a figure.
pub(super) const EMPTY: &str = "<metrics></metrics>";

/// The document as it grows.
#[derive(Default)]
struct Metrics(String);

impl Metrics {
    fn host(&mut self, name: &str, unit: &str, value: &Value<'_>) {
        self.add("host", name, unit, value);
    }

    fn guest(&mut self, name: &str, unit: &str, value: &Value<'_>) {
        self.add("vm", name, unit, value);
    }

    fn add(&mut self, context: &str, name: &str, unit: &str, value: &Value<'_>) {
        let unit = if unit.is_empty() { String::new() } else { format!(" unit=\"{unit}\"") };
        let kind = value.kind();
        let _ = write!(self.0, "  <metric type=\"{kind}\" context=\"{context}\"{unit}>\n    <name>{name}</name>\n    <value>");
        value.append(&mut self.0);
        self.0.push_str("</value>\n  </metric>\n");
    }

    fn finish(self) -> String {
        format!("<metrics>\n{}</metrics>", self.0)
    }
}

fn escape(text: &str, to: &mut String) {
    for character in text.chars() {
        match character {
            '&' => to.push_str("&amp;"),
            '<' => to.push_str("&lt;"),
            '>' => to.push_str("&gt;"),
            // XML has no way to write it
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => to.push(char::REPLACEMENT_CHARACTER),
            c => to.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Host;
    use super::*;

    fn figures() -> Figures {
        let memory = Memory { total: 1000, free: 100, buffers: 10, cached: 200, swap_total: 50, swap_free: 40, swap_cached: 1 };
        Figures {
            host_name: "node-7".into(),
            product: "QEMU 7.2.18".into(),
            guest: Guest { cpu_time: Duration::new(12, 345_678_901), processors: 2, memory: 262_144 },
            host: Host {
                packages: Some(2),
                cpu_time: Some(Duration::from_millis(1_292_869_190)),
                memory: Some(memory),
                paging: Some(Paging { paged_in: 12, paged_out: 16 }),
            },
            time: 1_765_000_000,
        }
    }

    /// Context, name, type, unit and value of each metric, as a reader of XML sees them.
    fn read(document: &str) -> Vec<[String; 5]> {
        let document = roxmltree::Document::parse(document).unwrap();
        assert_eq!(document.root_element().tag_name().name(), "metrics");
        let metrics = document.root_element().children().filter(roxmltree::Node::is_element);
        let text = |node: roxmltree::Node<'_, '_>, name: &str| {
            node.children().find(|n| n.has_tag_name(name)).and_then(|n| n.text()).unwrap_or_default().to_owned()
        };
        let attribute = |node: roxmltree::Node<'_, '_>, name: &str| node.attribute(name).unwrap_or_default().to_owned();
        metrics.map(|m| [attribute(m, "context"), text(m, "name"), attribute(m, "type"), attribute(m, "unit"), text(m, "value")]).collect()
    }

    #[test]
    fn each_figure_has_its_name_type_and_unit() {
        let expected = [
            ["host", "HostName", "string", "", "node-7"],
            ["host", "HostSystemInfo", "string", "", "linux"],
            ["host", "VirtualizationVendor", "string", "", "kubevirt.io"],
            ["host", "VirtProductInfo", "string", "", "QEMU 7.2.18"],
            ["vm", "TotalCPUTime", "real64", "s", "12.345679"],
            ["vm", "ResourceProcessorLimit", "int64", "", "2"],
            ["vm", "PhysicalMemoryAllocatedToVirtualSystem", "uint64", "KiB", "262144"],
            ["vm", "ResourceMemoryLimit", "uint64", "KiB", "262144"],
            ["host", "NumberOfPhysicalCPUs", "int64", "", "2"],
            ["host", "TotalCPUTime", "real64", "s", "1292869.190000"],
            ["host", "FreePhysicalMemory", "uint64", "KiB", "100"],
            ["host", "FreeVirtualMemory", "uint64", "KiB", "140"],
            ["host", "MemoryAllocatedToVirtualServers", "uint64", "KiB", "690"],
            ["host", "UsedVirtualMemory", "uint64", "KiB", "739"],
            ["host", "PagedInMemory", "uint64", "KiB", "12"],
            ["host", "PagedOutMemory", "uint64", "KiB", "16"],
            ["host", "Time", "int64", "s", "1765000000"],
        ];
        assert_eq!(read(&document(&figures())), expected);
    }

    #[test]
    fn the_text_is_that_of_other_writers() {
        let text = document(&figures());
        let begin =
            "<metrics>\n  <metric type=\"string\" context=\"host\">\n    <name>HostName</name>\n    <value>node-7</value>\n  </metric>\n";
        assert!(text.starts_with(begin), "{text}");
        let end = "  <metric type=\"int64\" context=\"host\" unit=\"s\">\n    <name>Time</name>\n    <value>1765000000</value>\n  </metric>\n</metrics>";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn what_the_host_does_not_tell_is_left_out() {
        for (host, count) in [
            (Host { memory: None, ..figures().host }, 13),
            (Host { cpu_time: None, ..figures().host }, 16),
            (Host { paging: None, ..figures().host }, 15),
            (Host { packages: None, ..figures().host }, 16),
            (Host::default(), 9),
        ] {
            assert_eq!(read(&document(&Figures { host, ..figures() })).len(), count, "{host:?}");
        }
        assert_eq!(read(EMPTY).len(), 0);
    }

    #[test]
    fn no_name_and_no_figure_breaks_it() {
        let odd = Figures {
            host_name: "a<b>&\"'\u{1}\n\u{ffff}ü".into(),
            host: Host { memory: Some(Memory { total: 1, free: u64::MAX, swap_free: u64::MAX, ..Memory::default() }), ..Host::default() },
            guest: Guest { cpu_time: Duration::MAX, processors: u32::MAX, memory: u64::MAX },
            time: u64::MAX,
            ..figures()
        };
        let found = read(&document(&odd));
        assert_eq!(found[0][4], "a<b>&\"'\u{fffd}\u{fffd}\u{fffd}ü");
        assert_eq!(found.iter().find(|m| m[1] == "UsedVirtualMemory").unwrap()[4], "0");
    }
}
