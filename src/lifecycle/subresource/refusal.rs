//! Why a request is refused, and how Kubernetes says so.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ListMeta, Status, StatusCause, StatusDetails};
use serde::Serialize;

use crate::api::names;

/// The kinds of refusal that the aggregated API knows, each with its HTTP code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Reason {
    /// The request itself is wrong.
    BadRequest,
    /// The request is never allowed for this object.
    Forbidden,
    /// There is no such object.
    NotFound,
    /// The object is in a state that does not allow the request.
    Conflict,
    /// The object that would come out is not valid.
    Invalid,
    /// The request could not be carried out.
    InternalError,
}

impl Reason {
    /// The HTTP code.
    pub fn code(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::Conflict => 409,
            Self::Invalid => 422,
            Self::InternalError => 500,
        }
    }

    /// The reason as Kubernetes writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BadRequest => "BadRequest",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
            Self::Conflict => "Conflict",
            Self::Invalid => "Invalid",
            Self::InternalError => "InternalError",
        }
    }
}

/// A refused request: what is wrong, with which object, and what would be right.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The kind of refusal.
    pub reason: Reason,
    /// What is wrong and what to do.
    pub message: String,
    /// The kind and the name of the object that it is about.
    pub about: Option<(&'static str, String)>,
    /// The single faults of an invalid object.
    pub causes: Vec<StatusCause>,
}

impl Refusal {
    fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), about: None, causes: Vec::new() }
    }

    /// The request itself is wrong.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(Reason::BadRequest, message)
    }

    /// There is no object `kind` of that name.
    pub fn not_found(kind: &'static str, name: &str) -> Self {
        let message = format!("{kind}.{} \"{name}\" not found", names::GROUP);
        Self { about: Some((kind, name.to_owned())), ..Self::new(Reason::NotFound, message) }
    }

    /// The state of the object does not allow the request.
    pub fn conflict(kind: &'static str, name: &str, why: impl std::fmt::Display) -> Self {
        Self::operation(Reason::Conflict, kind, name, &why)
    }

    /// The request is never allowed for this object.
    pub fn forbidden(kind: &'static str, name: &str, why: impl std::fmt::Display) -> Self {
        Self::operation(Reason::Forbidden, kind, name, &why)
    }

    /// The request could not be carried out.
    pub fn internal(why: impl std::fmt::Display) -> Self {
        Self::new(Reason::InternalError, format!("Internal error occurred: {why}"))
    }

    fn operation(reason: Reason, kind: &'static str, name: &str, why: &dyn std::fmt::Display) -> Self {
        let message = format!("Operation cannot be fulfilled on {kind}.{} \"{name}\": {why}", names::GROUP);
        Self { about: Some((kind, name.to_owned())), ..Self::new(reason, message) }
    }

    /// The same refusal with another reason; the code follows it.
    #[must_use]
    pub fn as_reason(self, reason: Reason) -> Self {
        Self { reason, ..self }
    }

    /// The body of the answer.
    pub fn to_status(&self) -> Status {
        let details = self.about.as_ref().map(|(kind, name)| StatusDetails {
            group: Some(names::GROUP.to_owned()),
            kind: Some((*kind).to_owned()),
            name: Some(name.clone()),
            causes: (!self.causes.is_empty()).then(|| self.causes.clone()),
            ..StatusDetails::default()
        });
        Status {
            code: Some(self.reason.code().into()),
            details: details.or_else(|| {
                (!self.causes.is_empty()).then(|| StatusDetails { causes: Some(self.causes.clone()), ..StatusDetails::default() })
            }),
            message: Some(self.message.clone()),
            metadata: ListMeta::default(),
            reason: Some(self.reason.as_str().to_owned()),
            status: Some("Failure".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_a_kubernetes_status() {
        let status = serde_json::to_value(Refusal::conflict("virtualmachine", "vm-a", "it runs already").to_status()).unwrap();
        assert_eq!(status["code"], 409);
        assert_eq!(status["kind"], "Status");
        assert_eq!(status["details"]["kind"], "virtualmachine");
        assert!(status["message"].as_str().unwrap().ends_with("it runs already"));
        let status = Refusal::bad_request("a name is missing").to_status();
        assert_eq!((status.code, status.details), (Some(400), None));
    }
}
