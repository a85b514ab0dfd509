//! AdmissionReview: the question of the API server, and the answer that it gets in any case.
//!
//! What cannot be understood is denied, in the form that the API server can read: an answer that names the question's
//! identity wherever one can be made out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Status, StatusCause, StatusDetails};
use kubevirt_rs::admission::{Cause, Operation, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::request::BodyError;
use super::{Request, Response, guard, reply};

const VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// A kind or a resource.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Typed {
    /// The API group.
    pub(crate) group: String,
    /// The version.
    pub(crate) version: String,
    /// The name of the kind, in a kind.
    pub(crate) kind: String,
    /// The plural name, in a resource.
    pub(crate) resource: String,
}

/// What is asked.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Question {
    /// The identity of the question, which the answer repeats.
    pub(crate) uid: String,
    /// The kind of the object.
    #[serde(default)]
    pub(crate) kind: Typed,
    /// The resource that is changed.
    #[serde(default)]
    pub(crate) resource: Typed,
    /// The part of the resource, such as `status`.
    #[serde(default)]
    pub(crate) sub_resource: String,
    /// The name of the object.
    #[serde(default)]
    pub(crate) name: String,
    /// The namespace of the object.
    #[serde(default)]
    pub(crate) namespace: String,
    /// What is to be done.
    pub(crate) operation: Verb,
    /// Who asks.
    #[serde(default)]
    pub(crate) user_info: UserInfo,
    /// The object as it shall be.
    #[serde(default)]
    pub(crate) object: Value,
    /// The object as it is.
    #[serde(default)]
    pub(crate) old_object: Value,
    /// Whether nothing is to be kept.
    #[serde(default)]
    pub(crate) dry_run: Option<bool>,
}

/// What the API server is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Verb {
    /// A new object.
    Create,
    /// Another version of an object.
    Update,
    /// The end of an object.
    Delete,
    /// A connection to an object.
    Connect,
}

impl Verb {
    /// The operation that rules know; a connection changes nothing.
    pub(crate) fn operation(self) -> Option<Operation> {
        match self {
            Self::Create => Some(Operation::Create),
            Self::Update => Some(Operation::Update),
            Self::Delete => Some(Operation::Delete),
            Self::Connect => None,
        }
    }
}

impl Question {
    /// The name of who asks.
    pub(crate) fn user(&self) -> &str {
        self.user_info.username.as_deref().unwrap_or_default()
    }

