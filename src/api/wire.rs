use std::any::type_name;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimSpec, ResourceRequirements, TypedLocalObjectReference, TypedObjectReference,
    VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Bytes, Duration, Quantity};

/// Whether a value is the empty one of its type, which Kubernetes leaves out.
pub(crate) trait Empty {
    fn is_empty(&self) -> bool;
}

impl<T> Empty for Option<T> {
    fn is_empty(&self) -> bool {
        self.is_none()
    }
}

macro_rules! empty_without_items {
    ($([$($of:ident)*] $ty:ty)*) => {
        $(impl<$($of),*> Empty for $ty {
            fn is_empty(&self) -> bool {
                <$ty>::is_empty(self)
            }
        })*
    };
}

macro_rules! empty_by_default {
    ($($ty:ty)*) => {
        $(impl Empty for $ty {
            fn is_empty(&self) -> bool {
                *self == <$ty>::default()
            }
        })*
    };
}

empty_without_items!([] String [T] Vec<T> [K V] BTreeMap<K, V>);
empty_by_default!(bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 Bytes Duration Quantity);
empty_by_default!(ObjectMeta LabelSelector PersistentVolumeClaim PersistentVolumeClaimSpec ResourceRequirements);
empty_by_default!(TypedLocalObjectReference TypedObjectReference VolumeResourceRequirements);

/// A structure: what its fields are called, and how one is read.
pub(crate) trait Structure {
    const NAME: &'static str;
    const FIELDS: &'static [&'static str];

    /// Reads the value of the field at a place in `FIELDS`.
    fn read<'de, A: MapAccess<'de>>(&mut self, field: usize, map: &mut A) -> Result<(), A::Error>;
}

/// Reads a structure field by field into an empty one, where it stands: what is large is not moved from hand to hand.
/// Unknown fields are passed over. Unlike what serde derives there is no second way, from a list, and no second copy of
/// each field: with hundreds of structures that is megabytes of code, and each kind of input another copy: objects are
/// read from text, as kube does, or from a `&Value`.
pub(crate) fn structure<'de, D: Deserializer<'de>, T: Structure>(deserializer: D, place: &mut T) -> Result<(), D::Error> {
    struct Fields<'a, T>(&'a mut T);

    impl<'de, T: Structure> Visitor<'de> for Fields<'_, T> {
        type Value = ();

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(formatter, "struct {}", T::NAME)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(field) = map.next_key_seed(Place(T::FIELDS))? {
                match field {
                    Some(field) => self.0.read(field, &mut map)?,
                    None => {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
            }
            Ok(())
        }
    }

    deserializer.deserialize_struct(T::NAME, T::FIELDS, Fields(place))
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

/// A field, a list's item or a map's value, and the way in which it is read into its place. `null` gives the empty one, as
/// it does for Go.
pub(crate) struct Field<'a, T, W>(&'a mut T, PhantomData<W>);

impl<'a, T, W> Field<'a, T, W> {
    pub(crate) fn new(place: &'a mut T) -> Self {
        Self(place, PhantomData)
    }
}

impl<'de, T: Default, W: Way<'de, T>> DeserializeSeed<'de> for Field<'_, T, W> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, T: Default, W: Way<'de, T>> Visitor<'de> for Field<'_, T, W> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value or null")
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        *self.0 = T::default();
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        W::read(deserializer, self.0)
    }
}

/// A way to read what is not `null`.
pub(crate) trait Way<'de, T> {
    fn read<D: Deserializer<'de>>(deserializer: D, place: &mut T) -> Result<(), D::Error>;
}

/// As the type itself says.
pub(crate) struct Plain;

impl<'de, T: Deserialize<'de>> Way<'de, T> for Plain {
    fn read<D: Deserializer<'de>>(deserializer: D, place: &mut T) -> Result<(), D::Error> {
        T::deserialize_in_place(deserializer, place)
    }
}

/// A text. (A `String` that is read in place grows step by step, and keeps more than it needs.)
pub(crate) struct Text;

impl<'de> Way<'de, String> for Text {
    fn read<D: Deserializer<'de>>(deserializer: D, place: &mut String) -> Result<(), D::Error> {
        *place = String::deserialize(deserializer)?;
        Ok(())
    }
}

/// What may be missing.
pub(crate) struct Maybe<W>(PhantomData<W>);

impl<'de, T: Default, W: Way<'de, T>> Way<'de, Option<T>> for Maybe<W> {
    fn read<D: Deserializer<'de>>(deserializer: D, place: &mut Option<T>) -> Result<(), D::Error> {
        W::read(deserializer, place.insert(T::default()))
    }
}

/// A list.
pub(crate) struct List<W>(PhantomData<W>);

impl<'de, T: Default, W: Way<'de, T>> Way<'de, Vec<T>> for List<W> {
    fn read<D: Deserializer<'de>>(deserializer: D, place: &mut Vec<T>) -> Result<(), D::Error> {
        place.clear();
        deserializer.deserialize_seq(Filled::<_, W>(place, PhantomData))
    }
}

/// A map by strings.
pub(crate) struct Map<W>(PhantomData<W>);

impl<'de, T: Default, W: Way<'de, T>> Way<'de, BTreeMap<String, T>> for Map<W> {
    fn read<D: Deserializer<'de>>(deserializer: D, place: &mut BTreeMap<String, T>) -> Result<(), D::Error> {
        place.clear();
        deserializer.deserialize_map(Filled::<_, W>(place, PhantomData))
    }
}

/// A list or a map, filled with what is read.
struct Filled<'a, C, W>(&'a mut C, PhantomData<W>);

