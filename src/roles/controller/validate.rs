//! Judges an instance before it is made, as the webhook would: so it is made defaulted and judged whether or not the
//! webhook can be reached.

use k8s_openapi::jiff::Timestamp;
use kubevirt_rs::admission::{Operation, Request, Seed, review};
use kubevirt_rs::api::v1::{VirtualMachineInstance, VirtualMachineInstancePreset};
use kubevirt_rs::config::ClusterConfig;
use serde_json::{Value, json};

/// Who asks, as far as it concerns the judgement.
pub(super) struct Asker<'a> {
    /// The namespace of the roles.
    pub(super) namespace: &'a str,
    /// Where random names come from.
    pub(super) seed: Seed,
    /// When it is asked.
    pub(super) now: Timestamp,
}

/// The instance as admission lets it in, or what is wrong with it: every fault with its field.
pub(super) fn instance(
    instance: &VirtualMachineInstance,
    presets: &[VirtualMachineInstancePreset],
    config: &ClusterConfig,
    asker: &Asker<'_>,
) -> Result<VirtualMachineInstance, String> {
    let object = json!(instance);
    let cluster: Vec<Value> = presets.iter().map(|preset| json!(preset)).collect();
    let request = Request {
        kind: "VirtualMachineInstance",
        operation: Operation::Create,
        config,
        object: &object,
        old: None,
        user: &format!("system:serviceaccount:{}:kubevirt-controller", asker.namespace),
        user_node: None,
        namespace: asker.namespace,
        cluster: &cluster,
        seed: asker.seed,
        now: asker.now,
    };
    let verdict = review(&request);
    if !verdict.allowed {
        let causes: Vec<String> = verdict.causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        return Err(causes.join("; "));
    }
    serde::Deserialize::deserialize(&verdict.object).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use kubevirt_rs::api::names;
    use kubevirt_rs::api::v1::{KubeVirtConfiguration, VirtualMachineInstancePhase as Phase};

    use super::*;

    fn judged(text: &str) -> Result<VirtualMachineInstance, String> {
        let asker = Asker { namespace: "kubevirt", seed: Seed(1), now: Timestamp::UNIX_EPOCH };
        instance(&serde_yaml::from_str(text).unwrap(), &[], &ClusterConfig::new(&KubeVirtConfiguration::default()), &asker)
    }

    const GOOD: &str = "{apiVersion: kubevirt.io/v1, kind: VirtualMachineInstance, metadata: {name: a, namespace: b},
        spec: {domain: {devices: {}, memory: {guest: 64Mi}}}}";

    #[test]
    fn a_good_instance_comes_back_defaulted_and_once_more_as_it_is() {
        let once = judged(GOOD).unwrap();
        assert_eq!((once.spec.architecture.as_str(), &once.status.phase), ("amd64", &Phase::Pending));
        let finalizers = once.metadata.finalizers.clone().unwrap_or_default();
        assert_eq!(finalizers, [names::VIRTUAL_MACHINE_INSTANCE_FINALIZER]);
        // The webhook judges the same instance once more when it is there.
        let again = judged(&json!(once).to_string()).unwrap();
        assert_eq!(again, once);
    }

    #[test]
    fn a_bad_one_is_refused_by_its_field() {
        let bad = GOOD.replace("guest: 64Mi", "guest: -64Mi");
        assert!(judged(&bad).unwrap_err().contains("spec.domain.memory.guest"), "{:?}", judged(&bad));
    }
}
