//! How Kubernetes writes and reads values: what counts as empty, that `null` is the same as absent, and which numbers are whole.

use std::any::type_name;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, Unexpected, Visitor};
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

/// Reads a list; an item that is `null` is the empty one, as it is for Go.
pub(crate) fn items<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    let list = Option::<Vec<Option<T>>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(list.into_iter().map(Option::unwrap_or_default).collect())
}

/// Reads a map; a value that is `null` is the empty one, as it is for Go.
pub(crate) fn values<'de, D, T>(deserializer: D) -> Result<BTreeMap<String, T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    let map = Option::<BTreeMap<String, Option<T>>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(map.into_iter().map(|(key, value)| (key, value.unwrap_or_default())).collect())
}

/// The largest whole number that an API server takes with a fraction (of zero): beyond it not every one can be told apart.
const LARGEST: f64 = 9_007_199_254_740_991.0;

/// An integer, which may be written `2.0` or `1e3` as well: an API server takes that for a whole number.
struct Whole<T>(T);

impl<'de, T: TryFrom<i128>> Deserialize<'de> for Whole<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Numbers<T>(PhantomData<T>);

        impl<T: TryFrom<i128>> Visitor<'_> for Numbers<T> {
            type Value = Whole<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(type_name::<T>())
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
                T::try_from(value.into()).map(Whole).map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
                T::try_from(value.into()).map(Whole).map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
                if value.fract() != 0.0 || value.abs() > LARGEST {
                    return Err(E::invalid_type(Unexpected::Float(value), &self));
                }
                #[allow(clippy::cast_possible_truncation, reason = "whole and small, as was just seen")]
                let whole = value as i128;
                T::try_from(whole).map(Whole).map_err(|_| E::invalid_value(Unexpected::Float(value), &self))
            }
        }

        deserializer.deserialize_i64(Numbers(PhantomData))
    }
}

/// Reads an integer.
pub(crate) fn integer<'de, D: Deserializer<'de>, T: TryFrom<i128> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(optional_integer(deserializer)?.unwrap_or_default())
}

/// Reads an integer that may be missing.
pub(crate) fn optional_integer<'de, D: Deserializer<'de>, T: TryFrom<i128>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Ok(Option::<Whole<T>>::deserialize(deserializer)?.map(|whole| whole.0))
}

/// Reads a list of integers.
pub(crate) fn integers<'de, D: Deserializer<'de>, T: TryFrom<i128>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let list = Option::<Vec<Whole<T>>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(list.into_iter().map(|whole| whole.0).collect())
}

/// Reads a map of integers.
pub(crate) fn integer_map<'de, D: Deserializer<'de>, T: TryFrom<i128>>(deserializer: D) -> Result<BTreeMap<String, T>, D::Error> {
    let map = Option::<BTreeMap<String, Whole<T>>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(map.into_iter().map(|(key, whole)| (key, whole.0)).collect())
}

/// Writes a number as Kubernetes does: a whole one without a fraction.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(crate) fn float<S: Serializer, F: Copy + Into<f64> + serde::Serialize>(value: &F, serializer: S) -> Result<S::Ok, S::Error> {
    let wide: f64 = (*value).into();
    // Beyond 2⁵³ a whole number is not exact anyway.
    if wide.fract() == 0.0 && wide.abs() <= LARGEST {
        #[allow(clippy::cast_possible_truncation, reason = "whole and small, as was just seen")]
        serializer.serialize_i64(wide as i64)
    } else {
        value.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'de, T>(
        read: impl Fn(&mut serde_json::Deserializer<serde_json::de::StrRead<'de>>) -> serde_json::Result<T>,
        text: &'de str,
    ) -> Result<T, String> {
        read(&mut serde_json::Deserializer::from_str(text)).map_err(|error| error.to_string())
    }

    #[test]
    fn an_item_that_is_null_is_the_empty_one() {
        for (text, value) in [("null", vec![]), ("[]", vec![]), (r#"[null, "a"]"#, vec![String::new(), "a".to_owned()])] {
            assert_eq!(read(|d| items::<_, String>(d), text), Ok(value), "{text}");
        }
    }

    #[test]
    fn a_value_that_is_null_is_the_empty_one() {
        let map =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>();
        for (text, value) in [("null", map(&[])), ("{}", map(&[])), (r#"{"a": null, "b": "c"}"#, map(&[("a", ""), ("b", "c")]))] {
            assert_eq!(read(|d| values::<_, String>(d), text), Ok(value), "{text}");
        }
    }

    #[test]
    fn an_integer_may_have_a_fraction_of_zero() {
        for (text, value) in [("2", 2), ("2.0", 2), ("1e3", 1000), ("-0.0", 0), ("0", 0), ("null", 0), ("4294967295.0", u32::MAX)] {
            assert_eq!(read(|d| integer::<_, u32>(d), text), Ok(value), "{text}");
        }
        for (text, fault) in [
            ("1.5", "invalid type: floating point `1.5`, expected u32"),
            ("-1", "invalid value: integer `-1`, expected u32"),
            ("-1.0", "invalid value: floating point `-1.0`, expected u32"),
            ("4294967296", "invalid value: integer `4294967296`, expected u32"),
            ("4294967296.0", "invalid value: floating point `4294967296.0`, expected u32"),
            ("9007199254740992.0", "invalid type: floating point `9007199254740992.0`, expected u32"),
            ("\"2\"", "invalid type: string \"2\", expected u32"),
            ("true", "invalid type: boolean `true`, expected u32"),
        ] {
            let error = read(|d| integer::<_, u32>(d), text).unwrap_err();
            assert!(error.starts_with(fault), "{text}: {error}");
        }
        assert_eq!(read(|d| integer::<_, i64>(d), "-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(read(|d| integer::<_, u64>(d), "18446744073709551615"), Ok(u64::MAX));
        assert_eq!(read(|d| optional_integer::<_, i64>(d), "null"), Ok(None));
        assert_eq!(read(|d| optional_integer::<_, i64>(d), "-2.0"), Ok(Some(-2)));
        assert_eq!(read(|d| integers::<_, i64>(d), "[1, 2.0]"), Ok(vec![1, 2]));
        assert_eq!(read(|d| integer_map::<_, i64>(d), r#"{"a": 3.0}"#), Ok(BTreeMap::from([("a".to_owned(), 3)])));
        assert!(read(|d| integers::<_, i64>(d), "[1.5]").is_err());
    }

    #[test]
    fn whole_numbers_have_no_fraction() {
        for (value, text) in [(-3.0_f32, "-3"), (0.0, "0"), (1.1, "1.1"), (-0.5, "-0.5")] {
            let mut out = Vec::new();
            float(&value, &mut serde_json::Serializer::new(&mut out)).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }
}
