//! What everyone may read: discovery, OpenAPI, the version, and whether the server is well. Each document is made once.

use std::sync::LazyLock;

use hyper::Method;
use hyper::body::Bytes;
use kubevirt_rs::api::names::SUBRESOURCE_GROUP;
use kubevirt_rs::schema::operations::VERSIONS;
use kubevirt_rs::schema::{discovery, openapi};
use serde_json::{Value, json};

use crate::cluster::Configuration;
use crate::serve::health::Health;
use crate::serve::{Request, Response, reply};

/// The version of the API that this server keeps to, as clients compare it.
const VERSION: &str = "v1.9.0";

static ROOT: LazyLock<Bytes> = LazyLock::new(|| {
    let mut paths = vec!["/apis".to_owned(), format!("/apis/{SUBRESOURCE_GROUP}")];
    paths.extend(VERSIONS.iter().map(|version| format!("/apis/{SUBRESOURCE_GROUP}/{version}")));
    paths.extend(["/healthz", "/openapi/v2", "/openapi/v3", "/readyz"].map(str::to_owned));
    text(&json!({ "paths": paths }))
});
static GROUPS: LazyLock<Bytes> = LazyLock::new(|| text(&discovery::groups()));
static GROUP: LazyLock<Bytes> = LazyLock::new(|| text(&discovery::group()));
static RESOURCES: LazyLock<[Bytes; 2]> = LazyLock::new(|| VERSIONS.map(|version| text(&discovery::resources(version))));
static OPENAPI_2: LazyLock<Bytes> = LazyLock::new(|| text(&openapi::v2()));
static OPENAPI_3_INDEX: LazyLock<Bytes> = LazyLock::new(|| text(&openapi::v3_index()));
static OPENAPI_3: LazyLock<[Bytes; 2]> = LazyLock::new(|| VERSIONS.map(|version| text(&openapi::v3(version))));

fn text(document: &Value) -> Bytes {
    document.to_string().into()
}

/// The answer to a request for a document; nothing, if it is for none.
pub(super) fn answer(request: &Request, health: &Health, configuration: &Configuration) -> Option<Response> {
    let path = request.path();
    let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
    if *request.method() != Method::GET && *request.method() != Method::HEAD {
        return None;
    }
    let group = path.strip_prefix("/apis/").and_then(|rest| rest.strip_prefix(SUBRESOURCE_GROUP));
    let document = match path {
        "/" => &*ROOT,
        "/apis" => &*GROUPS,
        "/openapi/v2" => &*OPENAPI_2,
        "/openapi/v3" => &*OPENAPI_3_INDEX,
        _ => match (group, path.strip_prefix("/openapi/v3/apis/").and_then(|rest| rest.strip_prefix(SUBRESOURCE_GROUP))) {
            (Some(""), _) => &*GROUP,
            (Some(rest), _) => return of_version(rest, health, configuration),
            (None, Some(rest)) => OPENAPI_3.get(index(rest.strip_prefix('/')?)?)?,
            (None, None) => return None,
        },
    };
    Some(reply::bytes(200, "application/json", document.clone()))
}

fn index(version: &str) -> Option<usize> {
    VERSIONS.iter().position(|known| *known == version)
}

/// What stands below `/apis/GROUP`.
fn of_version(rest: &str, health: &Health, configuration: &Configuration) -> Option<Response> {
    let (version, operation) = rest.strip_prefix('/')?.split_once('/').unwrap_or((rest.strip_prefix('/')?, ""));
    let index = index(version)?;
    match operation {
        "" => Some(reply::bytes(200, "application/json", RESOURCES.get(index)?.clone())),
        "version" => Some(reply::json(200, &version_info())),
        "healthz" => Some(well(health, configuration)),
        "guestfs" => Some(reply::refuse(404, "there is no image with tools for guests' file systems in this installation")),
        "start-cluster-profiler" | "stop-cluster-profiler" | "dump-cluster-profiler" => {
            Some(reply::refuse(403, "this installation has no cluster profiler"))
        }
        _ => None,
    }
}

fn version_info() -> Value {
    json!({
        "gitVersion": VERSION,
        "gitCommit": option_env!("GIT_COMMIT").unwrap_or("unknown"),
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }),
    })
}

fn well(health: &Health, configuration: &Configuration) -> Response {
    let missing = health.missing();
    let state = if missing.is_empty() { json!({"connectivity": "ok"}) } else { json!({"connectivity": "failed", "waitingFor": missing}) };
    let code = if missing.is_empty() { 200 } else { 500 };
    reply::json(code, &json!({"apiserver": state, "config-resource-version": configuration.details().version}))
}
