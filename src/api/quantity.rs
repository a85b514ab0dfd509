//! Kubernetes quantities: exact decimal numbers with a binary or decimal suffix.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An amount of something: `500m` CPUs, `1Gi` bytes, `1e3`.
///
/// The text is kept as it was given, the value is exact to 10⁻⁹ (a finer one is rounded up, as Kubernetes does).
/// `Display` prints the canonical form; the wire form is the text that was given.
#[derive(Clone, Debug)]
pub struct Quantity {
    text: String,
    nano: i128,
}

/// Why a text is no quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no quantity; write a number with an optional suffix, such as 500m, 2, 128Mi or 1G")]
pub struct QuantityError {
    text: String,
}

const NANO: i128 = 1_000_000_000;
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// Decimal suffixes with their exponent of ten.
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

/// How a quantity prints.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Binary,
    Decimal,
    Exponent,
}

impl Quantity {
    /// A whole amount, printed with a binary suffix (bytes).
    pub fn from_bytes(bytes: i128) -> Self {
        let nano = bytes.saturating_mul(NANO);
        Self { text: canonical(nano, Format::Binary), nano }
    }

    /// A whole amount, printed with a decimal suffix.
    pub fn from_units(units: i128) -> Self {
        let nano = units.saturating_mul(NANO);
        Self { text: canonical(nano, Format::Decimal), nano }
    }

    /// Thousandths, printed with a decimal suffix (CPU).
    pub fn from_millis(millis: i128) -> Self {
        let nano = millis.saturating_mul(NANO / 1000);
        Self { text: canonical(nano, Format::Decimal), nano }
    }

    /// The amount in whole units, rounded away from zero: bytes, CPUs.
    pub fn value(&self) -> i128 {
        round_away(self.nano, NANO)
    }

    /// The amount in thousandths, rounded away from zero.
    pub fn millis(&self) -> i128 {
        round_away(self.nano, NANO / 1000)
    }

    /// The amount in billionths.
    pub fn nanos(&self) -> i128 {
        self.nano
    }

    /// Whether the amount is nothing.
    pub fn is_zero(&self) -> bool {
        self.nano == 0
    }

    /// The sum, printed in the form of `self` (of `other` if `self` is nothing).
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let format = if self.is_zero() { other.format() } else { self.format() };
        let nano = self.nano.saturating_add(other.nano);
        Self { text: canonical(nano, format), nano }
    }

    /// The difference, printed in the form of `self`.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let nano = self.nano.saturating_sub(other.nano);
        Self { text: canonical(nano, self.format()), nano }
    }

    /// A whole amount, printed in the form of `self`.
    #[must_use]
    pub fn with_value(&self, value: i128) -> Self {
        let nano = value.saturating_mul(NANO);
        Self { text: canonical(nano, self.format()), nano }
    }

    /// The text as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn format(&self) -> Format {
        if self.text.ends_with('i') {
            Format::Binary
        } else if self.text.bytes().any(|b| matches!(b, b'e' | b'E')) && !self.text.ends_with('E') {
            Format::Exponent
        } else {
            Format::Decimal
        }
    }
}

fn round_away(nano: i128, unit: i128) -> i128 {
    let quotient = nano / unit;
    if nano % unit == 0 { quotient } else { quotient + nano.signum() }
}

fn canonical(nano: i128, format: Format) -> String {
    if nano == 0 {
        return "0".to_owned();
    }
    if format == Format::Binary && nano % NANO == 0 && (nano / NANO).abs() >= 1024 {
        let (mut value, mut suffix) = (nano / NANO, "");
        for name in BINARY {
            if value % 1024 != 0 {
                break;
            }
            (value, suffix) = (value / 1024, name);
        }
        return format!("{value}{suffix}");
    }
    let (mut value, mut exponent) = (nano, -9);
    while value % 1000 == 0 && exponent < 18 {
        value /= 1000;
        exponent += 3;
    }
    match format {
        Format::Exponent if exponent == 0 => value.to_string(),
        Format::Exponent => format!("{value}e{exponent}"),
        _ => {
            let suffix = DECIMAL.iter().find(|(_, e)| *e == exponent).map_or("", |(s, _)| s);
            format!("{value}{suffix}")
        }
    }
}

