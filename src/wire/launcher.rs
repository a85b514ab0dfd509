//! Between a node's handler and the launcher in a pod: HTTP/1.1 with JSON bodies over a socket in the pod.
//!
//! The launcher serves, the handler asks. What travels is [`Order`] downwards and [`Status`] upwards; whatever cannot be
//! done is answered by a [`Fault`]. Unknown fields are passed over on both sides, since they are not upgraded at once.
//!
//! | request | body → answer |
//! | --- | --- |
//! | `PUT /v1/instance` | [`Order`] → [`Status`], once the guest has started or could not be. May be repeated |
//! | `PUT /v1/volumes` | [`Volumes`] → nothing: what is known of them has changed while the guest runs |
//! | `GET /v1/domain` | → [`Status`] |
//! | `GET /v1/events` | → [`News`], one on a line, the present [`Status`] first; stays open |
//! | `POST /v1/shutdown` | [`Shutdown`] → nothing, at once; the launcher destroys the guest when its time is over |
//! | `POST /v1/destroy`, `pause`, `unpause`, `reset`, `soft-reboot`, `unfreeze` | → nothing |
//! | `POST /v1/freeze` | [`Freeze`] → nothing |
//! | `POST /v1/memory-dump` | [`DumpMemory`] → nothing, once it has begun; [`Status`] tells how it goes. May be repeated |
//! | `POST /v1/exec` | [`Exec`] → [`Executed`] |
//! | `POST /v1/ping` | [`Ping`] → nothing, once the agent has answered |
//! | `GET /v1/guest-info`, `users`, `filesystems` | → the types of `guestosinfo`, `userlist` and `filesystemlist` |
//! | `GET /v1/console`, `/v1/vnc` with `Upgrade: raw` | → 101 and a stream of bytes |
//! | `GET /v1/screenshot` | → a PNG image |

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, UPGRADE};
use hyper::upgrade::Upgraded;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use kubevirt_rs::api::v1::{VirtualMachineInstanceFileSystem, VirtualMachineInstanceGuestAgentInfo, VirtualMachineInstanceGuestOsUser};
pub(crate) use kubevirt_rs::guest::order::{Order, Volumes};
pub(crate) use kubevirt_rs::guest::status::{Fault, News, Status};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// The socket's name, in the volume `sockets` of the pod.
pub(crate) const SOCKET: &str = "launcher-sock";
/// The file beside the socket with the last [`Status`] of a launcher that has ended, for a handler that was not there.
pub(crate) const LAST_STATUS: &str = "launcher-last-status";
/// What `Upgrade` asks for: a stream of bytes.
pub(crate) const RAW: &str = "raw";
/// The largest body of a request or an answer: an instance is at most as large as the cluster's store allows.
pub(crate) const LIMIT: usize = 8 << 20;

/// The paths of the requests.
pub(crate) mod path {
    pub(crate) const INSTANCE: &str = "/v1/instance";
    pub(crate) const VOLUMES: &str = "/v1/volumes";
    pub(crate) const DOMAIN: &str = "/v1/domain";
    pub(crate) const EVENTS: &str = "/v1/events";
    pub(crate) const SHUTDOWN: &str = "/v1/shutdown";
    pub(crate) const DESTROY: &str = "/v1/destroy";
    pub(crate) const PAUSE: &str = "/v1/pause";
    pub(crate) const UNPAUSE: &str = "/v1/unpause";
    pub(crate) const RESET: &str = "/v1/reset";
    pub(crate) const SOFT_REBOOT: &str = "/v1/soft-reboot";
    pub(crate) const FREEZE: &str = "/v1/freeze";
    pub(crate) const UNFREEZE: &str = "/v1/unfreeze";
    pub(crate) const MEMORY_DUMP: &str = "/v1/memory-dump";
    pub(crate) const EXEC: &str = "/v1/exec";
    pub(crate) const PING: &str = "/v1/ping";
    pub(crate) const GUEST_INFO: &str = "/v1/guest-info";
    pub(crate) const USERS: &str = "/v1/users";
    pub(crate) const FILESYSTEMS: &str = "/v1/filesystems";
    pub(crate) const CONSOLE: &str = "/v1/console";
    pub(crate) const VNC: &str = "/v1/vnc";
    pub(crate) const SCREENSHOT: &str = "/v1/screenshot";
}

/// How a guest is powered off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Shutdown {
    /// The time that it has; `None`: what the instance says.
    pub(crate) grace_period_seconds: Option<u64>,
}

/// How file systems are frozen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Freeze {
    /// When they thaw by themselves; 0: never.
    pub(crate) unfreeze_timeout_seconds: u64,
}

/// Where the guest's memory is written to: a file in a volume whose folder the handler has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DumpMemory {
    /// The name of the volume.
    pub(crate) volume: String,
    /// The name of the file.
    pub(crate) file: String,
}

/// A command to run inside the guest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Exec {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    pub(crate) timeout_seconds: u32,
}

