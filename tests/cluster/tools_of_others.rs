//! What others do to objects of Kubernetes they do to machines, too: waiting, watching, scaling, applying, comparing.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::cluster::{BOOT, Cluster, Namespace, SOON, repository, text};
use crate::guest;

/// A program that tells what it sees until it is over.
struct Watching(Child);

impl Watching {
    fn start(mut command: Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("it runs"))
    }

    /// What it has told, once it has ended or been ended.
    fn told(mut self) -> String {
        let mut told = Vec::new();
        self.0.stdout.take().expect("its output").read_to_end(&mut told).expect("its output");
        text(&told)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The words of one column, each once for as long as it stays.
fn column(table: &str, at: usize) -> Vec<&str> {
    let mut words: Vec<&str> = table.lines().filter_map(|line| line.split_whitespace().nth(at)).collect();
    words.dedup();
    words
}

/// Whether all are there, one after the other, whatever lies between.
fn in_order(words: &[&str], wanted: &[&str]) -> bool {
    let mut words = words.iter();
    wanted.iter().all(|wanted| words.any(|word| word == wanted))
}

pub(crate) fn tools_of_others_follow_a_machine(cluster: &Cluster) {
    let namespace = cluster.namespace("followers");
    let mut informer = cluster.client(&namespace.name);
    informer.args(["informer", "vm-tiny"]);
    let informer = Watching::start(informer);
    let watch = ["get", "vmi", "--watch", "--no-headers", "--namespace", &namespace.name, "--output-watch-events"];
    let mut watch = Watching::start(cluster.kubectl_command(&watch));
    guest::apply_example(&namespace);

    let limit = format!("--timeout={}s", BOOT.as_secs());
    namespace.ok(&["wait", "vm/vm-tiny", "--for", "jsonpath={.status.printableStatus}=Running", &limit]);
    namespace.ok(&["wait", "vm/vm-tiny", "--for", "condition=Ready", &limit]);
    namespace.ok(&["wait", "vmi/vm-tiny", "--for", "condition=Ready", &limit]);
    namespace.ok(&["delete", "vm", "vm-tiny", "--wait=false"]);
    namespace.ok(&["wait", "vm/vm-tiny", "--for", "delete", &limit]);
    namespace.until_gone("vmi/vm-tiny", SOON);

    // it ends by itself, since what it follows is gone
    let told = informer.told();
    assert!(in_order(&column(&told, 0), &["added", "changed", "deleted"]), "the informer told:\n{told}");
    assert!(in_order(&column(&told, 2), &["Starting", "Running"]), "the informer told:\n{told}");
    std::thread::sleep(Duration::from_millis(500));
    let _ = watch.0.kill();
    let told = watch.told();
    let events = column(&told, 0);
    assert!(events.first() == Some(&"ADDED") && events.last() == Some(&"DELETED"), "kubectl get --watch told:\n{told}");
    assert!(in_order(&column(&told, 3), &["Pending", "Scheduled", "Running"]), "kubectl get --watch told:\n{told}");
}

/// Instances for which there is no node, and machines that are down.
const SCALED: &str = r#"
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstanceReplicaSet
metadata: {name: set}
spec:
  replicas: 1
  selector: {matchLabels: {of: set}}
  template:
    metadata: {labels: {of: set}}
    spec: {nodeSelector: {no: node}, domain: {memory: {guest: 64Mi}, devices: {}}}
---
apiVersion: pool.kubevirt.io/v1beta1
kind: VirtualMachinePool
metadata: {name: pool}
spec:
  replicas: 1
  selector: {matchLabels: {of: pool}}
  virtualMachineTemplate:
    metadata: {labels: {of: pool}}
    spec:
      runStrategy: Halted
      template: {metadata: {labels: {of: pool}}, spec: {domain: {memory: {guest: 64Mi}, devices: {}}}}
"#;

fn scales(namespace: &Namespace<'_>, object: &str, members: &str) {
    let count = || namespace.ok(&["get", members, "--output", "name"]).lines().count();
    for replicas in ["3", "1"] {
        let wanted: usize = replicas.parse().expect("a number");
        namespace.ok(&["scale", object, "--replicas", replicas]);
        namespace.cluster.until(&format!("{object} has {replicas}"), SOON, || (count() == wanted).then_some(()));
        // what an autoscaler reads
        let arguments = [object, "--subresource", "scale", "--namespace", &namespace.name];
        namespace.cluster.until(&format!("the scale of {object} tells of {replicas}"), SOON, || {
            let scale = namespace.cluster.find(&arguments)?;
            let selector = scale["status"]["selector"].as_str().unwrap_or_default().to_owned();
            assert!(selector.contains("of="), "the scale of {object} tells by what its pods are found: {scale}");
            (scale["spec"]["replicas"] == wanted && scale["status"]["replicas"] == wanted).then_some(())
        });
    }
}

/// A machine that is down, as one writes it: most is left to defaults.
const APPLIED: &str = r##"
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: applied, labels: {from: repository}}
spec:
  runStrategy: Halted
  template:
    spec:
      domain:
        cpu: {cores: 1}
        resources: {requests: {memory: 64Mi}}
        devices:
          disks: [{name: root, disk: {bus: virtio}}, {name: seed, disk: {}}]
          interfaces: [{name: default, masquerade: {}, ports: [{port: 80}]}]
      networks: [{name: default, pod: {}}]
      volumes:
        - name: root
          containerDisk: {image: "localhost/kubevirt-rs/tiny:latest"}
        - name: seed
          cloudInitNoCloud: {userData: "#cloud-config\n"}
