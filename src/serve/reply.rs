//! Answers, and the words for a refusal that Kubernetes' clients understand.

use http_body_util::Full;
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use serde::Serialize;

/// An answer.
pub(crate) type Response = hyper::Response<Full<Bytes>>;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// An answer of some bytes. A code that HTTP does not know is an error of the server.
pub(crate) fn bytes(code: u16, content_type: &str, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    if let (false, Ok(value)) = (content_type.is_empty(), HeaderValue::from_str(content_type)) {
        headers.insert(CONTENT_TYPE, value);
    }
    response
}

/// An answer without a body.
pub(crate) fn empty(code: u16) -> Response {
    bytes(code, "", Bytes::new())
}

/// An answer in words.
pub(crate) fn text(code: u16, body: impl Into<Bytes>) -> Response {
    bytes(code, TEXT, body)
}

/// An answer in JSON.
pub(crate) fn json(code: u16, body: &impl Serialize) -> Response {
    match serde_json::to_vec(body) {
        Ok(body) => bytes(code, JSON, body),
        Err(error) => text(500, format!("the answer cannot be written: {error}")),
    }
}

/// A refusal that is a Kubernetes `Status`.
pub(crate) fn status(status: &Status) -> Response {
    json(status.code.and_then(|code| u16::try_from(code).ok()).unwrap_or(500), status)
}

/// A refusal in a few words, with the reason that goes with its code.
pub(crate) fn refuse(code: u16, message: impl Into<String>) -> Response {
    status(&Status {
        code: Some(code.into()),
        message: Some(message.into()),
        reason: Some(reason(code).to_owned()),
        status: Some("Failure".to_owned()),
        ..Status::default()
    })
}

/// The reason of a `Status` with that code, by which clients tell refusals apart.
pub(crate) fn reason(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        406 => "NotAcceptable",
        408 | 504 => "Timeout",
        409 => "Conflict",
        410 => "Gone",
        413 => "RequestEntityTooLarge",
        415 => "UnsupportedMediaType",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;
    use serde_json::Value;

    #[tokio::test]
    async fn a_refusal_is_a_status() {
        let response = refuse(404, "there is no such thing");
        assert_eq!(response.status(), 404);
        let body: Value = serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap();
        assert_eq!((&body["kind"], &body["apiVersion"], &body["reason"]), (&"Status".into(), &"v1".into(), &"NotFound".into()));
    }
}
