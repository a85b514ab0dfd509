//! The project's own examples: each may enter a cluster that is configured by `examples/kubevirt.yaml`, and each machine
//! among them becomes a domain that libvirt's schema accepts.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test that cannot go on fails

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use kubevirt_rs::admission::{self, Operation, Request, Seed};
use kubevirt_rs::api::v1::{KubeVirtConfiguration, VirtualMachine, VirtualMachineInstance, VirtualMachineInstanceNetworkInterface};
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::domain::facts::{ClaimedDevice, Efi, Firmware, HostCpu, HostDevices, NumaCell, VolumeFacts, Volumes};
use kubevirt_rs::domain::{Facts, convert};
use kubevirt_rs::{instancetype, manifest, schema};
use serde::Deserialize;
use serde_json::{Value, json};

/// Examples that libvirt 9, of which Debian 12 has the schema, does not know yet: passt with a backend of its own, and
/// reservations that survive a migration.
const NEWER: [&str; 2] = ["vmi-passt.yaml", "vmi-reservation.yaml"];
/// What its author is told of a preset.
const PRESETS_GO: &str = "VirtualMachineInstancePresets is now deprecated";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// The names and texts of all examples.
fn files() -> Vec<(String, String)> {
    let mut names: Vec<String> = fs::read_dir(folder())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".yaml"))
        .collect();
    names.sort();
    let text = |name: &String| fs::read_to_string(folder().join(name)).expect("a text");
    names.into_iter().map(|name| (name.clone(), text(&name))).collect()
}

/// A document of an example, where `kubectl` would put it.
struct Example {
    file: String,
    object: Value,
}

impl Example {
    fn text(&self, field: &str) -> &str {
        self.object.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    fn is_of_kubevirt(&self) -> bool {
        self.text("apiVersion").split('/').next().is_some_and(|group| group.ends_with("kubevirt.io"))
    }
}

/// Whether two documents are of one object: what enters is not there yet.
fn is_same(one: &Value, other: &Value) -> bool {
    ["/kind", "/metadata/namespace", "/metadata/name"].iter().all(|part| one.pointer(part) == other.pointer(part))
}

/// The examples, and the cluster that they are applied to.
struct Cluster {
    examples: Vec<Example>,
    objects: Vec<Value>,
    config: ClusterConfig,
}

impl Cluster {
    fn new() -> Self {
        let mut examples = Vec::new();
        for (file, text) in files() {
            for document in manifest::read(text.as_bytes()).unwrap_or_else(|e| panic!("{file}: {e}")) {
                let mut object = document.value;
                let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
                metadata.unwrap_or_else(|| panic!("{file}: no metadata")).entry("namespace").or_insert_with(|| json!("default"));
                examples.push(Example { file: file.clone(), object });
            }
        }
        let settings = examples.iter().find(|e| e.text("kind") == "KubeVirt").and_then(|e| e.object.pointer("/spec/configuration"));
        let settings = KubeVirtConfiguration::deserialize(settings.expect("a KubeVirt")).expect("a configuration");
        let config = ClusterConfig::checked(&settings).expect("a valid configuration");
        let objects = examples.iter().map(|e| e.object.clone()).collect();
        Self { examples, objects, config }
    }

