//! The sound card.

use super::super::error::{ConvertError, Fault, Result};
use super::super::guest::Guest;
use super::super::model::Sound;

const MODELS: [&str; 2] = ["ich9", "ac97"];

pub(super) fn convert(guest: &Guest<'_>) -> Result<Option<Sound>> {
    let Some(source) = &guest.devices().sound else { return Ok(None) };
    let model = if source.model.is_empty() { MODELS[0] } else { source.model.as_str() };
    if !MODELS.contains(&model) {
        return Err(ConvertError::new("spec.domain.devices.sound.model", Fault::value(model, "use ich9 or ac97")));
    }
    Ok(Some(Sound { model: model.to_owned(), alias: source.name.clone() }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::testing::{domain, error};

    #[test]
    fn there_are_two_models() {
        for (model, expected) in [("", "ich9"), ("ich9", "ich9"), ("ac97", "ac97")] {
            let domain = domain(json!({ "devices": { "sound": { "name": "s", "model": model } } }));
            assert_eq!(domain.devices.sound.unwrap().model, expected);
        }
        let error = error(json!({ "spec": { "domain": { "devices": { "sound": { "name": "s", "model": "sb16" } } } } }));
        assert_eq!(error.field, "spec.domain.devices.sound.model");
    }
}
