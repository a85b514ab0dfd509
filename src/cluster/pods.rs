//! Pods, of which only a part is read here, and the API server's binary form of that part.
//!
//! A list of pods is the largest thing that a controller reads: as JSON, 14 KB for each, of which half is who manages which
//! field. In the binary form the API server writes it somewhat sooner, and what is not asked for is passed over without
//! being looked at. The numbers are those of `k8s.io/api/core/v1/generated.proto` and its neighbours.

use std::mem::take;

use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus,
    PersistentVolumeClaimVolumeSource, Pod, PodCondition, PodIP, PodSpec, PodStatus, Toleration, Volume,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ListMeta, ObjectMeta};
use prost::DecodeError;

use super::binary::{self, all, some, time};

/// Takes out of a pod what nobody here reads: left are its containers' names, images and states, the names of its volumes,
/// and what attachment pods take over.
pub(crate) fn trim(pod: &mut Pod) {
    let meta = &mut pod.metadata;
    *meta = ObjectMeta {
        name: meta.name.take(),
        namespace: meta.namespace.take(),
        uid: meta.uid.take(),
        resource_version: meta.resource_version.take(),
        creation_timestamp: meta.creation_timestamp.take(),
        deletion_timestamp: meta.deletion_timestamp.take(),
        labels: meta.labels.take(),
        annotations: meta.annotations.take(),
        owner_references: meta.owner_references.take(),
        finalizers: meta.finalizers.take(),
        ..ObjectMeta::default()
    };
    if let Some(spec) = &mut pod.spec {
        let claim = |claim: PersistentVolumeClaimVolumeSource| PersistentVolumeClaimVolumeSource { read_only: None, ..claim };
        let volume = |volume: Volume| Volume {
            name: volume.name,
            persistent_volume_claim: volume.persistent_volume_claim.map(claim),
            ..Volume::default()
        };
        *spec = PodSpec {
            containers: spec.containers.drain(..).map(|c| Container { name: c.name, image: c.image, ..Container::default() }).collect(),
            node_name: spec.node_name.take(),
            tolerations: spec.tolerations.take(),
            volumes: spec.volumes.take().map(|all| all.into_iter().map(volume).collect()),
            ..PodSpec::default()
        };
    }
    if let Some(status) = &mut pod.status {
        *status = PodStatus {
            phase: status.phase.take(),
            conditions: status.conditions.take(),
            message: status.message.take(),
            reason: status.reason.take(),
            pod_ip: status.pod_ip.take(),
            pod_ips: status.pod_ips.take(),
            qos_class: status.qos_class.take(),
            container_statuses: status.container_statuses.take().map(trim_containers),
            init_container_statuses: status.init_container_statuses.take().map(trim_containers),
            ..PodStatus::default()
        };
    }
    for condition in pod.status.iter_mut().flat_map(|s| s.conditions.iter_mut().flatten()) {
        condition.last_probe_time = None;
        condition.observed_generation = None;
    }
}

fn trim_containers(all: Vec<ContainerStatus>) -> Vec<ContainerStatus> {
    let trimmed = |mut told: ContainerStatus| ContainerStatus {
        name: take(&mut told.name),
        ready: told.ready,
        state: told.state.take(),
        ..ContainerStatus::default()
    };
    all.into_iter().map(trimmed).collect()
}

/// Reads a list in its binary form; the pods are as [`trim`] leaves them.
///
/// # Errors
///
/// It is no such list.
pub(crate) fn read_list(bytes: &[u8]) -> Result<(ListMeta, Vec<Pod>), DecodeError> {
    let list: list::Pods = binary::read(bytes)?;
    Ok((list.metadata.unwrap_or_default().into(), list.items.into_iter().map(Pod::from).collect()))
}

impl From<list::Pod> for Pod {
    fn from(pod: list::Pod) -> Self {
        Self { metadata: pod.metadata.unwrap_or_default().into(), spec: pod.spec.map(Into::into), status: pod.status.map(Into::into) }
    }
}

