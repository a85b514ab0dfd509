//! Hook sidecars in the pod: what they change is what the guest sees.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::pod::{Pod, SOON, login, order, read_until, root, type_line};
use crate::sidecar::Sidecar;

/// Where the sidecar of a container serves in a pod's folder.
fn socket(folder: &Path, container: &str) -> PathBuf {
    folder.join("hooks").join(container).join("any.sock")
}

/// Puts an element into a domain.
fn insert(domain: &str, before: &str, element: &str) -> Result<String, String> {
    let at = domain.find(before).ok_or_else(|| format!("there is no {before}"))?;
    let (head, rest) = domain.split_at(at);
    Ok(format!("{head}{element}{rest}"))
}

/// The first: another maker, in the place of what the domain has of it, if anything.
fn maker(domain: &str) -> Result<String, String> {
    let domain = match (domain.find("<sysinfo"), domain.find("</sysinfo>")) {
        (Some(from), Some(to)) => format!("{}{}", &domain[..from], &domain[to + "</sysinfo>".len()..]),
        _ => domain.to_owned(),
    };
    let domain = if domain.contains("<smbios") { domain } else { insert(&domain, "</os>", "<smbios mode='sysinfo'/>")? };
    insert(&domain, "<os", "<sysinfo type='smbios'><system><entry name='manufacturer'>Hooked</entry></system></sysinfo>")
}

/// The second: it must see what the first has done.
fn product(domain: &str) -> Result<String, String> {
    insert(domain, "</system>", "<entry name='product'>Second</entry>")
}

fn hostname(data: &str) -> Result<String, String> {
    let mut data: Value = serde_json::from_str(data).map_err(|e| e.to_string())?;
    let user = data["UserData"].as_str().ok_or("no user data")?.replace("hostname: tiny", "hostname: renamed");
    data["UserData"] = json!(user);
    Ok(data.to_string())
}

#[test]
fn the_guest_is_what_hook_sidecars_make_of_it() {
    if !root() {
        return;
    }
    let calls = Arc::new(Mutex::new(Vec::new()));
    let sidecar = |name, version, priority| Sidecar { name, version, priority, domain: None, cloud_init: None, calls: calls.clone() };
    let mut pod = Pod::with_hooks(2, |folder| {
        // the one of higher priority is called first, although its folder and its name come last
        Sidecar { domain: Some(product), ..sidecar("a", "v1alpha1", 1) }.serve(&socket(folder, "hook-sidecar-0"));
        Sidecar { domain: Some(maker), cloud_init: Some(hostname), ..sidecar("b", "v1alpha3", 7) }.serve(&socket(folder, "hook-sidecar-1"));
    });
    let (status, shown) = pod.ask("PUT", "/v1/instance", &order(|_| {}));
    assert_eq!(status, 200, "{shown}");
    let mut console = pod.console();
    login(&mut console, "renamed", "kubevirt");
    type_line(
        &mut console,
        "mkdir -p /sys; mount -t sysfs s /sys 2>/dev/null; cat /sys/class/dmi/id/sys_vendor /sys/class/dmi/id/product_name; echo done-$?",
    );
    let told = read_until(&mut console, "done-0");
    assert!(told.contains("Hooked") && told.contains("Second"), "{told}");
    assert_eq!(pod.ask("POST", "/v1/destroy", &Value::Null).0, 204);
    assert_eq!(pod.end(SOON), Some(0), "{}", pod.log());
    assert_eq!(*calls.lock().unwrap(), ["b PreCloudInitIso", "b OnDefineDomain", "a OnDefineDomain", "b Shutdown"]);
}

#[test]
fn a_hook_that_fails_is_named_and_the_guest_does_not_run_without_it() {
    if !root() {
        return;
    }
    let sidecar = |domain| Sidecar { name: "a", version: "v1alpha2", priority: 0, domain, cloud_init: None, calls: Arc::default() };
    let fault = |hooks, sidecar: Option<Sidecar>| {
        let mut pod = Pod::with_hooks(hooks, |folder| {
            if let Some(sidecar) = sidecar {
                sidecar.serve(&socket(folder, "hook-sidecar-0"));
            }
        });
        let (status, fault) = pod.ask("PUT", "/v1/instance", &order(|_| {}));
        assert_eq!((status, &fault["reason"]), (500, &json!("HookFailed")), "{fault}");
        assert_eq!(fault["field"], "metadata.annotations[hooks.kubevirt.io/hookSidecars]");
        assert_eq!(pod.end(SOON), Some(2), "{}", pod.log());
        assert_eq!(pod.last_status()["fault"], fault, "it is what the launcher leaves behind");
        fault["message"].as_str().expect("words").to_owned()
    };
    let said = fault(1, Some(sidecar(Some(|_| Err("no paper".to_owned())))));
    assert_eq!(said, "The hook sidecar in the container hook-sidecar-0 has failed at OnDefineDomain: no paper");
    let said = fault(1, Some(sidecar(Some(|domain| Ok(domain.replace("<devices>", "<devices><disk type='odd'/>"))))));
    assert!(said.contains("odd") && said.contains("as the hook sidecars in hook-sidecar-0 have left it"), "{said}");
    let said = fault(2, Some(sidecar(None)));
    assert!(said.starts_with("1 of 2 hook sidecars have not come: hook-sidecar-1 (no socket in "), "{said}");
    let said = fault(1, Some(Sidecar { version: "v3", ..sidecar(None) }));
    assert!(said.contains("one must be v1alpha1, v1alpha2 or v1alpha3"), "{said}");
}
