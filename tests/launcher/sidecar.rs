//! A hook sidecar as somebody would write one, by gRPC.

use std::convert::Infallible;
use std::fs::Permissions;
use std::future::{Ready, ready};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::UnixListener;
use tonic::codegen::http;
use tonic::server::{Grpc, UnaryService};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct Nothing {}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct InfoResult {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, repeated, tag = "3")]
    hook_points: Vec<HookPoint>,
    #[prost(string, repeated, tag = "4")]
    versions: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct HookPoint {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int32, tag = "2")]
    priority: i32,
}

/// Both calls have parameters and results of this shape: (domainXML or the old data), the instance, (the new data).
#[derive(Clone, PartialEq, Eq, prost::Message)]
struct Parts {
    #[prost(bytes = "vec", tag = "1")]
    first: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    vmi: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    data: Vec<u8>,
}

/// What a sidecar does with a text that it is given.
pub(crate) type Change = fn(&str) -> Result<String, String>;

/// A sidecar.
#[derive(Clone)]
pub(crate) struct Sidecar {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) priority: i32,
    pub(crate) domain: Option<Change>,
    pub(crate) cloud_init: Option<Change>,
    /// What it was called for, by its name and the method's.
    pub(crate) calls: Arc<Mutex<Vec<String>>>,
}

struct Unary<F>(F);

impl<F: Fn(In) -> Result<Out, Status>, In, Out> UnaryService<In> for Unary<F> {
    type Response = Out;
    type Future = Ready<Result<Response<Out>, Status>>;

    fn call(&mut self, request: Request<In>) -> Self::Future {
        ready((self.0)(request.into_inner()).map(Response::new))
    }
}

fn changed(text: &[u8], change: Option<Change>) -> Result<Vec<u8>, Status> {
    let change = change.ok_or_else(|| Status::unimplemented("not subscribed"))?;
    change(&String::from_utf8_lossy(text)).map(String::into_bytes).map_err(Status::internal)
}

impl Sidecar {
    /// Serves at a socket, until the process ends.
    pub(crate) fn serve(self, socket: &Path) {
        std::fs::create_dir_all(socket.parent().expect("a folder")).expect("a folder");
        let socket = socket.to_owned();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = UnixListener::bind(&socket).expect("a socket");
                std::fs::set_permissions(&socket, Permissions::from_mode(0o777)).expect("all may connect");
                while let Ok((stream, _)) = listener.accept().await {
                    let sidecar = self.clone();
                    let answer = service_fn(move |request| {
                        let sidecar = sidecar.clone();
                        async move { Ok::<_, Infallible>(sidecar.answer(request).await) }
                    });
                    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    tokio::spawn(server.serve_connection(TokioIo::new(stream), answer));
                }
            });
        });
    }

    async fn answer(&self, request: http::Request<Incoming>) -> http::Response<tonic::body::Body> {
        let path = request.uri().path().to_owned();
        let (service, method) = path.rsplit_once('/').expect("a service and a method");
        if method != "Info" {
            assert_eq!(service, format!("/kubevirt.hooks.{}.Callbacks", self.version));
            self.calls.lock().expect("calls").push(format!("{} {method}", self.name));
        }
        match method {
            "Info" => {
                let points = [
                    ("OnDefineDomain", self.domain.is_some()),
                    ("PreCloudInitIso", self.cloud_init.is_some()),
                    ("Shutdown", self.version == "v1alpha3"),
                ];
                let point = |name: &str| HookPoint { name: name.to_owned(), priority: self.priority };
                let info = InfoResult {
                    name: self.name.to_owned(),
                    hook_points: points.into_iter().filter(|(_, wanted)| *wanted).map(|(name, _)| point(name)).collect(),
                    versions: vec![self.version.to_owned()],
                };
                let info = Unary(move |_: Nothing| Ok(info.clone()));
                Grpc::new(ProstCodec::default()).unary(info, request).await
            }
            "OnDefineDomain" => {
                let change = self.domain;
                let call = Unary(move |given: Parts| {
                    assert!(given.vmi.starts_with(b"{"), "the instance comes along");
                    Ok(Parts { first: changed(&given.first, change)?, ..Parts::default() })
                });
                Grpc::new(ProstCodec::default()).unary(call, request).await
            }
            "PreCloudInitIso" => {
                let change = self.cloud_init;
                let call = Unary(move |given: Parts| Ok(Parts { data: changed(&given.data, change)?, ..Parts::default() }));
                Grpc::new(ProstCodec::default()).unary(call, request).await
            }
            _ => Grpc::new(ProstCodec::default()).unary(Unary(|_: Nothing| Ok(Nothing {})), request).await,
        }
    }
}