    /// The object with its defaults, or a line for each fault; warnings are faults, too.
    fn review(&self, kind: &str, object: &Value) -> Result<Value, String> {
        let cluster: Vec<Value> = self.objects.iter().filter(|other| !is_same(other, object)).cloned().collect();
        let verdict = admission::review(&Request {
            kind,
            operation: Operation::Create,
            config: &self.config,
            object,
            old: None,
            user: "kubernetes-admin",
            user_node: None,
            namespace: "kubevirt",
            cluster: &cluster,
            seed: Seed(47),
            now: Timestamp::UNIX_EPOCH,
        });
        let causes = verdict.causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message));
        let lines: Vec<String> = causes.chain(verdict.warnings.into_iter().filter(|w| !w.contains(PRESETS_GO))).collect();
        if lines.is_empty() && verdict.allowed { Ok(verdict.object) } else { Err(lines.join("\n")) }
    }

    /// The instance that a machine starts: with its instance type and preference, and with defaults.
    fn started(&self, machine: &Value) -> Result<VirtualMachineInstance, String> {
        let reviewed = self.review("VirtualMachine", machine)?;
        let mut vm = VirtualMachine::deserialize(&reviewed).map_err(|e| e.to_string())?;
        let catalog = instancetype::Objects(&self.objects);
        instancetype::find(&vm, &catalog).map_err(|e| e.to_string())?;
        instancetype::find_preference(&vm, &catalog).map_err(|e| e.to_string())?;
        instancetype::prepare(&mut vm, &catalog);
        instancetype::apply_to_vm(&mut vm, &catalog)
            .map_err(|conflicts| conflicts.0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
        let template = vm.spec.template.ok_or("no template")?;
        let mut instance =
            json!({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": template.metadata, "spec": template.spec});
        instance["metadata"]["name"] = json!(vm.metadata.name);
        instance["metadata"]["namespace"] = json!(vm.metadata.namespace);
        self.defaulted(&instance)
    }

    fn defaulted(&self, instance: &Value) -> Result<VirtualMachineInstance, String> {
        let reviewed = self.review("VirtualMachineInstance", instance)?;
        VirtualMachineInstance::deserialize(&reviewed).map_err(|e| e.to_string())
    }

    /// The instance that an example describes or leads to, if it does.
    fn instance(&self, example: &Example) -> Option<Result<VirtualMachineInstance, String>> {
        let object = &example.object;
        // what a controller makes of a template gets a name and the controller's namespace
        let made = |template: &Value| {
            let mut made = template.clone();
            made["metadata"]["name"] = json!("made");
            made["metadata"]["namespace"] = object["metadata"]["namespace"].clone();
            made
        };
        match example.text("kind") {
            "VirtualMachineInstance" => Some(self.defaulted(object)),
            "VirtualMachine" => Some(self.started(object)),
            "VirtualMachineInstanceReplicaSet" => Some(self.defaulted(&made(&object["spec"]["template"]))),
            "VirtualMachinePool" => Some(self.started(&made(&object["spec"]["virtualMachineTemplate"]))),
            _ => None,
        }
    }
}

#[test]
fn every_example_may_enter_the_cluster_that_the_installation_configures() {
    let cluster = Cluster::new();
    let (mut kinds, mut faults) = (BTreeSet::new(), Vec::new());
    for example in cluster.examples.iter().filter(|e| e.is_of_kubevirt()) {
        let kind = example.text("kind");
        assert!(schema::node(&format!("{}/{kind}", example.text("apiVersion"))).is_some(), "{}: what is a {kind}?", example.file);
        kinds.insert(kind);
        if let Err(lines) = cluster.review(kind, &example.object) {
            faults.push(format!("{}: {kind}: {lines}", example.file));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(kinds.len() >= 15, "there are examples only of {kinds:?}");
}

#[test]
fn every_machine_becomes_a_domain_that_libvirt_accepts() {
    let cluster = Cluster::new();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("examples");
    fs::create_dir_all(&target).expect("a folder");
    let (mut domains, mut faults) = (Vec::new(), Vec::new());
    for (number, example) in cluster.examples.iter().enumerate() {
        let Some(instance) = cluster.instance(example) else { continue };
        let domain = instance.and_then(|mut vmi| {
            pod_interface(&mut vmi);
            convert(&vmi, &facts(&vmi)).map_err(|e| e.to_string())
        });
        match domain {
            Ok(domain) => {
                let path = target.join(format!("{number}-{}.xml", example.file));
                fs::write(&path, domain.to_xml()).expect("a domain is written");
                if !NEWER.contains(&example.file.as_str()) {
                    domains.push(path);
                }
            }
            Err(lines) => faults.push(format!("{}: {lines}", example.file)),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(domains.len() >= 47, "there are only {} machines", domains.len());
    common::assert_libvirt_accepts(&domains);
}

#[test]
fn every_example_says_what_it_shows_and_how_to_run_it() {
    let table = fs::read_to_string(folder().join("README.md")).expect("the table");
    for (file, text) in files() {
        let comment: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
        let commands = comment.iter().skip_while(|line| !line.starts_with("# In a cluster:   kubectl "));
        assert!(commands.clone().any(|line| line.contains(&format!("examples/{file}"))), "{file}: how is it run in a cluster?");
        assert!(comment.first().is_some_and(|line| line.len() > 20), "{file}: what does it show?");
        assert!(table.contains(&format!("| [{file}]({file}) |")), "{file} is not in the table of examples/README.md");
    }
    for line in table.lines().filter(|line| line.starts_with("| [")) {
        let named = line.split(['[', ']']).nth(1).unwrap_or_default();
        assert!(folder().join(named).exists(), "examples/README.md speaks of {named}, which is not there");
    }
}

/// Names the pod's interface in the status, as the controller does before the guest is started.
fn pod_interface(vmi: &mut VirtualMachineInstance) {
    let pod = vmi.spec.networks.iter().filter(|network| network.pod.is_some());
    vmi.status.interfaces = pod
        .map(|network| VirtualMachineInstanceNetworkInterface {
            name: network.name.clone(),
            pod_interface_name: "eth0".to_owned(),
            ..Default::default()
        })
        .collect();
}

/// A plain pod with what the examples ask of their node.
fn facts(vmi: &VirtualMachineInstance) -> Facts {
    let efi = |code: &str, vars: &str| Some(Efi { code: format!("/usr/share/{code}"), vars: format!("/usr/share/{vars}") });
    let firmware = if vmi.spec.architecture == "arm64" {
        Firmware { plain: efi("AAVMF/AAVMF_CODE.fd", "AAVMF/AAVMF_VARS.fd"), ..Firmware::default() }
    } else {
        Firmware {
            plain: efi("OVMF/OVMF_CODE_4M.fd", "OVMF/OVMF_VARS_4M.fd"),
            secure_boot: efi("OVMF/OVMF_CODE_4M.ms.fd", "OVMF/OVMF_VARS_4M.ms.fd"),
            sev: efi("OVMF/OVMF.amdsev.fd", "OVMF/OVMF_VARS_4M.fd"),
            ..Firmware::default()
        }
    };
    let cpu = |id| HostCpu { id, siblings: Vec::new() };
    let one = |name: &str, device: &str| (name.to_owned(), vec![device.to_owned()]);
    let card = ClaimedDevice { pci: Some("0000:41:00.0".to_owned()), mdev: None };
    // a SCSI device can be passed on only if the claim is one
    let block = |name: &str| (name.to_owned(), VolumeFacts { block: true, ..VolumeFacts::default() });
    Facts {
        cpu_set: (2..10).collect(),
        numa_cells: vec![NumaCell { id: 0, memory: 64 << 30, cpus: (0..12).map(cpu).collect() }],
        firmware,
        volumes: Volumes {
            by_name: ["san", "fenced"].map(block).into(),
            fallback: VolumeFacts { format: Some("qcow2".to_owned()), ..VolumeFacts::default() },
        },
        host_devices: Some(HostDevices {
            pci: [one("gpu.example/whole", "0000:3b:00.0"), one("devices.example/sampler", "0000:5e:00.0")].into(),
            mdev: [one("gpu.example/slice", "4b20d080-1b54-4048-85b3-a6a62d165c01")].into(),
            usb: [one("devices.example/stick", "1:4")].into(),
            sriov: [("fast".to_owned(), "0000:81:02.1".to_owned())].into(),
            claims: [("accelerator".to_owned(), [("card".to_owned(), card)].into())].into(),
            ..HostDevices::default()
        }),
        ..Facts::default()
    }
}