impl<'de, T: Default, W: Way<'de, T>> Visitor<'de> for Filled<'_, Vec<T>, W> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut item = T::default();
        while list.next_element_seed(Field::<_, W>::new(&mut item))?.is_some() {
            self.0.push(std::mem::take(&mut item));
        }
        Ok(())
    }
}

impl<'de, T: Default, W: Way<'de, T>> Visitor<'de> for Filled<'_, BTreeMap<String, T>, W> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key()? {
            let mut value = T::default();
            map.next_value_seed(Field::<_, W>::new(&mut value))?;
            self.0.insert(key, value);
        }
        Ok(())
    }
}

/// The largest whole number that an API server takes with a fraction (of zero): beyond it not every one can be told apart.
const LARGEST: f64 = 9_007_199_254_740_991.0;

/// An integer, which may be written `2.0` or `1e3` as well: an API server takes that for a whole number.
pub(crate) struct Whole;

impl<'de, T: TryFrom<i128>> Way<'de, T> for Whole {
    fn read<D: Deserializer<'de>>(deserializer: D, place: &mut T) -> Result<(), D::Error> {
        *place = deserializer.deserialize_i64(Numbers(PhantomData))?;
        Ok(())
    }
}

struct Numbers<T>(PhantomData<T>);

impl<T: TryFrom<i128>> Visitor<'_> for Numbers<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(type_name::<T>())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        T::try_from(value.into()).map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<T, E> {
        T::try_from(value.into()).map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<T, E> {
        if value.fract() != 0.0 || value.abs() > LARGEST {
            return Err(E::invalid_type(Unexpected::Float(value), &self));
        }
        #[allow(clippy::cast_possible_truncation, reason = "whole and small, as was just seen")]
        let whole = value as i128;
        T::try_from(whole).map_err(|_| E::invalid_value(Unexpected::Float(value), &self))
    }
}

/// A number that is written as Kubernetes does: a whole one without a fraction.
pub(crate) struct Float<F>(pub(crate) F);

impl<F: Copy + Into<f64> + Serialize> Serialize for Float<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let wide: f64 = self.0.into();
        // Beyond 2⁵³ a whole number is not exact anyway.
        if wide.fract() == 0.0 && wide.abs() <= LARGEST {
            #[allow(clippy::cast_possible_truncation, reason = "whole and small, as was just seen")]
            serializer.serialize_i64(wide as i64)
        } else {
            self.0.serialize(serializer)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a field becomes that had another value before.
    fn read<T: Default, W: for<'de> Way<'de, T>>(mut before: T, text: &str) -> Result<T, String> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let read = Field::<_, W>::new(&mut before).deserialize(&mut deserializer);
        read.map(|()| before).map_err(|error| error.to_string())
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
                0 => map.next_value_seed(Field::<_, List<Whole>>::new(&mut self.left)),
                _ => map.next_value_seed(Field::<_, Plain>::new(&mut self.right)),
            }
        }
    }

    #[test]
    fn a_structure_is_read_from_an_object() {
        let pair = |left: &[i64], right: &str| Pair { left: left.to_vec(), right: right.to_owned() };
        let of = |text: &str| {
            let mut pair = Pair::default();
            let read = structure(&mut serde_json::Deserializer::from_str(text), &mut pair);
            read.map(|()| pair).map_err(|error| error.to_string())
        };
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
            assert_eq!(read::<Vec<String>, List<Plain>>(vec!["z".to_owned()], text), Ok(value), "{text}");
        }
    }

    #[test]
    fn a_value_that_is_null_is_the_empty_one() {
        let map =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>();
        for (text, value) in [("null", map(&[])), ("{}", map(&[])), (r#"{"a": null, "b": "c"}"#, map(&[("a", ""), ("b", "c")]))] {
            assert_eq!(read::<BTreeMap<String, String>, Map<Plain>>(map(&[("z", "z")]), text), Ok(value), "{text}");
        }
    }

    #[test]
    fn an_integer_may_have_a_fraction_of_zero() {
        for (text, value) in [("2", 2), ("2.0", 2), ("1e3", 1000), ("-0.0", 0), ("0", 0), ("null", 0), ("4294967295.0", u32::MAX)] {
            assert_eq!(read::<u32, Whole>(7, text), Ok(value), "{text}");
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
            let error = read::<u32, Whole>(7, text).unwrap_err();
            assert!(error.starts_with(fault), "{text}: {error}");
        }
        assert_eq!(read::<i64, Whole>(7, "-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(read::<u64, Whole>(7, "18446744073709551615"), Ok(u64::MAX));
        assert_eq!(read::<Option<i64>, Maybe<Whole>>(Some(7), "null"), Ok(None));
        assert_eq!(read::<Option<i64>, Maybe<Whole>>(Some(7), "-2.0"), Ok(Some(-2)));
        assert_eq!(read::<Vec<i64>, List<Whole>>(vec![7], "[1, null, 2.0]"), Ok(vec![1, 0, 2]));
        assert_eq!(read::<BTreeMap<String, i64>, Map<Whole>>(BTreeMap::new(), r#"{"a": 3.0}"#), Ok(BTreeMap::from([("a".to_owned(), 3)])));
        assert!(read::<Vec<i64>, List<Whole>>(vec![], "[1.5]").is_err());
    }

    #[test]
    fn whole_numbers_have_no_fraction() {
        for (value, text) in [(-3.0_f32, "-3"), (0.0, "0"), (1.1, "1.1"), (-0.5, "-0.5")] {
            let mut out = Vec::new();
            Float(value).serialize(&mut serde_json::Serializer::new(&mut out)).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }
}
