//! A rollout: one replica ends while clients ask, and another is there. Nobody's request fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kubevirt_rs::install::webhooks::path;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, sleep, timeout};

use super::Role;
use crate::serve::testing::dial;

/// What the client says of a request for which the connection had no stream any more, or one after the last that the server
/// took on: it was never looked at, and clients send it again (RFC 9113, 6.8). One that was taken on and is lost breaks
/// otherwise.
const GOING_AWAY: &str = r#"hyper::Error(Http2, Error { kind: GoAway(b"", NO_ERROR, Remote) })"#;

/// How often it is looked whether a replica is ready; kubelets look every few seconds, and the role waits for them.
const LOOK: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(20);

/// A machine that is admitted, as a review of it.
fn question() -> String {
    let machine = json!({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "a", "namespace": "lab"},
        "spec": {"runStrategy": "Halted", "template": {"spec": {"domain": {"devices": {}, "memory": {"guest": "64Mi"}}}}}});
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "7a1b", "kind": {"group": "kubevirt.io", "version": "v1", "kind": "VirtualMachine"},
        "resource": {"group": "kubevirt.io", "version": "v1", "resource": "virtualmachines"},
        "name": "a", "namespace": "lab", "operation": "CREATE", "userInfo": {"username": "somebody"}, "object": machine}})
    .to_string()
}

/// A connection of either version.
enum Sender {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

/// What became of a request.
enum Outcome {
    Answered,
    /// The connection ended before the request was sent, and said so: clients send it again.
    Unsent,
    Failed(String),
}

impl Sender {
    async fn dial(role: &Role, is_h2: bool) -> Self {
        let stream = dial(role.port, &role.kubevirt, None, if is_h2 { "h2" } else { "http/1.1" }).await.expect("who is ready lets in");
        if is_h2 {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
            tokio::spawn(connection);
            Self::Two(sender)
        } else {
            let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
            tokio::spawn(connection);
            Self::One(sender)
        }
    }

    async fn ask(&mut self) -> Outcome {
        let request = Request::post(format!("https://localhost{}", path::VM_VALIDATE));
        let request = request.header("host", "localhost").body(Full::new(Bytes::from(question()))).unwrap();
        let ready = match self {
            Self::One(sender) => sender.ready().await,
            Self::Two(sender) => sender.ready().await,
        };
        if ready.is_err() {
            return Outcome::Unsent;
        }
        let sent = match self {
            Self::One(sender) => sender.try_send_request(request).await,
            Self::Two(sender) => sender.try_send_request(request).await,
        };
        match sent {
            Ok(response) => match read(response).await {
                Ok(body) if body.contains("\"allowed\":true") => Outcome::Answered,
                other => Outcome::Failed(format!("{other:?}")),
            },
            Err(mut error) => match error.take_message() {
                Some(_) => Outcome::Unsent,
                None => {
                    let why = format!("{:?}", error.into_error());
                    if why == GOING_AWAY { Outcome::Unsent } else { Outcome::Failed(why) }
                }
            },
        }
    }
}

async fn read(response: Response<Incoming>) -> hyper::Result<String> {
    Ok(String::from_utf8_lossy(&response.into_body().collect().await?.to_bytes()).into_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollout_drops_no_request() {
    let roles = Arc::new([Role::start(json!({}), 1).await, Role::start(json!({}), 1).await]);
    let [old, new] = &*roles;
    // what a Service does: new connections go to the first replica that was ready when it was last looked
    let target = Arc::new(AtomicUsize::new(0));
    let looks = {
        let (roles, target) = (Arc::clone(&roles), Arc::clone(&target));
        tokio::spawn(async move {
            while roles[0].ask(None, Method::GET, "/readyz", "").await.0 == 200 {
                sleep(LOOK).await;
            }
            target.store(1, Ordering::SeqCst);
        })
    };
    let until = Instant::now() + Duration::from_secs(6);
    let clients: Vec<_> = (0..6)
        .map(|number| {
            let (roles, target) = (Arc::clone(&roles), Arc::clone(&target));
            tokio::spawn(async move {
                let (mut answered, mut moved, mut failed) = (0_u32, 0_u32, Vec::new());
                let mut sender = Sender::dial(&roles[target.load(Ordering::SeqCst)], number % 2 == 0).await;
                while Instant::now() < until {
                    match sender.ask().await {
                        Outcome::Answered => answered += 1,
                        Outcome::Unsent => {
                            moved += 1;
                            sender = Sender::dial(&roles[target.load(Ordering::SeqCst)], number % 2 == 0).await;
                        }
                        Outcome::Failed(why) => {
                            failed.push(why);
                            sender = Sender::dial(&roles[target.load(Ordering::SeqCst)], number % 2 == 0).await;
                        }
                    }
                    sleep(Duration::from_millis(3)).await;
                }
                (answered, moved, failed)
            })
        })
        .collect();
    // one request is under way all the time: half of its body is there
    let body = question();
    let (first, second) = body.split_at(body.len() / 2);
    let mut slow = old.dial(None).await.unwrap();
    let head = format!("POST {} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{first}", path::VM_VALIDATE, body.len());
    slow.write_all(head.as_bytes()).await.unwrap();
    sleep(Duration::from_secs(1)).await;

    old.shutdown.ask();
    timeout(PATIENCE, looks).await.expect("the old replica says that it is not ready").unwrap();
    // who has not heard of it yet is still let in
    assert_eq!(old.ask(None, Method::POST, path::VM_VALIDATE, &body).await.0, 200);
    sleep(super::super::LINGER + Duration::from_millis(500)).await;
    assert!(old.dial(None).await.is_err(), "it still accepts");
    slow.write_all(second.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, slow.read_to_string(&mut answer)).await.expect("it closes").unwrap();
    assert!(answer.contains("\"allowed\":true") && answer.to_ascii_lowercase().contains("connection: close"), "{answer}");

    for client in clients {
        let (answered, moved, failed) = client.await.unwrap();
        assert_eq!(failed, Vec::<String>::new());
        assert!(answered > 100 && moved > 0, "{answered} answers, {moved} connections that ended");
    }
    timeout(PATIENCE, async {
        while !old.served.is_finished() {
            sleep(LOOK).await;
        }
    })
    .await
    .expect("the old replica ends");
    assert!(!new.served.is_finished());
}
