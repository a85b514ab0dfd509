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
