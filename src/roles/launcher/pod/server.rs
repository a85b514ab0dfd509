//! Serves the handler, and probes in the pod: `wire::launcher` says what is asked and what is answered.

use std::convert::Infallible;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue, UPGRADE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request as HttpRequest, Response, StatusCode};
use hyper_util::rt::TokioIo;
use kubevirt_rs::api::v1::{VirtualMachineInstanceFileSystemInfo, VirtualMachineInstanceGuestAgentInfo};
use kubevirt_rs::guest::status::{Agent, Fault, FaultReason, News, Stage, Status};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot, watch};

use super::board::Board;
use super::driver::{Answer, Request, Wish};
use super::{ending, fault};
use crate::roles::launcher::args::PodArgs;
use crate::wire::launcher::{LIMIT, RAW, SOCKET, path};

/// How many wishes may wait.
const WAITING: usize = 16;
/// How many of the users and file systems `guest-info` shows; the lists of their own show all.
const SHORT_LIST: usize = 10;

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Begins to serve; what is wished for arrives at the receiver.
pub(super) fn serve(args: &PodArgs, board: &Board) -> io::Result<mpsc::Receiver<Request>> {
    let (wishes, requests) = mpsc::channel(WAITING);
    let folder = ending::sockets(args);
    fs::create_dir_all(&folder)?;
    let (final_path, first_path) = (folder.join(SOCKET), folder.join(format!("{SOCKET}.new")));
    for path in [&final_path, &first_path] {
        match fs::remove_file(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
    }
    let listener = UnixListener::bind(&first_path)?;
    fs::set_permissions(&first_path, Permissions::from_mode(0o600))?;
    // whoever sees the socket can connect to it
    fs::rename(&first_path, &final_path)?;
    let server = Server { board: board.clone(), wishes };
    tokio::spawn(async move {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => drop(tokio::spawn(connection(server.clone(), stream))),
                Err(error) => {
                    tracing::warn!(%error, "A connection was not taken");
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                }
            }
        }
    });
    Ok(requests)
}

#[derive(Clone)]
struct Server {
    board: Board,
    wishes: mpsc::Sender<Request>,
}

async fn connection(server: Server, stream: UnixStream) {
    let service = service_fn(move |request| {
        let server = server.clone();
        async move { Ok::<_, Infallible>(server.answer(request).await.unwrap_or_else(|fault| refusal(&fault))) }
    });
    let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service).with_upgrades();
    if let Err(error) = serving.await {
        tracing::debug!(%error, "A connection has ended early");
    }
}

fn response(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}

fn content(status: StatusCode, kind: &str, bytes: Vec<u8>) -> Response<Body> {
    let mut response = response(status, Full::new(Bytes::from(bytes)).boxed_unsync());
    response.headers_mut().extend(HeaderValue::from_str(kind).map(|kind| (CONTENT_TYPE, kind)));
    response
}

fn json(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    content(status, "application/json", serde_json::to_vec(value).unwrap_or_default())
}

fn nothing() -> Response<Body> {
    response(StatusCode::NO_CONTENT, Full::default().boxed_unsync())
}

