//! What a boot volume recommends: labels on the claim, snapshot, DataVolume or DataSource that it comes from.

use crate::api::cdi::{DataVolumeSourceRef, DataVolumeSpec};
use crate::api::names::{
    DEFAULT_INSTANCETYPE_KIND_LABEL, DEFAULT_INSTANCETYPE_LABEL, DEFAULT_PREFERENCE_KIND_LABEL, DEFAULT_PREFERENCE_LABEL,
};
use crate::api::v1::{InstancetypeMatcher, PreferenceMatcher, VirtualMachine};
use serde::Deserialize;
use serde_json::Value;

use super::Objects;
use super::matcher::{Matcher, Role};

/// Why nothing could be inferred.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InferError {
    /// The VM has no such volume.
    #[error("{field}.inferFromVolume names the volume {volume:?}, which the template does not have")]
    NoVolume {
        /// The matcher.
        field: &'static str,
        /// The volume.
        volume: String,
    },
    /// An object on the way does not exist.
    #[error("{field}.inferFromVolume leads to the {kind} {namespace}/{name}, which does not exist")]
    Missing {
        /// The matcher.
        field: &'static str,
        /// The kind of object.
        kind: &'static str,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// The volume comes from something that has no labels.
    #[error("{field}.inferFromVolume needs a claim, a snapshot, a DataVolume or a DataSource; the volume comes from {what}")]
    Unsupported {
        /// The matcher.
        field: &'static str,
        /// What the volume comes from.
        what: String,
    },
    /// The object recommends nothing.
    #[error("{field}.inferFromVolume leads to the {kind} {namespace}/{name}, which needs the label {label}")]
    NoLabel {
        /// The matcher.
        field: &'static str,
        /// The kind of object.
        kind: &'static str,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// The label that would recommend something.
        label: &'static str,
    },
}

impl InferError {
    /// The matcher that could not be inferred.
    pub fn field(&self) -> &'static str {
        match self {
            Self::NoVolume { field, .. } | Self::Missing { field, .. } | Self::Unsupported { field, .. } | Self::NoLabel { field, .. } => {
                field
            }
        }
    }

    /// Whether the failure policy `Ignore` covers it: the volume is fine, it just recommends nothing.
    fn ignorable(&self) -> bool {
        matches!(self, Self::Unsupported { .. } | Self::NoLabel { .. })
    }
}

