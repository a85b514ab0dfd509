//! Downward metrics, as a guest reads them from the disk and by the port.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::guest::{BOOT, Folder, Launcher, tiny};
use crate::operations::run;
use crate::pod::{Pod, order, root};
use crate::traces;

const MACHINE: &str = "
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {name: measured}
spec:
  terminationGracePeriodSeconds: 15
  domain:
    cpu: {cores: 2}
    memory: {guest: 256Mi}
    devices:
      autoattachPodInterface: false
      downwardMetrics: {}
      disks:
        - {name: root, disk: {bus: virtio}}
        - {name: metrics, disk: {bus: virtio}}
  volumes:
    - {name: root, containerDisk: {image: 'localhost/kubevirt-rs/tiny:latest'}}
    - {name: metrics, downwardMetrics: {}}
";
/// The begin of the disk, past the guest's own cache.
const DISK: &str = "echo 3 >/proc/sys/vm/drop_caches; head -c 8192 /dev/vdb | base64 -w 0";
/// The port, whatever its number is.
const PORT: &str =
    "for p in /sys/class/virtio-ports/*; do [ $(cat $p/name) = org.github.vhostmd.1 ] && port=/dev/${p##*/}; done; exec 3<>$port";
/// Reads an answer up to its empty line.
const ANSWER: &str = r#"while read -r l <&3 && [ -n "$l" ]; do echo "$l"; done"#;

/// What a guest sees: the value of each metric, by its context and name.
type Seen = BTreeMap<(String, String), String>;

fn metrics(document: &str) -> Seen {
    let document = roxmltree::Document::parse(document.trim()).unwrap_or_else(|e| panic!("{e}: {document}"));
    let text = |node: roxmltree::Node<'_, '_>, name: &str| {
        node.children().find(|n| n.has_tag_name(name)).and_then(|n| n.text()).unwrap_or_default().to_owned()
    };
    let all = document.root_element().children().filter(|n| n.has_tag_name("metric"));
    all.map(|m| ((m.attribute("context").expect("a context").to_owned(), text(m, "name")), text(m, "value"))).collect()
}

/// The document on a disk, if its header says that it is whole.
fn on_disk(content: &str) -> Option<String> {
    let content: String = content.split_ascii_whitespace().collect();
    let disk = STANDARD.decode(&content).unwrap_or_else(|e| panic!("{e}: {content}"));
    let number = |at: usize| u32::from_be_bytes(disk[at..at + 4].try_into().expect("four bytes"));
    assert_eq!(&disk[..4], b"mvbd");
    let body = &disk[16..16 + number(12) as usize];
    let sum: u32 = body.iter().map(|byte| u32::from(*byte)).sum();
    (number(4) == 0 && number(8) == sum).then(|| String::from_utf8(body.to_vec()).expect("a text"))
}

