//! How many reviews a second the api role answers over HTTPS, how long they take, and what becomes of its memory.
//!
//!     KUBEVIRT_RS=target/kubevirt-rs cargo bench --bench reviews [-- --reviews NUMBER]
//!
//! The program runs as in a pod, with an API server that has nothing; the clients of this process take their share of
//! the same processors. One line of JSON.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context as _, Result, bail, ensure};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1 as client;
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use kubevirt_rs::{install::webhooks, manifest};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

/// Clients at the same time: an API server keeps a few connections.
const CLIENTS: usize = 8;
/// So many reviews come before the figures count.
const WARM: usize = 2000;

fn main() -> Result<()> {
    let mut reviews = 200_000;
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--reviews" {
            reviews = arguments.next().context("--reviews takes a number")?.parse()?;
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(measure(reviews))
}

/// The program, ended when this is dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Program {
    /// Resident memory in KiB: all of it, and what is not the file's.
    fn memory(&self) -> Result<(u64, u64)> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let of = |name: &str| -> Result<u64> {
            let line = status.lines().find(|line| line.starts_with(name)).context("a process has memory")?;
            Ok(line.split_whitespace().nth(1).context("a number")?.parse()?)
        };
        Ok((of("VmRSS:")?, of("RssAnon:")?))
    }
}

async fn measure(reviews: usize) -> Result<()> {
    let folder = env::temp_dir().join(format!("reviews-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let (program, port, roots, first) = start(&folder).await?;
    let bodies = Arc::new(questions()?);
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = Arc::new(config.with_safe_default_protocol_versions()?.with_root_certificates(roots).with_no_client_auth());

    drop(load(port, &config, &bodies, WARM).await?);
    let before = program.memory()?;
    let begin = Instant::now();
    let mut times = load(port, &config, &bodies, reviews).await?;
    let seconds = begin.elapsed().as_secs_f64();
    let after = program.memory()?;
    let _ = fs::remove_dir_all(&folder);

    times.sort_unstable();
    let at = |share: f64| times.get(((times.len() as f64) * share) as usize).map_or(0.0, |time| time.as_secs_f64() * 1e3);
    let figures = json!({
        "reviews": times.len(),
        "perSecond": (times.len() as f64 / seconds) as u64,
        "p50Milliseconds": at(0.5),
        "p99Milliseconds": at(0.99),
        "firstAnswerMilliseconds": first.as_millis() as u64,
        "residentMegabytes": [before.0 / 1000, after.0 / 1000],
        "ownMegabytes": [before.1 / 1000, after.1 / 1000],
    });
    println!("{figures}");
    Ok(())
}

/// Starts the program with certificates of its own, and tells how long its first answer took.
async fn start(folder: &Path) -> Result<(Program, u16, RootCertStore, Duration)> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(vec!["localhost".to_owned()])?.signed_by(&key, &authority)?;
    let file = |name: &str, text: String| -> Result<PathBuf> {
        let path = folder.join(name);
        fs::write(&path, text)?;
        Ok(path)
    };
    let certificate = file("tls.crt", certificate.pem())?;
    let key = file("tls.key", key.serialize_pem())?;
    let cluster = cluster(authority.pem()).await?;
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": {"server": format!("http://127.0.0.1:{cluster}")}}],
        "users": [{"name": "bench", "user": {}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
    });
    let kubeconfig = file("kubeconfig", kubeconfig.to_string())?;
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let program = env::var_os("KUBEVIRT_RS").context("KUBEVIRT_RS names the program")?;
    let begin = Instant::now();
    let program = Command::new(&program)
        .args(["api", "--namespace=kubevirt", "--listen=127.0.0.1"])
        .arg(format!("--port={port}"))
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .arg(format!("--tls-cert-file={}", certificate.display()))
        .arg(format!("--tls-key-file={}", key.display()))
        .env("KUBEVIRT_RS_LOG", "warn")
        .stdin(Stdio::null())
        .spawn()
        .with_context(|| format!("start {}", program.display()))?;
    let program = Program(program);
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone())?;
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = Arc::new(config.with_safe_default_protocol_versions()?.with_root_certificates(roots.clone()).with_no_client_auth());
    let first = loop {
        let answered = async {
            let mut sender = connect(port, &config).await?;
            let request = Request::get("/healthz").header("host", "localhost").body(Full::default())?;
            Ok::<_, anyhow::Error>(sender.send_request(request).await?.status())
        };
        match answered.await {
            Ok(status) if status == 200 => break begin.elapsed(),
            _ if begin.elapsed() > Duration::from_secs(20) => bail!("the program does not answer"),
            _ => tokio::time::sleep(Duration::from_millis(2)).await,
        }
    };
    Ok((program, port, roots, first))
}

