//! From an order to a guest that runs.

use std::path::{Path, PathBuf};

use kubevirt_rs::api::v1::{StartStrategy, VirtualMachineInstance};
use kubevirt_rs::domain::blame::blame;
use kubevirt_rs::domain::facts::Paths;
use kubevirt_rs::downward_metrics::has_channel;
use kubevirt_rs::guest::live;
use kubevirt_rs::guest::order::Order;
use kubevirt_rs::guest::status::{Domain as DomainStatus, Fault, FaultReason, State};
use kubevirt_rs::pod::paths::HOOKS;
use kubevirt_rs::storage::Hooked;
use kubevirt_rs::{domain, storage};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::board::Doors;
use super::console::Hub;
use super::dhcp::{self, Servers};
use super::hooks::{self, Hooks};
use super::{facts, fault, found, growth, shares};
use crate::libvirt::{Connection, Daemon, Domain, Event, Layout, LibvirtError};
use crate::linux::children::Children;
use crate::linux::files;
use crate::roles::launcher::args::PodArgs;
use crate::roles::launcher::{host, make, metrics};

/// What is needed to start guests.
pub(super) struct Libvirt {
    pub(super) daemon: Daemon,
    connection: Connection,
    version: u32,
}

/// Set when the instance's label or the cluster asks for all that libvirt can say.
const DEBUG_LOGS: &str = "LIBVIRT_DEBUG_LOGS";
/// All, but for what says more than anybody can read.
const DEBUG_FILTERS: &str = "3:remote 4:event 3:util.json 3:util.object 3:util.dbus 3:util.netlink 3:node_device 3:rpc 3:access 1:*";

/// Where libvirt keeps its things in a pod: where KubeVirt's does, since hooks and people look there.
fn layout(args: &PodArgs) -> Layout {
    let private = PathBuf::from(Paths::default().sockets);
    let debug = || std::env::var_os(DEBUG_LOGS).map(|_| DEBUG_FILTERS.to_owned());
    let log_filters = args.libvirt_log_filters.clone().or_else(debug);
    Layout { runtime: "/var/run".into(), config: private.clone(), cache: private.clone(), home: private, log_filters }
}

impl Libvirt {
    /// Starts the daemon.
    pub(super) async fn start(args: &PodArgs, children: &Children) -> Result<Self, Fault> {
        let failed = |error: &dyn std::fmt::Display| fault(FaultReason::LibvirtFailed, error);
        let program = Daemon::find().ok_or_else(|| failed(&"The launcher's image has no libvirt (virtqemud or libvirtd)"))?;
        let daemon = Daemon::start(&program, layout(args), children).await.map_err(|e| failed(&e))?;
        let connection = Connection::open(&daemon.socket).await.map_err(|e| failed(&format!("{e}\n{}", daemon.log())))?;
        connection.warm_up();
        let version = connection.version().await.map_err(|e| failed(&e))?;
        Ok(Self { daemon, connection, version })
    }
}

/// A guest that was started.
pub(super) struct Started {
    pub(super) domain: Domain,
    pub(super) connection: Connection,
    /// Its name in libvirt.
    pub(super) name: String,
    pub(super) vmi: VirtualMachineInstance,
    pub(super) events: mpsc::UnboundedReceiver<Event>,
    pub(super) doors: Doors,
    pub(super) hooks: Hooks,
    /// They answer for as long as this is here.
    pub(super) _dhcp: Servers,
    pub(super) _metrics: metrics::Metrics,
}

/// The guest's name in libvirt.
pub(super) fn domain_name(vmi: &VirtualMachineInstance) -> String {
    format!("{}_{}", vmi.metadata.namespace.as_deref().unwrap_or_default(), vmi.metadata.name.as_deref().unwrap_or_default())
}

