//! Which decisions belong to which kind: one line each.

use std::collections::BTreeSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Cause, Findings, Request, Verdict, decode, mutate, structure, validate};
use crate::api::{backup, clone, export, instancetype, migrations, plugin, pool, snapshot, v1};

/// A kind and how it is reviewed.
struct Kind {
    name: &'static str,
    review: fn(&Request, Depth) -> Verdict,
}

/// How far a review goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// Defaults only.
    Defaults,
    /// Defaults, and then the judgement of what came out.
    Judgement,
}

/// Every kind that admission knows. What is not here passes as it is.
const KINDS: &[Kind] = &[
    Kind {
        name: "VirtualMachineInstance",
        review: |r, d| defaulted::<v1::VirtualMachineInstance>(r, d, Part::All, mutate::vmi::admit, validate::vmi::judge),
    },
    Kind {
        name: "VirtualMachine",
        review: |r, d| defaulted::<v1::VirtualMachine>(r, d, Part::All, mutate::vm::admit, validate::vm::judge),
    },
    Kind {
        name: "VirtualMachineInstanceMigration",
        review: |r, d| {
            defaulted::<v1::VirtualMachineInstanceMigration>(
                r,
                d,
                Part::One("metadata"),
                mutate::migration::admit,
                validate::migration::judge,
            )
        },
    },
    Kind {
        name: "VirtualMachineInstanceReplicaSet",
        review: |r, d| judged::<v1::VirtualMachineInstanceReplicaSet>(r, d, validate::replicaset::judge),
    },
    Kind { name: "VirtualMachineInstancePreset", review: |r, d| judged::<v1::VirtualMachineInstancePreset>(r, d, validate::preset::judge) },
    Kind { name: "VirtualMachinePool", review: |r, d| judged::<pool::VirtualMachinePool>(r, d, validate::pool::judge) },
    Kind { name: "KubeVirt", review: |r, d| judged::<v1::KubeVirt>(r, d, validate::kubevirt::judge) },
    Kind { name: "MigrationPolicy", review: |r, d| judged::<migrations::MigrationPolicy>(r, d, validate::migration_policy::judge) },
    Kind {
        name: "VirtualMachineInstancetype",
        review: |r, d| judged::<instancetype::VirtualMachineInstancetype>(r, d, validate::instancetype::judge),
    },
    Kind {
        name: "VirtualMachineClusterInstancetype",
        review: |r, d| judged::<instancetype::VirtualMachineClusterInstancetype>(r, d, validate::instancetype::judge_cluster),
    },
    Kind {
        name: "VirtualMachinePreference",
        review: |r, d| judged::<instancetype::VirtualMachinePreference>(r, d, validate::preference::judge),
    },
    Kind {
        name: "VirtualMachineClusterPreference",
        review: |r, d| judged::<instancetype::VirtualMachineClusterPreference>(r, d, validate::preference::judge_cluster),
    },
    Kind { name: "VirtualMachineSnapshot", review: |r, d| judged::<snapshot::VirtualMachineSnapshot>(r, d, validate::snapshot::judge) },
    Kind { name: "VirtualMachineRestore", review: |r, d| judged::<snapshot::VirtualMachineRestore>(r, d, validate::restore::judge) },
    Kind { name: "VirtualMachineExport", review: |r, d| judged::<export::VirtualMachineExport>(r, d, validate::export::judge) },
    Kind {
        name: "VirtualMachineClone",
        review: |r, d| defaulted::<clone::VirtualMachineClone>(r, d, Part::One("spec"), mutate::clone::admit, validate::clone::judge),
    },
    Kind { name: "VirtualMachineBackup", review: |r, d| judged::<backup::VirtualMachineBackup>(r, d, validate::backup::judge) },
    Kind {
        name: "VirtualMachineBackupTracker",
        review: |r, d| judged::<backup::VirtualMachineBackupTracker>(r, d, validate::backup::judge_tracker),
    },
    Kind { name: "Plugin", review: |r, d| judged::<plugin::Plugin>(r, d, validate::plugin::judge) },
];

/// Reviews the object by what its kind asks for.
pub(super) fn review(request: &Request) -> Verdict {
    of_kind(request, Depth::Judgement)
}

/// Fills in what the object leaves open.
pub(super) fn defaults(request: &Request) -> Verdict {
    of_kind(request, Depth::Defaults)
}

