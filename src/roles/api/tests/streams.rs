//! Guests that are asked by way of a handler, and streams to them.

use std::sync::Arc;

use futures_util::{SinkExt as _, StreamExt as _};
use hyper::Method;
use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::watch;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{WebSocketStream, client_async};

use super::Role;
use crate::serve::authority::Authority;
use crate::serve::certificates::{KeyFiles, roots};
use crate::serve::tls::{Clients, ServerTls, Settings};
use crate::serve::websocket::{self, PLAIN};
use crate::serve::{Limits, Request, Response, Server, Service, Shutdown, relay, reply};

const GUEST: &str = "/apis/subresources.kubevirt.io/v1/namespaces/lab/virtualmachineinstances/vm";

/// A handler whose guest's console repeats what is typed.
struct Handler;

impl Service for Handler {
    async fn answer(&self, mut request: Request) -> Response {
        let Some(operation) = request.path().strip_prefix("/v1/namespaces/lab/virtualmachineinstances/vm/").map(str::to_owned) else {
            return reply::refuse(404, "no such guest");
        };
        match (request.method().as_str(), operation.as_str()) {
            ("PUT", "pause") => reply::empty(200),
            ("PUT", "freeze") => reply::refuse(409, "the agent is asleep"),
            ("GET", "guestosinfo") => reply::json(200, &json!({"hostname": "vm", "asked": request.query()})),
            ("GET", "vnc/screenshot") => reply::bytes(200, "image/png", &b"\x89PNG"[..]),
            ("GET", "console") => match websocket::agree(&mut request, &[PLAIN]) {
                Ok(agreed) => {
                    let (near, far) = tokio::io::duplex(1024);
                    tokio::spawn(async move {
                        let (mut read, mut write) = tokio::io::split(far);
                        let _ = tokio::io::copy(&mut read, &mut write).await;
                    });
                    agreed.socket(|socket| relay::messages(socket, relay::stream(near)))
                }
                Err(refused) => *refused,
            },
            ("GET", "vnc") => reply::refuse(500, request.query().to_owned()),
            _ => reply::refuse(404, "no such thing"),
        }
    }
}

/// The role, with a handler that has the right certificate.
async fn role(guest_ip: &str) -> Role {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let condition = |kind: &str| json!({"type": kind, "status": "True"});
    let role = Role::start(
        json!({
            "/api/v1/namespaces/kubevirt/pods/virt-handler-x": {"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": "virt-handler-x", "namespace": "kubevirt", "labels": {"kubevirt.io": "virt-handler"}},
                "spec": {"nodeName": "node01", "containers": []}, "status": {"podIP": "127.0.0.1"}},
            "/apis/kubevirt.io/v1/namespaces/lab/virtualmachineinstances/vm": {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
                "metadata": {"name": "vm", "namespace": "lab"}, "spec": {"domain": {"devices": {}}},
                "status": {"phase": "Running", "nodeName": "node01", "conditions": [condition("AgentConnected")],
                    "interfaces": [{"ipAddress": guest_ip}]}},
        }),
        port,
    )
    .await;
    let folder = role.folder.path().join("handler");
    role.kubevirt.server("kubevirt.io:system:node:virt-handler").write(&folder);
    let authority = Authority { roots: Arc::new(roots(role.kubevirt.pem().as_bytes(), "test").unwrap()), ..Authority::default() };
    let clients = Clients::Required(watch::channel(authority).1, "kubevirt.io:system:client:virt-handler");
    let tls = ServerTls::follow(KeyFiles::of_secret(&folder), clients, watch::channel(Settings::default()).1);
    tokio::spawn(Server { listener, tls, service: Arc::new(Handler), limits: Limits::default() }.run(Shutdown::new()));
    role
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_answers_for_its_guests() {
    let role = role("127.0.0.1").await;
    let ask = |method: Method, path: &'static str| {
        let role = &role;
        async move { role.ask(Some("joe"), method, &format!("{GUEST}/{path}"), "").await }
    };
    assert_eq!(ask(Method::PUT, "pause").await, (200, String::new()));
    let (code, body) = ask(Method::GET, "guestosinfo").await;
    assert_eq!((code, serde_json::from_str::<Value>(&body).unwrap()["hostname"].clone()), (200, json!("vm")));
    assert!(ask(Method::GET, "vnc/screenshot").await.1.ends_with("PNG"));
    let (code, body) = ask(Method::PUT, "freeze").await;
    assert!(code == 409 && body.contains("the agent is asleep"), "{code} {body}");
    let (code, body) = ask(Method::GET, "console").await;
    assert!(code == 400 && body.contains("WebSocket"), "{code} {body}");
}

