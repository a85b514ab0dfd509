//! Hook sidecars: containers of the user's, or of a network binding, that change the guest's domain before it starts.

use k8s_openapi::api::core::v1::{ConfigMapVolumeSource, Container, PersistentVolumeClaimVolumeSource, Volume as PodVolume, VolumeMount};
use serde::Deserialize;

use crate::api::names;
use crate::api::v1::{NetworkBindingDownwardApiType, VirtualMachineInstance};
use crate::config::ClusterConfig;

use super::compute::{home, variable};
use super::support::{self, Support};
use super::volumes::{HOOK_SOCKETS, NETWORK_INFO, Plan, mount};
use super::{Context, Error, networks, paths, security, traits};

/// A sidecar, as the annotation describes it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Sidecar {
    image: String,
    image_pull_policy: String,
    command: Vec<String>,
    args: Vec<String>,
    config_map: Option<ConfigMap>,
    pvc: Option<Claim>,
    /// The network binding that it belongs to.
    #[serde(skip)]
    binding: Option<String>,
    #[serde(skip)]
    device_info: bool,
}

/// A script for the sidecar to run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ConfigMap {
    name: String,
    key: String,
    hook_path: String,
}

/// A claim for the sidecar, and for the launcher if it names a path there.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Claim {
    name: String,
    volume_path: String,
    shared_compute_path: String,
}

/// The sidecars of a VMI: first those of its annotation, then those of its network bindings.
pub(super) fn sidecars(vmi: &VirtualMachineInstance, config: &ClusterConfig) -> Result<Vec<Sidecar>, Error> {
    let mut sidecars: Vec<Sidecar> = match traits::annotation(vmi, names::HOOK_SIDECARS_ANNOTATION) {
        Some(text) => {
            let read: Option<_> = serde_json::from_str(text).map_err(|error| Error::HookSidecars { reason: error.to_string() })?;
            read.unwrap_or_default()
        }
        None => Vec::new(),
    };
    for (index, interface) in vmi.spec.domain.devices.interfaces.iter().enumerate() {
        let Some(binding) = &interface.binding else { continue };
        let plugin = config.network_bindings().and_then(|plugins| plugins.get(&binding.name));
        let plugin = plugin.ok_or_else(|| networks::unknown_binding(index, &binding.name))?;
        let first = !sidecars.iter().any(|s| s.binding.as_ref() == Some(&binding.name));
        if first && !plugin.sidecar_image.is_empty() {
            sidecars.push(Sidecar {
                image: plugin.sidecar_image.clone(),
                image_pull_policy: config.spec().image_pull_policy.clone(),
                binding: Some(binding.name.clone()),
                device_info: plugin.downward_api == NetworkBindingDownwardApiType::DeviceInfo,
                ..Sidecar::default()
            });
        }
    }
    Ok(sidecars)
}

/// The sidecars' containers. What they bring along is added to the volumes.
pub(super) fn containers(
    sidecars: &[Sidecar],
    vmi: &VirtualMachineInstance,
    config: &ClusterConfig,
    context: &Context,
    plan: &mut Plan,
) -> Vec<Container> {
    let mut containers = Vec::with_capacity(sidecars.len());
    for (index, sidecar) in sidecars.iter().enumerate() {
        sidecar.add_volumes(plan);
        containers.push(sidecar.container(&format!("hook-sidecar-{index}"), vmi, config, context));
    }
    containers
}

impl Sidecar {
    fn add_volumes(&self, plan: &mut Plan) {
        if let Some(map) = &self.config_map {
            let source = ConfigMapVolumeSource { name: map.name.clone(), default_mode: Some(0o755), ..ConfigMapVolumeSource::default() };
            plan.volume(PodVolume { name: map.name.clone(), config_map: Some(source), ..PodVolume::default() });
        }
        if let Some(claim) = &self.pvc {
            let source = PersistentVolumeClaimVolumeSource { claim_name: claim.name.clone(), read_only: None };
            plan.volume(PodVolume { name: claim.name.clone(), persistent_volume_claim: Some(source), ..PodVolume::default() });
            if !claim.shared_compute_path.is_empty() {
                plan.mounts.push(mount(&claim.name, claim.shared_compute_path.clone()));
            }
        }
    }

