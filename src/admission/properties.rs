//! What holds for every document, however odd: admission answers, and what it lets in can be started.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Operation, Request, Seed, Verdict, review};
use crate::config::ClusterConfig;
use crate::{domain, pod};

/// A document with something of everything.
fn rich(kind: &str) -> Value {
    let spec = json!({
        "architecture": "amd64", "hostname": "a", "subdomain": "b", "evictionStrategy": "None", "terminationGracePeriodSeconds": 0,
        "domain": {
            "resources": {"requests": {"memory": "1Gi", "cpu": "2"}, "limits": {"memory": "1Gi", "cpu": "2"}},
            "cpu": {"cores": 2, "sockets": 1, "threads": 1, "model": "host-model", "features": [{"name": "vmx", "policy": "require"}],
                    "dedicatedCpuPlacement": true, "isolateEmulatorThread": true, "numa": {"guestMappingPassthrough": {}}},
            "memory": {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}},
            "machine": {"type": "q35"},
            "firmware": {"uuid": "6a0a2c5e-7a26-4830-bbfc-fb11870e3e95", "serial": "s", "bootloader": {"efi": {"secureBoot": false}},
                         "acpi": {"slicNameRef": "secret"}},
            "clock": {"utc": {"offsetSeconds": 1}, "timer": {"hpet": {"present": false}, "pit": {"tickPolicy": "delay"}}},
            "features": {"apic": {}, "smm": {}, "hyperv": {"spinlocks": {}, "vapic": {}, "evmcs": {}, "synictimer": {"direct": {}}, "tlbflush": {}}},
            "ioThreadsPolicy": "supplementalPool", "ioThreads": {"supplementalPoolThreadCount": 2},
            "devices": {
                "disks": [
                    {"name": "root", "disk": {"bus": "virtio", "pciAddress": "0000:81:01.0"}, "bootOrder": 1, "cache": "none", "dedicatedIOThread": true},
                    {"name": "cd", "cdrom": {"bus": "sata"}}, {"name": "lun", "lun": {"bus": "scsi"}},
                    {"name": "init", "disk": {}, "blockSize": {"custom": {"logical": 512, "physical": 512}}}
                ],
                "interfaces": [
                    {"name": "default", "masquerade": {}, "ports": [{"name": "http", "port": 80}], "macAddress": "02:00:00:00:00:01",
                     "dhcpOptions": {"privateOptions": [{"option": 240, "value": "v"}], "ntpServers": ["10.0.0.1"]}},
                    {"name": "second", "bridge": {}, "model": "e1000e", "bootOrder": 2, "state": "up"}
                ],
                "inputs": [{"name": "tablet", "type": "tablet", "bus": "usb"}], "watchdog": {"name": "w", "i6300esb": {"action": "reset"}},
                "sound": {"name": "s", "model": "ich9"}, "tpm": {}, "rng": {}, "video": {"type": "virtio"}, "panicDevices": [{"model": "isa"}],
                "filesystems": [{"name": "shared", "virtiofs": {}}]
            }
        },
        "networks": [{"name": "default", "pod": {}}, {"name": "second", "multus": {"networkName": "n"}}],
        "volumes": [
            {"name": "root", "containerDisk": {"image": "i", "path": "/disk/a"}}, {"name": "cd", "emptyDisk": {"capacity": "1Gi"}},
            {"name": "lun", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "init", "cloudInitNoCloud": {"userDataBase64": "YQ=="}},
            {"name": "secret", "secret": {"secretName": "s"}}, {"name": "shared", "configMap": {"name": "c"}}
        ],
        "accessCredentials": [{"sshPublicKey": {"source": {"secret": {"secretName": "s"}}, "propagationMethod": {"noCloud": {}}}}],
        "livenessProbe": {"httpGet": {"port": 80}}, "dnsPolicy": "None", "dnsConfig": {"nameservers": ["10.0.0.1"], "searches": ["a.b"]},
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}]}}},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "k", "whenUnsatisfiable": "DoNotSchedule"}],
        "tolerations": [{"key": "k", "operator": "Exists"}]
    });
    let metadata = json!({"name": "a", "namespace": "n", "labels": {"l": "v"}, "annotations": {"a": "v"}});
    match kind {
        "VirtualMachine" => json!({"apiVersion": "kubevirt.io/v1", "kind": kind, "metadata": metadata, "spec": {
            "runStrategy": "Always", "template": {"metadata": {"labels": {"l": "v"}}, "spec": spec},
            "instancetype": {"name": "u1.small"}, "preference": {"name": "fedora"},
            "dataVolumeTemplates": [{"metadata": {"name": "c"}, "spec": {"storage": {}, "source": {"blank": {}}}}]
        }}),
        _ => json!({"apiVersion": "kubevirt.io/v1", "kind": kind, "metadata": metadata, "spec": spec}),
    }
}