"##;

/// What an object is at, to tell whether it was written meanwhile.
fn versions(namespace: &Namespace<'_>) -> Vec<Value> {
    let kinds = "vm,vmirs,vmpool,virtualmachineinstancetypes,virtualmachinepreferences";
    let list = namespace.cluster.find(&[kinds, "--namespace", &namespace.name]).unwrap_or_default();
    let of = |object: &Value| {
        let metadata = &object["metadata"];
        serde_json::json!([object["kind"], metadata["name"], metadata["generation"], metadata["resourceVersion"]])
    };
    list["items"].as_array().into_iter().flatten().map(of).collect()
}

pub(crate) fn tools_of_others_scale_and_apply(cluster: &Cluster) {
    let namespace = cluster.namespace("tools");
    namespace.apply(SCALED);
    scales(&namespace, "vmirs/set", "vmi");
    scales(&namespace, "vmpool/pool", "vm");

    // Who applies over and over, as tools do that keep a cluster at what a repository says, changes nothing.
    let mut all = vec![APPLIED.to_owned(), SCALED.to_owned()];
    for example in ["instancetype-small", "preference-linux"] {
        all.push(std::fs::read_to_string(repository(&format!("examples/{example}.yaml"))).expect("the example"));
    }
    let all = all.join("\n---\n");
    let apply = ["apply", "--server-side", "--field-manager", "x", "--force-conflicts", "--namespace", &namespace.name, "--filename", "-"];
    cluster.ok_with(&apply, &all);
    namespace.until("vm/applied", "Stopped", SOON, |vm| vm["status"]["printableStatus"] == "Stopped");
    let mut before = Vec::new();
    cluster.until("nothing is written any more", SOON, || {
        let now = versions(&namespace);
        let same = now == before;
        before = now;
        same.then(|| std::thread::sleep(Duration::from_secs(1))).filter(|()| versions(&namespace) == before)
    });
    assert!(before.len() >= 6, "{before:?}");
    cluster.ok_with(&apply, &all);
    let difference =
        ["diff", "--server-side", "--field-manager", "x", "--force-conflicts", "--namespace", &namespace.name, "--filename", "-"];
    cluster.ok_with(&difference, &all);
    assert_eq!(versions(&namespace), before, "the second time wrote");
    // the same by the older way, which compares with what was applied last
    namespace.apply(SCALED);
    cluster.ok_with(&["diff", "--namespace", &namespace.name, "--filename", "-"], SCALED);
}
