//! How Kubernetes writes and reads values: what counts as empty, and that `null` is the same as absent.

use serde::{Deserialize, Deserializer};

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
