//! The VM that stands on its own: its instance type and its preference written out.

use crate::admission::Cause;
use crate::admission::mutate::vmi::{attachments, spec_defaults};
use crate::api::instancetype::{VirtualMachineInstancetypeSpec, VirtualMachinePreferenceSpec};
use crate::api::v1::{VirtualMachine, VirtualMachineInstanceTemplateSpec};
use crate::config::ClusterConfig;

use super::{Conflicts, apply};

/// Why a VM cannot be written out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// There is nothing to write into.
    #[error("spec.template is missing; it must describe the guest")]
    NoTemplate,
    /// The VM and its instance type decide the same thing.
    #[error("the virtual machine and its instance type decide the same")]
    Conflicts(#[source] Conflicts),
    /// The configuration of the cluster has no default for what the VM leaves open.
    #[error("the defaults of the cluster do not apply: {0}")]
    Defaults(Cause),
}

/// Writes the instance type and the preference of a VM into it, and what the cluster fills in, and removes the
/// references to them. A VM that refers to neither stays as it is.
pub fn expand(
    vm: &VirtualMachine,
    instancetype: Option<&VirtualMachineInstancetypeSpec>,
    preference: Option<&VirtualMachinePreferenceSpec>,
    config: &ClusterConfig,
) -> Result<VirtualMachine, ExpandError> {
    let mut vm = vm.clone();
    if vm.spec.instancetype.is_none() && vm.spec.preference.is_none() {
        return Ok(vm);
    }
    let VirtualMachineInstanceTemplateSpec { spec, metadata } = vm.spec.template.as_mut().ok_or(ExpandError::NoTemplate)?;
    // what is attached by default has to be there for the preference to say what it likes about it
    attachments(spec, config).map_err(ExpandError::Defaults)?;
    apply("spec.template.spec", instancetype, preference, spec, metadata).map_err(ExpandError::Conflicts)?;
    // the other defaults come after: before, they would conflict with the instance type
    spec_defaults(spec, config).map_err(ExpandError::Defaults)?;
    vm.spec.instancetype = None;
    vm.spec.preference = None;
    vm.status.instancetype_ref = None;
    vm.status.preference_ref = None;
    Ok(vm)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{from_value, json, to_value};

    use super::super::bundle;
    use super::*;
    use crate::api::v1::KubeVirtConfiguration;

    fn config() -> ClusterConfig {
        ClusterConfig::new(&KubeVirtConfiguration::default())
    }

    fn vm() -> VirtualMachine {
        from_value(json!({
            "spec": {
                "instancetype": {"name": "u1.small"}, "preference": {"name": "fedora"},
                "template": {"spec": {"domain": {"devices": {}}, "volumes": [{"name": "root", "containerDisk": {"image": "x:1"}}]}},
            },
            "status": {"instancetypeRef": {"name": "u1.small"}, "preferenceRef": {"name": "fedora"}},
        }))
        .unwrap()
    }

    #[test]
    fn a_vm_that_is_written_out_refers_to_nothing() {
        let got = expand(&vm(), bundle::instancetype("u1.small"), bundle::preference("fedora"), &config()).unwrap();
        let got = to_value(got).unwrap();
        assert_eq!((got["spec"].get("instancetype"), got["spec"].get("preference"), &got["status"]), (None, None, &json!({})));
        let spec = &got["spec"]["template"]["spec"];
        assert_eq!(spec["domain"]["devices"]["disks"], json!([{"name": "root", "disk": {"bus": "virtio"}}]));
        assert_eq!(spec["domain"]["devices"]["interfaces"][0]["model"], "virtio");
        assert_eq!(spec["domain"]["cpu"], json!({"sockets": 1, "cores": 1, "threads": 1}));
    }

    #[test]
    fn what_cannot_be_written_out_says_why() {
        let mut bare = vm();
        bare.spec.template = None;
        assert_eq!(expand(&bare, bundle::instancetype("u1.small"), None, &config()), Err(ExpandError::NoTemplate));
        let mut own: VirtualMachine = vm();
        own.spec.template.get_or_insert_default().spec.scheduler_name = "own".to_owned();
        own.spec.template.get_or_insert_default().spec.domain.cpu.get_or_insert_default().cores = 2;
        let Err(ExpandError::Conflicts(conflicts)) = expand(&own, bundle::instancetype("u1.small"), None, &config()) else {
            panic!("both decide the cores")
        };
        assert_eq!(conflicts.0.iter().map(|c| c.field()).collect::<Vec<_>>(), ["spec.template.spec.domain.cpu.cores"]);
    }

    proptest! {
        /// Whatever the topology and the numbers are, nothing panics, and what was written out stays as it is.
        #[test]
        fn writing_out_twice_is_writing_out_once(
            guest in any::<u32>(), ratio in proptest::option::of(any::<u32>()), percent in any::<i64>(), max in any::<u32>(),
            topology in "cores|sockets|threads|any|spread|preferSpread|[a-z]{0,3}",
            across in proptest::option::of("SocketsCores|CoresThreads|SocketsCoresThreads|x"),
            memory in "[0-9]{1,18}(Ki|Gi|k|m|)", instancetype in any::<bool>(), preference in any::<bool>(),
        ) {
            let it: VirtualMachineInstancetypeSpec = from_value(json!({
                "cpu": {"guest": guest, "maxSockets": max}, "memory": {"guest": memory, "overcommitPercent": percent},
            })).unwrap();
            let likes: VirtualMachinePreferenceSpec = from_value(json!({
                "cpu": {"preferredCPUTopology": topology, "spreadOptions": {"across": across, "ratio": ratio}},
                "requirements": {"cpu": {"guest": max}, "memory": {"guest": memory}},
            })).unwrap();
            let (it, likes) = (instancetype.then_some(&it), preference.then_some(&likes));
            let _ = super::super::check_spread(it, likes);
            let once = expand(&vm(), it, likes, &config()).unwrap();
            let _ = super::super::requirements::check(it, likes, &once.spec.template.clone().unwrap().spec);
            let twice = expand(&once, it, likes, &config()).unwrap();
            prop_assert_eq!(to_value(twice).unwrap(), to_value(once).unwrap());
        }
    }
}
