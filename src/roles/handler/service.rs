//! What the handler is asked: consoles and commands by the api, health and metrics by the cluster.

use std::sync::Arc;

use anyhow::Context as _;
use hyper::Method;
use hyper::body::Bytes;
use kubevirt_rs::api::v1::FreezeUnfreezeTimeout;
use kubevirt_rs::guest::status::{Fault, FaultReason};
use prometheus::{IntGauge, Registry};
use serde::Serialize;
use serde_json::json;

use super::guests::Line;
use super::pass::Node;
use crate::cluster::Key;
use crate::serve::health::Health;
use crate::serve::server::Service;
use crate::serve::websocket::{self, PLAIN};
use crate::serve::{Limits, Request, Response, metrics, relay, reply};
use crate::wire::launcher::{Client, ClientError, Freeze};

/// Commands are small, and the api is not far.
pub(super) fn limits() -> Limits {
    Limits { connections: 256, streams: 32, body: 1 << 20, ..Limits::default() }
}

/// Where guests are.
const INSTANCES: &str = "virtualmachineinstances";

/// What both services share.
pub(super) struct Handler {
    node: Arc<Node>,
    health: Health,
    registry: Registry,
    guests: IntGauge,
}

impl Handler {
    pub(super) fn new(node: Arc<Node>, health: Health) -> anyhow::Result<Self> {
        let guests =
            IntGauge::new("kubevirt_handler_guests", "The guests of this node that the handler follows.").context("set the metrics up")?;
        let registry = Registry::new();
        registry.register(Box::new(guests.clone())).context("set the metrics up")?;
        Ok(Self { node, health, registry, guests })
    }
}

/// Answers to everyone: health and metrics.
pub(super) struct Healths(pub(super) Arc<Handler>);

impl Service for Healths {
    async fn answer(&self, request: Request) -> Response {
        let Handler { node, health, registry, guests } = &*self.0;
        match request.path() {
            "/healthz" | "/livez" => reply::text(200, "ok"),
            "/readyz" => health.answer(),
            "/metrics" => {
                guests.set(i64::try_from(node.guests.count()).unwrap_or(i64::MAX));
                metrics::answer(registry)
            }
            other => reply::refuse(404, format!("there is no {other} here")),
        }
    }
}

/// Answers to the api: consoles and commands.
pub(super) struct Consoles(pub(super) Arc<Handler>);

impl Service for Consoles {
    async fn answer(&self, mut request: Request) -> Response {
        if matches!(request.path(), "/healthz" | "/v1/healthz") {
            return reply::text(200, "ok");
        }
        let path = request.path().to_owned();
        let Some((key, operation)) = parse(&path) else {
            return reply::refuse(404, format!("there is no {path} here"));
        };
        let uid = self.0.node.instances.get(&key).and_then(|instance| instance.metadata.uid);
        let Some(line) = uid.and_then(|uid| self.0.node.guests.line(&uid)) else {
            return reply::refuse(404, format!("the guest {key} does not run on this node"));
        };
        let answer = match *request.method() {
            Method::GET => ask(&mut request, line, operation).await,
            Method::PUT => {
                let body = match request.body().await {
                    Ok(body) => body,
                    Err(error) => return reply::refuse(error.code(), error.to_string()),
                };
                let answer = tell(&line.client, operation, &body).await;
                if answer.as_ref().is_ok_and(|answer| answer.status().is_success()) {
                    tracing::info!(kind = "VirtualMachineInstance", namespace = %key.namespace, name = %key.name, "{operation}");
                }
                answer
            }
            _ => return reply::refuse(405, "GET and PUT are what there is"),
        };
        answer.unwrap_or_else(|error| refuse(&error))
    }
}

/// `/v1/namespaces/NAMESPACE/virtualmachineinstances/NAME/OPERATION`
fn parse(path: &str) -> Option<(Key, &str)> {
    let rest = path.strip_prefix("/v1/namespaces/")?;
    let (namespace, rest) = rest.split_once('/')?;
    let rest = rest.strip_prefix(INSTANCES)?.strip_prefix('/')?;
    let (name, operation) = rest.split_once('/')?;
    Some((Key::new(namespace, name), operation))
}

