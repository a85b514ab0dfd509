//! The kubelet's device plugins, `v1beta1`: gRPC over sockets in a folder of the kubelet.
//!
//! ```text
//!   plugin ── Register(resource, its own socket) ──▶ kubelet.sock
//!   kubelet ── ListAndWatch, Allocate, … ──▶ the plugin's socket
//! ```
//!
//! A kubelet that starts anew removes every socket in the folder: a plugin then serves and registers again.

mod messages;

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, stream};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kubevirt_rs::node::device::{PERMISSIONS, Pool};
use tokio::net::UnixListener;
use tokio::sync::watch;
use tonic::codegen::http;
use tonic::server::{Grpc, ServerStreamingService, UnaryService};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use super::grpc::call;
use messages::{
    AllocateRequest, AllocateResponse, ContainerAllocateResponse, Device, DevicePluginOptions, DeviceSpec, Empty, ListAndWatchResponse,
    PreStartContainerRequest, PreStartContainerResponse, RegisterRequest,
};

/// The kubelet's own socket in the folder.
pub(crate) const KUBELET_SOCKET: &str = "kubelet.sock";
const VERSION: &str = "v1beta1";
const REGISTER: &str = "/v1beta1.Registration/Register";
const OPTIONS: &str = "/v1beta1.DevicePlugin/GetDevicePluginOptions";
const LIST: &str = "/v1beta1.DevicePlugin/ListAndWatch";
const ALLOCATE: &str = "/v1beta1.DevicePlugin/Allocate";
const PRE_START: &str = "/v1beta1.DevicePlugin/PreStartContainer";
const PATIENCE: Duration = Duration::from_secs(5);

/// What the kubelet is told of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The device is there.
    Healthy,
    /// The device is not there: what is given out already stays, nothing new is given.
    Unhealthy,
    /// The plugin ends: there are no devices any more.
    Gone,
}

/// Why the kubelet does not know of a pool.
#[derive(Debug, thiserror::Error)]
#[error("register {resource} with the kubelet: {reason}")]
pub(crate) struct RegisterError {
    resource: String,
    reason: String,
}

/// Tells the kubelet of a pool whose plugin listens in the same folder.
pub(crate) async fn register(folder: &Path, pool: &Pool) -> Result<(), RegisterError> {
    let request = RegisterRequest {
        version: VERSION.to_owned(),
        endpoint: pool.socket(),
        resource_name: pool.resource(),
        options: Some(DevicePluginOptions::default()),
    };
    let answer = call::<_, Empty>(&folder.join(KUBELET_SOCKET), REGISTER, request, PATIENCE).await;
    answer.map(drop).map_err(|e| RegisterError { resource: pool.resource(), reason: e.to_string() })
}

/// Serves a pool until the future is dropped.
pub(crate) async fn serve(listener: UnixListener, pool: Pool, state: watch::Receiver<State>) -> io::Result<()> {
    let plugin = Arc::new(Plugin { pool, state });
    // connections end with this future
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let (stream, _) = tokio::select! {
            accepted = listener.accept() => accepted?,
            Some(_) = connections.join_next() => continue,
        };
        let plugin = plugin.clone();
        connections.spawn(async move {
            let answer = service_fn(move |request| {
                let plugin = plugin.clone();
                async move { Ok::<_, Infallible>(plugin.answer(request).await) }
            });
            let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            if let Err(error) = server.serve_connection(TokioIo::new(stream), answer).await {
                tracing::debug!(%error, "a connection of the kubelet ended");
            }
        });
    }
}

struct Plugin {
    pool: Pool,
    state: watch::Receiver<State>,
}

impl Plugin {
    async fn answer(&self, request: http::Request<Incoming>) -> http::Response<tonic::body::Body> {
        let pool = self.pool;
        match request.uri().path() {
            OPTIONS => {
                let options = Unary(|_: Empty| DevicePluginOptions::default());
                Grpc::new(ProstCodec::default()).unary(options, request).await
            }
            LIST => Grpc::new(ProstCodec::default()).server_streaming(List { pool, state: self.state.clone() }, request).await,
            ALLOCATE => {
                let allocate = Unary(move |wanted: AllocateRequest| allocate(pool, &wanted));
                Grpc::new(ProstCodec::default()).unary(allocate, request).await
            }
            PRE_START => {
                let nothing = Unary(|_: PreStartContainerRequest| PreStartContainerResponse::default());
                Grpc::new(ProstCodec::default()).unary(nothing, request).await
            }
            other => Status::unimplemented(format!("there is no method {other}")).into_http(),
        }
    }
}

/// A method that answers at once.
struct Unary<F>(F);

impl<F: Fn(In) -> Out, In, Out> UnaryService<In> for Unary<F> {
    type Response = Out;
    type Future = Ready<Result<Response<Out>, Status>>;

