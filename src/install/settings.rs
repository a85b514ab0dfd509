//! What is to be installed: the KubeVirt object, read as the operator understands it.

use serde_json::{Value, json};

use super::customize;
use super::object::checksum;
use crate::api::names::KUBEVIRT_VERSION;
use crate::api::v1::{CustomizeComponents, KubeVirt, NodePlacement, RoleAggregationStrategy};
use crate::config::{ClusterConfig, ConfigError, Gate};

/// The image of a program that was not told its own.
pub const DEFAULT_IMAGE: &str = "localhost/kubevirt-rs:latest";

/// What the operator knows of itself.
#[derive(Clone, Copy, Debug)]
pub struct Operator<'a> {
    /// Its image, which is that of every component.
    pub image: &'a str,
    /// The namespace that it runs in.
    pub namespace: &'a str,
    /// The version of the program.
    pub version: &'a str,
}

/// What the cluster is like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// How many nodes it has.
    pub nodes: usize,
    /// Whether it has the security constraints of OpenShift.
    pub security_constraints: bool,
}

/// Everything that decides what is installed.
#[derive(Clone, Debug)]
pub struct Installation {
    /// Where.
    pub namespace: String,
    /// The image of every component.
    pub image: String,
    /// The part of the image's name before its last `/`.
    pub registry: String,
    /// The version that is installed.
    pub version: String,
    /// A checksum of what makes two installations different ones.
    pub id: String,
    pub(super) pull_policy: String,
    pub(super) pull_secrets: Value,
    pub(super) product: Product,
    pub(super) infra: Option<NodePlacement>,
    pub(super) workloads: Option<NodePlacement>,
    pub(super) replicas: Option<u8>,
    pub(super) cluster: Cluster,
    pub(super) aggregated: bool,
    pub(super) container_paths: bool,
    pub(super) instancetypes: bool,
    pub(super) migration_network: Option<String>,
    pub(super) customize: CustomizeComponents,
    /// What machines are judged by.
    pub(super) config: ClusterConfig,
}

/// What the labels tell about the product that this is part of.
#[derive(Clone, Debug, Default)]
pub(super) struct Product {
    pub(super) name: Option<String>,
    pub(super) version: Option<String>,
    pub(super) component: Option<String>,
}

/// Why nothing can be installed by a KubeVirt object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The operator serves another namespace.
    #[error("metadata.namespace is {found:?}; the operator runs in {wanted:?} and installs there only")]
    Namespace {
        /// The namespace of the object.
        found: String,
        /// That of the operator.
        wanted: String,
    },
    /// The settings are not usable.
    #[error("{place}: {0}", place = .0.place())]
    Configuration(#[from] ConfigError),
    /// Components that do not run do nothing.
    #[error("spec.infra.replicas is 0; at least one replica has to run")]
    NoReplicas,
    /// A patch cannot be applied.
    #[error("spec.customizeComponents.patches[{index}]: {why}")]
    Patch {
        /// Which patch.
        index: usize,
        /// What is wrong with it.
        why: String,
    },
}

impl Installation {
    /// What an object asks the operator to install in that cluster.
    pub fn new(kubevirt: &KubeVirt, operator: &Operator, cluster: Cluster) -> Result<Self, SettingsError> {
        let found = kubevirt.metadata.namespace.clone().unwrap_or_default();
        if found != operator.namespace {
            return Err(SettingsError::Namespace { found, wanted: operator.namespace.to_owned() });
        }
        let spec = &kubevirt.spec;
        let annotations = kubevirt.metadata.annotations.clone().unwrap_or_default();
        let config = ClusterConfig::checked(&spec.configuration)?.with_annotations(&annotations)?;
        customize::check(&spec.customize_components)?;
        let replicas = spec.infra.as_ref().and_then(|infra| infra.replicas);
        if replicas == Some(0) {
            return Err(SettingsError::NoReplicas);
        }
        let image = image(operator.image, &spec.image_registry, &spec.image_tag);
        let registry = split(&image).0.to_owned();
        let version = or(&spec.image_tag, KUBEVIRT_VERSION);
        let id = checksum(&json!([operator.version, version, image, found]));
        let label = |value: &str| is_label_value(value).then(|| value.to_owned());
        let manual = spec.configuration.role_aggregation_strategy == Some(RoleAggregationStrategy::Manual);
        let bundle = config.spec().common_instancetypes_deployment.as_ref().and_then(|bundle| bundle.enabled);
        Ok(Self {
            namespace: found,
            image,
            registry,
            version,
            id,
            pull_policy: or(&spec.image_pull_policy, "IfNotPresent"),
            pull_secrets: json!(spec.image_pull_secrets),
            product: Product {
                name: label(&spec.product_name),
                version: label(&spec.product_version),
                component: label(&spec.product_component),
            },
            infra: spec.infra.as_ref().and_then(|infra| infra.node_placement.clone()),
            workloads: spec.workloads.as_ref().and_then(|workloads| workloads.node_placement.clone()),
            replicas,
            cluster,
            aggregated: !(manual && config.enabled(Gate::OptOutRoleAggregation)),
            container_paths: config.enabled(Gate::ContainerPathVolumes),
            instancetypes: bundle.unwrap_or(true),
            migration_network: config.spec().migrations.as_ref().and_then(|migrations| migrations.network.clone()),
            customize: spec.customize_components.clone(),
            config: match kubevirt.status.default_architecture.as_str() {
                "" => config,
                architecture => config.with_default_architecture(architecture),
            },
        })
    }
}

