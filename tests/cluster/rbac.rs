//! Who may do what: the roles that an administrator binds, asked of the API server and used through the aggregated API.

use std::process::Command;

use serde_json::{Value, json};

use crate::cluster::{Cluster, Namespace, SOON, text};
use crate::containers::role_pods;

/// The users of the table, by a letter, and the role that each has in the namespace. Everyone who is known has `kubevirt.io:default` and
/// `instancetype.kubevirt.io:view` besides.
const USERS: [(char, &str, Option<&str>); 8] = [
    ('n', "nobody-in-particular", None),
    ('v', "viewer", Some("kubevirt.io:view")),
    ('e', "editor", Some("kubevirt.io:edit")),
    ('a', "administrator", Some("kubevirt.io:admin")),
    ('m', "migrator", Some("kubevirt.io:migrate")),
    // Kubernetes' own roles hold those of KubeVirt, each with the ones below it.
    ('V', "viewer-of-all", Some("view")),
    ('E', "editor-of-all", Some("edit")),
    ('A', "administrator-of-all", Some("admin")),
];

const SUBRESOURCES: &str = "subresources.kubevirt.io";
const CORE: &str = "kubevirt.io";

/// What KubeVirt's roles give: verb, group, resource, and the users who may. `v`, `e` and `a` stand for the roles of that name; what
/// Kubernetes' own roles give follows from them.
const TABLE: &[(&str, &str, &str, &str)] = &[
    // of everyone
    ("get", SUBRESOURCES, "version", "nveam"),
    ("get", SUBRESOURCES, "guestfs", "nveam"),
    ("list", CORE, "kubevirts", "nveam"),
    // only by the role of those who manage installations, which Kubernetes' admin holds, too
    ("update", CORE, "kubevirts", "A"),
    ("list", "instancetype.kubevirt.io", "virtualmachineclusterinstancetypes", "nveam"),
    ("list", "instancetype.kubevirt.io", "virtualmachineclusterpreferences", "nveam"),
    ("list", "instancetype.kubevirt.io", "virtualmachineinstancetypes", "vea"),
    // streams to a guest
    ("get", SUBRESOURCES, "virtualmachineinstances/console", "ea"),
    ("update", SUBRESOURCES, "virtualmachineinstances/console", ""),
    ("get", SUBRESOURCES, "virtualmachineinstances/vnc", "ea"),
    ("get", SUBRESOURCES, "virtualmachineinstances/vnc/screenshot", "a"),
    ("get", SUBRESOURCES, "virtualmachineinstances/portforward", "ea"),
    ("get", SUBRESOURCES, "virtualmachines/portforward", "ea"),
    ("get", SUBRESOURCES, "virtualmachineinstances/usbredir", "ea"),
    // what a guest tells
    ("get", SUBRESOURCES, "virtualmachineinstances/guestosinfo", "vea"),
    ("get", SUBRESOURCES, "virtualmachineinstances/filesystemlist", "vea"),
    ("get", SUBRESOURCES, "virtualmachineinstances/userlist", "vea"),
    ("get", SUBRESOURCES, "virtualmachineinstances/sev/fetchcertchain", "vea"),
    ("get", SUBRESOURCES, "virtualmachineinstances/sev/querylaunchmeasurement", "vea"),
    ("get", SUBRESOURCES, "virtualmachineinstances/objectgraph", "vea"),
    ("get", SUBRESOURCES, "virtualmachines/objectgraph", "vea"),
    ("get", SUBRESOURCES, "virtualmachines/expand-spec", "vea"),
    ("update", SUBRESOURCES, "expand-vm-spec", "vea"),
    // what is done to a guest
    ("update", SUBRESOURCES, "virtualmachineinstances/pause", "ea"),
    ("update", SUBRESOURCES, "virtualmachineinstances/unpause", "ea"),
    ("update", SUBRESOURCES, "virtualmachineinstances/freeze", "ea"),
    ("update", SUBRESOURCES, "virtualmachineinstances/unfreeze", "ea"),
    ("update", SUBRESOURCES, "virtualmachineinstances/softreboot", "ea"),
    ("update", SUBRESOURCES, "virtualmachineinstances/reset", "ea"),
    ("update", SUBRESOURCES, "virtualmachineinstances/addvolume", "ea"),
    ("update", SUBRESOURCES, "virtualmachineinstances/removevolume", "ea"),
    ("update", SUBRESOURCES, "virtualmachineinstances/sev/setupsession", "ea"),
    ("update", SUBRESOURCES, "virtualmachineinstances/sev/injectlaunchsecret", "ea"),
    ("update", SUBRESOURCES, "virtualmachineinstances/evacuate/cancel", "ea"),
    ("get", SUBRESOURCES, "virtualmachineinstances/pause", ""),
    // what is done to a machine
    ("update", SUBRESOURCES, "virtualmachines/start", "ea"),
    ("update", SUBRESOURCES, "virtualmachines/stop", "ea"),
    ("update", SUBRESOURCES, "virtualmachines/restart", "ea"),
    ("update", SUBRESOURCES, "virtualmachines/addvolume", "ea"),
    ("update", SUBRESOURCES, "virtualmachines/removevolume", "ea"),
    ("update", SUBRESOURCES, "virtualmachines/memorydump", "ea"),
    ("update", SUBRESOURCES, "virtualmachines/evacuate/cancel", "ea"),
    ("update", SUBRESOURCES, "virtualmachines/migrate", "m"),
    // objects
    ("get", CORE, "virtualmachines", "vea"),
    ("watch", CORE, "virtualmachineinstances", "vea"),
    ("create", CORE, "virtualmachines", "ea"),
    ("patch", CORE, "virtualmachineinstances", "ea"),
    ("delete", CORE, "virtualmachineinstancereplicasets", "ea"),
    ("deletecollection", CORE, "virtualmachines", "a"),
    ("list", CORE, "virtualmachineinstancemigrations", "veam"),
    ("create", CORE, "virtualmachineinstancemigrations", "m"),
    ("deletecollection", CORE, "virtualmachineinstancemigrations", "m"),
    ("get", "snapshot.kubevirt.io", "virtualmachinerestores", "vea"),
    ("create", "snapshot.kubevirt.io", "virtualmachinesnapshots", "ea"),
    ("create", "backup.kubevirt.io", "virtualmachinebackups", "ea"),
    ("create", "export.kubevirt.io", "virtualmachineexports", "ea"),
    ("create", "clone.kubevirt.io", "virtualmachineclones", "ea"),
    ("create", "instancetype.kubevirt.io", "virtualmachineinstancetypes", "ea"),
    ("update", "pool.kubevirt.io", "virtualmachinepools", "ea"),
    ("list", "migrations.kubevirt.io", "migrationpolicies", "vea"),
    ("create", "migrations.kubevirt.io", "migrationpolicies", ""),
    ("list", "plugin.kubevirt.io", "plugins", "va"),
    ("create", "plugin.kubevirt.io", "plugins", "a"),
];

