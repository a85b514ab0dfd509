//! KubeVirt's own client library, with which other tools are made.

use crate::cluster::{BOOT, Cluster, SOON, condition};
use crate::guest::{self, Stream};

pub(crate) fn kubevirts_own_client_library_works_unchanged(cluster: &Cluster) {
    let namespace = cluster.namespace("library");
    let vmi = guest::running(&namespace);
    let first = guest::boot_id(&namespace, &vmi);
    assert_eq!(namespace.client(&["phase", "vm-tiny"]).trim(), "Running");

    let mut console = Stream::open(&namespace, &["console", "vm-tiny"]);
    console.wait_for_login();
    drop(console);

    let mut web = Stream::open(&namespace, &["portforward", "vm-tiny", "80"]);
    web.send("GET / HTTP/1.0\r\n\r");
    web.wait_for("hostname: vm-tiny");
    drop(web);

    namespace.client(&["pause", "vm-tiny"]);
    namespace.until("vmi/vm-tiny", "paused", SOON, |vmi| condition(vmi, "Paused", "True"));
    namespace.until("vm/vm-tiny", "Paused", SOON, |vm| vm["status"]["printableStatus"] == "Paused");
    assert!(guest::page(&guest::address(&vmi)).is_none(), "a paused guest does not answer");
    namespace.client(&["unpause", "vm-tiny"]);
    namespace.until("vm/vm-tiny", "Running again", SOON, |vm| vm["status"]["printableStatus"] == "Running");
    assert_eq!(guest::boot_id(&namespace, &vmi), first, "it was paused, not started anew");

    let uid = vmi["metadata"]["uid"].clone();
    namespace.client(&["restart", "vm-tiny"]);
    namespace.until("vmi/vm-tiny", "another instance", BOOT, |vmi| vmi["metadata"]["uid"] != uid);
    let vmi = guest::until_running(&namespace);
    assert_ne!(guest::boot_id(&namespace, &vmi), first, "it was started anew");

    namespace.client(&["stop", "vm-tiny"]);
    namespace.until_gone("vmi/vm-tiny", BOOT);
    namespace.until("vm/vm-tiny", "Stopped", SOON, |vm| vm["status"]["printableStatus"] == "Stopped");
    assert_eq!(namespace.client(&["printable", "vm-tiny"]).trim(), "Stopped");

    namespace.client(&["start", "vm-tiny"]);
    guest::until_running(&namespace);
}