/// Replaces `inferFromVolume` of both references of a VM by the names that the volume recommends.
pub fn infer(vm: &mut VirtualMachine, objects: Objects) -> Result<(), InferError> {
    if let Some(matcher) = vm.spec.instancetype.as_ref().map(Matcher::from).filter(|m| !m.infer_from_volume.is_empty()) {
        let ignores = matcher.ignores_failure();
        match recommended(vm, &matcher, objects) {
            Ok((name, kind)) => {
                // who would rather have the memory given here than none does not mean it beside an instance type
                if let Some(template) = vm.spec.template.as_mut().filter(|_| ignores) {
                    template.spec.domain.memory = None;
                }
                vm.spec.instancetype = Some(InstancetypeMatcher { name, kind, ..InstancetypeMatcher::default() });
            }
            Err(error) if ignores && error.ignorable() => vm.spec.instancetype = None,
            Err(error) => return Err(error),
        }
    }
    if let Some(matcher) = vm.spec.preference.as_ref().map(Matcher::from).filter(|m| !m.infer_from_volume.is_empty()) {
        let ignores = matcher.ignores_failure();
        match recommended(vm, &matcher, objects) {
            Ok((name, kind)) => vm.spec.preference = Some(PreferenceMatcher { name, kind, ..PreferenceMatcher::default() }),
            Err(error) if ignores && error.ignorable() => vm.spec.preference = None,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The name and the kind that a volume recommends.
type Recommended = Result<(String, String), InferError>;

fn recommended(vm: &VirtualMachine, matcher: &Matcher, objects: Objects) -> Recommended {
    let namespace = vm.metadata.namespace.as_deref().unwrap_or_default();
    let search = Search { role: matcher.role, namespace, objects };
    let volumes = vm.spec.template.as_ref().map(|t| t.spec.volumes.as_slice()).unwrap_or_default();
    let Some(volume) = volumes.iter().find(|volume| volume.name == matcher.infer_from_volume) else {
        return Err(InferError::NoVolume { field: matcher.role.field(), volume: matcher.infer_from_volume.to_owned() });
    };
    if let Some(claim) = &volume.persistent_volume_claim {
        return search.labelled(CLAIM, namespace, &claim.claim_name);
    }
    let Some(source) = &volume.data_volume else { return search.unsupported("another kind of volume") };
    let template = vm.spec.data_volume_templates.iter().find(|template| template.metadata.name.as_deref() == Some(&source.name));
    match template {
        Some(template) => search.data_volume(&template.spec),
        None => search.existing_data_volume(&source.name),
    }
}

const CLAIM: &str = "PersistentVolumeClaim";
const SNAPSHOT: &str = "VolumeSnapshot";
const DATA_VOLUME: &str = "DataVolume";
const DATA_SOURCE: &str = "DataSource";

/// One walk from a volume to the labels that recommend something.
#[derive(Clone, Copy)]
struct Search<'a> {
    role: Role,
    namespace: &'a str,
    objects: Objects<'a>,
}

impl<'a> Search<'a> {
    fn unsupported<T>(&self, what: &str) -> Result<T, InferError> {
        Err(InferError::Unsupported { field: self.role.field(), what: what.to_owned() })
    }

    fn get(&self, kind: &'static str, namespace: &str, name: &str) -> Result<&'a Value, InferError> {
        let missing = || InferError::Missing { field: self.role.field(), kind, namespace: namespace.to_owned(), name: name.to_owned() };
        self.objects.get(kind, Some(namespace), name).ok_or_else(missing)
    }

    fn labels(&self, object: &Value) -> Result<(String, String), &'static str> {
        let (name, kind) = match self.role {
            Role::Instancetype => (DEFAULT_INSTANCETYPE_LABEL, DEFAULT_INSTANCETYPE_KIND_LABEL),
            Role::Preference => (DEFAULT_PREFERENCE_LABEL, DEFAULT_PREFERENCE_KIND_LABEL),
        };
        let label = |key: &str| object.get("metadata")?.get("labels")?.get(key)?.as_str().map(str::to_owned);
        Ok((label(name).ok_or(name)?, label(kind).unwrap_or_default()))
    }

    fn labelled(&self, kind: &'static str, namespace: &str, name: &str) -> Recommended {
        let object = self.get(kind, namespace, name)?;
        self.labels(object).map_err(|label| InferError::NoLabel {
            field: self.role.field(),
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            label,
        })
    }

    fn existing_data_volume(&self, name: &str) -> Recommended {
        let Some(object) = self.objects.get(DATA_VOLUME, Some(self.namespace), name) else {
            // a DataVolume may be collected once it is done; its claim has its name
            return self.labelled(CLAIM, self.namespace, name);
        };
        if let Ok(found) = self.labels(object) {
            return Ok(found);
        }
        match object.get("spec").map(DataVolumeSpec::deserialize) {
            Some(Ok(spec)) => self.data_volume(&spec),
            _ => self.unsupported("a DataVolume that cannot be read"),
        }
    }

    fn data_volume(&self, spec: &DataVolumeSpec) -> Recommended {
        if let Some(source) = &spec.source {
            if let Some(claim) = &source.pvc {
                return self.labelled(CLAIM, &claim.namespace, &claim.name);
            }
            if let Some(snapshot) = &source.snapshot {
                return self.labelled(SNAPSHOT, &snapshot.namespace, &snapshot.name);
            }
        }
        match &spec.source_ref {
            Some(reference) => self.reference(reference),
            None => self.unsupported("another source of a DataVolume"),
        }
    }

    fn reference(&self, reference: &DataVolumeSourceRef) -> Recommended {
        if reference.kind != DATA_SOURCE {
            return self.unsupported(&format!("a {}", reference.kind));
        }
        let object = self.get(DATA_SOURCE, reference.namespace.as_deref().unwrap_or(self.namespace), &reference.name)?;
        if let Ok(found) = self.labels(object) {
            return Ok(found);
        }
        for (source, kind) in [("pvc", CLAIM), ("snapshot", SNAPSHOT)] {
            if let Some(source) = object.get("spec").and_then(|spec| spec.get("source")?.get(source)).filter(|source| source.is_object()) {
                let text = |key: &str| source.get(key).and_then(Value::as_str).unwrap_or_default();
                return self.labelled(kind, text("namespace"), text("name"));
            }
        }
        self.unsupported("a DataSource without claim and snapshot")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(kind: &str, name: &str, labelled: bool, spec: Value) -> Value {
        let labels = if labelled {
            json!({"instancetype.kubevirt.io/default-instancetype": kind, "instancetype.kubevirt.io/default-preference": name,
                "instancetype.kubevirt.io/default-preference-kind": "VirtualMachinePreference"})
        } else {
            json!({})
        };
        json!({"kind": kind, "metadata": {"name": name, "namespace": "lab", "labels": labels}, "spec": spec})
    }

    fn inferred(volume: Value, templates: Value, policy: Option<&str>) -> Result<Value, InferError> {
        let lab = |name: &str| json!({"namespace": "lab", "name": name});
        let objects = [
            object(CLAIM, "labelled", true, json!({})),
            object(CLAIM, "plain", false, json!({})),
            object(SNAPSHOT, "snap", true, json!({})),
            object(DATA_VOLUME, "labelled", true, json!({})),
            object(DATA_VOLUME, "from-claim", false, json!({"source": {"pvc": lab("labelled")}})),
            object(DATA_VOLUME, "from-http", false, json!({"source": {"http": {"url": "x"}}})),
            object(DATA_SOURCE, "labelled", true, json!({})),
            object(DATA_SOURCE, "from-snapshot", false, json!({"source": {"snapshot": lab("snap")}})),
            object(DATA_SOURCE, "from-nothing", false, json!({"source": {}})),
        ];
        let matcher = json!({"inferFromVolume": "root", "inferFromVolumeFailurePolicy": policy});
        let mut vm: VirtualMachine = serde_json::from_value(json!({
            "metadata": {"namespace": "lab"},
            "spec": {
                "instancetype": matcher, "preference": matcher, "dataVolumeTemplates": templates,
                "template": {"spec": {"domain": {"memory": {"guest": "1Gi"}}, "volumes": [volume]}},
            },
        }))
        .unwrap();
        infer(&mut vm, Objects(&objects))?;
        let memory = vm.spec.template.unwrap().spec.domain.memory.is_some();
        Ok(json!([vm.spec.instancetype, vm.spec.preference, memory]))
    }

    #[test]
    fn the_way_from_a_volume_to_its_labels() {
        let claim = |name: &str| json!({"name": "root", "persistentVolumeClaim": {"claimName": name}});
        let dv = |name: &str| json!({"name": "root", "dataVolume": {"name": name}});
        let template = |spec: Value| json!([{"metadata": {"name": "t"}, "spec": spec}]);
        let source = |name: &str| template(json!({"sourceRef": {"kind": "DataSource", "name": name}}));
        for (volume, templates, want) in [
            (claim("labelled"), json!([]), Some((CLAIM, "labelled"))),
            (claim("plain"), json!([]), None),
            (claim("gone"), json!([]), None),
            (dv("labelled"), json!([]), Some((DATA_VOLUME, "labelled"))),
            (dv("from-claim"), json!([]), Some((CLAIM, "labelled"))),
            (dv("from-http"), json!([]), None),
            (dv("t"), template(json!({"source": {"snapshot": {"namespace": "lab", "name": "snap"}}})), Some((SNAPSHOT, "snap"))),
            (dv("t"), source("labelled"), Some((DATA_SOURCE, "labelled"))),
            (dv("t"), source("from-snapshot"), Some((SNAPSHOT, "snap"))),
            (dv("t"), source("from-nothing"), None),
            (dv("t"), template(json!({"sourceRef": {"kind": "Other", "name": "x"}})), None),
            (json!({"name": "root", "containerDisk": {"image": "x"}}), json!([]), None),
            (json!({"name": "data", "containerDisk": {"image": "x"}}), json!([]), None),
        ] {
            let got = inferred(volume.clone(), templates.clone(), None);
            let want = want.map(|(kind, name)| json!([{"name": kind}, {"name": name, "kind": "VirtualMachinePreference"}, true]));
            assert_eq!(got.ok(), want, "{volume} {templates}");
        }
    }

    #[test]
    fn who_ignores_failures_goes_without() {
        let claim = |name: &str| json!({"name": "root", "persistentVolumeClaim": {"claimName": name}});
        assert_eq!(inferred(claim("plain"), json!([]), Some("Ignore")), Ok(json!([null, null, true])));
        let missing = inferred(claim("gone"), json!([]), Some("Ignore")).unwrap_err();
        assert!(!missing.ignorable() && missing.field() == "spec.instancetype", "{missing}");
        let found = inferred(claim("labelled"), json!([]), Some("Ignore")).unwrap();
        assert_eq!(found[2], json!(false), "the instance type decides the memory");
    }
}