impl From<list::Spec> for PodSpec {
    fn from(spec: list::Spec) -> Self {
        let claim = |claim: list::Claim| PersistentVolumeClaimVolumeSource { claim_name: claim.claim_name, read_only: None };
        let volume = |volume: list::Volume| Volume {
            name: volume.name,
            persistent_volume_claim: volume.source.and_then(|source| source.claim).map(claim),
            ..Volume::default()
        };
        let toleration = |toleration: list::Toleration| Toleration {
            key: some(toleration.key),
            operator: some(toleration.operator),
            value: some(toleration.value),
            effect: some(toleration.effect),
            toleration_seconds: toleration.toleration_seconds,
        };
        Self {
            volumes: all(spec.volumes, volume),
            containers: spec
                .containers
                .into_iter()
                .map(|c| Container { name: c.name, image: some(c.image), ..Container::default() })
                .collect(),
            node_name: some(spec.node_name),
            tolerations: all(spec.tolerations, toleration),
            ..Self::default()
        }
    }
}

impl From<list::Status> for PodStatus {
    fn from(status: list::Status) -> Self {
        let condition = |told: list::Condition| PodCondition {
            type_: told.kind,
            status: told.status,
            last_transition_time: told.last_transition_time.and_then(time),
            reason: some(told.reason),
            message: some(told.message),
            ..PodCondition::default()
        };
        Self {
            phase: some(status.phase),
            conditions: all(status.conditions, condition),
            message: some(status.message),
            reason: some(status.reason),
            pod_ip: some(status.pod_ip),
            pod_ips: all(status.pod_ips, |ip| PodIP { ip: ip.ip }),
            qos_class: some(status.qos_class),
            container_statuses: all(status.container_statuses, Into::into),
            init_container_statuses: all(status.init_container_statuses, Into::into),
            ..Self::default()
        }
    }
}

impl From<list::ContainerStatus> for ContainerStatus {
    fn from(told: list::ContainerStatus) -> Self {
        let state = |state: list::State| ContainerState {
            waiting: state.waiting.map(|w| ContainerStateWaiting { reason: some(w.reason), message: some(w.message) }),
            running: state.running.map(|r| ContainerStateRunning { started_at: r.started_at.and_then(time) }),
            terminated: state.terminated.map(|t| ContainerStateTerminated {
                exit_code: t.exit_code,
                signal: Some(t.signal).filter(|signal| *signal != 0),
                reason: some(t.reason),
                message: some(t.message),
                started_at: t.started_at.and_then(time),
                finished_at: t.finished_at.and_then(time),
                container_id: some(t.container_id),
            }),
        };
        Self { name: told.name, ready: told.ready, state: told.state.map(state), ..Self::default() }
    }
}

/// The parts of the messages that are read.
mod list {
    use prost::Message;

