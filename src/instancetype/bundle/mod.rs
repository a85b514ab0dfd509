//! The instance types and preferences that come with an installation, made from tables of series and of guest systems.
//!
//! Names, labels and specs are those of the project common-instancetypes, which images and documents refer to.

mod guests;
mod series;
mod windows;

use std::sync::LazyLock;

use crate::api::Quantity;
use crate::api::instancetype::{
    VirtualMachineClusterInstancetype, VirtualMachineClusterPreference, VirtualMachineInstancetypeSpec, VirtualMachinePreferenceSpec,
};

/// The release of common-instancetypes that names, labels and specs are taken from.
const VERSION: &str = "v1.7.0";
const VENDOR: &str = "kubevirt.io";

/// All of them, each list in the order of the names.
#[derive(Debug)]
pub struct Bundle {
    /// The instance types.
    pub instancetypes: Vec<VirtualMachineClusterInstancetype>,
    /// The preferences.
    pub preferences: Vec<VirtualMachineClusterPreference>,
}

static BUNDLE: LazyLock<Bundle> = LazyLock::new(|| {
    let mut bundle = Bundle {
        instancetypes: series::instancetypes().collect(),
        preferences: guests::preferences().chain(windows::preferences()).collect(),
    };
    bundle.instancetypes.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    bundle.preferences.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    bundle
});

/// The instance types and preferences that come with an installation.
pub fn bundle() -> &'static Bundle {
    &BUNDLE
}

/// The instance type of that name.
pub fn instancetype(name: &str) -> Option<&'static VirtualMachineInstancetypeSpec> {
    let list = &bundle().instancetypes;
    let at = list.binary_search_by(|it| it.metadata.name.as_deref().cmp(&Some(name))).ok()?;
    list.get(at).map(|it| &it.spec)
}

/// The preference of that name.
pub fn preference(name: &str) -> Option<&'static VirtualMachinePreferenceSpec> {
    let list = &bundle().preferences;
    let at = list.binary_search_by(|it| it.metadata.name.as_deref().cmp(&Some(name))).ok()?;
    list.get(at).map(|it| &it.spec)
}

/// An amount of memory: whole GiB, or a part of one.
#[derive(Clone, Copy, Debug)]
enum Memory {
    Mi(u32),
    Gi(u32),
    /// One and a half GiB.
    GiAndHalf,
}

impl std::fmt::Display for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Mi(mi) => write!(f, "{mi}Mi"),
            Self::Gi(gi) => write!(f, "{gi}Gi"),
            Self::GiAndHalf => f.write_str("1.5Gi"),
        }
    }
}

