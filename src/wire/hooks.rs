//! Hook sidecars: containers in the launcher's pod that serve gRPC at sockets below a folder that they share with it.
//!
//! ```text
//!   launcher ── Info ──▶ which versions, which hook points
//!            ── OnDefineDomain, PreCloudInitIso, Shutdown ──▶ of the newest version that both know
//! ```

use std::path::Path;
use std::time::Duration;

use kubevirt_rs::guest::hooks::{Introduction, Subscription, Version};

pub(crate) use super::grpc::CallError;
use super::grpc::call;

/// How long a sidecar may take to say who it is.
const INTRODUCTION: Duration = Duration::from_secs(5);
/// How long it may take to do its work.
const WORK: Duration = Duration::from_secs(60);
/// How long it may take to hear that it is over.
const FAREWELL: Duration = Duration::from_secs(5);

/// Nothing.
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

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct OnDefineDomainParams {
    #[prost(bytes = "vec", tag = "1")]
    domain_xml: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    vmi: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct OnDefineDomainResult {
    #[prost(bytes = "vec", tag = "1")]
    domain_xml: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct PreCloudInitIsoParams {
    #[prost(bytes = "vec", tag = "1")]
    cloud_init_no_cloud_source: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    vmi: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    cloud_init_data: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct PreCloudInitIsoResult {
    #[prost(bytes = "vec", tag = "1")]
    cloud_init_no_cloud_source: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    cloud_init_data: Vec<u8>,
}

/// Cloud-init's data, as a sidecar gets and gives it: as of old, and with all there is.
pub(crate) struct CloudInit {
    pub(crate) no_cloud_source: Vec<u8>,
    pub(crate) data: Vec<u8>,
}

/// Asks a sidecar who it is.
pub(crate) async fn info(socket: &Path) -> Result<Introduction, CallError> {
    let info: InfoResult = call(socket, "/kubevirt.hooks.info.Info/Info", Nothing {}, INTRODUCTION).await?;
    let points = info.hook_points.into_iter().map(|p| Subscription { point: p.name, priority: p.priority }).collect();
    Ok(Introduction { name: info.name, versions: info.versions, points })
}

/// Lets a sidecar change a domain.
pub(crate) async fn on_define_domain(socket: &Path, version: Version, domain_xml: Vec<u8>, vmi: Vec<u8>) -> Result<Vec<u8>, CallError> {
    let method = match version {
        Version::V1Alpha1 => "/kubevirt.hooks.v1alpha1.Callbacks/OnDefineDomain",
        Version::V1Alpha2 => "/kubevirt.hooks.v1alpha2.Callbacks/OnDefineDomain",
        Version::V1Alpha3 => "/kubevirt.hooks.v1alpha3.Callbacks/OnDefineDomain",
    };
    let answer: OnDefineDomainResult = call(socket, method, OnDefineDomainParams { domain_xml, vmi }, WORK).await?;
    Ok(answer.domain_xml)
}

/// Lets a sidecar change what cloud-init will find.
pub(crate) async fn pre_cloud_init_iso(socket: &Path, version: Version, told: CloudInit, vmi: Vec<u8>) -> Result<CloudInit, CallError> {
    let method = match version {
        Version::V1Alpha1 | Version::V1Alpha2 => "/kubevirt.hooks.v1alpha2.Callbacks/PreCloudInitIso",
        Version::V1Alpha3 => "/kubevirt.hooks.v1alpha3.Callbacks/PreCloudInitIso",
    };
    let params = PreCloudInitIsoParams { cloud_init_no_cloud_source: told.no_cloud_source, vmi, cloud_init_data: told.data };
    let answer: PreCloudInitIsoResult = call(socket, method, params, WORK).await?;
    Ok(CloudInit { no_cloud_source: answer.cloud_init_no_cloud_source, data: answer.cloud_init_data })
}

/// Tells a sidecar that the guest is gone, so that its container may end.
pub(crate) async fn shutdown(socket: &Path) -> Result<(), CallError> {
    call::<_, Nothing>(socket, "/kubevirt.hooks.v1alpha3.Callbacks/Shutdown", Nothing {}, FAREWELL).await.map(drop)
}
