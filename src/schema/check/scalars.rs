//! Scalars: types, values, limits and notations.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubevirt_api::schema::{Node, Shape, Takes};
use kubevirt_api::{Duration, Quantity};
use regex::Regex;
use serde_json::{Number, Value};

use super::Walk;
use super::fault::{FaultKind, Path};

/// The patterns of the schemas that were met so far, ready to match; nothing for one that cannot be read.
static PATTERNS: Mutex<BTreeMap<&'static str, Option<Arc<Regex>>>> = Mutex::new(BTreeMap::new());

fn regex(pattern: &'static str) -> Option<Arc<Regex>> {
    let mut known = PATTERNS.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(pattern).or_insert_with(|| Regex::new(pattern).ok().map(Arc::new)).clone()
}

impl Walk {
    pub(super) fn scalar(&mut self, node: &Node, path: &Path<'_>, value: &Value) {
        match (&node.shape, value) {
            (Shape::String, Value::String(text)) => self.text(node, path, text),
            (Shape::IntOrString, Value::String(text)) if node.is_quantity() => {
                if text.parse::<Quantity>().is_err() {
                    self.fault(path, FaultKind::Format, "must be a quantity, such as 500m, 2, 128Mi or 1G");
                }
            }
            (Shape::IntOrString, Value::String(text)) => self.text(node, path, text),
            (Shape::Integer | Shape::IntOrString, Value::Number(number)) if is_whole(number) => self.number(node, path, number),
            (Shape::Number, Value::Number(number)) => self.number(node, path, number),
            (Shape::Boolean, Value::Bool(_)) => {}
            _ => self.fault(path, FaultKind::Type, format!("must be {}, is {}", wanted(node), found(value))),
        }
    }

    fn text(&mut self, node: &Node, path: &Path<'_>, text: &str) {
        if node.closed && !node.values.contains(&text) {
            let values = node.values.join(", ");
            self.fault(path, FaultKind::Value, format!("must be one of {values}"));
        }
        if node.min_length.is_some() || node.max_length.is_some() {
            let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
            if let Some(least) = node.min_length.filter(|least| length < *least) {
                self.fault(path, FaultKind::Length, format!("must have at least {least} characters, has {length}"));
            }
            if let Some(most) = node.max_length.filter(|most| length > *most) {
                self.fault(path, FaultKind::Length, format!("must have at most {most} characters, has {length}"));
                return;
            }
        }
        if let Some(pattern) = node.pattern
            && regex(pattern).is_some_and(|regex| !regex.is_match(text))
        {
            self.fault(path, FaultKind::Pattern, format!("must match {pattern}"));
        }
        match node.format {
            Some("date-time") if text.parse::<jiff::Timestamp>().is_err() => {
                self.fault(path, FaultKind::Format, "must be a date and time with an offset, such as 2026-12-01T08:00:00Z");
            }
            _ if node.takes == Takes::Durations && text.parse::<Duration>().is_err() => {
                self.fault(path, FaultKind::Format, "must be a duration, such as 90s, 5m or 1h30m");
            }
            Some("byte") if STANDARD.decode(text).is_err() => self.fault(path, FaultKind::Format, "must be base64"),
            _ => {}
        }
    }

    fn number(&mut self, node: &Node, path: &Path<'_>, number: &Number) {
        let value = number.as_f64().unwrap_or(f64::NAN);
        #[allow(clippy::cast_precision_loss, reason = "bounds are small numbers")]
        {
            if let Some(least) = node.minimum.filter(|least| value < *least as f64) {
                self.fault(path, FaultKind::Bounds, format!("must be at least {least}, is {number}"));
            }
            if let Some(most) = node.maximum.filter(|most| value > *most as f64) {
                self.fault(path, FaultKind::Bounds, format!("must be at most {most}, is {number}"));
            }
        }
        if let Takes::Numbers(least, most) = node.takes {
            // A whole number that is no integer on the wire is a large float, or as good as one.
            #[allow(clippy::cast_possible_truncation, reason = "a cast from a float ends at the limits")]
            let whole = number.as_i128().unwrap_or(value as i128);
            if !(least..=most).contains(&whole) {
                self.fault(path, FaultKind::Bounds, format!("must be from {least} to {most}, is {number}"));
            }
        }
    }
}

/// Whether a number is whole, as an API server sees it: `2.0` is, as long as doubles can tell whole numbers apart; what takes
/// more than 64 bits with its sign is not.
fn is_whole(number: &Number) -> bool {
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    number.is_i64() || number.as_f64().is_some_and(|n| n.fract() == 0.0 && n.abs() <= LARGEST)
}

fn wanted(node: &Node) -> &'static str {
    match &node.shape {
        Shape::Any => "a value",
        Shape::Object(_) => "an object",
        Shape::Map(_) => "a map",
        Shape::List { .. } => "a list",
        Shape::String => "a string",
        Shape::Integer => "a whole number",
        Shape::Number => "a number",
        Shape::Boolean => "true or false",
        Shape::IntOrString if node.is_quantity() => "a quantity",
        Shape::IntOrString => "a whole number or a string",
    }
}

fn found(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use kubevirt_api::kinds;

    use super::*;

    #[test]
    fn every_pattern_of_the_schemas_is_a_regular_expression() {
        fn count(node: &Node) -> usize {
            let own = usize::from(node.pattern.is_some_and(|p| !node.is_quantity() && regex(p).is_none()));
            own + match &node.shape {
                Shape::Object(fields) => fields.iter().map(|f| count(&f.node)).sum(),
                Shape::Map(item) | Shape::List { item, .. } => count(item),
                _ => 0,
            }
        }
        assert_eq!(kinds::ALL.iter().map(|kind| count(&(kind.schema)())).sum::<usize>(), 0);
        assert!(!PATTERNS.lock().unwrap().is_empty());
    }
}