/// Values that nobody expects where they stand.
fn oddity(choice: u8) -> Value {
    match choice % 18 {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(0),
        3 => json!(-1),
        4 => json!(u64::MAX),
        5 => json!(1.5),
        6 => json!(""),
        7 => json!("a"),
        8 => json!("Ä/\u{0}\u{1F600}:[]"),
        9 => json!("9".repeat(400)),
        10 => json!([]),
        11 => json!([null, {}, []]),
        12 => json!({}),
        13 => json!({"": {"enabled": 1}}),
        14 => json!("-9223372036854775808"),
        15 => json!("1e999999999"),
        16 => json!("0000:00:00.0"),
        _ => json!(4_294_967_295_u32),
    }
}

/// Changes one place of the document, to which `way` leads.
fn change(value: &mut Value, way: &[u8], choice: u8) {
    let Some((step, rest)) = way.split_first() else {
        *value = oddity(choice);
        return;
    };
    match value {
        Value::Object(map) if !map.is_empty() => {
            let key = map.keys().nth(usize::from(*step) % map.len()).cloned().unwrap_or_default();
            if rest.is_empty() && choice.is_multiple_of(5) {
                map.remove(&key);
            } else if let Some(child) = map.get_mut(&key) {
                change(child, rest, choice);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            let index = usize::from(*step) % list.len();
            if rest.is_empty() && choice.is_multiple_of(5) {
                let again = list[index].clone();
                list.push(again);
            } else {
                change(&mut list[index], rest, choice);
            }
        }
        leaf => *leaf = oddity(choice),
    }
}

fn ask(kind: &str, operation: Operation, object: &Value, old: Option<&Value>, config: &ClusterConfig) -> Verdict {
    review(&Request {
        kind,
        operation,
        config,
        object,
        old,
        user: "somebody",
        user_node: None,
        namespace: "kubevirt",
        cluster: &[],
        seed: Seed(7),
        now: jiff::Timestamp::UNIX_EPOCH,
    })
}

fn changes() -> impl Strategy<Value = Vec<(Vec<u8>, u8)>> {
    prop::collection::vec((prop::collection::vec(any::<u8>(), 1..9), any::<u8>()), 1..5)
}

#[test]
fn the_rich_documents_pass() {
    let config = ClusterConfig::new(&Default::default());
    for kind in ["VirtualMachineInstance", "VirtualMachine"] {
        let mut object = rich(kind);
        if kind == "VirtualMachine" {
            // what an instance type decides may not be said again
            let domain = object.pointer_mut("/spec/template/spec/domain").unwrap().as_object_mut().unwrap();
            domain.retain(|key, _| !matches!(key.as_str(), "cpu" | "memory" | "resources" | "ioThreadsPolicy" | "ioThreads"));
        }
        let verdict = ask(kind, Operation::Create, &object, None, &config);
        assert_eq!(verdict.causes, [], "{kind}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn admission_answers_whatever_it_is_asked(changes in changes(), update in any::<bool>(), machine in any::<bool>()) {
        let kind = if machine { "VirtualMachine" } else { "VirtualMachineInstance" };
        let (old, mut object) = (rich(kind), rich(kind));
        for (way, choice) in &changes {
            change(&mut object, way, *choice);
        }
        let (operation, old) = if update { (Operation::Update, Some(&old)) } else { (Operation::Create, None) };
        let verdict = ask(kind, operation, &object, old, &ClusterConfig::new(&Default::default()));
        prop_assert_eq!(verdict.allowed, verdict.causes.is_empty());
    }

    #[test]
    fn what_is_let_in_can_be_started(changes in changes()) {
        let mut object = rich("VirtualMachineInstance");
        for (way, choice) in &changes {
            change(&mut object, way, *choice);
        }
        let config = ClusterConfig::new(&Default::default());
        let verdict = ask("VirtualMachineInstance", Operation::Create, &object, None, &config);
        if verdict.allowed {
            let vmi = serde_json::from_value(verdict.object).unwrap();
            let converted = domain::convert(&vmi, &domain::Facts::default()).map(drop);
            prop_assert!(converted.as_ref().err().is_none_or(domain::ConvertError::depends_on_host), "{:?}", converted);
            let rendered = pod::render(&vmi, &config, &pod::Context::default()).map(drop);
            prop_assert!(!matches!(rendered, Err(pod::Error::NoSource { .. } | pod::Error::HookSidecars { .. })), "{:?}", rendered);
        }
    }
}