    use super::binary::{ListMeta, Meta, Time};

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Pods {
        #[prost(message, optional, tag = "1")]
        pub(super) metadata: Option<ListMeta>,
        #[prost(message, repeated, tag = "2")]
        pub(super) items: Vec<Pod>,
    }
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Pod {
        #[prost(message, optional, tag = "1")]
        pub(super) metadata: Option<Meta>,
        #[prost(message, optional, tag = "2")]
        pub(super) spec: Option<Spec>,
        #[prost(message, optional, tag = "3")]
        pub(super) status: Option<Status>,
    }
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Spec {
        #[prost(message, repeated, tag = "1")]
        pub(super) volumes: Vec<Volume>,
        #[prost(message, repeated, tag = "2")]
        pub(super) containers: Vec<Container>,
        #[prost(string, tag = "10")]
        pub(super) node_name: String,
        #[prost(message, repeated, tag = "22")]
        pub(super) tolerations: Vec<Toleration>,
    }
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Volume {
        #[prost(string, tag = "1")]
        pub(super) name: String,
        #[prost(message, optional, tag = "2")]
        pub(super) source: Option<VolumeSource>,
    }
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct VolumeSource {
        #[prost(message, optional, tag = "10")]
        pub(super) claim: Option<Claim>,
    }
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Claim {
        #[prost(string, tag = "1")]
        pub(super) claim_name: String,
    }
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Container {
        #[prost(string, tag = "1")]
        pub(super) name: String,
        #[prost(string, tag = "2")]
        pub(super) image: String,
    }
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Toleration {
        #[prost(string, tag = "1")]
        pub(super) key: String,
        #[prost(string, tag = "2")]
        pub(super) operator: String,
        #[prost(string, tag = "3")]
        pub(super) value: String,
        #[prost(string, tag = "4")]
        pub(super) effect: String,
        #[prost(int64, optional, tag = "5")]
        pub(super) toleration_seconds: Option<i64>,
    }
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Status {
        #[prost(string, tag = "1")]
        pub(super) phase: String,
        #[prost(message, repeated, tag = "2")]
        pub(super) conditions: Vec<Condition>,
        #[prost(string, tag = "3")]
        pub(super) message: String,
        #[prost(string, tag = "4")]
        pub(super) reason: String,
        #[prost(string, tag = "6")]
        pub(super) pod_ip: String,
        #[prost(message, repeated, tag = "8")]
        pub(super) container_statuses: Vec<ContainerStatus>,
        #[prost(string, tag = "9")]
        pub(super) qos_class: String,
        #[prost(message, repeated, tag = "10")]
        pub(super) init_container_statuses: Vec<ContainerStatus>,
        #[prost(message, repeated, tag = "12")]
        pub(super) pod_ips: Vec<Ip>,
    }
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Condition {
        #[prost(string, tag = "1")]
        pub(super) kind: String,
        #[prost(string, tag = "2")]
        pub(super) status: String,
        #[prost(message, optional, tag = "4")]
        pub(super) last_transition_time: Option<Time>,
        #[prost(string, tag = "5")]
        pub(super) reason: String,
        #[prost(string, tag = "6")]
        pub(super) message: String,
    }
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Ip {
        #[prost(string, tag = "1")]
        pub(super) ip: String,
    }
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct ContainerStatus {
        #[prost(string, tag = "1")]
        pub(super) name: String,
        #[prost(message, optional, tag = "2")]
        pub(super) state: Option<State>,
        #[prost(bool, tag = "4")]
        pub(super) ready: bool,
    }
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct State {
        #[prost(message, optional, tag = "1")]
        pub(super) waiting: Option<Waiting>,
        #[prost(message, optional, tag = "2")]
        pub(super) running: Option<Running>,
        #[prost(message, optional, tag = "3")]
        pub(super) terminated: Option<Terminated>,
    }
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Waiting {
        #[prost(string, tag = "1")]
        pub(super) reason: String,
        #[prost(string, tag = "2")]
        pub(super) message: String,
    }
    #[derive(Clone, Copy, PartialEq, Eq, Message)]
    pub(super) struct Running {
        #[prost(message, optional, tag = "1")]
        pub(super) started_at: Option<Time>,
    }
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Terminated {
        #[prost(int32, tag = "1")]
        pub(super) exit_code: i32,
        #[prost(int32, tag = "2")]
        pub(super) signal: i32,
        #[prost(string, tag = "3")]
        pub(super) reason: String,
        #[prost(string, tag = "4")]
        pub(super) message: String,
        #[prost(message, optional, tag = "5")]
        pub(super) started_at: Option<Time>,
        #[prost(message, optional, tag = "6")]
        pub(super) finished_at: Option<Time>,
        #[prost(string, tag = "7")]
        pub(super) container_id: String,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::List;

    use super::*;

    /// Recorded from kube-apiserver 1.34: the same two pods in both forms.
    const JSON: &str = include_str!("pods/list.json");
    const BINARY: &[u8] = include_bytes!("pods/list.pb");

    #[test]
    fn both_forms_of_a_list_say_the_same() {
        let mut wanted: List<Pod> = serde_json::from_str(JSON).unwrap();
        let whole = wanted.items.clone();
        wanted.items.iter_mut().for_each(trim);
        assert_ne!(wanted.items, whole, "there is something to trim");
        let (meta, pods) = read_list(BINARY).unwrap();
        // as text, so that a difference can be seen
        assert_eq!(serde_json::to_string_pretty(&pods).unwrap(), serde_json::to_string_pretty(&wanted.items).unwrap());
        assert_eq!(meta.resource_version, wanted.metadata.resource_version);
        let status = pods.iter().find_map(|pod| pod.status.as_ref()?.init_container_statuses.as_ref()).unwrap();
        assert_eq!(status[0].state.as_ref().and_then(|state| Some(state.terminated.as_ref()?.exit_code)), Some(-1));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for end in [0, 3, 20, BINARY.len() / 2, BINARY.len() - 100] {
            assert!(read_list(&BINARY[..end]).is_err(), "{end}");
        }
        assert!(read_list(JSON.as_bytes()).is_err());
    }
}