async fn connect(port: u16, config: &Arc<ClientConfig>) -> Result<client::SendRequest<Full<Bytes>>> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let stream = TlsConnector::from(Arc::clone(config)).connect(ServerName::try_from("localhost")?, stream).await?;
    let (sender, connection) = client::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

/// Machines and instances of examples/, each as a question for its defaults and one for a judgement.
fn questions() -> Result<Vec<(&'static str, Bytes)>> {
    let mut questions = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "yaml")) {
        for document in manifest::read(&fs::read(path)?)? {
            let mut object = document.value;
            let (mutate, validate) = match object.get("kind").and_then(Value::as_str) {
                Some("VirtualMachine") => (webhooks::path::VM_MUTATE, webhooks::path::VM_VALIDATE),
                Some("VirtualMachineInstance") => (webhooks::path::VMI_MUTATE, webhooks::path::VMI_VALIDATE_CREATE),
                _ => continue,
            };
            // what refers to others costs requests to the API server, which are not what is measured
            if object.pointer("/spec/instancetype").is_some() || object.pointer("/spec/preference").is_some() {
                continue;
            }
            if object.pointer("/spec/dataVolumeTemplates").is_some() {
                continue;
            }
            object["metadata"]["namespace"] = json!("lab");
            for path in [mutate, validate] {
                let webhook = webhooks::at(path).context("a path of the table")?;
                let resource = webhook.resources.first().context("a resource")?;
                let question = json!({
                    "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                    "request": {
                        "uid": "0df28fbd-5f5f-11e8-bc74-36e6bb280816", "operation": "CREATE", "namespace": "lab", "name": object["metadata"]["name"],
                        "kind": {"group": webhook.group, "version": "v1", "kind": object["kind"]},
                        "resource": {"group": webhook.group, "version": "v1", "resource": resource},
                        "userInfo": {"username": "somebody", "groups": ["system:authenticated"]}, "object": object,
                    },
                });
                questions.push((path, Bytes::from(question.to_string())));
            }
        }
    }
    ensure!(questions.len() > 20, "there are machines among the examples");
    Ok(questions)
}

/// Sends that many questions over a few connections, and gives the time of each answer.
async fn load(port: u16, config: &Arc<ClientConfig>, bodies: &Arc<Vec<(&'static str, Bytes)>>, reviews: usize) -> Result<Vec<Duration>> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let (config, bodies, next) = (Arc::clone(config), Arc::clone(bodies), Arc::clone(&next));
        clients.push(tokio::spawn(async move {
            let mut sender = connect(port, &config).await?;
            let mut times = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= reviews {
                    return Ok::<_, anyhow::Error>(times);
                }
                let (path, body) = bodies.get(number % bodies.len()).context("a question")?;
                let request = Request::builder().method(Method::POST).uri(*path).header("host", "localhost");
                let request = request.header("content-type", "application/json").body(Full::new(body.clone()))?;
                let begin = Instant::now();
                sender.ready().await?;
                let response = sender.send_request(request).await?;
                ensure!(response.status() == 200, "{path} answers {}", response.status());
                let answer = response.into_body().collect().await?.to_bytes();
                times.push(begin.elapsed());
                ensure!(answer.starts_with(b"{\"apiVersion\":\"admission.k8s.io/v1\""), "{path} answers {answer:?}");
            }
        }));
    }
    let mut times = Vec::with_capacity(reviews);
    for client in clients {
        times.extend(client.await??);
    }
    Ok(times)
}

/// An API server that has nothing but what the role must know.
async fn cluster(authority: String) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let authority = Arc::new(authority);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let authority = Arc::clone(&authority);
            let answer = service_fn(move |request: Request<Incoming>| {
                let authority = Arc::clone(&authority);
                async move { Ok::<_, Infallible>(answer(&request, &authority).await) }
            });
            tokio::spawn(server::Builder::new().serve_connection(TokioIo::new(stream), answer));
        }
    });
    Ok(port)
}

async fn answer(request: &Request<Incoming>, authority: &str) -> Response<Full<Bytes>> {
    let query = request.uri().query().unwrap_or_default();
    if query.contains("watch=true") {
        tokio::time::sleep(Duration::from_secs(3600)).await;
    }
    let map = |name: &str, data: Value| json!({"metadata": {"name": name, "resourceVersion": "1"}, "data": data});
    let items = match request.uri().path() {
        "/api/v1/namespaces/kube-system/configmaps" => {
            vec![map("extension-apiserver-authentication", json!({"requestheader-client-ca-file": authority}))]
        }
        "/api/v1/namespaces/kubevirt/configmaps" => vec![map("kubevirt-ca", json!({"ca-bundle": authority}))],
        _ => Vec::new(),
    };
    let list = json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items});
    let mut response = Response::new(Full::new(Bytes::from(list.to_string())));
    response.headers_mut().insert("content-type", hyper::header::HeaderValue::from_static("application/json"));
    response
}