/// Looks again until the disk is whole and shows other figures than before.
fn read_disk(before: Option<&Seen>, mut run: impl FnMut(&str) -> String) -> Seen {
    for _ in 0..60 {
        let seen = on_disk(&run(DISK)).map(|document| metrics(&document));
        if let Some(seen) = seen.filter(|seen| Some(seen) != before) {
            return seen;
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    panic!("the disk does not change");
}

fn number(seen: &Seen, context: &str, name: &str) -> f64 {
    let value = seen.get(&(context.to_owned(), name.to_owned())).unwrap_or_else(|| panic!("no {context} {name} in {seen:?}"));
    value.parse().expect("a number")
}

/// What any guest sees of this host and of itself.
fn check(seen: &Seen, host_name: &str, processors: f64) {
    assert_eq!(seen.len(), 17, "{seen:?}");
    let text = |name: &str| seen[&("host".to_owned(), name.to_owned())].as_str();
    assert_eq!((text("HostName"), text("VirtualizationVendor")), (host_name, "kubevirt.io"));
    assert!(text("VirtProductInfo").starts_with("QEMU "), "{seen:?}");
    for (name, value) in
        [("ResourceProcessorLimit", processors), ("PhysicalMemoryAllocatedToVirtualSystem", 262_144.0), ("ResourceMemoryLimit", 262_144.0)]
    {
        assert!((number(seen, "vm", name) - value).abs() < 0.5, "{name}: {seen:?}");
    }
    let now = SystemTime::UNIX_EPOCH.elapsed().expect("the time").as_secs_f64();
    assert!((number(seen, "host", "Time") - now).abs() < 60.0, "{seen:?}");
    let total = std::fs::read_to_string("/proc/meminfo").expect("memory");
    let total: f64 = total.lines().next().and_then(|l| l.split_whitespace().nth(1)).and_then(|n| n.parse().ok()).expect("a number");
    let free = number(seen, "host", "FreePhysicalMemory");
    assert!(free > 0.0 && free < total, "the host's memory, not the guest's: {seen:?}");
    assert!(free + number(seen, "host", "MemoryAllocatedToVirtualServers") <= total, "{seen:?}");
    for (context, name) in [("vm", "TotalCPUTime"), ("host", "TotalCPUTime"), ("host", "NumberOfPhysicalCPUs")] {
        assert!(number(seen, context, name) > 0.0, "{context} {name}: {seen:?}");
    }
}

/// The disk and the port, with something that runs commands in the guest.
fn look(host_name: &str, processors: f64, mut run: impl FnMut(&str) -> String) {
    let first = read_disk(None, &mut run);
    check(&first, host_name, processors);
    let second = read_disk(Some(&first), &mut run);
    check(&second, host_name, processors);
    for context in ["vm", "host"] {
        assert!(number(&second, context, "TotalCPUTime") > number(&first, context, "TotalCPUTime"), "{context}: {first:?} {second:?}");
    }
    // two requests in a row, and between them one that nobody understands
    let ask = |request: &str| format!("{PORT}; printf '{request}' >&3; {ANSWER}; exec 3>&-");
    check(&metrics(&run(&ask(r"GET /metrics/XML\n\n"))), host_name, processors);
    assert_eq!(run(&ask(r"GET /other\n\n")), "INVALID REQUEST");
    check(&metrics(&run(&ask(r"GET /metrics/XML\n\n"))), host_name, processors);
}

#[test]
fn a_guest_without_a_cluster_reads_its_metrics() {
    let (scratch, files, before) = (Folder::new(), Folder::new(), traces::files());
    let vmi = files.write("measured.yaml", MACHINE).display().to_string();
    let arguments: Vec<String> = ["--vmi".to_owned(), vmi].into_iter().chain(tiny()).collect();
    let mut launcher = Launcher::start(&scratch, &arguments);
    launcher.log_in("root", "kubevirt");
    launcher.listen();
    let host_name = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    look(host_name.trim(), 2.0, |command| launcher.run(command));
    launcher.signal(Signal::SIGTERM);
    assert_eq!(launcher.end(Duration::from_secs(60)), Some(0), "{}", launcher.told());
    traces::none_left(&scratch, &before, Duration::ZERO);
}

#[test]
fn a_guest_in_a_pod_reads_its_metrics_under_the_name_of_the_node() {
    if !root() {
        return;
    }
    let mut pod = Pod::start(&[]);
    let mut order = order(|vmi| {
        let spec = &mut vmi["spec"];
        spec["domain"]["devices"]["downwardMetrics"] = json!({});
        spec["domain"]["devices"]["disks"].as_array_mut().expect("disks").insert(1, json!({"name": "metrics", "disk": {"bus": "virtio"}}));
        spec["volumes"].as_array_mut().expect("volumes").insert(1, json!({"name": "metrics", "downwardMetrics": {}}));
    });
    order["node"] = json!("node-7");
    let (status, shown) = pod.ask("PUT", "/v1/instance", &order);
    assert_eq!(status, 200, "{shown}");
    pod.until("no agent", BOOT, |pod| Some(pod.status()["agent"]["os"].clone()).filter(Value::is_object));
    look("node-7", 1.0, |command| run(&pod, command));
    assert_eq!(pod.ask("POST", "/v1/shutdown", &json!({})).0, 204);
    assert_eq!(pod.end(BOOT), Some(0), "{}", pod.log());
}
