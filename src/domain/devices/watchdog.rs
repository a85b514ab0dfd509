//! The watchdog.

use super::super::Architecture;
use super::super::error::{ConvertError, Fault, Result};
use super::super::guest::Guest;
use super::super::model::Watchdog;

pub(super) fn convert(guest: &Guest<'_>) -> Result<Option<Watchdog>> {
    let Some(source) = &guest.devices().watchdog else { return Ok(None) };
    let fail = |part: &str, fault| Err(ConvertError::new(format!("spec.domain.devices.watchdog{part}"), fault));
    let (model, action) = match guest.architecture() {
        Architecture::Amd64 => ("i6300esb", source.i6300esb.as_ref().map(|device| &device.action)),
        Architecture::S390x => ("diag288", source.diag288.as_ref().map(|device| &device.action)),
        architecture @ Architecture::Arm64 => {
            return fail("", Fault::Unsupported { what: "a watchdog", architecture, right: "take it out" });
        }
    };
    match action {
        Some(action) => Ok(Some(Watchdog { model, action: action.clone(), alias: source.name.clone(), address: None })),
        None => {
            let right = if model == "diag288" { "set diag288, the watchdog of s390x" } else { "set i6300esb, the watchdog of amd64" };
            fail(if model == "diag288" { ".diag288" } else { ".i6300esb" }, Fault::Missing { right })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::testing::{error, with};
    use super::super::super::{Facts, convert};

    #[test]
    fn every_architecture_has_its_own_watchdog_or_none() {
        let object = |architecture: &str, kind: &str| json!({ "spec": { "architecture": architecture, "domain": { "devices": { "watchdog": { "name": "w", kind: { "action": "reset" } } } } } });
        for (architecture, kind, expected) in [
            ("amd64", "i6300esb", Ok("i6300esb")),
            ("s390x", "diag288", Ok("diag288")),
            ("amd64", "diag288", Err(".i6300esb")),
            ("s390x", "i6300esb", Err(".diag288")),
            ("arm64", "i6300esb", Err("")),
        ] {
            match expected {
                Ok(model) => {
                    let domain = convert(&with(object(architecture, kind)), &Facts::default()).unwrap();
                    assert_eq!(domain.devices.watchdog.unwrap().model, model);
                }
                Err(field) => assert_eq!(error(object(architecture, kind)).field, format!("spec.domain.devices.watchdog{field}")),
            }
        }
    }
}
