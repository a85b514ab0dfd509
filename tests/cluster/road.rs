//! From `kubectl apply` to a guest that answers.

use crate::cluster::{BOOT, Cluster, SOON, condition, text};
use crate::guest::{self, Stream};

/// A web server, and a pod on each node to ask from.
const PODS: &str = r#"
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 0
  containers:
    - name: web
      image: localhost/kubevirt-rs/busybox:latest
      command: [sh, -c, "mkdir /www && echo a-page-of-a-pod > /www/index.html && exec httpd -f -p 80 -h /www"]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: near}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 0
  containers: [{name: shell, image: "localhost/kubevirt-rs/busybox:latest"}]
---
apiVersion: v1
kind: Pod
metadata: {name: far}
spec:
  nodeName: node2
  terminationGracePeriodSeconds: 0
  containers: [{name: shell, image: "localhost/kubevirt-rs/busybox:latest"}]
"#;

pub(crate) fn the_smallest_example_runs_and_answers(cluster: &Cluster) {
    let namespace = cluster.namespace("road");
    namespace.apply(PODS);
    let vmi = guest::running(&namespace);

    let pod = crate::containers::launcher_pod(&namespace);
    assert_eq!(guest::address(&vmi), pod["status"]["podIP"].as_str().unwrap_or_default(), "the instance tells its pod's address");
    assert!(condition(&vmi, "LiveMigratable", "True") || condition(&vmi, "LiveMigratable", "False"), "{}", vmi["status"]);

    for from in ["near", "far"] {
        cluster.until(&format!("the pod {from} gets the guest's page by the Service's name"), SOON, || {
            let answer = namespace.kubectl(&["exec", from, "--", "timeout", "5", "wget", "-q", "-O", "-", "http://vm-tiny"]);
            text(&answer.stdout).contains("hostname: vm-tiny").then_some(())
        });
    }

    let table = namespace.ok(&["get", "vm,vmi"]);
    let columns: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(columns.contains(&vec!["NAME", "AGE", "STATUS", "READY"]), "{table}");
    assert!(columns.contains(&vec!["NAME", "AGE", "PHASE", "IP", "NODENAME", "READY"]), "{table}");
    let node = vmi["status"]["nodeName"].as_str().unwrap_or_default();
    assert!(
        columns.iter().any(|c| c.len() == 6 && c[2] == "Running" && c[3] == guest::address(&vmi) && c[4] == node && c[5] == "True"),
        "{table}"
    );

    let mut console = Stream::open(&namespace, &["console", "vm-tiny"]);
    console.log_in("kubevirt");
    console.ask("echo name-is-$(hostname)", "name-is-vm-tiny");
    console.ask("timeout 10 wget -q -O - http://web", "a-page-of-a-pod");
    console.ask("timeout 10 wget -q -O - http://web.road.svc.cluster.local", "a-page-of-a-pod");
    drop(console);

    namespace.ok(&["delete", "vm", "vm-tiny", "--wait=false"]);
    namespace.until_gone("vm/vm-tiny", BOOT);
    namespace.until_gone("vmi/vm-tiny", SOON);
}