fn parse(text: &str) -> Option<i128> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, suffix) = rest.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let (binary, exponent) = if let Some(position) = BINARY.iter().position(|s| *s == suffix) {
        (1i128 << (10 * (position + 1)), 0)
    } else if let Some((_, exponent)) = DECIMAL.iter().find(|(s, _)| *s == suffix) {
        (1, *exponent)
    } else {
        (1, suffix.strip_prefix(['e', 'E'])?.parse::<i32>().ok().filter(|e| e.abs() < 1000)?)
    };
    // the value is digits × 10^(exponent − digits after the point) × binary; in units of 10⁻⁹, rounded up
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let mut value: i128 = 0;
    let mut lost = false;
    let scale = 9 + exponent - i32::try_from(fraction.len()).ok()?;
    for digit in digits.bytes() {
        match value.checked_mul(10).and_then(|v| v.checked_add(i128::from(digit - b'0'))) {
            Some(next) => value = next,
            None => return Some(if negative { -MAX } else { MAX }),
        }
    }
    value = match value.checked_mul(binary) {
        Some(value) => value,
        None => return Some(if negative { -MAX } else { MAX }),
    };
    for _ in 0..scale.unsigned_abs() {
        if value == 0 {
            break;
        }
        if scale > 0 {
            value = value.saturating_mul(10).min(MAX);
        } else {
            lost |= value % 10 != 0;
            value /= 10;
        }
    }
    if lost {
        value += 1;
    }
    let value = value.min(MAX);
    Some(if negative { -value } else { value })
}

/// The largest amount: 2⁶³−1 units, as in Kubernetes.
const MAX: i128 = (i64::MAX as i128) * NANO;

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        match parse(text.trim()) {
            Some(nano) => Ok(Self { text: text.trim().to_owned(), nano }),
            None => Err(QuantityError { text: text.to_owned() }),
        }
    }
}

impl Default for Quantity {
    fn default() -> Self {
        Self { text: "0".to_owned(), nano: 0 }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Eq for Quantity {}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nano.hash(state);
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nano.cmp(&other.nano)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&canonical(self.nano, self.format()))
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Quantity;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity such as 500m, 2 or 128Mi")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Quantity, E> {
                Ok(Quantity::from_units(value.into()))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Quantity, E> {
                Ok(Quantity::from_units(value.into()))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Quantity, E> {
                value.to_string().parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl TryFrom<&k8s_openapi::apimachinery::pkg::api::resource::Quantity> for Quantity {
    type Error = QuantityError;

    fn try_from(other: &k8s_openapi::apimachinery::pkg::api::resource::Quantity) -> Result<Self, QuantityError> {
        other.0.parse()
    }
}

impl From<&Quantity> for k8s_openapi::apimachinery::pkg::api::resource::Quantity {
    fn from(quantity: &Quantity) -> Self {
        Self(quantity.text.clone())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantities_read_and_print_as_kubernetes_does() {
        for (text, value, millis, printed) in [
            ("0", 0, 0, "0"),
            ("1", 1, 1000, "1"),
            ("500m", 1, 500, "500m"),
            ("0.5", 1, 500, "500m"),
            ("1.5", 2, 1500, "1500m"),
            ("1024Mi", 1 << 30, 1000 << 30, "1Gi"),
            ("1.5Gi", 3 << 29, 1000 * (3 << 29), "1536Mi"),
            ("100M", 100_000_000, 100_000_000_000, "100M"),
            ("1000k", 1_000_000, 1_000_000_000, "1M"),
            ("1e3", 1000, 1_000_000, "1e3"),
            ("12E", 9_223_372_036_854_775_807, 9_223_372_036_854_775_807_000, "9223372036854775807"),
            ("-1Ki", -1024, -1_024_000, "-1Ki"),
            ("1n", 1, 1, "1n"),
            ("0.1n", 1, 1, "1n"),
        ] {
            let q: Quantity = text.parse().expect(text);
            assert_eq!((q.value(), q.millis(), q.to_string().as_str()), (value, millis, printed), "{text}");
            assert_eq!(q.as_str(), text);
        }
    }

    #[test]
    fn what_is_no_quantity_says_so() {
        for text in ["", "Mi", "1 Gi", "1gi", "1KB", "--1", "1.2.3", "0x10", "1e", "abc", "½"] {
            assert!(text.parse::<Quantity>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_printed_quantity_reads_back_as_the_same_value(value in 0i64..i64::MAX, suffix in "[numkMGTPE]|[KMGTPE]i|") {
            let q: Quantity = format!("{value}{suffix}").parse().expect("a number with a suffix");
            let again: Quantity = q.to_string().parse().expect("the canonical form");
            prop_assert_eq!(again, q);
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = text.parse::<Quantity>();
        }
    }
}