/// How a command inside the guest went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Executed {
    pub(crate) exit_code: i32,
    pub(crate) stdout: String,
}

/// A question whether the agent is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Ping {
    pub(crate) timeout_seconds: u32,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// Nobody listens: the launcher has not begun, or has ended.
    #[error("Failed to reach the launcher by {}: {error}", socket.display())]
    Unreachable { socket: PathBuf, error: io::Error },
    #[error("Failed to talk with the launcher: {0}")]
    Broken(String),
    #[error("The launcher has not answered within {} s", .0.as_secs())]
    Silent(Duration),
    /// The launcher will not or cannot.
    #[error(transparent)]
    Refused(Fault),
}

impl ClientError {
    fn broken(error: impl std::fmt::Display) -> Self {
        Self::Broken(error.to_string())
    }
}

type ClientResult<T> = Result<T, ClientError>;

/// How long a request may take that only looks or pushes a button.
const SHORT: Duration = Duration::from_secs(10);
/// How long the start of a guest may take: its disks are made and QEMU is started in that time.
const START: Duration = Duration::from_secs(240);

/// The handler's side. Every request has a connection of its own.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    socket: PathBuf,
}

impl Client {
    /// A client of the launcher behind a socket; nothing is done yet.
    pub(crate) fn new(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into() }
    }

    /// Tells what to run, and waits until it runs.
    pub(crate) async fn run(&self, order: &Order) -> ClientResult<Status> {
        self.ask(Method::PUT, path::INSTANCE, Some(order), START).await
    }

    /// Tells what is known of the volumes of a guest that runs.
    pub(crate) async fn volumes(&self, volumes: &Volumes) -> ClientResult<()> {
        self.whole(Method::PUT, path::VOLUMES, Some(volumes), SHORT).await.map(drop)
    }

    /// What the launcher knows of its guest.
    pub(crate) async fn status(&self) -> ClientResult<Status> {
        self.ask(Method::GET, path::DOMAIN, NOTHING, SHORT).await
    }

    /// What the launcher tells from now on.
    pub(crate) async fn events(&self) -> ClientResult<Events> {
        let answer =
            timeout(SHORT, self.send(Method::GET, path::EVENTS, NOTHING, false)).await.map_err(|_| ClientError::Silent(SHORT))??;
        Ok(Events { body: checked(answer).await?.into_body(), rest: Vec::new() })
    }

    /// Asks the guest to power off; after its grace period the launcher destroys it.
    pub(crate) async fn shutdown(&self, how: &Shutdown) -> ClientResult<()> {
        self.tell(path::SHUTDOWN, Some(how), SHORT).await
    }

    /// Ends the guest at once.
    pub(crate) async fn destroy(&self) -> ClientResult<()> {
        self.tell(path::DESTROY, NOTHING, SHORT).await
    }

    pub(crate) async fn pause(&self) -> ClientResult<()> {
        self.tell(path::PAUSE, NOTHING, SHORT).await
    }

    pub(crate) async fn unpause(&self) -> ClientResult<()> {
        self.tell(path::UNPAUSE, NOTHING, SHORT).await
    }

    pub(crate) async fn reset(&self) -> ClientResult<()> {
        self.tell(path::RESET, NOTHING, SHORT).await
    }

    pub(crate) async fn soft_reboot(&self) -> ClientResult<()> {
        self.tell(path::SOFT_REBOOT, NOTHING, SHORT).await
    }

    pub(crate) async fn freeze(&self, how: &Freeze) -> ClientResult<()> {
        self.tell(path::FREEZE, Some(how), SHORT * 6).await
    }

    pub(crate) async fn unfreeze(&self) -> ClientResult<()> {
        self.tell(path::UNFREEZE, NOTHING, SHORT * 6).await
    }

    /// Has the guest's memory written to a file; does not wait for the end of that.
    pub(crate) async fn dump_memory(&self, to: &DumpMemory) -> ClientResult<()> {
        self.tell(path::MEMORY_DUMP, Some(to), SHORT).await
    }

    /// Runs a command inside the guest.
    pub(crate) async fn exec(&self, what: &Exec) -> ClientResult<Executed> {
        let limit = SHORT + Duration::from_secs(what.timeout_seconds.into());
        self.ask(Method::POST, path::EXEC, Some(what), limit).await
    }

    /// Asks whether the agent is there.
    pub(crate) async fn ping(&self, how: &Ping) -> ClientResult<()> {
        self.tell(path::PING, Some(how), SHORT + Duration::from_secs(how.timeout_seconds.into())).await
    }

    /// What the agent tells.
    pub(crate) async fn guest_info(&self) -> ClientResult<VirtualMachineInstanceGuestAgentInfo> {
        self.ask(Method::GET, path::GUEST_INFO, NOTHING, SHORT).await
    }

    /// Who is logged in.
    pub(crate) async fn users(&self) -> ClientResult<Vec<VirtualMachineInstanceGuestOsUser>> {
        self.ask(Method::GET, path::USERS, NOTHING, SHORT).await
    }

    /// The guest's file systems.
    pub(crate) async fn filesystems(&self) -> ClientResult<Vec<VirtualMachineInstanceFileSystem>> {
        self.ask(Method::GET, path::FILESYSTEMS, NOTHING, SHORT).await
    }

    /// The serial console. Several may look at once; what each types reaches the guest.
    pub(crate) async fn console(&self) -> ClientResult<TokioIo<Upgraded>> {
        self.stream(path::CONSOLE).await
    }

    /// The screen, by VNC.
    pub(crate) async fn vnc(&self) -> ClientResult<TokioIo<Upgraded>> {
        self.stream(path::VNC).await
    }

    /// The screen, as a PNG image.
    pub(crate) async fn screenshot(&self) -> ClientResult<Bytes> {
        self.whole(Method::GET, path::SCREENSHOT, NOTHING, SHORT).await
    }

    async fn stream(&self, path: &str) -> ClientResult<TokioIo<Upgraded>> {
        let open = async {
            let answer = checked(self.send(Method::GET, path, NOTHING, true).await?).await?;
            if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
                return Err(ClientError::Broken(format!("it answered {} and not a stream", answer.status())));
            }
            hyper::upgrade::on(answer).await.map(TokioIo::new).map_err(ClientError::broken)
        };
        timeout(SHORT, open).await.unwrap_or(Err(ClientError::Silent(SHORT)))
    }

    async fn tell<B: Serialize>(&self, path: &str, body: Option<&B>, limit: Duration) -> ClientResult<()> {
        self.whole(Method::POST, path, body, limit).await.map(drop)
    }

    async fn ask<B: Serialize, T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&B>,
        limit: Duration,
    ) -> ClientResult<T> {
        let answer = self.whole(method, path, body, limit).await?;
        serde_json::from_slice(&answer).map_err(ClientError::broken)
    }

    async fn whole<B: Serialize>(&self, method: Method, path: &str, body: Option<&B>, limit: Duration) -> ClientResult<Bytes> {
        let talk = async {
            let answer = checked(self.send(method, path, body, false).await?).await?;
            collect(answer.into_body()).await
        };
        timeout(limit, talk).await.unwrap_or(Err(ClientError::Silent(limit)))
    }

    async fn send<B: Serialize>(&self, method: Method, path: &str, body: Option<&B>, upgrade: bool) -> ClientResult<Response<Incoming>> {
        let unreachable = |error| ClientError::Unreachable { socket: self.socket.clone(), error };
        let stream = UnixStream::connect(&self.socket).await.map_err(unreachable)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(ClientError::broken)?;
        // it ends when the answer has been read, or when the stream that it became ends
        tokio::spawn(connection.with_upgrades());
        let body = body.map_or(Ok(Vec::new()), serde_json::to_vec).map_err(ClientError::broken)?;
        let mut request = Request::builder().method(method).uri(path).header(HOST, "launcher").header(CONTENT_TYPE, "application/json");
        if upgrade {
            request = request.header(CONNECTION, "upgrade").header(UPGRADE, RAW);
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(ClientError::broken)?;
        sender.send_request(request).await.map_err(ClientError::broken)
    }
}

