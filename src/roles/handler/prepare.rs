//! What a guest needs before it starts: its disks, its devices, its network. Then the launcher is told what to run.

use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kubevirt_rs::api::v1::VirtualMachineInstance;
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::guest::status::{Fault, FaultReason};
use kubevirt_rs::network::{self, Network};
use kubevirt_rs::node::instance::{Launcher, Start, failure_event, order};

use super::disks;
use super::guests::{Guest, Item, volume};
use super::pass::Node;
use crate::cluster::reference;
use crate::linux::beneath::Folder;
use crate::linux::pod_process::PodProcess;
use crate::linux::{namespaces, pod_network};
use crate::wire::launcher::{ClientError, SOCKET};

/// The user of the launcher.
pub(super) const USER: u32 = 107;
/// When it is tried again to bring a volume to a guest that runs.
pub(super) const AGAIN: Duration = Duration::from_secs(1);
/// Device nodes of the pod that only root may open otherwise.
const DEVICES: [&str; 3] = ["dev/kvm", "dev/net/tun", "dev/vhost-net"];

/// Prepares a guest and has it started.
pub(super) async fn start(node: Arc<Node>, item: Item) {
    let Some(instance) = node.instance(&item) else { return };
    let (namespace, name) = (&item.key.namespace, &item.key.name);
    match try_start(&node, &item, &instance).await {
        Ok(()) => {
            node.guests.change(&item, |guest| guest.start = Start::Done);
            node.recorder.record(reference(&instance), false, "Created", "the guest is defined");
            tracing::info!(kind = "VirtualMachineInstance", %namespace, %name, "started");
            node.queue.add(item);
        }
        Err(fault) => {
            tracing::warn!(kind = "VirtualMachineInstance", %namespace, %name, reason = fault.reason.as_str(), "start the guest: {fault}");
            let event = failure_event(&fault);
            node.recorder.record(reference(&instance), event.warning, event.reason, &event.message);
            let pause = node.guests.change(&item, |guest| guest.failed(fault));
            node.queue.add(item.clone());
            node.queue.add_after(item, pause.unwrap_or_default());
        }
    }
}

async fn try_start(node: &Arc<Node>, item: &Item, instance: &VirtualMachineInstance) -> Result<(), Fault> {
    let gone = || fault(FaultReason::Failed, "the launcher is gone");
    let pod = node.guests.change(item, |guest| guest.pod.clone()).ok_or_else(gone)?;
    let line = node.guests.line(&item.uid).ok_or_else(gone)?;
    let config = node.configuration.now();
    let (kubelet, this, settings) = (node.kubelet.clone(), instance.clone(), config.clone());
    let prepared = tokio::task::spawn_blocking(move || prepare(&kubelet, &pod, &this, &settings)).await;
    let prepared = prepared.map_err(|error| fault(FaultReason::Failed, error.to_string()))??;
    let order = order(&node.name, instance, config.spec(), &prepared.networks);
    node.guests.change(item, |guest| prepared.note(guest));
    match line.client.run(&order).await {
        Ok(status) => {
            node.guests.change(item, |guest| guest.launcher = Launcher::Alive(Box::new(status)));
            Ok(())
        }
        Err(ClientError::Refused(fault)) => Err(fault),
        Err(error) => Err(fault(FaultReason::Failed, error.to_string())),
    }
}

fn fault(reason: FaultReason, message: impl Into<String>) -> Fault {
    Fault { reason, message: message.into(), field: None }
}

/// What was found out while it was prepared.
struct Prepared {
    networks: Vec<Network>,
    selinux_context: Option<String>,
}

impl Prepared {
    fn note(self, guest: &mut Guest) {
        guest.networks = self.networks;
        guest.selinux_context = self.selinux_context;
    }
}

fn prepare(kubelet: &Path, pod: &str, instance: &VirtualMachineInstance, config: &ClusterConfig) -> Result<Prepared, Fault> {
    disks::show(kubelet, pod, instance, config)?;
    let launcher = launcher(kubelet, pod).map_err(|e| fault(FaultReason::Failed, format!("find the launcher's process: {e}")))?;
    give_devices(&launcher).map_err(|e| fault(FaultReason::NodeLacks, format!("give the launcher its devices: {e}")))?;
    let networks = make_network(&launcher, instance, config)?;
    Ok(Prepared { networks, selinux_context: launcher.selinux_context() })
}

/// The launcher's process.
fn launcher(kubelet: &Path, pod: &str) -> io::Result<PodProcess> {
    let socket = Folder::open(kubelet)?.folder(volume(pod, "sockets"))?.hold(SOCKET)?;
    PodProcess::listening_at(&socket, pod)
}

/// Lets the launcher open the devices that the kubelet gave to its pod.
fn give_devices(launcher: &PodProcess) -> io::Result<()> {
    namespaces::in_mounts(launcher.mounts()?.as_fd(), || {
        let root = Folder::open(Path::new("/"))?;
        for path in DEVICES {
            match root.hold(path) {
                Ok(device) if device.is_character_device()? => device.give_to(USER)?,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(io::Error::new(error.kind(), format!("{path}: {error}"))),
            }
        }
        Ok(())
    })
}

fn make_network(launcher: &PodProcess, instance: &VirtualMachineInstance, config: &ClusterConfig) -> Result<Vec<Network>, Fault> {
    let failed = |error: io::Error| fault(FaultReason::NetworkFailed, error.to_string());
    let namespace = launcher.network().map_err(failed)?;
    let links = pod_network::links(namespace.as_fd()).map_err(failed)?;
    let plan = network::plan(instance, config, &links).map_err(|error| {
        let reason = if error.may_pass() { FaultReason::NetworkFailed } else { FaultReason::InvalidInstance };
        let under = std::error::Error::source(&error).map(|source| format!(": {source}"));
        fault(reason, format!("{error}{}", under.unwrap_or_default()))
    })?;
    pod_network::make(namespace.as_fd(), &plan.steps).map_err(failed)?;
    Ok(plan.networks)
}

/// Looks at the network of a guest that was started by an earlier handler; nothing is made.
pub(super) fn look_again(node: &Node, item: &Item) -> io::Result<()> {
    let (Some(instance), Some(pod)) = (node.instance(item), node.guests.change(item, |guest| guest.pod.clone())) else { return Ok(()) };
    let launcher = launcher(&node.kubelet, &pod)?;
    let links = pod_network::links(launcher.network()?.as_fd())?;
    let plan = network::plan(&instance, &node.configuration.now(), &links).map_err(io::Error::other)?;
    let found = Prepared { networks: plan.networks, selinux_context: launcher.selinux_context() };
    node.guests.change(item, |guest| found.note(guest));
    Ok(())
}
