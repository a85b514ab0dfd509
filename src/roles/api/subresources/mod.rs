//! The aggregated API: who asks, whether that user may, what is read, what is decided, what is done.

mod apply;
mod handler;
mod observe;
mod route;
mod stream;

use std::sync::Arc;

use hyper::Method;
use kube::Client;
use kubevirt_rs::lifecycle::subresource::{self, Kind, Refusal, Success};

use super::metrics::Metrics;
use crate::cluster::Configuration;
use crate::serve::access::{self, Decision, User};
use crate::serve::authority::Known;
use crate::serve::client::Client as HandlerClient;
use crate::serve::{Request, Response, reply};
use route::{Route, Target};

/// The aggregated API.
pub(super) struct Subresources {
    /// The API server.
    pub(super) client: Client,
    /// The configuration of the cluster.
    pub(super) configuration: Configuration,
    /// The namespace of the installation, where the handlers are.
    pub(super) namespace: String,
    /// Whom to believe about who asks.
    pub(super) front_proxy: Known,
    /// The client of the handlers.
    pub(super) handlers: Arc<HandlerClient>,
    /// Their port.
    pub(super) handler_port: u16,
    /// What is counted.
    pub(super) metrics: Arc<Metrics>,
}

impl Subresources {
    /// Answers a request to the aggregated API.
    pub(super) async fn answer(&self, mut request: Request) -> Response {
        let Some(route) = Route::parse(request.path()) else {
            return reply::refuse(404, format!("the server has nothing at {}", request.path()));
        };
        if let Err(refused) = self.admit(&request, &route).await {
            return refused;
        }
        if let Some(allowed) = route.method().filter(|allowed| request.method() != allowed) {
            return reply::refuse(405, format!("{} is asked for by {allowed}, not by {}", route.operation(), request.method()));
        }
        match self.carry_out(&mut request, &route).await {
            Ok(response) => response,
            // client-go passes these bodies on as they are, and shows what is in them only when it is text
            Err(refusal) if route.is_read_raw() => reply::text(refusal.reason.code(), refusal.message),
            Err(refusal) => reply::status(&refusal.to_status()),
        }
    }

    /// Lets in whom the front proxy vouches for and the API server allows it.
    async fn admit(&self, request: &Request, route: &Route) -> Result<(), Response> {
        let headers = self.front_proxy.borrow().headers.clone();
        let user = if request.peer().is_certified { User::from_headers(request.headers(), &headers) } else { None };
        let Some(user) = user else {
            return Err(reply::refuse(401, "nobody vouches for who asks; ask the API server of the cluster, which passes requests on"));
        };
        let Some(attributes) = route.attributes(request.method()) else {
            return Err(reply::refuse(405, format!("{} has no meaning here", request.method())));
        };
        let wish = format!("{} {}", attributes.verb.as_deref().unwrap_or_default(), route.resource());
        match access::review(&self.client, &user, attributes).await {
            Ok(Decision::Allowed) => Ok(()),
            Ok(Decision::Denied(why)) => {
                let why = if why.is_empty() { String::new() } else { format!(": {why}") };
                Err(reply::refuse(403, format!("the user {:?} may not {wish} in the namespace {:?}{why}", user.name, route.namespace)))
            }
            Err(error) => {
                tracing::warn!(%error, "the API server cannot be asked for permission");
                Err(reply::refuse(503, "the API server could not be asked whether this is allowed; try again"))
            }
        }
    }

    async fn carry_out(&self, request: &mut Request, route: &Route) -> Result<Response, Refusal> {
        let body = match request.body().await {
            Ok(body) => body,
            Err(error) => return Ok(reply::refuse(error.code(), error.to_string())),
        };
        let config = self.configuration.now();
        let (kind, name, operation) = match &route.target {
            Target::ExpandSpec => {
                let objects = observe::of_document(&self.client, &body, &route.namespace).await?;
                return subresource::expand_document(&body, &route.namespace, &objects, &config).map(|machine| reply::json(200, &machine));
            }
            Target::Machine { name, operation } => (Kind::Machine, name, operation),
            Target::Instance { name, operation } => (Kind::Instance, name, operation),
        };
        let asked =
            subresource::Request { kind, operation, namespace: &route.namespace, name, body: (!body.is_empty()).then_some(&body[..]) };
        let observed = observe::observe(&self.client, &asked, &config).await?;
        let decided = subresource::decide(&asked, &observed, &config);
        apply::apply(&self.client, &asked, &decided.writes).await?;
        match decided.answer? {
            Success::Done => Ok(reply::empty(200)),
            Success::Accepted => Ok(reply::empty(202)),
            Success::Object(object) => Ok(reply::json(200, &object)),
            Success::Ask(ask) => self.ask_handler(&asked, &observed, ask, request.query(), body.clone()).await,
            Success::Stream(endpoint) => self.stream(request, &asked, &observed, endpoint).await,
        }
    }
}

/// The permission that a method asks for.
fn verb(method: &Method, has_name: bool) -> Option<&'static str> {
    Some(match (method.as_str(), has_name) {
        ("POST", _) => "create",
        ("GET" | "HEAD", true) => "get",
        ("GET" | "HEAD", false) => "list",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", true) => "delete",
        ("DELETE", false) => "deletecollection",
        _ => return None,
    })
}
