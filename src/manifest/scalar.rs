//! What a plain scalar means: the rules of YAML 1.1 that Kubernetes' own tools follow.

use serde_json::{Number, Value};

/// The value of a scalar that stands without quotes.
pub(super) fn resolve(text: &str) -> Result<Value, String> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Value::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Value::Bool(false),
        _ => match number(text)? {
            Some(number) => Value::Number(number),
            None => Value::String(text.to_owned()),
        },
    })
}

fn number(text: &str) -> Result<Option<Number>, String> {
    let Some(first) = text.bytes().next().filter(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.')) else {
        return Ok(None);
    };
    if matches!(text.trim_start_matches(['+', '-']), ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
        return Err(format!("{text} is no number that JSON can carry; quote it if it is a text"));
    }
    let plain: String = text.chars().filter(|c| *c != '_').collect();
    if first != b'.'
        && let Some(number) = integer(&plain)
    {
        return Ok(Some(number));
    }
    let float = plain.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'))
        && plain.bytes().any(|b| b.is_ascii_digit());
    if !float {
        return Ok(None);
    }
    Ok(plain.parse::<f64>().ok().and_then(decimal))
}

/// A number with a fraction, or a whole one without: kubectl and API servers pass `2.0` on as `2`.
fn decimal(value: f64) -> Option<Number> {
    let whole = (value.fract() == 0.0).then(|| value.to_string().parse::<i64>().ok()).flatten();
    whole.map(Number::from).or_else(|| Number::from_f64(value))
}

fn integer(text: &str) -> Option<Number> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if !digits.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let signed = format!("{sign}{digits}");
    i64::from_str_radix(&signed, radix).map(Number::from).or_else(|_| u64::from_str_radix(&signed, radix).map(Number::from)).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_scalars_mean_what_kubectl_makes_of_them() {
        for (text, value) in [
            ("null", json!(null)),
            ("yes", json!(true)),
            ("Off", json!(false)),
            ("12", json!(12)),
            ("-3", json!(-3)),
            ("0x1f", json!(31)),
            ("0755", json!(493)),
            ("0o17", json!(15)),
            ("1_000", json!(1000)),
            ("18446744073709551615", json!(18_446_744_073_709_551_615_u64)),
            ("1.5", json!(1.5)),
            ("1e3", json!(1000)),
            ("2.0", json!(2)),
            ("-0.0", json!(0)),
            ("1e20", json!(1e20)),
            ("089", json!(89)),
            ("1Gi", json!("1Gi")),
            ("1.2.3.4", json!("1.2.3.4")),
            ("52:54:00:12:34:56", json!("52:54:00:12:34:56")),
            ("2026-12-01", json!("2026-12-01")),
            ("-", json!("-")),
            ("...", json!("...")),
            ("é", json!("é")),
        ] {
            assert_eq!(resolve(text), Ok(value), "{text}");
        }
        assert!(resolve(".inf").is_err());
    }
}
