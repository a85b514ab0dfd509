//! A pod's guest that is a whole Debian, with the agent as Debian ships and starts it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::operations::{KEY, run, secret};
use crate::pod::{MAC, Pod, SOON, order, read_until, root, type_line};

/// How long it may take to boot on a busy machine: emulated, it takes a minute and a half on an idle one.
const BOOT: Duration = Duration::from_secs(1200);

const SEED: &str = "#cloud-config\nhostname: countess\nusers:\n- default\n- {name: ada, lock_passwd: false, shell: /bin/bash}\n";

/// Notes in `/run/utmp`, as programs that log users in have always done, that ada is logged in.
const LOGGED_IN: &str = "perl -e 'print pack(\"s x2 l a32 a4 a32 a256 s2 l l2 l4 x20\", 7, 1, \"ttyS0\", \"S0\", \"ada\", \"\", (0) x 3, time, (0) x 5)' >/run/utmp";

#[test]
fn debians_own_agent_is_asked_and_obeys() {
    if !root() {
        return;
    }
    let mut pod = Pod::of("debian", |private| {
        for (name, content) in [("secret/keys-access-cred/mine", KEY), ("secret/words-access-cred/ada", "changed")] {
            let path = private.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, format!("{content}\n")).expect("a file");
        }
    });
    let (status, shown) = pod.ask(
        "PUT",
        "/v1/instance",
        &order(|vmi| {
            let spec = &mut vmi["spec"];
            spec["domain"]["memory"]["guest"] = json!("1Gi");
            spec["domain"]["cpu"]["cores"] = json!(2);
            spec["terminationGracePeriodSeconds"] = json!(180);
            spec["volumes"][1]["cloudInitNoCloud"]["userData"] = json!(SEED);
            spec["accessCredentials"] = json!([
                {"sshPublicKey": {"source": secret("keys"), "propagationMethod": {"qemuGuestAgent": {"users": ["ada"]}}}},
                {"userPassword": {"source": secret("words"), "propagationMethod": {"qemuGuestAgent": {}}}},
            ]);
        }),
    );
    assert_eq!(status, 200, "{shown}");

    // what it says of itself
    let agent = |pod: &Pod| pod.status()["agent"].clone();
    pod.until("another name", BOOT, |pod| (agent(pod)["hostname"] == "countess").then_some(()));
    let said = agent(&pod);
    let os = &said["os"];
    assert_eq!((&os["id"], &os["name"], &os["machine"]), (&json!("debian"), &json!("Debian GNU/Linux"), &json!("x86_64")), "{os}");
    for field in ["prettyName", "version", "versionId", "kernelRelease", "kernelVersion"] {
        assert!(os[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {os}");
    }
    assert_eq!((&said["timezone"], &said["fsFreezeStatus"]), (&json!("UTC, 0"), &json!("thawed")), "{said}");
    let commands = said["commands"].as_array().expect("commands");
    for name in ["guest-ping", "guest-exec", "guest-fsfreeze-freeze", "guest-set-user-password", "guest-ssh-add-authorized-keys"] {
        assert!(commands.contains(&json!({"name": name, "enabled": true})), "{name}: {commands:?}");
    }
    let root = |agent: Value| {
        let all = agent["filesystems"].as_array()?.clone();
        all.into_iter().find(|files| files["mountPoint"] == "/" && files["usedBytes"].as_i64() > Some(0))
    };
    let files = pod.until("no file system", BOOT, |pod| root(agent(pod)));
    assert_eq!(
        (&files["fileSystemType"], &files["diskName"], &files["disk"][0]["busType"]),
        (&json!("ext4"), &json!("vda2"), &json!("virtio"))
    );
    let card = |agent: Value| agent["interfaces"].as_array()?.iter().find(|card| card["ip"] == "10.0.2.2").cloned();
    assert_eq!(pod.until("no address", BOOT, |pod| card(agent(pod)))["mac"], MAC);

    // what it is told
    let told = pod.until("no credentials", BOOT, |pod| Some(pod.status()["credentials"].clone()).filter(|c| c["succeeded"] == true));
    assert_eq!(told["message"], "");
    assert_eq!(run(&pod, "cat ~ada/.ssh/authorized_keys"), KEY);
    assert_eq!(run(&pod, "stat -c '%U %a' ~ada/.ssh/authorized_keys"), "ada 600");
    let mut console = pod.console();
    type_line(&mut console, "");
    read_until(&mut console, "countess login: ");
    type_line(&mut console, "ada");
    read_until(&mut console, "assword: ");
    type_line(&mut console, "changed");
    read_until(&mut console, "ada@countess");
    // since 13 Debian notes logins elsewhere than where its agent looks for them
    run(&pod, LOGGED_IN);
    let user = |agent: Value| agent["users"].as_array()?.iter().find(|user| user["userName"] == "ada").cloned();
    let ada = pod.until("nobody", BOOT, |pod| user(agent(pod)));
    assert!(ada["loginTime"].as_f64() > Some(1e9), "{ada}");

    // file systems stand still
    assert_eq!(pod.ask("POST", "/v1/freeze", &json!({})).0, 204);
    pod.until("not frozen", SOON, |pod| (agent(pod)["fsFreezeStatus"] == "frozen").then_some(()));
    assert_eq!(pod.ask("POST", "/v1/unfreeze", &Value::Null).0, 204);
    pod.until("not thawed", SOON, |pod| (agent(pod)["fsFreezeStatus"] == "thawed").then_some(()));

    assert_eq!(pod.ask("POST", "/v1/shutdown", &json!({})).0, 204);
    assert_eq!(pod.end(Duration::from_secs(240)), Some(0), "{}", pod.log());
    assert_eq!(pod.last_status()["domain"]["reason"], "Shutdown", "{}", pod.log());
}
