//! What travels, as far as it is used here. Fields that are not named are passed over.

/// Nothing.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Empty {}

/// What a plugin can do beyond the least; ours nothing.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct DevicePluginOptions {
    #[prost(bool, tag = "1")]
    pub(super) pre_start_required: bool,
    #[prost(bool, tag = "2")]
    pub(super) get_preferred_allocation_available: bool,
}

/// A plugin's introduction.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct RegisterRequest {
    #[prost(string, tag = "1")]
    pub(super) version: String,
    /// The file name of its socket.
    #[prost(string, tag = "2")]
    pub(super) endpoint: String,
    #[prost(string, tag = "3")]
    pub(super) resource_name: String,
    #[prost(message, optional, tag = "4")]
    pub(super) options: Option<DevicePluginOptions>,
}

/// All devices of a resource.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct ListAndWatchResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) devices: Vec<Device>,
}

/// One device.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Device {
    #[prost(string, tag = "1")]
    pub(super) id: String,
    #[prost(string, tag = "2")]
    pub(super) health: String,
}

/// What containers of a pod get.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct AllocateRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) container_requests: Vec<ContainerAllocateRequest>,
}

/// What one container gets.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct ContainerAllocateRequest {
    #[prost(string, repeated, tag = "1")]
    pub(super) device_ids: Vec<String>,
}

/// How containers of a pod get it.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct AllocateResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) container_responses: Vec<ContainerAllocateResponse>,
}

/// How one container gets it.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct ContainerAllocateResponse {
    #[prost(message, repeated, tag = "3")]
    pub(super) devices: Vec<DeviceSpec>,
}

/// A device node in a container.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct DeviceSpec {
    #[prost(string, tag = "1")]
    pub(super) container_path: String,
    #[prost(string, tag = "2")]
    pub(super) host_path: String,
    #[prost(string, tag = "3")]
    pub(super) permissions: String,
}

/// Sent before a container starts, to those who asked for it.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct PreStartContainerRequest {}

/// Nothing.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct PreStartContainerResponse {}
