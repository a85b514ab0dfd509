//! An API server that has some objects, takes note of what is written, and lets everybody but Jane do everything.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The server.
pub(crate) struct ApiServer {
    port: u16,
    objects: Value,
    written: Mutex<Vec<(String, Value)>>,
}

impl ApiServer {
    /// Starts with objects by their paths, such as `/api/v1/namespaces/lab/pods/a`.
    pub(crate) async fn start(objects: Value) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let api_server = Arc::new(Self { port, objects, written: Mutex::default() });
        let server = Arc::clone(&api_server);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = Arc::clone(&server);
                let answer = service_fn(move |request| {
                    let server = Arc::clone(&server);
                    async move { Ok::<_, Infallible>(server.answer(request).await) }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
            }
        });
        api_server
    }

    /// A client of it.
    pub(crate) fn client(&self) -> Client {
        let url = format!("http://127.0.0.1:{}", self.port);
        Client::try_from(Config::new(url.parse().unwrap())).unwrap()
    }

    /// What was written since the last time: method and path, and the body.
    pub(crate) fn written(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.written.lock().unwrap())
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let (path, query) = (parts.uri.path(), parts.uri.query().unwrap_or_default());
        let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        if query.contains("watch=true") {
            tokio::time::sleep(Duration::from_secs(60)).await;
            return say(200, &Value::Null);
        }
        if path.ends_with("/subjectaccessreviews") {
            let mut review = body;
            let allowed = review["spec"]["user"] != "jane";
            review["status"] = json!({"allowed": allowed, "reason": if allowed { "" } else { "no role binds her" }});
            return say(201, &review);
        }
        if parts.method != Method::GET {
            self.written
                .lock()
                .unwrap()
                .push((format!("{} {path}{}{query}", parts.method, if query.is_empty() { "" } else { "?" }), body.clone()));
            let object = self.objects.get(path.trim_end_matches("/status")).cloned();
            if body.as_array().is_some_and(|steps| steps.iter().any(|step| step["value"] == "conflict")) {
                return say(
                    422,
                    &json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 422, "reason": "Invalid",
                    "message": "the server rejected our request due to an error in our request: testing path /spec failed"}),
                );
            }
            return match object {
                _ if parts.method == Method::POST => say(201, &body),
                Some(object) => say(200, &object),
                None => missing(path),
            };
        }
        if let Some(object) = self.objects.get(path) {
            return say(200, object);
        }
        // a list: of a namespace, or of the whole cluster
        let plural = path.rsplit('/').next().unwrap_or_default();
        let name = query.split('&').find_map(|pair| pair.strip_prefix("fieldSelector=metadata.name%3D"));
        let is_list = plural.ends_with('s');
        let within = |key: &str| match path.split_once("/namespaces/") {
            Some(_) => key.starts_with(&format!("{path}/")),
            None => key.contains(&format!("/{plural}/")),
        };
        let items: Vec<&Value> =
            self.objects.as_object().unwrap().iter().filter(|(key, _)| within(key)).map(|(_, object)| object).collect();
        let items: Vec<&Value> = items.into_iter().filter(|item| name.is_none_or(|name| item["metadata"]["name"] == name)).collect();
        if is_list {
            say(200, &json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}))
        } else {
            missing(path)
        }
    }
}

fn missing(path: &str) -> Response<Full<Bytes>> {
    say(
        404,
        &json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound", "message": format!("{path} not found")}),
    )
}

fn say(code: u16, body: &Value) -> Response<Full<Bytes>> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    Response::builder().status(code).header("content-type", "application/json").body(Full::new(Bytes::from(body))).unwrap()
}