    fn container(&self, name: &str, vmi: &VirtualMachineInstance, config: &ClusterConfig, context: &Context) -> Container {
        let user = security::user(vmi);
        let image = if self.image.is_empty() { &context.sidecar_shim_image } else { &self.image };
        let mut environment = home(user);
        environment.push(variable("CONTAINER_NAME", name));
        environment.extend(self.binding.as_ref().map(|binding| variable("NETWORK_BINDING_PLUGIN_NAME", binding.clone())));
        Container {
            name: name.to_owned(),
            image: super::non_empty(image),
            image_pull_policy: super::non_empty(&self.image_pull_policy),
            command: Some(self.command.clone()).filter(|c| !c.is_empty()),
            args: Some(self.args.clone()).filter(|a| !a.is_empty()),
            env: Some(environment),
            volume_mounts: Some(self.mounts(name)),
            resources: Some(support::resources(Support::Sidecar, traits::exclusive(vmi), config)),
            security_context: Some(security::container(user, (user != 0).then(security::no_capabilities))),
            termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
            ..Container::default()
        }
    }

    /// Each sidecar has a directory of its own for its socket.
    fn mounts(&self, name: &str) -> Vec<VolumeMount> {
        let mut mounts = vec![VolumeMount { sub_path: Some(name.to_owned()), ..mount(HOOK_SOCKETS, paths::HOOKS) }];
        mounts.extend(self.device_info.then(|| mount(NETWORK_INFO, paths::POD_INFO)));
        mounts.extend(self.config_map.as_ref().map(|map| {
            let sub_path = super::non_empty(&map.key);
            VolumeMount { sub_path, ..mount(&map.name, map.hook_path.clone()) }
        }));
        mounts.extend(self.pvc.as_ref().map(|claim| mount(&claim.name, claim.volume_path.clone())));
        mounts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::fixture::{config, vmi};

    fn found(annotation: &str, interfaces: &str, settings: &str) -> Result<Vec<Sidecar>, Error> {
        let mut vmi = vmi(&format!("{{domain: {{devices: {{interfaces: {interfaces}}}}}}}"));
        vmi.metadata.annotations = Some([(names::HOOK_SIDECARS_ANNOTATION.to_owned(), annotation.to_owned())].into());
        sidecars(&vmi, &config(settings))
    }

    #[test]
    fn a_binding_used_twice_has_one_sidecar() {
        let twice = "[{name: a, binding: {name: fast}}, {name: b, binding: {name: fast}}]";
        let settings = "{network: {binding: {fast: {sidecarImage: i, downwardAPI: device-info}}}}";
        let sidecars = found("[]", twice, settings).expect("all is known");
        assert_eq!(sidecars.len(), 1);
        assert_eq!((sidecars[0].image.as_str(), sidecars[0].device_info), ("i", true));
    }

    #[test]
    fn an_annotation_that_is_no_list_is_refused_by_name() {
        for annotation in ["{", "{\"image\": \"a\"}", "[{\"image\": 5}]", ""] {
            let error = found(annotation, "[]", "{}").expect_err(annotation);
            assert!(error.to_string().starts_with("metadata.annotations[hooks.kubevirt.io/hookSidecars]"), "{error}");
        }
    }

    #[test]
    fn a_sidecar_brings_its_volumes() {
        let annotation = r#"[{"configMap": {"name": "m", "key": "k", "hookPath": "/h"}}, {"image": "i", "pvc": {"name": "c", "volumePath": "/v", "sharedComputePath": "/s"}}]"#;
        let sidecars = found(annotation, "[]", "{}").expect("a list");
        let context = Context { sidecar_shim_image: "shim".to_owned(), ..Context::default() };
        let mut plan = Plan::default();
        let containers = containers(&sidecars, &vmi("{domain: {devices: {}}}"), &config("{}"), &context, &mut plan);
        assert_eq!(
            containers.iter().map(|c| (c.name.as_str(), c.image.as_deref())).collect::<Vec<_>>(),
            [("hook-sidecar-0", Some("shim")), ("hook-sidecar-1", Some("i"))]
        );
        assert_eq!(plan.volumes.iter().map(|v| v.name.as_str()).collect::<Vec<_>>(), ["m", "c"]);
        assert_eq!(plan.mounts.iter().map(|m| m.mount_path.as_str()).collect::<Vec<_>>(), ["/s"]);
    }
}
