//! Documents made from the schemas themselves: schema, types and check must agree on every field of every kind.

use kubevirt_api::kinds;
use kubevirt_api::schema::{Node, Shape};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::generator::{Choice, document};
use super::{FaultKind, check};

/// What of `part` is not in `whole`; only what is always written may be there beyond it.
fn lost(part: &Value, whole: Option<&Value>, path: &str, found: &mut Vec<String>) {
    match (part, whole) {
        (Value::Object(part), Some(Value::Object(whole))) => {
            part.iter().for_each(|(name, value)| lost(value, whole.get(name), &format!("{path}.{name}"), found));
        }
        (Value::Array(part), Some(Value::Array(whole))) if part.len() == whole.len() => {
            part.iter().zip(whole).for_each(|(part, whole)| lost(part, Some(whole), &format!("{path}[]"), found));
        }
        (part, Some(whole)) if part == whole => {}
        (part, whole) => found.push(format!("{path}: {part} became {whole:?}")),
    }
}

fn agree(numbers: &[u32], density: u32) {
    for kind in kinds::ALL {
        let document = document(&(kind.schema)(), &mut Choice::new(numbers), density);
        let faults: Vec<_> = check(kind.kind, &document).into_iter().filter(|f| f.kind != FaultKind::Rule).collect();
        assert_eq!(faults, [], "{}", kind.kind);
        let again = (kind.recode)(&document).unwrap_or_else(|error| panic!("{}: {error}: {document}", kind.kind));
        let mut found = Vec::new();
        lost(&document, Some(&again), kind.kind, &mut found);
        assert_eq!(found, [""; 0], "{}", kind.kind);
        // What the types write beyond that is nothing that the schema does not know.
        let unknown: Vec<_> = check(kind.kind, &again).into_iter().filter(|f| f.kind == FaultKind::UnknownField).collect();
        assert_eq!(unknown, [], "{}", kind.kind);
    }
}

#[test]
fn every_field_of_every_kind_survives_a_decode_and_an_encode() {
    agree(&[0], 100);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_choice_of_fields_survives(numbers in proptest::collection::vec(any::<u32>(), 1..200), density in 5_u32..60) {
        agree(&numbers, density);
    }

    /// Whatever bytes come, reading them into a type is an answer or an error.
    #[test]
    fn no_bytes_make_a_type_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(document) = serde_json::from_slice::<Value>(&bytes) {
            for kind in kinds::ALL {
                let _ = (kind.recode)(&document);
            }
        }
    }

    /// A good document with one value exchanged for any other: what the check finds nothing wrong with, a type takes.
    #[test]
    fn what_has_no_faults_decodes(
        numbers in proptest::collection::vec(any::<u32>(), 1..50),
        at in any::<u32>(),
        value in prop_oneof![Just(json!(null)), Just(json!(-1)), Just(json!(1e300)), Just(json!(u64::MAX)), Just(json!("")), Just(json!([])), Just(json!({})), Just(json!(false)), "\\PC{0,20}".prop_map(Value::from)],
    ) {
        for kind in kinds::ALL {
            let schema = (kind.schema)();
            let mut document = document(&schema, &mut Choice::new(&numbers), 40);
            let mut left = at % 200;
            exchange(&mut document, &mut left, &value);
            let good = check(kind.kind, &document).iter().all(|f| f.is_warning() || f.kind == FaultKind::Rule);
            drop_nulls(&schema, &mut document);
            let decoded = (kind.recode)(&document);
            prop_assert!(!good || decoded.is_ok(), "{}: {:?}: {document}", kind.kind, decoded);
        }
    }
}

/// Drops the nulls of maps, as an API server does before it hands an object on: Kubernetes' own types take none there.
fn drop_nulls(node: &Node, document: &mut Value) {
    match (&node.shape, document) {
        (Shape::Map(item), Value::Object(map)) => {
            map.retain(|_, value| item.nullable || !value.is_null());
            map.values_mut().for_each(|value| drop_nulls(item, value));
        }
        (Shape::Object(_), Value::Object(map)) => {
            map.iter_mut().for_each(|(name, value)| node.get(name).into_iter().for_each(|node| drop_nulls(node, value)));
        }
        (Shape::List { item, .. }, Value::Array(items)) => items.iter_mut().for_each(|value| drop_nulls(item, value)),
        _ => {}
    }
}

fn exchange(document: &mut Value, left: &mut u32, value: &Value) {
    if *left == 0 {
        *document = value.clone();
    }
    *left = left.wrapping_sub(1);
    match document {
        Value::Object(map) => map.values_mut().for_each(|v| exchange(v, left, value)),
        Value::Array(items) => items.iter_mut().for_each(|v| exchange(v, left, value)),
        _ => {}
    }
}