async fn ask(request: &mut Request, line: Arc<Line>, operation: &str) -> Result<Response, ClientError> {
    let client = &line.client;
    Ok(match operation {
        "console" | "vnc" => return stream(request, line, operation == "vnc").await,
        "guestosinfo" => reply::json(200, &client.guest_info().await?),
        "userlist" => list("VirtualMachineInstanceGuestOSUserList", &client.users().await?),
        "filesystemlist" => list("VirtualMachineInstanceFileSystemList", &client.filesystems().await?),
        "vnc/screenshot" => reply::bytes(200, "image/png", client.screenshot().await?),
        _ => unknown(operation),
    })
}

fn list<T: Serialize>(kind: &str, items: &[T]) -> Response {
    reply::json(200, &json!({ "apiVersion": "kubevirt.io/v1", "kind": kind, "metadata": {}, "items": items }))
}

async fn stream(request: &mut Request, line: Arc<Line>, is_vnc: bool) -> Result<Response, ClientError> {
    let agreed = match websocket::agree(request, &[PLAIN]) {
        Ok(agreed) => agreed,
        Err(refusal) => return Ok(*refusal),
    };
    let far = if is_vnc { line.client.vnc().await? } else { line.client.console().await? };
    Ok(agreed.socket(move |socket| async move {
        relay::messages(socket, relay::stream(far)).await;
    }))
}

async fn tell(client: &Client, operation: &str, body: &Bytes) -> Result<Response, ClientError> {
    match operation {
        "pause" => client.pause().await?,
        "unpause" => client.unpause().await?,
        "reset" => client.reset().await?,
        "softreboot" => client.soft_reboot().await?,
        "unfreeze" => client.unfreeze().await?,
        "freeze" => {
            let wanted =
                if body.is_empty() { Ok(FreezeUnfreezeTimeout::default()) } else { serde_json::from_slice::<FreezeUnfreezeTimeout>(body) };
            let wanted = match wanted {
                Ok(wanted) => wanted,
                Err(error) => return Ok(reply::refuse(400, format!("the body must say unfreezeTimeout: {error}"))),
            };
            let seconds = wanted.unfreeze_timeout.map_or(0, |time| time.nanoseconds() / 1_000_000_000);
            client.freeze(&Freeze { unfreeze_timeout_seconds: u64::try_from(seconds).unwrap_or(0) }).await?;
        }
        _ => return Ok(unknown(operation)),
    }
    Ok(reply::empty(202))
}

fn unknown(operation: &str) -> Response {
    reply::refuse(404, format!("this handler does not know how to {operation} a guest"))
}

fn refuse(error: &ClientError) -> Response {
    let code = match error {
        ClientError::Refused(Fault { reason, .. }) => match reason {
            FaultReason::NotRunning | FaultReason::Conflict => 409,
            FaultReason::BadRequest | FaultReason::InvalidInstance => 400,
            _ => 500,
        },
        ClientError::Unreachable { .. } => 503,
        ClientError::Silent(_) => 504,
        ClientError::Broken(_) => 500,
    };
    reply::refuse(code, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_a_guest_and_what_to_do() {
        let parsed = |path| parse(path).map(|(key, operation)| format!("{key} {operation}"));
        assert_eq!(parsed("/v1/namespaces/lab/virtualmachineinstances/a/console").as_deref(), Some("lab/a console"));
        assert_eq!(parsed("/v1/namespaces/lab/virtualmachineinstances/a/vnc/screenshot").as_deref(), Some("lab/a vnc/screenshot"));
        for path in ["/", "/v1/namespaces/lab/virtualmachineinstances/a", "/v1/namespaces/lab/virtualmachines/a/console", "/v2/x"] {
            assert_eq!(parsed(path), None, "{path}");
        }
    }

    #[test]
    fn a_refusal_has_the_code_of_its_reason() {
        let refused = |reason| ClientError::Refused(Fault { reason, message: "m".into(), field: None });
        for (error, code) in [
            (refused(FaultReason::NotRunning), 409),
            (refused(FaultReason::BadRequest), 400),
            (refused(FaultReason::AgentFailed), 500),
            (ClientError::Broken("b".into()), 500),
        ] {
            assert_eq!(refuse(&error).status().as_u16(), code, "{error}");
        }
    }
}