/// Whether the user of that letter may, when those may.
fn may(user: char, those: &str) -> bool {
    match user {
        'V' => those.contains(['n', 'v']),
        'E' => those.contains(['n', 'v', 'e']),
        'A' => those.contains(['n', 'v', 'e', 'a', 'A']),
        other => those.contains(other),
    }
}

/// What the API server says a user may do, of the whole table: what `kubectl auth can-i` asks, all at once, and of
/// subresources, which it cannot name.
fn allowed(namespace: &Namespace<'_>, user: &str) -> Vec<bool> {
    let question = |(verb, group, path, _): &(&str, &str, &str, &str)| {
        let (resource, subresource) = path.split_once('/').unwrap_or((path, ""));
        let attributes =
            json!({"namespace": namespace.name, "verb": verb, "group": group, "resource": resource, "subresource": subresource});
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": attributes}})
            .to_string()
    };
    let questions: Vec<String> = TABLE.iter().map(question).collect();
    let arguments = ["create", "--validate=false", "--output", "json", "--as", user, "--filename", "-"];
    let answers = namespace.cluster.ok_with(&arguments, &questions.join("\n"));
    let answers = serde_json::Deserializer::from_str(&answers).into_iter::<Value>();
    answers.map(|answer| answer.expect("an answer")["status"]["allowed"] == true).collect()
}

/// A machine that is down, and no instance: who may ask is told so.
const MACHINE: &str = r#"
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: m}
spec:
  runStrategy: Halted
  template: {spec: {domain: {memory: {guest: 128Mi}, devices: {}}}}
"#;

