//! A server and its clients in one process: certificates that change under load, clients that misbehave, streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::{http1, http2};
use hyper::{Method, Request as HttpRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;

use super::authority::{self, Known, Source};
use super::certificates::{KeyFiles, common_name, roots};
use super::client::{Client, Opened};
use super::testing::{Authority, Folder, dial};
use super::tls::{Clients, ServerTls, Settings};
use super::websocket::{self, PLAIN};
use super::{Limits, Request, Response, Server, Service, Shutdown, relay, reply, review};

/// Longer than any of these tests should wait.
const PATIENCE: Duration = Duration::from_secs(20);
const PEER: &str = "kubevirt.io:system:node:virt-handler";
const CALLER: &str = "kubevirt.io:system:client:virt-handler";

struct Echo;

impl Service for Echo {
    async fn answer(&self, mut request: Request) -> Response {
        match request.path() {
            "/certified" => reply::text(200, request.peer().is_certified.to_string()),
            "/panic" => panic!("a fault"),
            "/review" => review::serve(&mut request, |_| async { review::Reply::allow() }).await,
            "/socket" => match websocket::agree(&mut request, &[PLAIN]) {
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
            _ => match request.body().await {
                Ok(body) => reply::bytes(200, "text/plain", body),
                Err(error) => reply::refuse(error.code(), error.to_string()),
            },
        }
    }
}

/// A server of [`Echo`], its authority and the folder of its certificate.
struct Running {
    port: u16,
    authority: Authority,
    folder: Folder,
    settings: watch::Sender<Settings>,
    shutdown: Shutdown,
    server: tokio::task::JoinHandle<()>,
}

impl Running {
    async fn start(limits: Limits, clients: impl FnOnce(&Authority, &Folder) -> Clients) -> Self {
        let (authority, folder) = (Authority::new("test"), Folder::new("serve"));
        authority.server(PEER).write(folder.path());
        std::fs::write(folder.path().join("ca.crt"), authority.pem()).unwrap();
        let clients = clients(&authority, &folder);
        let (settings, known) = watch::channel(Settings::default());
        let tls = ServerTls::follow(KeyFiles::of_secret(folder.path()), clients, known);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shutdown = Shutdown::new();
        let server = Server { listener, tls, service: Arc::new(Echo), limits };
        let server = tokio::spawn(server.run(shutdown.clone()));
        Self { port, authority, folder, settings, shutdown, server }
    }

    fn known(folder: &Folder) -> Known {
        authority::follow(Source::File(folder.path().join("ca.crt")), None)
    }

    async fn known_now(folder: &Folder) -> Known {
        let mut known = Self::known(folder);
        known.wait_for(|authority| !authority.roots.is_empty()).await.unwrap();
        known
    }

    async fn dial(&self, name: Option<&str>, protocol: &str) -> std::io::Result<TlsStream<TcpStream>> {
        let folder = name.map(|name| {
            let folder = Folder::new("client");
            self.authority.client(name).write(folder.path());
            folder
        });
        dial(self.port, &self.authority, folder.as_ref().map(Folder::path), protocol).await
    }

    /// The name in the certificate that a new connection is shown.
    async fn name(&self) -> String {
        let stream = self.dial(None, "http/1.1").await.unwrap();
        common_name(&stream.get_ref().1.peer_certificates().unwrap()[0]).unwrap()
    }

    async fn client(&self, name: Option<&str>) -> http1::SendRequest<Full<Bytes>> {
        let (sender, connection) = http1::handshake(TokioIo::new(self.dial(name, "http/1.1").await.unwrap())).await.unwrap();
        tokio::spawn(connection.with_upgrades());
        sender
    }
}

fn post(path: &str, body: impl Into<Bytes>) -> HttpRequest<Full<Bytes>> {
    HttpRequest::post(path).header("host", "localhost").body(Full::new(body.into())).unwrap()
}

async fn text(response: hyper::Response<hyper::body::Incoming>) -> (u16, String) {
    let code = response.status().as_u16();
    (code, String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap())
}

#[tokio::test]
async fn both_versions_of_http_are_served_and_a_panic_is_an_answer() {
    let running = Running::start(Limits::default(), |_, _| Clients::Anyone).await;
    let mut client = running.client(None).await;
    assert_eq!(text(client.send_request(post("/", "hello")).await.unwrap()).await, (200, "hello".to_owned()));
    let (code, body) = text(client.send_request(post("/panic", "")).await.unwrap()).await;
    assert!(code == 500 && body.contains("InternalError"), "{code} {body}");
    assert_eq!(text(client.send_request(post("/", "again")).await.unwrap()).await.1, "again");

    let stream = TokioIo::new(running.dial(None, "h2").await.unwrap());
    let (mut client, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    let request = HttpRequest::post("https://localhost/").body(Full::new(Bytes::from_static(b"two"))).unwrap();
    assert_eq!(text(client.send_request(request).await.unwrap()).await, (200, "two".to_owned()));
}

#[tokio::test]
async fn who_shows_a_certificate_must_show_a_good_one() {
    let running = Running::start(Limits::default(), |_, folder| {
        let mut authority = authority::Authority::default();
        let bundle = std::fs::read(folder.path().join("ca.crt")).unwrap();
        authority.roots = Arc::new(roots(&bundle, "test").unwrap());
        authority.names = vec!["front-proxy".to_owned()];
        Clients::Optional(watch::channel(authority).1)
    })
    .await;
    let asked = |name: Option<&'static str>| {
        let running = &running;
        async move {
            let stream = running.dial(name, "http/1.1").await.ok()?;
            let (mut client, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
            tokio::spawn(connection);
            let response = client.send_request(post("/certified", "")).await.ok()?;
            Some(text(response).await.1)
        }
    };
    assert_eq!(asked(None).await.as_deref(), Some("false"));
    assert_eq!(asked(Some("front-proxy")).await.as_deref(), Some("true"));
    assert_eq!(asked(Some("somebody")).await, None);
}

#[tokio::test]
async fn who_comes_before_it_is_known_whom_to_believe_waits_and_is_believed() {
    let (learn, known) = watch::channel(authority::Authority::default());
    let running = Running::start(Limits::default(), |_, _| Clients::Optional(known)).await;
    let asked = async {
        let mut client = running.client(Some("front-proxy")).await;
        text(client.send_request(post("/certified", "")).await.unwrap()).await.1
    };
    tokio::pin!(asked);
    assert!(timeout(Duration::from_millis(300), &mut asked).await.is_err(), "nobody can be believed yet");
    let roots = Arc::new(roots(running.authority.pem().as_bytes(), "test").unwrap());
    learn.send_replace(authority::Authority { roots, ..authority::Authority::default() });
    assert_eq!(timeout(Duration::from_secs(10), asked).await.as_deref(), Ok("true"));
}

#[tokio::test]
async fn components_know_each_other_by_name_on_both_sides() {
    let running = Running::start(Limits::default(), |authority, folder| {
        let client = folder.path().join("client");
        authority.client(CALLER).write(&client);
        authority.client("somebody").write(&folder.path().join("other"));
        let roots = Arc::new(roots(authority.pem().as_bytes(), "test").unwrap());
        let known = watch::channel(authority::Authority { roots, ..authority::Authority::default() }).1;
        Clients::Required(known, CALLER)
    })
    .await;
    let client = |folder: &str, peer| {
        let keys = KeyFiles::of_secret(&running.folder.path().join(folder));
        let known = Running::known_now(&running.folder);
        async move { Client::new(keys, known.await, peer) }
    };
    let good = client("client", PEER).await;
    let answer = good.ask("127.0.0.1", running.port, Method::PUT, "/", Bytes::from_static(b"pause")).await.unwrap();
    assert_eq!((answer.code, &answer.body[..]), (200, &b"pause"[..]));
    let Opened::Stream(mut stream) = good.open("127.0.0.1", running.port, "/socket").await.unwrap() else { panic!("no stream") };
    // a masked frame with three bytes, as a browser would send it
    stream.write_all(&[0x82, 0x83, 0, 0, 0, 0, b'a', b'b', b'c']).await.unwrap();
    let mut frame = vec![0; 64];
    let mut got = Vec::new();
    while !got.windows(3).any(|bytes| bytes == b"abc") {
        let count = timeout(PATIENCE, stream.read(&mut frame)).await.unwrap().unwrap();
        assert_ne!(count, 0, "the stream ended: {got:?}");
        got.extend_from_slice(&frame[..count]);
    }
    let Opened::Refused(refused) = good.open("127.0.0.1", running.port, "/none").await.unwrap() else { panic!("a stream") };
    assert_eq!(refused.code, 200);

    let stranger = client("other", PEER).await;
    assert!(stranger.ask("127.0.0.1", running.port, Method::GET, "/", Bytes::new()).await.is_err());
    let misled = client("client", "kubevirt.io:system:node:other").await;
    assert!(misled.ask("127.0.0.1", running.port, Method::GET, "/", Bytes::new()).await.is_err());
}

#[tokio::test]
async fn who_asks_for_no_websocket_gets_none() {
    let running = Running::start(Limits::default(), |_, _| Clients::Anyone).await;
    let mut client = running.client(None).await;
    let refused = text(client.send_request(post("/socket", "")).await.unwrap()).await;
    assert!(refused.0 == 400 && refused.1.contains("WebSocket"), "{refused:?}");
}

/// Changes of the certificate, of the bundle that vouches for clients, and of the settings, while clients ask.
#[tokio::test]
async fn no_change_costs_a_request() {
    let from_file = |_: &Authority, folder: &Folder| Clients::Optional(Running::known(folder));
    let running = Arc::new(Running::start(Limits::default(), from_file).await);
    Running::known_now(&running.folder).await;
    let (done, failed, end) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), Shutdown::new());
    let load: Vec<_> = (0..8)
        .map(|number| {
            let (running, done, failed, end) = (Arc::clone(&running), Arc::clone(&done), Arc::clone(&failed), end.clone());
            tokio::spawn(async move {
                let certificate = (number % 4 < 2).then_some(CALLER);
                let mut client = running.client(certificate).await;
                while !end.is_asked() {
                    // half of them with a connection for each request, as after a rollout
                    if number % 2 == 0 {
                        client = running.client(certificate).await;
                    }
                    let answer = client.send_request(post("/certified", "")).await;
                    let ok = match answer {
                        Ok(response) => text(response).await == (200, certificate.is_some().to_string()),
                        Err(_) => false,
                    };
                    if ok { &done } else { &failed }.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            })
        })
        .collect();
    let mut kept = running.client(None).await;
    assert_eq!(running.name().await, PEER);
    // the certificate first, then the key: for a moment they do not match
    let new = running.authority.server("new");
    std::fs::write(running.folder.path().join("tls.crt"), &new.certificate).unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    std::fs::write(running.folder.path().join("tls.key"), &new.key).unwrap();
    let until_seen = async {
        while running.name().await != "new" {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(PATIENCE, until_seen).await.expect("the new certificate is shown");

    // another authority beside the first, as when authorities are exchanged
    let other = Authority::new("other");
    let stranger = Folder::new("stranger");
    other.client("stranger").write(stranger.path());
    let is_let_in = || async {
        let stream = dial(running.port, &running.authority, Some(stranger.path()), "http/1.1").await.ok()?;
        let (mut client, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
        tokio::spawn(connection);
        Some(text(client.send_request(post("/certified", "")).await.ok()?).await.1)
    };
    assert_eq!(is_let_in().await, None);
    std::fs::write(running.folder.path().join("ca.crt"), other.pem() + &running.authority.pem()).unwrap();
    let until_let_in = async {
        while is_let_in().await.is_none() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(PATIENCE, until_let_in).await.expect("the new authority is believed");

    let ciphers = vec!["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256".to_owned()];
    running.settings.send_replace(Settings { only_1_3: false, ciphers });
    tokio::time::sleep(Duration::from_millis(300)).await;
    running.settings.send_replace(Settings { only_1_3: true, ciphers: Vec::new() });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let stream = running.dial(None, "http/1.1").await.unwrap();
    assert_eq!(stream.get_ref().1.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));

    end.ask();
    for worker in load {
        worker.await.unwrap();
    }
    assert_eq!(text(kept.send_request(post("/", "kept")).await.unwrap()).await.1, "kept");
    assert_eq!(failed.load(Ordering::Relaxed), 0);
    assert!(done.load(Ordering::Relaxed) > 100, "{done:?}");
}

/// What comes back for these bytes, until the server closes.
async fn raw(running: &Running, bytes: &[u8]) -> String {
    let mut stream = running.dial(None, "http/1.1").await.unwrap();
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("the server closes");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn nobody_takes_more_than_the_limits_give() {
    let short = Duration::from_millis(300);
    let limits =
        Limits { body: 1024, head: 8 * 1024, first_time: short, idle_time: Duration::from_secs(1), body_time: short, ..Limits::default() };
    let running = Running::start(limits, |_, _| Clients::Anyone).await;

    let big = raw(&running, b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10000000\r\n\r\n").await;
    assert!(big.starts_with("HTTP/1.1 413") && big.contains("RequestEntityTooLarge"), "{big}");
    let mut chunked = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    chunked.extend(b"200\r\n".iter().chain([b'a'; 512].iter()).chain(b"\r\n").cycle().take(40 * 519));
    let endless = raw(&running, &chunked).await;
    assert!(endless.starts_with("HTTP/1.1 413"), "{endless}");
    let slow = raw(&running, b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc").await;
    assert!(slow.starts_with("HTTP/1.1 408"), "{slow}");
    let review = raw(&running, b"POST /review HTTP/1.1\r\nhost: x\r\ncontent-length: 10000000\r\n\r\n").await;
    assert!(
        review.starts_with("HTTP/1.1 413") && review.contains(r#""kind":"AdmissionReview""#) && review.contains(r#""allowed":false"#),
        "{review}"
    );
    let slow = raw(&running, b"POST /review HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{").await;
    assert!(slow.starts_with("HTTP/1.1 408") && slow.contains(r#""allowed":false"#), "{slow}");
    let garbage = raw(&running, b"POST /review HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\nconnection: close\r\n\r\n\0\xff{[").await;
    assert!(garbage.starts_with("HTTP/1.1 400") && garbage.contains(r#""allowed":false"#), "{garbage}");
    let head = raw(&running, format!("GET / HTTP/1.1\r\nhost: x\r\nlong: {}\r\n\r\n", "a".repeat(20_000)).as_bytes()).await;
    assert!(head.starts_with("HTTP/1.1 431"), "{head}");
    // who says nothing is cut off, and so is who stops in the middle of a head
    assert_eq!(raw(&running, b"").await, "");
    assert_eq!(raw(&running, b"GET / HTTP/1.1\r\nhost: ").await, "");

    // and without TLS, or without a word, nobody keeps a connection that others could have
    let mut client = running.client(None).await;
    assert_eq!(text(client.send_request(post("/", "well")).await.unwrap()).await.1, "well");
}

#[tokio::test]
async fn more_connections_than_there_is_room_for_wait() {
    let limits = Limits { connections: 2, first_time: Duration::from_millis(500), ..Limits::default() };
    let running = Running::start(limits, |_, _| Clients::Anyone).await;
    let _silent = [running.dial(None, "http/1.1").await.unwrap(), running.dial(None, "http/1.1").await.unwrap()];
    let mut client = timeout(PATIENCE, running.client(None)).await.unwrap();
    assert_eq!(text(client.send_request(post("/", "room")).await.unwrap()).await.1, "room");
}

#[tokio::test]
async fn requests_that_have_begun_end_before_the_server_does() {
    let limits = Limits { linger_time: Duration::from_millis(200), ..Limits::default() };
    let running = Running::start(limits, |_, _| Clients::Anyone).await;
    let mut idle = running.client(None).await;
    assert_eq!(text(idle.send_request(post("/", "one")).await.unwrap()).await.1, "one");
    let mut slow = running.dial(None, "http/1.1").await.unwrap();
    slow.write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nha").await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    running.shutdown.ask();
    // still there for those who have not heard, who are asked to come by another connection
    let answer = idle.send_request(post("/", "two")).await.unwrap();
    assert_eq!(answer.headers()["connection"], "close");
    assert_eq!(text(answer).await.1, "two");
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert!(running.dial(None, "http/1.1").await.is_err());
    slow.write_all(b"lf").await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, slow.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.ends_with("half"), "{answer}");
    timeout(Duration::from_secs(3), running.server).await.expect("the server ends").unwrap();
}
