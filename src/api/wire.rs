//! How Kubernetes writes and reads values: what counts as empty, that `null` is the same as absent, and which numbers are whole.

use std::any::type_name;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serializer};

/// Whether a value is the empty one of its type, which Kubernetes leaves out.
pub(crate) fn is_empty<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A structure: what its fields are called, and how one is read.
pub(crate) trait Structure: Default {
    const NAME: &'static str;
    const FIELDS: &'static [&'static str];

    /// Reads the value of the field at a place in `FIELDS`.
    fn read<'de, A: MapAccess<'de>>(&mut self, field: usize, map: &mut A) -> Result<(), A::Error>;
}

/// Reads a structure field by field into the empty one. Unknown fields are passed over. Unlike what serde derives there
/// is no second way, from a list, and no second copy of each field: with hundreds of structures that is megabytes of code,
/// and each kind of input another copy: objects are read from text, as kube does, or from a `&Value`.
pub(crate) fn structure<'de, D: Deserializer<'de>, T: Structure>(deserializer: D) -> Result<T, D::Error> {
    struct Fields<T>(PhantomData<T>);

    impl<'de, T: Structure> Visitor<'de> for Fields<T> {
        type Value = T;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(formatter, "struct {}", T::NAME)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
            let mut structure = T::default();
            while let Some(field) = map.next_key_seed(Place(T::FIELDS))? {
                match field {
                    Some(field) => structure.read(field, &mut map)?,
                    None => {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
            }
            Ok(structure)
        }
    }

    deserializer.deserialize_struct(T::NAME, T::FIELDS, Fields(PhantomData))
}

/// Reads a name as its place among others.
struct Place(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Place {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<usize>, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Place {
    type Value = Option<usize>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Option<usize>, E> {
        Ok(self.0.iter().position(|field| *field == name))
    }
}

/// A value; `null` gives the empty one.
pub(crate) fn nullable<T: Default>(value: Option<T>) -> T {
    value.unwrap_or_default()
}

/// A list; an item that is `null` is the empty one, as it is for Go.
pub(crate) fn items<T: Default>(list: Option<Vec<Option<T>>>) -> Vec<T> {
    list.unwrap_or_default().into_iter().map(Option::unwrap_or_default).collect()
}

/// A map; a value that is `null` is the empty one, as it is for Go.
pub(crate) fn values<T: Default>(map: Option<BTreeMap<String, Option<T>>>) -> BTreeMap<String, T> {
    map.unwrap_or_default().into_iter().map(|(key, value)| (key, value.unwrap_or_default())).collect()
}

/// The largest whole number that an API server takes with a fraction (of zero): beyond it not every one can be told apart.
const LARGEST: f64 = 9_007_199_254_740_991.0;

/// An integer, which may be written `2.0` or `1e3` as well: an API server takes that for a whole number.
pub(crate) struct Whole<T>(T);

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

/// An integer.
pub(crate) fn integer<T: Default>(whole: Option<Whole<T>>) -> T {
    optional_integer(whole).unwrap_or_default()
}

/// An integer that may be missing.
pub(crate) fn optional_integer<T>(whole: Option<Whole<T>>) -> Option<T> {
    whole.map(|whole| whole.0)
}

/// A list of integers.
pub(crate) fn integers<T: Default>(list: Option<Vec<Option<Whole<T>>>>) -> Vec<T> {
    list.unwrap_or_default().into_iter().map(integer).collect()
}

/// A map of integers.
pub(crate) fn integer_map<T: Default>(map: Option<BTreeMap<String, Option<Whole<T>>>>) -> BTreeMap<String, T> {
    map.unwrap_or_default().into_iter().map(|(key, whole)| (key, integer(whole))).collect()
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

    fn read<A: for<'de> Deserialize<'de>, T>(read: impl Fn(A) -> T, text: &str) -> Result<T, String> {
        serde_json::from_str(text).map(read).map_err(|error| error.to_string())
    }

    #[derive(Debug, Default, PartialEq)]
    struct Pair {
        left: Vec<i64>,
        right: String,
    }

    impl Structure for Pair {
        const NAME: &'static str = "Pair";
        const FIELDS: &'static [&'static str] = &["left", "right"];

        fn read<'de, A: MapAccess<'de>>(&mut self, field: usize, map: &mut A) -> Result<(), A::Error> {
            match field {
                0 => self.left = integers(map.next_value()?),
                _ => self.right = nullable(map.next_value()?),
            }
            Ok(())
        }
    }

    #[test]
    fn a_structure_is_read_from_an_object() {
        let pair = |left: &[i64], right: &str| Pair { left: left.to_vec(), right: right.to_owned() };
        let of = |text: &str| structure::<_, Pair>(&mut serde_json::Deserializer::from_str(text)).map_err(|error| error.to_string());
        for (text, value) in [
            ("{}", pair(&[], "")),
            (r#"{"right": null, "left": [1, null, 2.0]}"#, pair(&[1, 0, 2], "")),
            (r#"{"middle": {"left": [7]}, "right": "a", "r\u0069ght": "b"}"#, pair(&[], "b")),
        ] {
            assert_eq!(of(text), Ok(value), "{text}");
        }
        for (text, fault) in [
            ("[]", "invalid type: sequence, expected struct Pair"),
            ("null", "invalid type: null, expected struct Pair"),
            ("\"a\"", "invalid type: string \"a\", expected struct Pair"),
            (r#"{"left": {}}"#, "invalid type: map, expected a sequence"),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.starts_with(fault), "{text}: {error}");
        }
    }

    #[test]
    fn an_item_that_is_null_is_the_empty_one() {
        for (text, value) in [("null", vec![]), ("[]", vec![]), (r#"[null, "a"]"#, vec![String::new(), "a".to_owned()])] {
            assert_eq!(read(items::<String>, text), Ok(value), "{text}");
        }
    }

    #[test]
    fn a_value_that_is_null_is_the_empty_one() {
        let map =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>();
        for (text, value) in [("null", map(&[])), ("{}", map(&[])), (r#"{"a": null, "b": "c"}"#, map(&[("a", ""), ("b", "c")]))] {
            assert_eq!(read(values::<String>, text), Ok(value), "{text}");
        }
    }

    #[test]
    fn an_integer_may_have_a_fraction_of_zero() {
        for (text, value) in [("2", 2), ("2.0", 2), ("1e3", 1000), ("-0.0", 0), ("0", 0), ("null", 0), ("4294967295.0", u32::MAX)] {
            assert_eq!(read(integer::<u32>, text), Ok(value), "{text}");
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
            let error = read(integer::<u32>, text).unwrap_err();
            assert!(error.starts_with(fault), "{text}: {error}");
        }
        assert_eq!(read(integer::<i64>, "-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(read(integer::<u64>, "18446744073709551615"), Ok(u64::MAX));
        assert_eq!(read(optional_integer::<i64>, "null"), Ok(None));
        assert_eq!(read(optional_integer::<i64>, "-2.0"), Ok(Some(-2)));
        assert_eq!(read(integers::<i64>, "[1, 2.0]"), Ok(vec![1, 2]));
        assert_eq!(read(integer_map::<i64>, r#"{"a": 3.0}"#), Ok(BTreeMap::from([("a".to_owned(), 3)])));
        assert!(read(integers::<i64>, "[1.5]").is_err());
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
