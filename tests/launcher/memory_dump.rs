//! The guest's memory in a file of a claim.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::guest::BOOT;
use crate::operations::run;
use crate::pod::{Pod, SOON, order, read_until, root};

const MARK: &str = "dump-me-in-memory-4711";

fn dump(pod: &mut Pod, volume: &str, file: &str) -> Value {
    assert_eq!(pod.ask("POST", "/v1/memory-dump", &json!({"volume": volume, "file": file})).0, 204);
    pod.until("the dump goes on", BOOT, |pod| {
        Some(pod.status()["memoryDump"].clone()).filter(|dump| dump["file"] == file && dump["ended"].is_string())
    })
}

fn holds_the_mark(file: &Path) -> bool {
    Command::new("grep").args(["--quiet", "--text", "--fixed-strings", MARK]).arg(file).status().expect("grep runs").success()
}

#[test]
fn the_guests_memory_is_dumped() {
    if !root() {
        return;
    }
    let mut pod = Pod::with_claims(&["roomy", "tight"]);
    assert_eq!(pod.ask("POST", "/v1/memory-dump", &json!({"volume": "roomy", "file": "a"})).0, 409, "there is no guest yet");
    let (status, shown) = pod.ask("PUT", "/v1/instance", &order(|_| {}));
    assert_eq!((status, &shown["memoryDump"]), (200, &Value::Null), "{shown}");
    let mut console = pod.console();
    read_until(&mut console, "tiny login: ");
    pod.until("no agent", BOOT, |pod| (pod.ask("POST", "/v1/ping", &json!({"timeoutSeconds": 5})).0 == 204).then_some(()));
    // in one piece only in a file of the guest's memory
    run(&pod, "printf '%s-%s' dump-me in-memory-4711 > /run/mark");
    let memory = pod.status()["domain"]["memory"].as_u64().expect("bytes");

    for (volume, file) in [("../roomy", "a"), ("roomy", "../a"), ("", "a"), ("roomy", "")] {
        assert_eq!(pod.ask("POST", "/v1/memory-dump", &json!({"volume": volume, "file": file})).0, 400, "{volume} {file}");
    }
    let absent = dump(&mut pod, "absent", "a.memory.dump");
    assert!(absent["failure"].as_str().is_some_and(|why| why.contains("\"absent\"")), "{absent}");

    // what would have to wait for it is refused, what only looks is not
    let to = json!({"volume": "roomy", "file": "first.memory.dump"});
    assert_eq!(pod.ask("POST", "/v1/memory-dump", &to).0, 204);
    let pause = pod.ask("POST", "/v1/pause", &Value::Null);
    let other = pod.ask("POST", "/v1/memory-dump", &json!({"volume": "roomy", "file": "other.memory.dump"}));
    assert_eq!(pod.ask("POST", "/v1/memory-dump", &to).0, 204, "an order may be repeated");
    if pod.status()["memoryDump"]["ended"].is_null() {
        assert_eq!((pause.0, other.0), (409, 409), "{pause:?} {other:?}");
    }
    let first = dump(&mut pod, "roomy", "first.memory.dump");
    assert_eq!((&first["failure"], first["begun"].is_string()), (&Value::Null, true), "{first}");
    let folder = pod.folder.0.join("hotplug/roomy");
    let file = folder.join("first.memory.dump");
    let mut head = [0; 18];
    File::open(&file).expect("the dump").read_exact(&mut head).expect("a head");
    // an ELF file of 64 bits, little end first, and a core
    assert_eq!((&head[..6], &head[16..]), (&b"\x7fELF\x02\x01"[..], &b"\x04\x00"[..]));
    assert!(fs::metadata(&file).expect("the dump").len() > memory, "it holds all of {memory} bytes");
    assert!(holds_the_mark(&file));

    // the guest goes on, and the next dump takes the place of the first
    assert_eq!(
        pod.until("it stands still", SOON, |pod| Some(pod.status()["domain"]["state"].clone()).filter(|s| s == "Running")),
        "Running"
    );
    run(&pod, "rm /run/mark");
    let second = dump(&mut pod, "roomy", "second.memory.dump");
    assert_eq!(second["failure"], Value::Null, "{second}");
    let names: Vec<_> = fs::read_dir(&folder).expect("the claim").map(|entry| entry.expect("a file").file_name()).collect();
    assert_eq!(names, ["second.memory.dump"]);

    // no room for the whole: nothing stays, and the guest goes on
    let failed = dump(&mut pod, "tight", "third.memory.dump");
    println!("without room: {}", failed["failure"]);
    assert!(failed["failure"].as_str().is_some_and(|why| why.contains("dump the guest's memory")), "{failed}");
    let [launcher] = pod.processes("launcher")[..] else { panic!("one launcher") };
    let tight = format!("/proc/{launcher}/root/run/kubevirt/hotplug-disks/tight");
    assert_eq!(fs::read_dir(tight).expect("the claim").count(), 0);
    assert_eq!(run(&pod, "echo alive"), "alive");
    assert_eq!(pod.ask("POST", "/v1/pause", &Value::Null).0, 204);
    assert_eq!(pod.ask("POST", "/v1/unpause", &Value::Null).0, 204);

    assert_eq!(pod.ask("POST", "/v1/shutdown", &json!({})).0, 204);
    assert_eq!(pod.end(SOON), Some(0), "{}", pod.log());
}
