//! KubeVirt CR → every object to install, certificates, the order of a rollout.
//!
//! ```text
//!  KubeVirt + operator + cluster ─▶ settings::Installation ─▶ objects ─┐
//!                        live objects, certificates, now ───────────────┴─▶ actions, status
//! ```

pub mod certificates;
mod customize;
mod definitions;
mod kinds;
mod live;
pub mod manifest;
mod node_policy;
mod object;
mod plan;
pub mod policies;
mod rbac;
mod readiness;
mod removal;
mod security;
mod services;
mod settings;
pub mod status;
pub mod webhooks;
mod workloads;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

pub use definitions::Definition;
pub use kinds::{KINDS, Kind};
pub use live::Live;
pub use object::{CHECKSUM, Id, Object};
pub use plan::{Action, Node, Observed, Plan, plan};
pub use settings::{Cluster, DEFAULT_IMAGE, Installation, Operator, SettingsError};
pub use workloads::{Trial, trials};

use crate::api::names;
use crate::instancetype;

/// Everything that an installation consists of but the definitions, in the order in which it is made; `bundle` vouches for the components'
/// certificates.
pub fn objects(installation: &Installation, bundle: &str) -> Vec<Object> {
    let namespace = &installation.namespace;
    let ca_bundle = &STANDARD.encode(bundle);
    let mut objects = rbac::objects(namespace, installation.aggregated);
    if installation.cluster.security_constraints {
        objects.extend(security::constraints(namespace));
    }
    objects.push(certificates::config_map(namespace, bundle));
    objects.extend(services::services(namespace));
    objects.extend(policies::policies(namespace, &installation.config).into_iter().map(Object::new));
    objects.extend(node_policy::objects(namespace));
    let configurations = webhooks::configurations(installation.container_paths);
    objects.extend(configurations.map(|configuration| Object::new(configuration.object(namespace, ca_bundle))));
    objects.extend(services::api_services(namespace, ca_bundle));
    objects.extend(workloads::objects(installation));
    if installation.instancetypes {
        let bundle = instancetype::bundle();
        objects.extend(bundle.instancetypes.iter().map(|object| Object::new(json!(object))));
        objects.extend(bundle.preferences.iter().map(|object| Object::new(json!(object))));
    }
    for object in &mut objects {
        mark(object, installation);
        customize::customize(object, &installation.customize);
        object.seal();
    }
    objects
}

/// Says on the object, and on the pods that come of it, who installed it as a part of what.
fn mark(object: &mut Object, installation: &Installation) {
    let product = &installation.product;
    let labels = [
        (names::MANAGED_BY_LABEL, Some(names::MANAGED_BY_OPERATOR)),
        (names::APP_COMPONENT_LABEL, Some(product.component.as_deref().unwrap_or("kubevirt"))),
        (names::APP_PART_OF_LABEL, product.name.as_deref()),
        (names::APP_VERSION_LABEL, product.version.as_deref()),
    ];
    let annotations = [
        (names::INSTALL_STRATEGY_VERSION_ANNOTATION, &installation.version),
        (names::INSTALL_STRATEGY_REGISTRY_ANNOTATION, &installation.registry),
        (names::INSTALL_STRATEGY_IDENTIFIER_ANNOTATION, &installation.id),
    ];
    let pods = matches!(object.kind(), "Deployment" | "DaemonSet");
    let template = object.value_mut().pointer_mut("/spec/template").filter(|_| pods);
    if let Some(template) = template {
        for (key, value) in labels {
            value.into_iter().for_each(|value| object::set(template, "labels", key, value));
        }
        annotations.iter().for_each(|(key, value)| object::set(template, "annotations", key, value));
    }
    for (key, value) in labels {
        value.into_iter().for_each(|value| object.label(key, value));
    }
    annotations.iter().for_each(|(key, value)| object.annotate(key, value));
}
