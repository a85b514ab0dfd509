//! Documents made from a schema, for tests and for fuzzing.

use kubevirt_api::schema::{Node, Shape};
use serde_json::{Map, Value, json};

/// Which fields a document has: every one, or those that the numbers pick one after the other.
pub(crate) struct Choice<'a> {
    numbers: std::iter::Cycle<std::slice::Iter<'a, u32>>,
}

impl<'a> Choice<'a> {
    /// The numbers to pick by, again and again.
    pub(crate) fn new(numbers: &'a [u32]) -> Self {
        Self { numbers: numbers.iter().cycle() }
    }

    fn next(&mut self, of: u32) -> u32 {
        self.numbers.next().copied().unwrap_or(0) % of.max(1)
    }
}

/// A document without empty values, as those are left out by an encoder.
pub(crate) fn document(node: &Node, choice: &mut Choice<'_>, density: u32) -> Value {
    match &node.shape {
        Shape::Any => json!({"anything": [1, "at all"]}),
        Shape::Object(fields) => {
            let mut map = Map::new();
            for field in fields {
                if field.required || choice.next(100) < density {
                    map.insert(field.name.to_owned(), document(&field.node, choice, density));
                }
            }
            Value::Object(map)
        }
        Shape::Map(item) => json!({"key": document(item, choice, density)}),
        Shape::List { item, .. } => json!([document(item, choice, density)]),
        Shape::String => text(node, choice).into(),
        Shape::Integer => (node.minimum.unwrap_or(1).max(1) + i64::from(choice.next(20))).into(),
        Shape::Number => 1.5.into(),
        Shape::Boolean => true.into(),
        Shape::IntOrString => [json!("5"), json!("1Gi")][choice.next(2) as usize].clone(),
    }
}

fn text(node: &Node, choice: &mut Choice<'_>) -> &'static str {
    match (node.values, node.format, node.pattern) {
        ([], Some("date-time"), _) => "2026-12-01T08:00:00Z",
        ([], Some("byte"), _) => "YWJj",
        ([], _, Some(pattern)) if pattern.contains("\\d{1,3}") => "0.055",
        ([], _, Some(_)) => "Ready",
        // A duration as well as a name, in the form that durations print in.
        ([], ..) => "1h0m0s",
        (values, ..) => values[choice.next(u32::try_from(values.len()).unwrap_or(u32::MAX)) as usize],
    }
}