/// Starts the guest.
///
/// `until` is how long hook sidecars are waited for.
pub(super) async fn start(args: &PodArgs, order: &Order, libvirt: &Libvirt, children: &Children, until: Instant) -> Result<Started, Fault> {
    let vmi = &order.vmi;
    let hooks = Hooks::collect(Path::new(HOOKS), args.hook_sidecars, until).await?;
    let mut facts = facts::look(args, order, libvirt.version);
    let uid = args.uid.clone().unwrap_or_default();

    growth::before(order, &facts.paths)?;
    let images = found::images(order, &facts.paths, args.image_volume, &mut facts.volumes)?;
    let sources = found::sources(order);
    let not_ready = |e: storage::StorageError| Fault { field: Some(e.field), ..fault(FaultReason::DiskNotReady, e.message) };
    let mut builds = storage::plan(vmi, &facts.paths, &images, &sources).map_err(not_ready)?;
    if let Some(mut seed) = Hooked::of(vmi, &facts.paths, &sources).map_err(not_ready)?
        && hooks.pre_cloud_init_iso(&mut seed, vmi).await?
    {
        seed.replace(&mut builds).map_err(not_ready)?;
    }
    let qemu_img = host::program("qemu-img").ok_or_else(|| fault(FaultReason::NodeLacks, "The launcher's image has no qemu-img"))?;
    make::all(builds, &qemu_img, children).await.map_err(|e| fault(FaultReason::DiskNotReady, e))?;
    let sockets = Path::new(&facts.paths.sockets).join(&uid);
    let metrics = Path::new(&facts.paths.metrics_socket).parent().filter(|_| has_channel(vmi));
    for folder in [Some(sockets.as_path()), Some(Path::new(&facts.paths.nvram)), metrics].into_iter().flatten() {
        files::private_dir(folder).map_err(|e| fault(FaultReason::Failed, format!("Failed to make {}: {e}", folder.display())))?;
    }

    let cannot_be = |e: domain::ConvertError| {
        let reason = if e.depends_on_host() { FaultReason::NodeLacks } else { FaultReason::InvalidInstance };
        Fault { field: Some(e.field), ..fault(reason, e.fault) }
    };
    domain::age::check(vmi, libvirt.version).map_err(cannot_be)?;
    let planned = domain::convert(vmi, &facts).map_err(cannot_be)?;
    let log = facts.serial_console_log.then(|| PathBuf::from(facts.paths.serial_log(&uid)));
    if let Some(log) = &log {
        // it is there before the guest is, for the container that prints it
        files::replace(log, b"").map_err(|e| fault(FaultReason::Failed, format!("Failed to make {}: {e}", log.display())))?;
    }
    let dhcp = dhcp::serve(order)?;
    shares::wait(vmi, &facts.paths, until).await?;

    let name = domain_name(vmi);
    let refused = |reason: FaultReason, said: String| {
        let blame = blame(&said, vmi, &planned);
        let right = blame.as_ref().map(|blame| format!("; {}", blame.right)).unwrap_or_default();
        Fault { field: blame.map(|blame| blame.field), ..fault(reason, format!("{}{right}", said.trim_end())) }
    };
    let xml = hooks.on_define_domain(planned.to_xml(), vmi).await?;
    let domain = libvirt.connection.define(xml).await.map_err(|e| match &hooks.changers()[..] {
        [] => refused(FaultReason::LibvirtFailed, e.to_string()),
        changers => hooks::failed(format!("{e}; the domain is as the hook sidecars in {} have left it", changers.join(", "))),
    })?;
    let last_words = |e: LibvirtError| refused(FaultReason::QemuFailed, format!("{e}\n{}", libvirt.daemon.qemu_log(&name)));
    // not earlier: of what an order before this one has come to nothing is to be heard any more
    let events = libvirt.connection.events();
    domain.start_paused().await.map_err(last_words)?;
    let opened = async {
        let doors = open(&facts.paths, vmi, &uid, log).await?;
        let metrics = metrics::begin(vmi, &facts.paths, &order.node, &libvirt.connection, &domain).await;
        let failed = |e: metrics::MetricsError| Fault { field: Some(e.field.clone()), ..fault(FaultReason::Failed, e) };
        Ok::<_, Fault>((doors, metrics.map_err(failed)?))
    };
    let (doors, metrics) = match opened.await {
        Ok(opened) => opened,
        Err(fault) => {
            // it will be started anew
            let _ = domain.destroy().await;
            return Err(fault);
        }
    };
    if vmi.spec.start_strategy != Some(StartStrategy::Paused) {
        domain.resume().await.map_err(last_words)?;
    }
    Ok(Started {
        domain,
        connection: libvirt.connection.clone(),
        name,
        vmi: vmi.clone(),
        events,
        doors,
        hooks,
        _dhcp: dhcp,
        _metrics: metrics,
    })
}

/// Opens what leads to a guest whose processors do not run yet.
async fn open(paths: &Paths, vmi: &VirtualMachineInstance, uid: &str, log: Option<PathBuf>) -> Result<Doors, Fault> {
    let devices = &vmi.spec.domain.devices;
    let console = match devices.autoattach_serial_console {
        Some(false) => None,
        _ => {
            let hub = Hub::attach(Path::new(&paths.serial(uid)), log).await;
            Some(hub.map_err(|e| fault(FaultReason::Failed, format!("Failed to open the console: {e}")))?)
        }
    };
    let screen = (devices.autoattach_graphics_device != Some(false)).then(|| PathBuf::from(paths.vnc(uid)));
    Ok(Doors { console, screen })
}

/// What libvirt says of the domain now.
pub(super) async fn look(domain: &Domain) -> Result<DomainStatus, LibvirtError> {
    let (state, reason) = domain.state().await?;
    let xml = domain.xml().await?;
    match live::read(&xml) {
        Ok(status) => Ok(DomainStatus { state, reason, ..status }),
        Err(error) => {
            tracing::warn!(%error, "A domain is not understood");
            Ok(DomainStatus { state, reason, ..DomainStatus::default() })
        }
    }
}

/// Whether a state is one of a guest that lives.
pub(super) fn lives(state: State) -> bool {
    matches!(state, State::Running | State::Blocked | State::Paused | State::PmSuspended | State::ShuttingDown)
}
