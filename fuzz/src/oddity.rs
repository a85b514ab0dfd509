//! Documents with something odd in them, chosen by numbers.

use serde_json::{Value, json};

/// Takes numbers from bytes until there are none, then zeros.
pub struct Numbers<'a>(std::slice::Iter<'a, u8>);

impl<'a> Numbers<'a> {
    /// The numbers that the bytes are.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.iter())
    }

    /// The next number below `of`.
    pub fn below(&mut self, of: usize) -> usize {
        let high = self.0.next().copied().unwrap_or(0);
        let low = if of > 256 { self.0.next().copied().unwrap_or(0) } else { 0 };
        (usize::from(high) + 256 * usize::from(low)) % of.max(1)
    }

    /// Whether no number is left.
    pub fn is_done(&self) -> bool {
        self.0.len() == 0
    }
}

/// Changes places of the document until the numbers are used up: puts something odd there, something of another
/// document, or takes what is there away or doubles it.
pub fn change(document: &mut Value, others: &[Value], numbers: &mut Numbers) {
    // a handful of changes says more than hundreds
    for _ in 0..8 {
        if numbers.is_done() {
            return;
        }
        let depth = 1 + numbers.below(9);
        step(document, others, depth, numbers);
    }
}

fn step(value: &mut Value, others: &[Value], depth: usize, numbers: &mut Numbers) {
    if depth == 0 {
        *value = if numbers.below(3) == 0 { part(others, numbers) } else { odd(numbers) };
        return;
    }
    match value {
        Value::Object(map) if !map.is_empty() => {
            let Some(key) = map.keys().nth(numbers.below(map.len())).cloned() else { return };
            if depth == 1 && numbers.below(5) == 0 {
                map.remove(&key);
            } else if let Some(child) = map.get_mut(&key) {
                step(child, others, depth - 1, numbers);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            let index = numbers.below(list.len());
            if depth == 1 && numbers.below(5) == 0 {
                let again = list[index].clone();
                list.push(again);
            } else if let Some(child) = list.get_mut(index) {
                step(child, others, depth - 1, numbers);
            }
        }
        leaf => *leaf = odd(numbers),
    }
}

/// Some part of some document.
fn part(documents: &[Value], numbers: &mut Numbers) -> Value {
    let Some(mut at) = documents.get(numbers.below(documents.len())) else { return Value::Null };
    for _ in 0..numbers.below(8) {
        let child = match at {
            Value::Object(map) => map.values().nth(numbers.below(map.len())),
            Value::Array(list) => list.get(numbers.below(list.len())),
            _ => None,
        };
        let Some(child) = child else { break };
        at = child;
    }
    at.clone()
}

/// A value that nobody expects where it stands.
fn odd(numbers: &mut Numbers) -> Value {
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(4_294_967_296_u64),
        json!(1.5),
        json!(1e300),
        json!(""),
        json!("a"),
        json!("Ä/\u{0}\u{1F600}:[]"),
        json!("9".repeat(400)),
        json!("-9223372036854775808"),
        json!("1e999999999"),
        json!("1E"),
        json!("0.000000001m"),
        json!("0000:00:00.0"),
        json!("ffff:ff:1f.7"),
        json!("02:00:00:00:00:01"),
        json!("::1/200"),
        json!("../../etc"),
        json!("{\"a\":"),
        json!("self.x.all(y, y"),
        json!("Always"),
        json!("virtio"),
        json!([]),
        json!([null, {}, []]),
        json!({}),
        json!({"": {"enabled": 1}}),
        json!({"name": "root"}),
    ];
    values[numbers.below(values.len())].clone()
}