fn refusal(fault: &Fault) -> Response<Body> {
    let status = match fault.reason {
        FaultReason::BadRequest => StatusCode::BAD_REQUEST,
        FaultReason::InvalidInstance => StatusCode::UNPROCESSABLE_ENTITY,
        FaultReason::NotRunning | FaultReason::Conflict => StatusCode::CONFLICT,
        FaultReason::AgentFailed => StatusCode::BAD_GATEWAY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    json(status, fault)
}

fn not_running(what: &str) -> Fault {
    fault(FaultReason::NotRunning, what)
}

async fn body<T: DeserializeOwned>(body: Incoming) -> Result<T, Fault> {
    let bad = |error: &dyn std::fmt::Display| fault(FaultReason::BadRequest, format!("The request is not understood: {error}"));
    let bytes = Limited::new(body, LIMIT).collect().await.map_err(|e| bad(&e))?.to_bytes();
    // a request without a body asks for the defaults
    let bytes: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
    let text = std::str::from_utf8(bytes).map_err(|e| bad(&e))?;
    serde_json::from_str(text).map_err(|e| bad(&e))
}

impl Server {
    async fn answer(&self, mut request: HttpRequest<Incoming>) -> Result<Response<Body>, Fault> {
        let (method, at) = (request.method().clone(), request.uri().path().to_owned());
        let wish = match (&method, at.as_str()) {
            (&Method::GET, path::DOMAIN) => return Ok(json(StatusCode::OK, &*self.board.status())),
            (&Method::GET, path::EVENTS) => return Ok(self.events()),
            (&Method::GET, path::GUEST_INFO) => return Ok(json(StatusCode::OK, &guest_info(&self.board.status()))),
            (&Method::GET, path::USERS) => return Ok(json(StatusCode::OK, &self.agent()?.users)),
            (&Method::GET, path::FILESYSTEMS) => return Ok(json(StatusCode::OK, &self.agent()?.filesystems)),
            (&Method::GET, path::CONSOLE) => return self.console(&mut request),
            (&Method::GET, path::VNC) => return self.screen(&mut request).await,
            (&Method::PUT, path::INSTANCE) => Wish::Run(Box::new(body(request.into_body()).await?)),
            (&Method::PUT, path::VOLUMES) => Wish::Know(body(request.into_body()).await?),
            (&Method::POST, path::SHUTDOWN) => Wish::Shutdown(body(request.into_body()).await?),
            (&Method::POST, path::DESTROY) => Wish::Destroy,
            (&Method::POST, path::PAUSE) => Wish::Pause,
            (&Method::POST, path::UNPAUSE) => Wish::Unpause,
            (&Method::POST, path::RESET) => Wish::Reset,
            (&Method::POST, path::SOFT_REBOOT) => Wish::SoftReboot,
            (&Method::POST, path::FREEZE) => Wish::Freeze(body(request.into_body()).await?),
            (&Method::POST, path::UNFREEZE) => Wish::Unfreeze,
            (&Method::POST, path::MEMORY_DUMP) => Wish::DumpMemory(body(request.into_body()).await?),
            (&Method::POST, path::EXEC) => Wish::Exec(body(request.into_body()).await?),
            (&Method::GET, path::SCREENSHOT) => Wish::Screenshot,
            (&Method::POST, path::PING) => Wish::Ping(body(request.into_body()).await?),
            _ => {
                let fault = fault(FaultReason::BadRequest, format!("{method} {at} is not known to this launcher"));
                return Ok(json(StatusCode::NOT_FOUND, &fault));
            }
        };
        let (reply, answer) = oneshot::channel();
        let gone = || not_running("The guest has ended");
        self.wishes.send(Request { wish, reply }).await.map_err(|_| gone())?;
        Ok(match answer.await.map_err(|_| gone())?? {
            Answer::Done => nothing(),
            Answer::Status(status) => json(StatusCode::OK, &*status),
            Answer::Executed(executed) => json(StatusCode::OK, &executed),
            Answer::Picture(picture) => content(StatusCode::OK, &picture.mime, picture.content),
        })
    }

    fn agent(&self) -> Result<Agent, Fault> {
        self.board.status().agent.clone().ok_or_else(|| fault(FaultReason::AgentFailed, "The guest has no agent that is connected"))
    }

    /// The present state, then every change and notice, until the guest has ended.
    fn events(&self) -> Response<Body> {
        let mut watch = self.board.watch();
        watch.mark_changed();
        let lines = stream::unfold(Some((watch, self.board.clone())), |state| async {
            let (mut watch, board) = state?;
            let (news, more) = next_news(&mut watch, &board).await?;
            let mut line = serde_json::to_vec(&news).ok()?;
            line.push(b'\n');
            Some((Ok(Frame::data(Bytes::from(line))), more.then_some((watch, board))))
        });
        response(StatusCode::OK, StreamBody::new(lines).boxed_unsync())
    }

    fn console(&self, request: &mut HttpRequest<Incoming>) -> Result<Response<Body>, Fault> {
        let doors = self.board.doors().ok_or_else(|| not_running("The guest does not run"))?;
        let none = "The guest has no serial console (spec.domain.devices.autoattachSerialConsole is false)";
        let hub = doors.console.ok_or_else(|| fault(FaultReason::Conflict, none))?;
        let upgrade = upgrade(request)?;
        tokio::spawn(async move {
            match upgrade.await {
                Ok(stream) => hub.join(TokioIo::new(stream)).await,
                Err(error) => tracing::debug!(%error, "Somebody has left the console early"),
            }
        });
        Ok(switching())
    }

    async fn screen(&self, request: &mut HttpRequest<Incoming>) -> Result<Response<Body>, Fault> {
        let doors = self.board.doors().ok_or_else(|| not_running("The guest does not run"))?;
        let none = "The guest has no screen (spec.domain.devices.autoattachGraphicsDevice is false)";
        let socket = doors.screen.ok_or_else(|| fault(FaultReason::Conflict, none))?;
        let upgrade = upgrade(request)?;
        let cannot = |e: io::Error| fault(FaultReason::Failed, format!("Failed to open the screen: {e}"));
        let mut qemu = UnixStream::connect(&socket).await.map_err(cannot)?;
        tokio::spawn(async move {
            match upgrade.await {
                // either side may leave at any time
                Ok(stream) => drop(tokio::io::copy_bidirectional(&mut TokioIo::new(stream), &mut qemu).await),
                Err(error) => tracing::debug!(%error, "Somebody has left the screen early"),
            }
        });
        Ok(switching())
    }
}

/// What is to be told next, and whether there will be more.
async fn next_news(watch: &mut watch::Receiver<Arc<Status>>, board: &Board) -> Option<(News, bool)> {
    tokio::select! {
        // what happened is told before what came of it
        biased;
        notice = board.next_notice() => Some((News::Event(notice), true)),
        changed = watch.changed() => {
            changed.ok()?;
            let status = watch.borrow_and_update().clone();
            let more = status.stage != Stage::Ended;
            Some((News::Status(Box::new(Status::clone(&status))), more))
        }
    }
}

/// A connection that becomes a stream of bytes.
fn upgrade(request: &mut HttpRequest<Incoming>) -> Result<hyper::upgrade::OnUpgrade, Fault> {
    let asked = request.headers().get(UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(RAW.as_bytes()));
    if !asked {
        return Err(fault(FaultReason::BadRequest, format!("Ask with the header Upgrade: {RAW}")));
    }
    Ok(hyper::upgrade::on(request))
}

fn switching() -> Response<Body> {
    let mut response = response(StatusCode::SWITCHING_PROTOCOLS, Full::default().boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static(RAW));
    response
}

/// What `guestosinfo` answers.
fn guest_info(status: &Status) -> VirtualMachineInstanceGuestAgentInfo {
    let agent = status.agent.clone().unwrap_or_default();
    VirtualMachineInstanceGuestAgentInfo {
        guest_agent_version: agent.version,
        supported_commands: agent.commands,
        hostname: agent.hostname,
        os: agent.os,
        timezone: if agent.timezone.is_empty() { ", 0".to_owned() } else { agent.timezone },
        user_list: agent.users.into_iter().take(SHORT_LIST).collect(),
        fs_info: VirtualMachineInstanceFileSystemInfo { disks: agent.filesystems.into_iter().take(SHORT_LIST).collect() },
        fs_freeze_status: agent.fs_freeze_status,
        ..VirtualMachineInstanceGuestAgentInfo::default()
    }
}