    fn call(&mut self, request: Request<In>) -> Self::Future {
        ready(Ok(Response::new((self.0)(request.into_inner()))))
    }
}

/// The method that tells of the devices, and again when something changes.
struct List {
    pool: Pool,
    state: watch::Receiver<State>,
}

impl ServerStreamingService<Empty> for List {
    type Response = ListAndWatchResponse;
    type ResponseStream = Pin<Box<dyn Stream<Item = Result<ListAndWatchResponse, Status>> + Send>>;
    type Future = Ready<Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, _: Request<Empty>) -> Self::Future {
        let pool = self.pool;
        let mut state = self.state.clone();
        state.mark_changed();
        let told = stream::unfold(state, move |mut state| async move {
            // whoever knew the state is gone: so is the plugin
            state.changed().await.ok()?;
            let now = *state.borrow_and_update();
            Some((Ok(devices(pool, now)), state))
        });
        ready(Ok(Response::new(Box::pin(told))))
    }
}

fn devices(pool: Pool, state: State) -> ListAndWatchResponse {
    let health = match state {
        State::Healthy => "Healthy",
        State::Unhealthy => "Unhealthy",
        // there is no other way to say that a resource is gone
        State::Gone => return ListAndWatchResponse::default(),
    };
    ListAndWatchResponse { devices: pool.ids().map(|id| Device { id, health: health.to_owned() }).collect() }
}

/// Every container gets the one device that there is.
fn allocate(pool: Pool, wanted: &AllocateRequest) -> AllocateResponse {
    let path = pool.path.to_owned();
    let device = DeviceSpec { container_path: path.clone(), host_path: path, permissions: PERMISSIONS.to_owned() };
    let one = ContainerAllocateResponse { devices: vec![device] };
    AllocateResponse { container_responses: vec![one; wanted.container_requests.len()] }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use kubevirt_rs::node::device::POOLS;
    use messages::ContainerAllocateRequest;
    use tonic::transport::Endpoint;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("kubevirt-rs-plugin-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    async fn client(socket: &Path) -> tonic::client::Grpc<tonic::transport::Channel> {
        let channel = Endpoint::try_from(format!("unix://{}", socket.display())).unwrap().connect().await.unwrap();
        let mut client = tonic::client::Grpc::new(channel);
        client.ready().await.unwrap();
        client
    }

    #[tokio::test]
    async fn a_kubelet_is_told_of_devices_and_gets_them() {
        let folder = Folder::new("serve");
        let pool = POOLS[1];
        let socket = folder.0.join(pool.socket());
        let (change, state) = watch::channel(State::Healthy);
        let server = tokio::spawn(serve(UnixListener::bind(&socket).unwrap(), pool, state));

        let codec = ProstCodec::<Empty, ListAndWatchResponse>::default();
        let mut told = client(&socket)
            .await
            .server_streaming(Request::new(Empty::default()), http::uri::PathAndQuery::from_static(LIST), codec)
            .await
            .unwrap()
            .into_inner();
        let first = told.message().await.unwrap().unwrap().devices;
        assert_eq!((first.len(), first[0].id.as_str(), first[0].health.as_str()), (1000, "tun0", "Healthy"));
        change.send_replace(State::Unhealthy);
        assert_eq!(told.message().await.unwrap().unwrap().devices[7].health, "Unhealthy");
        change.send_replace(State::Gone);
        assert!(told.message().await.unwrap().unwrap().devices.is_empty());

        let codec = ProstCodec::<AllocateRequest, AllocateResponse>::default();
        let wanted = AllocateRequest { container_requests: vec![ContainerAllocateRequest { device_ids: vec!["tun5".into()] }; 2] };
        let path = http::uri::PathAndQuery::from_static(ALLOCATE);
        let given = client(&socket).await.unary(Request::new(wanted), path, codec).await.unwrap().into_inner();
        assert_eq!(given.container_responses.len(), 2);
        let device = &given.container_responses[1].devices[0];
        assert_eq!(
            (device.host_path.as_str(), device.container_path.as_str(), device.permissions.as_str()),
            ("/dev/net/tun", "/dev/net/tun", "rw")
        );

        let path = http::uri::PathAndQuery::from_static("/v1beta1.DevicePlugin/Dance");
        let codec = ProstCodec::<Empty, Empty>::default();
        let refused = client(&socket).await.unary(Request::new(Empty::default()), path, codec).await.unwrap_err();
        assert_eq!(refused.code(), tonic::Code::Unimplemented);
        server.abort();
    }

    #[tokio::test]
    async fn a_kubelet_that_is_not_there_is_said() {
        let folder = Folder::new("register");
        let error = register(&folder.0, &POOLS[0]).await.unwrap_err().to_string();
        assert!(error.starts_with("register devices.kubevirt.io/kvm with the kubelet: "), "{error}");
    }
}
