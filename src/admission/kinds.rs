//! Which decisions belong to which kind: one line each.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Findings, Request, Verdict, decode, mutate, validate};
use crate::api::{backup, clone, export, instancetype, migrations, plugin, pool, snapshot, v1};

/// A kind and how it is reviewed.
struct Kind {
    name: &'static str,
    review: fn(&Request) -> Verdict,
}

/// Every kind that admission knows. What is not here passes as it is.
const KINDS: &[Kind] = &[
    Kind { name: "VirtualMachineInstance", review: |r| typed::<v1::VirtualMachineInstance>(r, mutate::vmi::admit, validate::vmi::judge) },
    Kind { name: "VirtualMachine", review: |r| typed::<v1::VirtualMachine>(r, mutate::vm::admit, validate::vm::judge) },
    Kind {
        name: "VirtualMachineInstanceMigration",
        review: |r| typed::<v1::VirtualMachineInstanceMigration>(r, mutate::migration::admit, validate::migration::judge),
    },
    Kind {
        name: "VirtualMachineInstanceReplicaSet",
        review: |r| typed::<v1::VirtualMachineInstanceReplicaSet>(r, as_it_is, validate::replicaset::judge),
    },
    Kind {
        name: "VirtualMachineInstancePreset",
        review: |r| typed::<v1::VirtualMachineInstancePreset>(r, as_it_is, validate::preset::judge),
    },
    Kind { name: "VirtualMachinePool", review: |r| typed::<pool::VirtualMachinePool>(r, as_it_is, validate::pool::judge) },
    Kind { name: "KubeVirt", review: |r| typed::<v1::KubeVirt>(r, as_it_is, validate::kubevirt::judge) },
    Kind { name: "MigrationPolicy", review: |r| typed::<migrations::MigrationPolicy>(r, as_it_is, validate::migration_policy::judge) },
    Kind {
        name: "VirtualMachineInstancetype",
        review: |r| typed::<instancetype::VirtualMachineInstancetype>(r, as_it_is, validate::instancetype::judge),
    },
    Kind {
        name: "VirtualMachineClusterInstancetype",
        review: |r| typed::<instancetype::VirtualMachineClusterInstancetype>(r, as_it_is, validate::instancetype::judge_cluster),
    },
    Kind {
        name: "VirtualMachinePreference",
        review: |r| typed::<instancetype::VirtualMachinePreference>(r, as_it_is, validate::preference::judge),
    },
    Kind {
        name: "VirtualMachineClusterPreference",
        review: |r| typed::<instancetype::VirtualMachineClusterPreference>(r, as_it_is, validate::preference::judge_cluster),
    },
    Kind { name: "VirtualMachineSnapshot", review: |r| typed::<snapshot::VirtualMachineSnapshot>(r, as_it_is, validate::snapshot::judge) },
    Kind { name: "VirtualMachineRestore", review: |r| typed::<snapshot::VirtualMachineRestore>(r, as_it_is, validate::restore::judge) },
    Kind { name: "VirtualMachineExport", review: |r| typed::<export::VirtualMachineExport>(r, as_it_is, validate::export::judge) },
    Kind { name: "VirtualMachineClone", review: |r| typed::<clone::VirtualMachineClone>(r, mutate::clone::admit, validate::clone::judge) },
    Kind { name: "VirtualMachineBackup", review: |r| typed::<backup::VirtualMachineBackup>(r, as_it_is, validate::backup::judge) },
    Kind {
        name: "VirtualMachineBackupTracker",
        review: |r| typed::<backup::VirtualMachineBackupTracker>(r, as_it_is, validate::backup::judge_tracker),
    },
    Kind { name: "Plugin", review: |r| typed::<plugin::Plugin>(r, as_it_is, validate::plugin::judge) },
];

/// Reviews the object by what its kind asks for.
pub(super) fn review(request: &Request) -> Verdict {
    match KINDS.iter().find(|kind| kind.name == request.kind) {
        Some(kind) => (kind.review)(request),
        None => Verdict { allowed: true, object: request.object.clone(), causes: Vec::new(), warnings: Vec::new() },
    }
}

/// The defaults of a kind that has none.
fn as_it_is<T>(_: &mut T, _: Option<&T>, _: &Request, _: &mut Findings) {}

/// The road that every kind takes: decode, `mutate` (which may already deny), `validate` what came out.
/// `validate` sees the defaulted object, and the old one when there is one.
fn typed<T: Serialize + DeserializeOwned>(
    request: &Request,
    mutate: fn(&mut T, Option<&T>, &Request, &mut Findings),
    validate: fn(&T, Option<&T>, &Request, &mut Findings),
) -> Verdict {
    let mut findings = Findings::default();
    match objects::<T>(request) {
        Ok((mut object, old)) => {
            mutate(&mut object, old.as_ref(), request, &mut findings);
            if findings.causes.is_empty() {
                validate(&object, old.as_ref(), request, &mut findings);
            }
            let value = serde_json::to_value(&object).unwrap_or_else(|_| request.object.clone());
            answer(value, findings)
        }
        Err(cause) => {
            findings.deny(cause);
            answer(request.object.clone(), findings)
        }
    }
}

fn objects<T: DeserializeOwned>(request: &Request) -> Result<(T, Option<T>), super::Cause> {
    Ok((decode::object(request.object)?, request.old.map(decode::object).transpose()?))
}

fn answer(object: Value, Findings { causes, warnings }: Findings) -> Verdict {
    Verdict { allowed: causes.is_empty(), object, causes, warnings }
}
