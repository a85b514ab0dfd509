//! The body of a request: JSON or YAML, of which the first document counts; nothing at all is an empty object.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Refusal;

/// Reads the options of a request. A client may send nothing, JSON, or YAML.
pub(super) fn decode<T: DeserializeOwned + Default>(body: Option<&[u8]>) -> Result<T, Refusal> {
    match first_document(body.unwrap_or_default())? {
        Value::Null => Ok(T::default()),
        // Only an object has fields: serde would also take a list for a struct.
        value @ Value::Object(_) => serde_json::from_value(value).map_err(refuse),
        other => Err(refuse(format!("it must be an object, not {}", kind(&other)))),
    }
}

/// Reads the body as it stands, without a type.
pub(super) fn first_document(body: &[u8]) -> Result<Value, Refusal> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Value::Null);
    }
    match serde_json::Deserializer::from_slice(body).into_iter::<Value>().next() {
        Some(Ok(value)) => Ok(value),
        // What is no JSON may still be YAML; if it is neither, JSON's complaint is the clearer one.
        first => {
            let complaint = first.and_then(Result::err).map_or_else(String::new, |e| e.to_string());
            let yaml = serde_yaml::Deserializer::from_slice(body).next().map(Value::deserialize);
            yaml.and_then(Result::ok).ok_or_else(|| refuse(complaint))
        }
    }
}

fn refuse(why: impl std::fmt::Display) -> Refusal {
    Refusal::bad_request(format!("the request body cannot be read: {why}"))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::v1::StartOptions;

    #[test]
    fn nothing_json_and_yaml_are_read() {
        for (body, paused) in
            [("", false), (" \n", false), ("null", false), ("{}", false), (r#"{"paused":true,"new":1}"#, true), ("paused: true\n", true)]
        {
            assert_eq!(decode::<StartOptions>(Some(body.as_bytes())).unwrap().paused, paused, "{body}");
        }
        assert!(!decode::<StartOptions>(None).unwrap().paused);
    }

    #[test]
    fn what_is_no_object_is_a_bad_request() {
        for body in ["{", "[]", "1", "word", r#"{"paused":"yes"}"#, "\u{0}"] {
            let refusal = decode::<StartOptions>(Some(body.as_bytes())).unwrap_err();
            assert_eq!(refusal.reason.code(), 400, "{body}");
        }
    }
}