type Socket = WebSocketStream<tokio_rustls::client::TlsStream<tokio::net::TcpStream>>;

/// Opens a stream as `client-go` does.
async fn open(role: &Role, path: &str) -> Result<Socket, (u16, String)> {
    let mut request = format!("wss://localhost{GUEST}/{path}").into_client_request().unwrap();
    let headers = request.headers_mut();
    headers.insert("sec-websocket-protocol", PLAIN.parse().unwrap());
    headers.insert("x-remote-user", "joe".parse().unwrap());
    headers.insert("x-remote-group", "system:authenticated".parse().unwrap());
    match client_async(request, role.dial(Some("front")).await.unwrap()).await {
        Ok((socket, response)) => {
            assert_eq!(response.headers()["sec-websocket-protocol"], PLAIN);
            Ok(socket)
        }
        Err(tokio_tungstenite::tungstenite::Error::Http(response)) => {
            Err((response.status().as_u16(), String::from_utf8_lossy(response.body().as_deref().unwrap_or_default()).into_owned()))
        }
        Err(error) => panic!("{error}"),
    }
}

/// Sends a word, and reads until it has come back.
async fn echoes(socket: &mut Socket, word: &'static [u8]) {
    socket.send(Message::Binary(Bytes::from_static(word))).await.unwrap();
    let mut got = Vec::new();
    while got != word {
        match tokio::time::timeout(std::time::Duration::from_secs(10), socket.next()).await.unwrap().unwrap().unwrap() {
            Message::Binary(bytes) => got.extend_from_slice(&bytes),
            Message::Ping(_) | Message::Pong(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_console_goes_by_way_of_the_handler() {
    let role = role("127.0.0.1").await;
    let mut socket = open(&role, "console").await.unwrap();
    echoes(&mut socket, b"root\n").await;
    assert!(
        role.ask(None, Method::GET, "/metrics", "").await.1.contains("kubevirt_console_active_connections{namespace=\"lab\",vmi=\"vm\"} 1")
    );
    socket.close(None).await.unwrap();
    while let Some(Ok(_)) = socket.next().await {}
    // what the handler refuses, and what it was told
    let (code, words) = open(&role, "vnc?preserveSession=true").await.unwrap_err();
    assert!(code == 500 && words.contains("preserveSession=true"), "{code} {words}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ports_of_a_guest_are_reached_at_its_address() {
    let role = role("127.0.0.1").await;
    let guest = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = guest.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = guest.accept().await {
            let mut word = [0; 4];
            if stream.read_exact(&mut word).await.is_ok() {
                let _ = stream.write_all(&word).await;
            }
        }
    });
    let mut socket = open(&role, &format!("portforward/{port}")).await.unwrap();
    echoes(&mut socket, b"ping").await;
    // the guest closed, and the client hears of a normal end
    loop {
        match socket.next().await {
            Some(Ok(Message::Close(frame))) => {
                assert_eq!(frame.map(|frame| u16::from(frame.code)), Some(1000));
                break;
            }
            Some(Ok(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    let packets = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let port = packets.local_addr().unwrap().port();
    tokio::spawn(async move {
        let mut packet = [0; 64];
        while let Ok((count, from)) = packets.recv_from(&mut packet).await {
            let _ = packets.send_to(&packet[..count], from).await;
        }
    });
    let mut socket = open(&role, &format!("portforward/{port}/udp")).await.unwrap();
    echoes(&mut socket, b"query").await;

    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    for (path, code, word) in [
        (format!("portforward/{closed}"), 500, "does not answer"),
        ("portforward/ssh".to_owned(), 400, "port"),
        ("portforward/22/sctp".to_owned(), 400, "sctp"),
    ] {
        let (got, words) = open(&role, &path).await.unwrap_err();
        assert!(got == code && words.contains(word), "{path}: {got} {words}");
    }
}