impl Memory {
    fn quantity(self) -> Quantity {
        // a number with a suffix always reads; the tests ask every object for its memory
        self.to_string().parse().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::instancetype::requirements;

    fn label<'a>(labels: &'a Option<BTreeMap<String, String>>, name: &str) -> Option<&'a str> {
        labels.as_ref().and_then(|labels| labels.get(&format!("instancetype.kubevirt.io/{name}"))).map(String::as_str)
    }

    #[test]
    fn there_are_as_many_as_there_should_be_and_each_is_found() {
        let bundle = bundle();
        assert_eq!((bundle.instancetypes.len(), bundle.preferences.len()), (65, 54));
        let names = |names: Vec<&Option<String>>| names.iter().map(|n| n.as_deref().unwrap().to_owned()).collect::<BTreeSet<_>>();
        let instancetypes = names(bundle.instancetypes.iter().map(|i| &i.metadata.name).collect());
        let preferences = names(bundle.preferences.iter().map(|i| &i.metadata.name).collect());
        assert_eq!((instancetypes.len(), preferences.len()), (65, 54), "no name twice");
        assert!(instancetypes.iter().all(|name| instancetype(name).is_some()) && instancetype("u1").is_none());
        assert!(preferences.iter().all(|name| preference(name).is_some()) && preference("u1.medium").is_none());
    }

    #[test]
    fn the_labels_of_an_instance_type_tell_what_it_is() {
        for it in &bundle().instancetypes {
            let (name, labels, spec) = (it.metadata.name.as_deref().unwrap(), &it.metadata.labels, &it.spec);
            assert_eq!(name.split_once('.').unwrap().1, label(labels, "size").unwrap());
            assert_eq!(label(labels, "cpu").unwrap(), spec.cpu.guest.to_string(), "{name}");
            assert_eq!(label(labels, "memory").unwrap(), spec.memory.guest.as_str(), "{name}");
            assert!(!spec.memory.guest.is_zero(), "{name}");
            assert_eq!(label(labels, "hugepages"), spec.memory.hugepages.as_ref().map(|h| h.page_size.as_str()), "{name}");
            for (feature, has) in [
                ("dedicatedCPUPlacement", spec.cpu.dedicated_cpu_placement == Some(true)),
                ("isolateEmulatorThread", spec.cpu.isolate_emulator_thread == Some(true)),
                ("numa", spec.cpu.numa.is_some()),
                ("realtime", spec.cpu.realtime.is_some()),
            ] {
                assert_eq!(label(labels, feature), has.then_some("true"), "{name} {feature}");
            }
            // hugepages cannot be lent, and a guest of huge pages takes whole ones
            assert!(spec.memory.overcommit_percent == 0 || spec.memory.hugepages.is_none(), "{name}");
            if spec.memory.hugepages.as_ref().is_some_and(|h| h.page_size == "1Gi") {
                assert_eq!(spec.memory.guest.value() % (1 << 30), 0, "{name}");
            }
        }
    }

    #[test]
    fn the_labels_of_a_preference_tell_what_it_demands() {
        for it in &bundle().preferences {
            let (name, labels, spec) = (it.metadata.name.as_deref().unwrap(), &it.metadata.labels, &it.spec);
            let demand = spec.requirements.as_ref();
            let cpu = demand.and_then(|d| d.cpu.as_ref()).map(|cpu| cpu.guest.to_string());
            let memory = demand.and_then(|d| d.memory.as_ref()).map(|memory| memory.guest.as_str());
            assert_eq!(label(labels, "required-cpu"), cpu.as_deref(), "{name}");
            assert_eq!(label(labels, "required-memory"), memory, "{name}");
            for labelled in ["arch", "preferred-architecture", "required-architecture"] {
                assert_eq!(label(labels, labelled), spec.preferred_architecture.as_deref(), "{name}");
            }
            assert_eq!(demand.and_then(|d| d.architecture.as_deref()), spec.preferred_architecture.as_deref(), "{name}");
            let os = spec.annotations.get("vm.kubevirt.io/os").map(String::as_str);
            assert_eq!(label(labels, "os-type"), os, "{name}");
            // firmware that checks signatures keeps its keys behind system management mode
            let secure = spec.firmware.as_ref().and_then(|f| f.preferred_efi.as_ref()).is_some_and(|efi| efi.secure_boot == Some(true));
            assert_eq!(spec.features.as_ref().is_some_and(|f| f.preferred_smm.is_some()), secure, "{name}");
        }
    }

    #[test]
    fn the_largest_of_every_series_satisfies_every_preference() {
        for preference in &bundle().preferences {
            for series in ["cx1", "d1", "m1", "n1", "o1", "rt1", "u1"] {
                let instancetype = instancetype(&format!("{series}.8xlarge")).unwrap();
                let mut vmi = crate::api::v1::VirtualMachineInstance::default();
                let (it, preference) = (Some(instancetype), Some(&preference.spec));
                crate::instancetype::check_spread(it, preference).unwrap();
                crate::instancetype::apply("spec", it, preference, &mut vmi.spec, &mut vmi.metadata).unwrap();
                requirements::check(it, preference, &vmi.spec).unwrap();
                let cpu = vmi.spec.domain.cpu.unwrap();
                assert_eq!(cpu.sockets * cpu.cores * cpu.threads, instancetype.cpu.guest);
            }
        }
    }
}
