//! Which decisions belong to which kind: one line each.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Findings, Request, Verdict, decode, mutate, validate};
use crate::api::v1;

/// A kind and how it is reviewed.
struct Kind {
    name: &'static str,
    review: fn(&Request) -> Verdict,
}

/// Every kind that admission knows. What is not here passes as it is.
const KINDS: &[Kind] = &[
    Kind { name: "VirtualMachineInstance", review: |r| typed::<v1::VirtualMachineInstance>(r, mutate::vmi::admit, validate::vmi::judge) },
    Kind { name: "VirtualMachine", review: |r| typed::<v1::VirtualMachine>(r, mutate::vm::admit, validate::vm::judge) },
];

/// Reviews the object by what its kind asks for.
pub(super) fn review(request: &Request) -> Verdict {
    match KINDS.iter().find(|kind| kind.name == request.kind) {
        Some(kind) => (kind.review)(request),
        None => Verdict { allowed: true, object: request.object.clone(), causes: Vec::new(), warnings: Vec::new() },
    }
}

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
