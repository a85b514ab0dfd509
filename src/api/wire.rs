//! How Kubernetes writes and reads values: what counts as empty, and that `null` is the same as absent.

use serde::{Deserialize, Deserializer, Serializer};

/// Whether a value is the empty one of its type, which Kubernetes leaves out.
pub(crate) fn is_empty<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reads a value; `null` gives the empty one.
pub(crate) fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Writes a number as Kubernetes does: a whole one without a fraction.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(crate) fn float<S: Serializer, F: Copy + Into<f64> + serde::Serialize>(value: &F, serializer: S) -> Result<S::Ok, S::Error> {
    let wide: f64 = (*value).into();
    // Beyond 2⁵³ a whole number is not exact anyway.
    if wide.fract() == 0.0 && wide.abs() < 9_007_199_254_740_992.0 {
        #[allow(clippy::cast_possible_truncation, reason = "whole and small, as was just seen")]
        serializer.serialize_i64(wide as i64)
    } else {
        value.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_no_fraction() {
        for (value, text) in [(-3.0_f32, "-3"), (0.0, "0"), (1.1, "1.1"), (-0.5, "-0.5")] {
            let mut out = Vec::new();
            float(&value, &mut serde_json::Serializer::new(&mut out)).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }
}
