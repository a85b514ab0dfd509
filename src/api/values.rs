//! Scalar values that have a wire form of their own: durations and bytes.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A length of time as Kubernetes writes it, in the notation of Go: `1h30m`, `90s`, `1.5h`, `-2m`.
///
/// The text is kept as it was given; [`Duration::nanoseconds`] is its value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Duration {
    text: String,
    nanoseconds: i64,
}

/// Why a text is no duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no duration; write a number with a unit, such as 90s, 5m or 1h30m")]
pub struct DurationError {
    text: String,
}

const UNITS: [(&str, i64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

impl Duration {
    /// A whole number of seconds; what is longer than 292 years is cut to that.
    pub fn from_secs(seconds: i64) -> Self {
        let nanoseconds = seconds.saturating_mul(1_000_000_000);
        Self { text: print(nanoseconds), nanoseconds }
    }

    /// The value in nanoseconds.
    pub fn nanoseconds(&self) -> i64 {
        self.nanoseconds
    }

    /// The value in seconds.
    pub fn as_secs_f64(&self) -> f64 {
        self.nanoseconds as f64 / 1e9
    }

    /// The value as a standard duration; a negative one is zero.
    pub fn as_std(&self) -> std::time::Duration {
        std::time::Duration::from_nanos(u64::try_from(self.nanoseconds).unwrap_or(0))
    }
}

impl std::str::FromStr for Duration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        match parse(text) {
            Some(nanoseconds) => Ok(Self { text: text.to_owned(), nanoseconds }),
            None => Err(DurationError { text: text.to_owned() }),
        }
    }
}

fn parse(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (whole, mut tail) = rest.split_at(digits);
        let mut fraction = "";
        if let Some(after) = tail.strip_prefix('.') {
            let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
            (fraction, tail) = after.split_at(end);
        }
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let end = tail.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, next) = tail.split_at(end);
        let scale = i128::from(UNITS.iter().find(|(name, _)| *name == unit)?.1);
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse::<i64>().ok()?.into() };
        total = total.checked_add(whole.checked_mul(scale)?)?;
        let mut part = scale;
        for digit in fraction.bytes() {
            part /= 10;
            total += i128::from(digit - b'0') * part;
        }
        rest = next;
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

/// Prints nanoseconds as Go does: `1h0m0s`, `1m30s`, `1.5s`, `20ms`, `0s`.
fn print(nanoseconds: i64) -> String {
    fn decimal(value: u64, unit: u64) -> String {
        let (whole, rest) = (value / unit, value % unit);
        if rest == 0 {
            return whole.to_string();
        }
        let width = unit.ilog10() as usize;
        format!("{whole}.{}", format!("{rest:0width$}").trim_end_matches('0'))
    }
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let n = nanoseconds.unsigned_abs();
    let body = match n {
        0 => "0s".to_owned(),
        1..1_000 => format!("{n}ns"),
        1_000..1_000_000 => format!("{}µs", decimal(n, 1_000)),
        1_000_000..1_000_000_000 => format!("{}ms", decimal(n, 1_000_000)),
        _ => {
            let (hours, minutes) = (n / 3_600_000_000_000, n / 60_000_000_000 % 60);
            let seconds = decimal(n % 60_000_000_000, 1_000_000_000);
            match (hours, minutes) {
                (0, 0) => format!("{seconds}s"),
                (0, _) => format!("{minutes}m{seconds}s"),
                _ => format!("{hours}h{minutes}m{seconds}s"),
            }
        }
    };
    format!("{sign}{body}")
}

impl Default for Duration {
    fn default() -> Self {
        Self { text: "0s".to_owned(), nanoseconds: 0 }
    }
}

impl fmt::Display for Duration {
    /// Prints the value as Kubernetes does, whatever the notation that it was given in.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print(self.nanoseconds))
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&print(self.nanoseconds))
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// Bytes, base64 on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Self).map_err(|e| de::Error::custom(format!("bytes must be base64: {e}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_and_print_as_go_does() {
        for (text, nanoseconds, printed) in [
            ("90s", 90_000_000_000, "1m30s"),
            ("1h", 3_600_000_000_000, "1h0m0s"),
            ("1.5h", 5_400_000_000_000, "1h30m0s"),
            ("20ms", 20_000_000, "20ms"),
            ("1500us", 1_500_000, "1.5ms"),
            ("-2m", -120_000_000_000, "-2m0s"),
            ("0", 0, "0s"),
            ("1h2m3.5s", 3_723_500_000_000, "1h2m3.5s"),
            (".5s", 500_000_000, "500ms"),
        ] {
            let duration: Duration = text.parse().expect(text);
            assert_eq!((duration.nanoseconds(), duration.to_string().as_str()), (nanoseconds, printed), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_says_so() {
        for text in ["", "5", "s", "5 m", "1d", "-", "1h-2m", "999999999999h"] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_duration_is_read_as_it_was_printed(nanoseconds: i64) {
            let text = print(nanoseconds);
            proptest::prop_assert_eq!(text.parse::<Duration>().map(|d| d.nanoseconds()), Ok(nanoseconds), "{}", text);
        }

        #[test]
        fn no_text_makes_a_duration_panic(text in "[-+.0-9hmsuµn]{0,24}|\\PC{0,12}") {
            if let Ok(duration) = text.parse::<Duration>() {
                let again: Duration = duration.to_string().parse().unwrap();
                proptest::prop_assert_eq!(duration.nanoseconds(), again.nanoseconds());
            }
        }

        #[test]
        fn any_bytes_survive(bytes: Vec<u8>) {
            let text = serde_json::to_string(&Bytes(bytes.clone())).unwrap();
            proptest::prop_assert_eq!(serde_json::from_str::<Bytes>(&text).unwrap().0, bytes);
        }
    }
}