fn of_kind(request: &Request, depth: Depth) -> Verdict {
    match KINDS.iter().find(|kind| kind.name == request.kind) {
        Some(kind) => (kind.review)(request, depth),
        None => Verdict { allowed: true, object: request.object.clone(), causes: Vec::new(), warnings: Vec::new() },
    }
}

/// Reviews the status of the object by what its kind asks for.
pub(super) fn review_status(request: &Request) -> Verdict {
    let mut findings = Findings::default();
    if request.kind == "VirtualMachine" {
        match objects::<v1::VirtualMachine>(request) {
            Ok((vm, old)) => validate::vm::judge_status(&vm, old.as_ref(), request, &mut findings),
            Err(cause) => findings.deny(cause),
        }
    }
    answer(request.object.clone(), findings)
}

/// What the defaults of a kind may change.
#[derive(Clone, Copy)]
enum Part {
    All,
    One(&'static str),
}

/// The road that most kinds take: judge the form, decode, judge. The object stays as it was given.
fn judged<T: DeserializeOwned>(request: &Request, depth: Depth, judge: fn(&T, Option<&T>, &Request, &mut Findings)) -> Verdict {
    let mut findings = Findings::default();
    if depth == Depth::Defaults {
        return answer(request.object.clone(), findings);
    }
    if let Some((object, old)) = read::<T>(request, &mut findings) {
        let mut own = Findings::default();
        judge(&object, old.as_ref(), request, &mut own);
        add(own, &mut findings);
    }
    answer(request.object.clone(), findings)
}

/// The road of kinds with defaults: judge the form, decode, `mutate` (which may already deny), judge what came out.
/// `judge` sees the defaulted object, and the old one when there is one.
fn defaulted<T: Serialize + DeserializeOwned>(
    request: &Request,
    depth: Depth,
    part: Part,
    mutate: fn(&mut T, Option<&T>, &Request, &mut Findings),
    judge: fn(&T, Option<&T>, &Request, &mut Findings),
) -> Verdict {
    let mut findings = Findings::default();
    let read = match depth {
        Depth::Judgement => read::<T>(request, &mut findings),
        // what does not keep it from being read is for the judgement
        Depth::Defaults => objects::<T>(request).ok().or_else(|| read::<T>(request, &mut findings)),
    };
    let Some((mut object, old)) = read else { return answer(request.object.clone(), findings) };
    let before = match part {
        Part::All => None,
        Part::One(name) => serde_json::to_value(&object).ok().and_then(|value| value.get(name).cloned()),
    };
    let mut own = Findings::default();
    mutate(&mut object, old.as_ref(), request, &mut own);
    if own.causes.is_empty() && depth == Depth::Judgement {
        judge(&object, old.as_ref(), request, &mut own);
    }
    add(own, &mut findings);
    let mut value = serde_json::to_value(&object).unwrap_or_else(|_| request.object.clone());
    if let Part::One(name) = part {
        let after = value.get_mut(name).map(Value::take).filter(|after| Some(after) != before.as_ref());
        value = request.object.clone();
        if let (Some(after), Some(fields)) = (after, value.as_object_mut()) {
            fields.insert(name.to_owned(), after);
        }
    }
    answer(value, findings)
}

/// The object and the one that it replaces, if they can be read. What the schema refuses may be read nevertheless, so
/// that its author hears of everything at once.
fn read<T: DeserializeOwned>(request: &Request, findings: &mut Findings) -> Option<(T, Option<T>)> {
    structure::judge(request, findings);
    match objects::<T>(request) {
        Ok(objects) => Some(objects),
        Err(cause) => {
            // The schema tells better what does not fit its type.
            if findings.causes.is_empty() {
                findings.deny(cause);
            }
            None
        }
    }
}

fn objects<T: DeserializeOwned>(request: &Request) -> Result<(T, Option<T>), Cause> {
    Ok((decode::object(request.object)?, request.old.map(decode::object).transpose()?))
}

/// Adds what the rules of a kind found to what its schema found. A field of which that told already is not brought up
/// again.
fn add(own: Findings, findings: &mut Findings) {
    let told: BTreeSet<String> = findings.causes.iter().map(|cause| cause.field.clone()).collect();
    findings.causes.extend(own.causes.into_iter().filter(|cause| !told.contains(&cause.field)));
    findings.warnings.extend(own.warnings);
}

fn answer(object: Value, Findings { causes, warnings }: Findings) -> Verdict {
    Verdict { allowed: causes.is_empty(), object, causes, warnings }
}