fn or(value: &str, default: &str) -> String {
    if value.is_empty() { default.to_owned() } else { value.to_owned() }
}

/// Registry, name, and tag or digest with its separator.
fn split(image: &str) -> (&str, &str, &str) {
    let (registry, rest) = image.rsplit_once('/').unwrap_or(("", image));
    let end = rest.find(['@', ':']).unwrap_or(rest.len());
    let (name, tag) = rest.split_at(end);
    (registry, name, tag)
}

/// The image of another registry or tag.
fn image(own: &str, registry: &str, tag: &str) -> String {
    let (own_registry, name, own_tag) = split(own);
    let registry = if registry.is_empty() { own_registry } else { registry };
    let separator = if registry.is_empty() { "" } else { "/" };
    match tag {
        "" => format!("{registry}{separator}{name}{own_tag}"),
        digest if digest.starts_with("sha256:") => format!("{registry}{separator}{name}@{digest}"),
        tag => format!("{registry}{separator}{name}:{tag}"),
    }
}

fn is_label_value(value: &str) -> bool {
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    value.len() <= 63
        && ends(value.chars().next())
        && ends(value.chars().last())
        && value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

#[cfg(test)]
pub(super) fn testing(spec: Value, cluster: Cluster) -> Result<Installation, SettingsError> {
    let operator = Operator { image: "registry.example/virt/kubevirt-rs:1", namespace: "kubevirt", version: "1" };
    let kubevirt = json!({"metadata": {"name": "kubevirt", "namespace": "kubevirt"}, "spec": spec});
    Installation::new(&serde_json::from_value(kubevirt).unwrap_or_default(), &operator, cluster)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_of_other_registries_and_tags() {
        for (own, registry, tag, wanted) in [
            ("a/b/c:1", "", "", "a/b/c:1"),
            ("a/b/c:1", "d", "", "d/c:1"),
            ("a/b/c:1", "", "2", "a/b/c:2"),
            ("a:5000/c@sha256:00", "", "2", "a:5000/c:2"),
            ("a:5000/c", "b", "sha256:00", "b/c@sha256:00"),
            ("c", "", "2", "c:2"),
        ] {
            assert_eq!(image(own, registry, tag), wanted, "{own} {registry} {tag}");
        }
    }

    #[test]
    fn what_cannot_be_installed_is_told_with_its_field() {
        for (spec, field) in [
            (json!({"infra": {"replicas": 0}}), "spec.infra.replicas"),
            (json!({"configuration": {"imagePullPolicy": "Sometimes"}}), "imagePullPolicy"),
        ] {
            let error = testing(spec.clone(), Cluster::default()).unwrap_err();
            assert!(error.to_string().contains(field), "{spec}: {error}");
        }
        let mut kubevirt = KubeVirt::default();
        kubevirt.metadata.namespace = Some("kubevirt".into());
        kubevirt.metadata.annotations = Some([("kubevirt-rs.io/memory-overhead".into(), "none".into())].into());
        let operator = Operator { image: "c", namespace: "kubevirt", version: "1" };
        let error = Installation::new(&kubevirt, &operator, Cluster::default()).unwrap_err().to_string();
        assert_eq!(error, "metadata.annotations: set kubevirt-rs.io/memory-overhead to kubevirt or measured, not \"none\"");
        let operator = Operator { image: "c", namespace: "elsewhere", version: "1" };
        let error = Installation::new(&KubeVirt::default(), &operator, Cluster::default()).unwrap_err();
        assert!(matches!(error, SettingsError::Namespace { .. }));
    }

    #[test]
    fn settings_of_machines_make_no_other_installation() {
        let of = |spec| testing(spec, Cluster::default()).unwrap().id;
        let plain = of(json!({}));
        assert_eq!(of(json!({"configuration": {"developerConfiguration": {"useEmulation": true}}})), plain);
        assert_ne!(of(json!({"imageTag": "v2"})), plain);
    }

    #[test]
    fn a_distribution_labels_with_what_is_a_label() {
        let product = testing(json!({"productName": "mine", "productVersion": "no label"}), Cluster::default()).unwrap().product;
        assert_eq!((product.name.as_deref(), product.version), (Some("mine"), None));
    }
}