    /// The node that the credentials of who asks are bound to.
    pub(crate) fn user_node(&self) -> Option<&str> {
        let node = self.user_info.extra.as_ref()?.get("authentication.kubernetes.io/node-name")?;
        node.first().map(String::as_str)
    }
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Reply {
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(rename = "patchType", skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Reply {
    /// It may enter as it is.
    pub(crate) fn allow() -> Self {
        Self { allowed: true, ..Self::default() }
    }

    /// It may not enter.
    pub(crate) fn deny(code: u16, message: impl Into<String>) -> Self {
        let status = Status {
            code: Some(code.into()),
            message: Some(message.into()),
            reason: Some(reply::reason(code).to_owned()),
            status: Some("Failure".to_owned()),
            ..Status::default()
        };
        Self { status: Some(status), ..Self::default() }
    }

    /// It may enter with these changes, a JSON patch.
    pub(crate) fn change(patch: &impl Serialize) -> Self {
        match serde_json::to_vec(patch) {
            Ok(patch) if patch == b"[]" => Self::allow(),
            Ok(patch) => Self { allowed: true, patch: Some(STANDARD.encode(patch)), patch_type: Some("JSONPatch"), ..Self::default() },
            Err(error) => Self::deny(500, format!("the defaults cannot be written: {error}")),
        }
    }

    /// What a verdict says. Causes are all told, each with its field.
    pub(crate) fn verdict(verdict: &Verdict) -> Self {
        let mut answer = match verdict.causes.as_slice() {
            [] if verdict.allowed => Self::allow(),
            causes => Self::invalid(causes),
        };
        answer.warnings.clone_from(&verdict.warnings);
        answer
    }

    fn invalid(causes: &[Cause]) -> Self {
        // a message that begins with its field needs no other beginning
        let line = |cause: &Cause| match cause.field.as_str() {
            "" => cause.message.clone(),
            field if cause.message.starts_with(field) => cause.message.clone(),
            field => format!("{field}: {}", cause.message),
        };
        let message = causes.iter().map(line).collect::<Vec<_>>().join("; ");
        let mut answer = Self::deny(422, message);
        if let Some(status) = &mut answer.status {
            let cause = |cause: &Cause| StatusCause {
                field: Some(cause.field.clone()),
                message: Some(cause.message.clone()),
                reason: serde_json::to_value(cause.reason).ok().and_then(|reason| reason.as_str().map(str::to_owned)),
            };
            status.details = Some(StatusDetails { causes: Some(causes.iter().map(cause).collect()), ..StatusDetails::default() });
        }
        answer
    }

    /// Whether it may enter.
    pub(crate) fn is_allowed(&self) -> bool {
        self.allowed
    }
}

/// Reads the question, has it judged, and answers.
pub(crate) async fn serve<F: Future<Output = Reply>>(request: &mut Request, judge: impl FnOnce(Question) -> F) -> Response {
    let body = match request.body().await {
        Ok(body) => body,
        Err(error) => return unread(&error),
    };
    match parse(&body) {
        Ok(question) => {
            let uid = question.uid.clone();
            written(200, &uid, &judge(question).await)
        }
        Err(unread) => {
            let (code, uid, denial) = *unread;
            written(code, &uid, &denial)
        }
    }
}

/// Judges without a panic that reaches anybody.
pub(crate) fn guarded(judge: impl FnOnce() -> Reply) -> Reply {
    guard::caught(judge).unwrap_or_else(|| {
        tracing::error!("panic while judging");
        Reply::deny(500, "the judgement of this object has a fault of its own; the log of the server tells more")
    })
}

fn unread(error: &BodyError) -> Response {
    written(error.code(), "", &Reply::deny(error.code(), error.to_string()))
}

/// What is asked; or the code, the identity as far as there is one, and the denial.
fn parse(body: &[u8]) -> Result<Question, Box<(u16, String, Reply)>> {
    let document: Value = match serde_json::from_slice(body) {
        Ok(document) => document,
        Err(error) => {
            return Err(Box::new((400, String::new(), Reply::deny(400, format!("the body must be an AdmissionReview: {error}")))));
        }
    };
    let uid = document.pointer("/request/uid").and_then(Value::as_str).unwrap_or_default().to_owned();
    let code = if uid.is_empty() { 400 } else { 200 };
    let deny = |text: String| Err(Box::new((code, uid.clone(), Reply::deny(400, text))));
    let text = |key: &str| document.get(key).and_then(Value::as_str).unwrap_or_default();
    if (text("kind"), text("apiVersion")) != (KIND, VERSION) {
        return deny(format!("the body must be an {KIND} of {VERSION}, not {:?} of {:?}", text("kind"), text("apiVersion")));
    }
    let Value::Object(mut fields) = document else { return deny(format!("the body must be an {KIND}")) };
    match fields.remove("request").map(Question::deserialize) {
        Some(Ok(question)) if question.uid.is_empty() => deny("request.uid must be set".to_owned()),
        Some(Ok(question)) => Ok(question),
        Some(Err(error)) => deny(format!("request must be what is asked: {error}")),
        None => deny("request must be set".to_owned()),
    }
}

fn written(code: u16, uid: &str, reply: &Reply) -> Response {
    let mut response = json!(reply);
    if let Value::Object(fields) = &mut response {
        fields.insert("uid".to_owned(), uid.into());
    }
    reply::json(code, &json!({"apiVersion": VERSION, "kind": KIND, "response": response}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn review(request: &Value) -> Vec<u8> {
        json!({"apiVersion": VERSION, "kind": KIND, "request": request}).to_string().into_bytes()
    }

    #[test]
    fn a_question_is_read() {
        let request = json!({
            "uid": "u", "kind": {"group": "kubevirt.io", "version": "v1", "kind": "VirtualMachine"}, "operation": "UPDATE",
            "userInfo": {"username": "jane", "extra": {"authentication.kubernetes.io/node-name": ["node01"]}},
            "object": {"spec": {}}, "unknown": 1,
        });
        let question = parse(&review(&request)).unwrap();
        assert_eq!((question.kind.kind.as_str(), question.operation, question.user()), ("VirtualMachine", Verb::Update, "jane"));
        assert_eq!(question.user_node(), Some("node01"));
        assert!(question.old_object.is_null());
    }

    #[test]
    fn what_is_no_question_is_denied_under_its_identity() {
        for (body, code, uid) in [
            (b"\0garbage".to_vec(), 400, ""),
            (b"{".to_vec(), 400, ""),
            (b"[]".to_vec(), 400, ""),
            (b"{}".to_vec(), 400, ""),
            (review(&json!(null)), 400, ""),
            (review(&json!({"operation": "CREATE"})), 400, ""),
            (review(&json!({"uid": "", "operation": "CREATE"})), 400, ""),
            (review(&json!({"uid": "u"})), 200, "u"),
            (review(&json!({"uid": "u", "operation": "DANCE"})), 200, "u"),
            (review(&json!({"uid": "u", "operation": "CREATE", "kind": 1})), 200, "u"),
            (json!({"apiVersion": "v1", "kind": KIND, "request": {"uid": "u"}}).to_string().into_bytes(), 200, "u"),
            ("[".repeat(100_000).into_bytes(), 400, ""),
        ] {
            let (got, found, reply) = *parse(&body).unwrap_err();
            assert_eq!((got, found.as_str(), reply.is_allowed()), (code, uid, false), "{}", String::from_utf8_lossy(&body));
        }
    }

    #[test]
    fn causes_become_a_status_that_names_the_fields() {
        let cause = |field: &str, message: &str| Cause {
            reason: kubevirt_rs::admission::Reason::Invalid,
            field: field.into(),
            message: message.into(),
        };
        let verdict = Verdict {
            allowed: false,
            object: Value::Null,
            causes: vec![cause("spec.a", "must be b"), cause("", "is wrong"), cause("spec.c", "spec.c is d")],
            warnings: vec!["w".to_owned()],
        };
        let reply = json!(Reply::verdict(&verdict));
        assert_eq!(reply["status"]["code"], 422);
        assert_eq!(reply["status"]["message"], "spec.a: must be b; is wrong; spec.c is d");
        assert_eq!(
            reply["status"]["details"]["causes"][0],
            json!({"field": "spec.a", "message": "must be b", "reason": "FieldValueInvalid"})
        );
        assert_eq!(reply["warnings"], json!(["w"]));
    }

    #[test]
    fn no_change_is_no_patch() {
        assert_eq!(Reply::change(&json!([])), Reply::allow());
        let reply = json!(Reply::change(&json!([{"op": "remove", "path": "/a"}])));
        assert_eq!(reply["patchType"], "JSONPatch");
        assert_eq!(STANDARD.decode(reply["patch"].as_str().unwrap()).unwrap(), br#"[{"op":"remove","path":"/a"}]"#);
    }

    #[test]
    fn a_panic_is_a_denial() {
        assert!(!guarded(|| panic!("a fault")).is_allowed());
    }
}
