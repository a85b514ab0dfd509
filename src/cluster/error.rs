//! What an API server answers when it does not do what it was asked for.

use std::time::Duration;

/// Why a request had no success.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The object is another one by now: read it again, decide again.
    #[error("the object was changed meanwhile: {0}")]
    Conflict(String),
    /// It is not there.
    #[error("not found: {0}")]
    NotFound(String),
    /// It is there already.
    #[error("exists already: {0}")]
    AlreadyExists(String),
    /// The API server, or a webhook of someone's, refuses the object.
    #[error("refused: {0}")]
    Refused(String),
    /// This role may not do that.
    #[error("forbidden: {0}")]
    Forbidden(String),
    /// What was asked for lies too far back.
    #[error("gone: {0}")]
    Gone(String),
    /// There was no answer, or none that can be used; another try may have one.
    #[error("the API server gave no answer that can be used: {0}")]
    Unanswered(String),
    /// The answer took too long.
    #[error("the API server did not answer within {} s", .0.as_secs())]
    Late(Duration),
}

impl Error {
    /// A word for it that does not change, for conditions and metrics.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Conflict(_) => "Conflict",
            Self::NotFound(_) => "NotFound",
            Self::AlreadyExists(_) => "AlreadyExists",
            Self::Refused(_) => "Invalid",
            Self::Forbidden(_) => "Forbidden",
            Self::Gone(_) => "Expired",
            Self::Unanswered(_) => "ServiceUnavailable",
            Self::Late(_) => "Timeout",
        }
    }

    /// Whether fresh state and another pass are all that is needed.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict(_))
    }

    /// Whether the object is not there.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound(_))
    }

    /// Whether nothing can be made because the namespace is being taken away. Only the words tell.
    pub(crate) fn is_of_a_namespace_that_goes(&self) -> bool {
        matches!(self, Self::Forbidden(message) if message.contains("because it is being terminated"))
    }

    /// Whether the same request may succeed later without anyone changing anything.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self, Self::Unanswered(_) | Self::Late(_))
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::from(&*status),
            other => Self::Unanswered(with_sources(&other)),
        }
    }
}

impl From<&kube::core::Status> for Error {
    fn from(status: &kube::core::Status) -> Self {
        let message = status.message.clone();
        match (status.code, status.reason.as_str()) {
            // The tests of a JSON patch did not hold. Nothing but the words tells it from an object that is refused.
            (422, _) if message.contains("the server rejected our request due to an error in our request") => Self::Conflict(message),
            (422, _) if message.contains("testing") && message.contains("path") => Self::Conflict(message),
            (409, "AlreadyExists") => Self::AlreadyExists(message),
            (409, _) => Self::Conflict(message),
            (404, _) => Self::NotFound(message),
            (403, _) => Self::Forbidden(message),
            (410, _) => Self::Gone(message),
            (408 | 429 | 500..=599, _) | (_, "Timeout" | "InternalError") => Self::Unanswered(message),
            _ => Self::Refused(message),
        }
    }
}

/// The error and what lies under it, each said once.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let under = error.to_string();
        if !text.contains(&under) {
            text.push_str(": ");
            text.push_str(&under);
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn each_answer_has_its_meaning() {
        for (code, reason, message, expected) in [
            (409, "Conflict", "the object has been modified", "Conflict"),
            (409, "AlreadyExists", "pods \"a\" already exists", "AlreadyExists"),
            (422, "Invalid", "the server rejected our request due to an error in our request", "Conflict"),
            (422, "Invalid", "spec.template: Required value", "Invalid"),
            (400, "BadRequest", "admission webhook denied the request", "Invalid"),
            (403, "Forbidden", "exceeded quota", "Forbidden"),
            (404, "NotFound", "", "NotFound"),
            (410, "Expired", "too old resource version", "Expired"),
            (500, "InternalError", "failed calling webhook", "ServiceUnavailable"),
            (429, "TooManyRequests", "", "ServiceUnavailable"),
        ] {
            let status = Status { code, reason: reason.to_owned(), message: message.to_owned(), ..Status::default() };
            assert_eq!(Error::from(&status).reason(), expected, "{code} {reason} {message}");
        }
    }
}
