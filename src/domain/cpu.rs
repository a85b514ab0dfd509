//! The CPU that the guest sees.

use super::error::Result;
use super::guest::Guest;
use super::model::{Cpu, CpuFeature, Domain};
use super::topology;

const HOST_MODEL: &str = "host-model";
const HOST_PASSTHROUGH: &str = "host-passthrough";

/// Sets model, features and topology of the CPU, and the number of virtual CPUs.
pub(super) fn configure(guest: &Guest<'_>, domain: &mut Domain) -> Result<()> {
    let (topology, count, vcpus) = topology::with_room(guest)?;
    domain.vcpu_count = count;
    domain.vcpus = vcpus;
    let cpu = guest.spec().cpu.as_ref();
    let model = cpu.map_or("", |cpu| cpu.model.as_str());
    let (mode, model) = match model {
        // the host's CPU means nothing to a guest of another architecture: it gets all that QEMU can emulate
        "" | HOST_MODEL | HOST_PASSTHROUGH if guest.is_foreign() => ("custom", Some("max")),
        "" | HOST_MODEL => (HOST_MODEL, None),
        HOST_PASSTHROUGH => (HOST_PASSTHROUGH, None),
        other => ("custom", Some(other)),
    };
    let mut features: Vec<_> = cpu.into_iter().flat_map(|cpu| &cpu.features).map(feature).collect();
    let of_the_host = cpu.is_none_or(|cpu| matches!(cpu.model.as_str(), HOST_MODEL | HOST_PASSTHROUGH));
    if guest.rules.stale_mpx && !of_the_host && features.iter().all(|feature| feature.name != "mpx") {
        features.push(CpuFeature { name: "mpx".to_owned(), policy: Some("disable".to_owned()) });
    }
    domain.cpu = Cpu { mode, model: model.map(str::to_owned), topology, features, numa: None };
    Ok(())
}

fn feature(feature: &kubevirt_api::v1::CpuFeature) -> CpuFeature {
    let policy = Some(&feature.policy).filter(|policy| !policy.is_empty());
    CpuFeature { name: feature.name.clone(), policy: policy.cloned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{facts, vmi};
    use super::super::{Architecture, Facts, convert};

    #[test]
    fn the_model_fits_what_runs_the_guest() {
        for (cpu, host, expected) in [
            (json!(null), None, ("host-model", None, false)),
            (json!({ "cores": 1 }), None, ("host-model", None, true)),
            (json!({ "model": "host-passthrough" }), None, ("host-passthrough", None, false)),
            (json!({ "model": "Penryn" }), None, ("custom", Some("Penryn"), true)),
            (json!({ "model": "Penryn", "features": [{ "name": "mpx", "policy": "require" }] }), None, ("custom", Some("Penryn"), false)),
            (json!(null), Some(Architecture::Arm64), ("custom", Some("max"), false)),
            (json!({ "model": "Penryn" }), Some(Architecture::Arm64), ("custom", Some("Penryn"), true)),
        ] {
            let emulator = [(Architecture::Amd64, "/usr/bin/qemu-system-x86_64".to_owned())];
            let facts = Facts { host_architecture: host, foreign_emulators: emulator.into(), ..facts(&[]) };
            let domain = convert(&vmi(json!({ "cpu": cpu })), &facts).unwrap().cpu;
            let no_mpx = domain.features.iter().any(|feature| feature.name == "mpx" && feature.policy.as_deref() == Some("disable"));
            assert_eq!((domain.mode, domain.model.as_deref(), no_mpx), expected, "{cpu}");
        }
    }
}
