//! The pod's labels and annotations.

use std::collections::BTreeMap;

use sha1::{Digest, Sha1};

use crate::api::names;
use crate::api::v1::VirtualMachineInstance;
use crate::config::{ClusterConfig, Gate};

use super::{Context, Error, Purpose, networks, traits};

/// The longest name that a label's value or a host may have.
const LABEL: usize = 63;
/// Annotations of the VMI that say something about the VMI's own document, by prefix.
const NOT_THE_PODS: [&str; 3] = [
    "kubectl.kubernetes.io",
    names::CONTROLLER_API_STORAGE_VERSION_OBSERVED_ANNOTATION,
    names::CONTROLLER_API_LATEST_VERSION_OBSERVED_ANNOTATION,
];
const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";
/// The descheduler is told not to wait for the pod to go: a migration takes its time.
const EVICT_ONLY: &str = "descheduler.alpha.kubernetes.io/request-evict-only";
const ISTIO_INJECT: &str = "sidecar.istio.io/inject";

/// The start of a text, at most so many bytes long.
fn start(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The host name that the pod has, and the guest if it asks.
pub(super) fn hostname(vmi: &VirtualMachineInstance, name: &str) -> String {
    match vmi.spec.hostname.as_str() {
        "" => start(name.split('.').next().unwrap_or_default(), LABEL).to_owned(),
        own => own.to_owned(),
    }
}

/// The name of a VMI as a label's value; a longer one ends in a digest.
pub fn vmi_id(name: &str) -> String {
    if name.len() <= LABEL {
        return name.to_owned();
    }
    let digest = Sha1::digest(name.as_bytes());
    let digest: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{digest}", start(name, LABEL - 1 - digest.len()))
}

/// The labels: the VMI's, and those by which others find the pod.
pub(super) fn labels(vmi: &VirtualMachineInstance, name: &str, hostname: &str) -> BTreeMap<String, String> {
    let mut labels = vmi.metadata.labels.clone().unwrap_or_default();
    let uid = vmi.metadata.uid.clone().unwrap_or_default();
    labels.insert(names::APP_LABEL.to_owned(), "virt-launcher".to_owned());
    labels.insert(names::CREATED_BY_LABEL.to_owned(), uid);
    labels.insert(names::DEPRECATED_VIRTUAL_MACHINE_NAME_LABEL.to_owned(), hostname.to_owned());
    labels.insert(names::VIRTUAL_MACHINE_INSTANCE_ID_LABEL.to_owned(), vmi_id(name));
    if let Some(value) = traits::annotation(vmi, ISTIO_INJECT) {
        labels.insert(ISTIO_INJECT.to_owned(), value.to_owned());
    }
    labels
}

/// Whether Istio puts its proxy into the pod, which needs the token of the service account.
pub(super) fn has_istio_proxy(vmi: &VirtualMachineInstance) -> bool {
    traits::annotation(vmi, ISTIO_INJECT).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// The annotations: the VMI's, ours, and those for Multus, Istio and Velero.
pub(super) fn annotations(
    vmi: &VirtualMachineInstance,
    config: &ClusterConfig,
    context: &Context,
    overhead: i128,
) -> Result<BTreeMap<String, String>, Error> {
    let name = vmi.metadata.name.as_deref().unwrap_or_default();
    let mut annotations = BTreeMap::from([(names::DOMAIN_ANNOTATION.to_owned(), name.to_owned())]);
    let own = vmi.metadata.annotations.iter().flatten();
    let own = own.filter(|(key, _)| !NOT_THE_PODS.iter().any(|prefix| key.starts_with(prefix)));
    annotations.extend(own.map(|(key, value)| (key.clone(), value.clone())));
    annotations.insert(DEFAULT_CONTAINER.to_owned(), super::COMPUTE.to_owned());
    annotations.insert(names::MIGRATION_TRANSPORT_UNIX_ANNOTATION.to_owned(), "true".to_owned());
    annotations.insert(EVICT_ONLY.to_owned(), String::new());
    annotations.extend(networks::annotations(vmi, config)?);
    annotations.extend(backup_hooks(vmi, context));
    if context.purpose == Purpose::BindVolumes {
        annotations.insert(names::EPHEMERAL_PROVISIONING_OBJECT.to_owned(), "true".to_owned());
    }
    if config.enabled(Gate::MemoryOverheadReport) {
        annotations.insert(names::MEMORY_OVERHEAD_ANNOTATION_BYTES.to_owned(), overhead.to_string());
    }
    Ok(annotations)
}

/// What annotations begin with by which Velero is told to freeze the guest's file systems.
const BACKUP_HOOKS: [&str; 2] = ["pre.hook.backup.velero.io", "post.hook.backup.velero.io"];

/// Whether the annotation is one of those for backups.
pub(crate) fn is_backup_hook(key: &str) -> bool {
    key.split_once('/').is_some_and(|(prefix, _)| BACKUP_HOOKS.contains(&prefix))
}

/// What Velero is told, unless the VMI or the installation says that it shall not be.
pub(crate) fn backup_hooks(vmi: &VirtualMachineInstance, context: &Context) -> BTreeMap<String, String> {
    let own = traits::annotation(vmi, names::SKIP_BACKUP_HOOKS_ANNOTATION);
    let skip = own.or(context.skip_backup_hooks.as_deref()).is_some_and(|v| matches!(v, "1" | "t" | "T" | "true" | "TRUE" | "True"));
    if skip {
        return BTreeMap::new();
    }
    let metadata = &vmi.metadata;
    let (name, namespace) = (metadata.name.as_deref().unwrap_or_default(), metadata.namespace.as_deref().unwrap_or_default());
    let command = |action: &str| serde_json::json!(["/usr/bin/virt-freezer", action, "--name", name, "--namespace", namespace]).to_string();
    let [before, after] = BACKUP_HOOKS;
    BTreeMap::from([
        (format!("{before}/container"), super::COMPUTE.to_owned()),
        (format!("{before}/command"), command("--freeze")),
        (format!("{before}/timeout"), "60s".to_owned()),
        (format!("{after}/container"), super::COMPUTE.to_owned()),
        (format!("{after}/command"), command("--unfreeze")),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::fixture::{config, vmi};

    #[test]
    fn names_are_cut_to_what_a_label_holds() {
        let long = "n".repeat(70);
        let vmi = vmi("{domain: {devices: {}}}");
        assert_eq!(hostname(&vmi, "web.example.org"), "web");
        assert_eq!(hostname(&vmi, &long).len(), 63);
        assert_eq!(hostname(&vmi, &"é".repeat(40)).len(), 62);
        assert_eq!(vmi_id("web"), "web");
        assert_eq!((vmi_id(&long).len(), &vmi_id(&long)[..55]), (63, format!("{}-", "n".repeat(54)).as_str()));
        assert_ne!(vmi_id(&long), vmi_id(&format!("{long}m")));
    }

    #[test]
    fn what_describes_the_document_stays_with_the_vmi() {
        let mut vmi = vmi("{domain: {devices: {}}}");
        let of_the_vmi = ["kubectl.kubernetes.io/last-applied-configuration", "kubevirt.io/latest-observed-api-version", "mine"];
        vmi.metadata.annotations = Some(of_the_vmi.map(|key| (key.to_owned(), "x".to_owned())).into());
        let annotations = annotations(&vmi, &config("{}"), &Context::default(), 7).expect("no network");
        assert_eq!(of_the_vmi.map(|key| annotations.contains_key(key)), [false, false, true]);
        assert_eq!(annotations["kubevirt.io/memory-overhead-bytes"], "7");
        let freeze = r#"["/usr/bin/virt-freezer","--freeze","--name","vm","--namespace","lab"]"#;
        assert_eq!(annotations["pre.hook.backup.velero.io/command"], freeze);
    }

    #[test]
    fn the_vmi_decides_about_backup_hooks_before_the_installation_does() {
        for (own, general, hooks) in [
            (None, None, 5),
            (None, Some("true"), 0),
            (Some("false"), Some("true"), 5),
            (Some("true"), None, 0),
            (Some("nonsense"), None, 5),
        ] {
            let mut vmi = vmi("{domain: {devices: {}}}");
            vmi.metadata.annotations = own.map(|v: &str| [(names::SKIP_BACKUP_HOOKS_ANNOTATION.to_owned(), v.to_owned())].into());
            let context = Context { skip_backup_hooks: general.map(str::to_owned), ..Context::default() };
            assert_eq!(backup_hooks(&vmi, &context).len(), hooks, "{own:?} {general:?}");
        }
    }
}