/// What is really asked for: `get`, or `replace` with a body; the path in the namespace; who is refused for who they are, and what
/// everyone else is told (nothing: it is done).
const CALLS: &[(&str, &str, &str, &str)] = &[
    ("get", "virtualmachineinstances/m/console", "nvm", "NotFound"),
    ("get", "virtualmachineinstances/m/vnc", "nvm", "NotFound"),
    ("get", "virtualmachines/m/portforward/22", "nvm", "Conflict"),
    // as KubeVirt says it of what it asks a guest
    ("get", "virtualmachineinstances/m/guestosinfo", "nm", "InternalError"),
    ("get", "virtualmachines/m/expand-spec", "nm", ""),
    ("replace", "expand-vm-spec", "nm", ""),
    ("replace", "virtualmachines/m/stop", "nvm", "Conflict"),
    ("replace", "virtualmachines/m/restart", "nvm", "Conflict"),
    ("replace", "virtualmachineinstances/m/pause", "nvm", "NotFound"),
    ("replace", "virtualmachines/m/migrate", "nvea", "NotFound"),
];

/// Asks for it as a user; what the API server answers, in kubectl's word for it.
fn call(cluster: &Cluster, verb: &str, path: &str, user: &str, body: &str) -> String {
    let mut arguments = vec![verb, "--raw", path, "--as", user];
    if verb == "replace" {
        arguments.extend(["--filename", "-"]);
    }
    let output = cluster.kubectl_with(&arguments, Some(body));
    let said = text(&output.stderr);
    if output.status.success() {
        return String::new();
    }
    let word = said.split_once("Error from server (").and_then(|(_, rest)| rest.split_once(')'));
    word.map_or(said.clone(), |(word, _)| word.to_owned())
}

pub(crate) fn each_role_gives_what_kubevirts_gives_and_no_more(cluster: &Cluster) {
    let namespace = cluster.namespace("rights");
    for (_, user, role) in USERS {
        if let Some(role) = role {
            namespace.ok(&["create", "rolebinding", user, "--clusterrole", role, "--user", user]);
        }
    }
    namespace.apply(MACHINE);
    // Kubernetes puts the aggregated roles together in its own time.
    cluster.until("the aggregated roles hold those of KubeVirt", SOON, || {
        let output = namespace.kubectl(&["auth", "can-i", "create", "virtualmachines.kubevirt.io", "--as", "editor-of-all"]);
        output.status.success().then_some(())
    });

    let mut faults = Vec::new();
    for (letter, user, _) in USERS {
        let answers = allowed(&namespace, user);
        assert_eq!(answers.len(), TABLE.len(), "answers for {user}");
        for ((verb, group, resource, those), answer) in TABLE.iter().zip(answers) {
            if may(letter, those) != answer {
                faults.push(format!(
                    "{user} {} {verb} {resource}.{group}",
                    if answer { "may, but should not," } else { "should, but may not," }
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));

    let machine = namespace.find("vm/m").expect("the machine").to_string();
    for (verb, path, refused, told) in CALLS {
        let body = if path.starts_with("expand") { machine.as_str() } else { "{}" };
        let path = format!("/apis/{SUBRESOURCES}/v1/namespaces/{}/{path}", namespace.name);
        for (letter, user, _) in USERS.iter().filter(|(letter, ..)| letter.is_lowercase()) {
            let wanted = if refused.contains(*letter) { "Forbidden" } else { told };
            assert_eq!(call(cluster, verb, &path, user, body), wanted, "{verb} {path} as {user}");
        }
    }
    let version = format!("/apis/{SUBRESOURCES}/v1/version");
    assert_eq!(call(cluster, "get", &version, "nobody-in-particular", ""), "");
    assert_eq!(call(cluster, "get", &version, "system:anonymous", ""), "Forbidden");
    nobody_gets_around_the_api_server(cluster, &namespace);
}

/// Who asks the api's pod itself may say to be anyone, and is believed nothing.
fn nobody_gets_around_the_api_server(cluster: &Cluster, namespace: &Namespace<'_>) {
    let pods = role_pods(cluster, "api");
    let address = pods.first().and_then(|pod| pod["status"]["podIP"].as_str()).expect("a pod of the api");
    let url = format!("https://{address}:8443/apis/{SUBRESOURCES}/v1/namespaces/{}/virtualmachines/m/expand-spec", namespace.name);
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--insecure", "--max-time", "10", "--output", "/dev/null", "--write-out", "%{http_code}"])
        .args(["--header", "X-Remote-User: admin", "--header", "X-Remote-Group: system:masters", &url])
        .output()
        .expect("curl runs; `deploy/setup.sh test` installs it");
    assert_eq!(text(&output.stdout), "401", "{}", text(&output.stderr));
}