const NOTHING: Option<&()> = None;

async fn collect(body: Incoming) -> ClientResult<Bytes> {
    Limited::new(body, LIMIT).collect().await.map(|whole| whole.to_bytes()).map_err(ClientError::broken)
}

/// The answer, unless it is a fault.
async fn checked(answer: Response<Incoming>) -> ClientResult<Response<Incoming>> {
    let status = answer.status();
    if !status.is_client_error() && !status.is_server_error() {
        return Ok(answer);
    }
    let body = collect(answer.into_body()).await?;
    let fault = serde_json::from_slice(&body);
    Err(ClientError::Refused(fault.unwrap_or_else(|_| Fault { message: format!("The launcher answered {status}"), ..Fault::default() })))
}

/// What a launcher tells.
pub(crate) struct Events {
    body: Incoming,
    rest: Vec<u8>,
}

impl Events {
    /// Waits for the next; `None` when the launcher has ended. Cancellation safe.
    pub(crate) async fn next(&mut self) -> ClientResult<Option<News>> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                // a kind of news that this version does not know
                match serde_json::from_slice(&line) {
                    Ok(news) => return Ok(Some(news)),
                    Err(error) => tracing::debug!(%error, "A launcher told something that is not understood"),
                }
                continue;
            }
            if self.rest.len() > LIMIT {
                return Err(ClientError::Broken(format!("it told a line of more than {LIMIT} bytes")));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => self.rest.extend(frame.data_ref().into_iter().flatten()),
                Some(Err(error)) => return Err(ClientError::broken(error)),
                None => return Ok(None),
            }
        }
    }
}
