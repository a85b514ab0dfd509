//! Tablets and keyboards.

use kubevirt_api::v1::{self, InputBus, InputType};

use super::super::Architecture;
use super::super::error::{ConvertError, Fault, Result};
use super::super::guest::Guest;
use super::super::model::Input;

pub(super) fn convert(guest: &Guest<'_>) -> Result<Vec<Input>> {
    let given = &guest.devices().inputs;
    let mut inputs = given.iter().enumerate().map(|(index, source)| input(index, source)).collect::<Result<Vec<_>>>()?;
    if guest.has_graphics() {
        // machines without a PS/2 controller need their keyboard named, and one without a mouse a tablet too
        let builtin = |kind, bus| Input { kind, bus, model: None, alias: None, address: None };
        match guest.architecture() {
            Architecture::Amd64 => {}
            Architecture::Arm64 => {
                if inputs.iter().all(|input| input.kind != InputType::Tablet) {
                    inputs.push(builtin(InputType::Tablet, InputBus::Usb));
                }
                inputs.push(builtin(InputType::Keyboard, InputBus::Usb));
            }
            Architecture::S390x => inputs.push(builtin(InputType::Keyboard, InputBus::Virtio)),
        }
    }
    Ok(inputs)
}

fn input(index: usize, source: &v1::Input) -> Result<Input> {
    let fail = |part: &str, fault| Err(ConvertError::new(format!("spec.domain.devices.inputs[{index}].{part}"), fault));
    let bus = match &source.bus {
        unset if unset.is_unset() => InputBus::Usb,
        InputBus::Other(other) => return fail("bus", Fault::value(other, "use usb or virtio")),
        known => known.clone(),
    };
    if source.type_ != InputType::Tablet {
        return fail("type", Fault::value(&source.type_, "only a tablet can be added"));
    }
    let model = (bus == InputBus::Virtio).then_some("virtio");
    Ok(Input { kind: InputType::Tablet, bus, model, alias: Some(source.name.clone()), address: None })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::testing::{error, with};
    use super::super::super::{Facts, convert};

    #[test]
    fn machines_without_a_mouse_get_a_tablet_and_those_without_a_keyboard_one() {
        let tablet = json!([{ "name": "t", "type": "tablet" }]);
        for (architecture, given, graphics, expected) in [
            ("amd64", json!([]), true, ""),
            ("amd64", tablet.clone(), true, "tablet/usb"),
            ("arm64", json!([]), true, "tablet/usb keyboard/usb"),
            ("arm64", tablet.clone(), true, "tablet/usb keyboard/usb"),
            ("arm64", json!([]), false, ""),
            ("s390x", json!([]), true, "keyboard/virtio"),
        ] {
            let devices = json!({ "inputs": given, "autoattachGraphicsDevice": graphics });
            let vmi = with(json!({ "spec": { "architecture": architecture, "domain": { "devices": devices } } }));
            let inputs = convert(&vmi, &Facts::default()).unwrap().devices.inputs;
            let inputs: Vec<_> = inputs.iter().map(|input| format!("{}/{}", input.kind, input.bus)).collect();
            assert_eq!(inputs.join(" "), expected, "{architecture} {given} {graphics}");
        }
    }

    #[test]
    fn a_fault_is_named_by_its_field() {
        for (input, part) in
            [(json!({ "name": "t", "type": "mouse" }), "type"), (json!({ "name": "t", "type": "tablet", "bus": "ps2" }), "bus")]
        {
            let error = error(json!({ "spec": { "domain": { "devices": { "inputs": [input] } } } }));
            assert_eq!(error.field, format!("spec.domain.devices.inputs[0].{part}"));
        }
    }
}
