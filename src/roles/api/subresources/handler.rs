//! The handler of a guest's node: where it is, and what it answers.

use hyper::Method;
use hyper::body::Bytes;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use kubevirt_rs::api::names::APP_LABEL;
use kubevirt_rs::lifecycle::subresource::{Ask, Observed, Reason, Refusal, Request};
use serde_json::Value;

use super::Subresources;
use crate::serve::client::{Answer, ClientError};
use crate::serve::{Response, reply};

impl Subresources {
    /// Asks the handler; its answer is the answer.
    pub(super) async fn ask_handler(
        &self,
        request: &Request<'_>,
        observed: &Observed,
        ask: Ask,
        query: &str,
        body: Bytes,
    ) -> Result<Response, Refusal> {
        let host = self.handler_of(observed).await?;
        let mut path = path(request, ask.path);
        if ask.path == "vnc/screenshot" && !query.is_empty() {
            path = format!("{path}?{query}");
        }
        let method = if ask.method == "PUT" { Method::PUT } else { Method::GET };
        let body = if method == Method::PUT { body } else { Bytes::new() };
        let answer = self.handlers.ask(&host, self.handler_port, method, &path, body).await;
        let answer = answer.map_err(|error| unreachable(observed, &error))?;
        if answer.code >= 400 {
            return Err(refused(&answer));
        }
        Ok(reply::bytes(200, &answer.content_type, answer.body))
    }

    /// The address of the handler on the guest's node.
    pub(super) async fn handler_of(&self, observed: &Observed) -> Result<String, Refusal> {
        let node = observed.instance.as_ref().map(|instance| instance.status.node_name.as_str()).unwrap_or_default();
        if node.is_empty() {
            return Err(Refusal::bad_request("the guest is on no node yet"));
        }
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        let there = ListParams::default().labels(&format!("{APP_LABEL}=virt-handler")).fields(&format!("spec.nodeName={node}"));
        let pods = pods.list(&there).await;
        let pods = pods.map_err(|e| Refusal::internal(format_args!("the handler of the node {node:?} could not be looked for: {e}")))?;
        let address = |pod: &Pod| pod.status.as_ref().and_then(|status| status.pod_ip.clone()).filter(|ip| !ip.is_empty());
        // while it is exchanged the old one may still be listed
        let mut running = pods.items.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
        running.find_map(address).ok_or_else(|| {
            Refusal::bad_request(format!("no virt-handler runs on the node {node:?}; see the pods of its DaemonSet, and try again"))
                .as_reason(Reason::InternalError)
        })
    }
}

/// The path of a guest at its handler.
pub(super) fn path(request: &Request<'_>, operation: &str) -> String {
    format!("/v1/namespaces/{}/virtualmachineinstances/{}/{operation}", request.namespace, request.name)
}

/// The answer when the handler did not.
pub(super) fn unreachable(observed: &Observed, error: &ClientError) -> Refusal {
    let node = observed.instance.as_ref().map(|instance| instance.status.node_name.as_str()).unwrap_or_default();
    tracing::warn!(%error, node, "the handler cannot be asked");
    Refusal::internal(format_args!("the virt-handler of the node {node:?} cannot be asked: {error}"))
}

/// What the handler said why not: a `Status`, or a few words.
pub(super) fn refused(answer: &Answer) -> Refusal {
    let reason = match answer.code {
        400 => Reason::BadRequest,
        403 => Reason::Forbidden,
        404 => Reason::NotFound,
        409 => Reason::Conflict,
        422 => Reason::Invalid,
        _ => Reason::InternalError,
    };
    let words = serde_json::from_slice::<Value>(&answer.body).ok();
    let words = words.and_then(|status| status.get("message").and_then(Value::as_str).map(str::to_owned));
    let words = words.unwrap_or_else(|| String::from_utf8_lossy(&answer.body).trim().to_owned());
    let words = if words.is_empty() { format!("the virt-handler of the guest answered {}", answer.code) } else { words };
    Refusal::bad_request(words).as_reason(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_handler_are_passed_on() {
        let answer =
            |code, body: &'static str| refused(&Answer { code, content_type: String::new(), body: Bytes::from_static(body.as_bytes()) });
        let refusal = answer(409, r#"{"kind": "Status", "message": "the guest is paused"}"#);
        assert_eq!((refusal.reason, refusal.message.as_str()), (Reason::Conflict, "the guest is paused"));
        assert_eq!(answer(500, "no such domain\n").message, "no such domain");
        assert!(answer(502, "").message.contains("502"));
    }
}
