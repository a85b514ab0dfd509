//! A connection to a libvirt daemon, and one domain of it.

use std::ffi::{CStr, CString};
use std::path::Path;
use std::sync::Arc;

use kubevirt_rs::guest::status::{State, StateReason};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use virt::sys;

use super::events::{self, Event, Listener};
use super::state;

/// Why a call of libvirt failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("Failed to {action}: {message}")]
pub(crate) struct LibvirtError {
    action: &'static str,
    /// libvirt's own words.
    pub(crate) message: String,
    /// Whether the agent inside the guest has not answered.
    pub(crate) is_unanswered: bool,
}

impl LibvirtError {
    pub(super) fn new(action: &'static str, error: &virt::error::Error) -> Self {
        let is_unanswered = error.code() == virt::error::ErrorNumber::AgentUnresponsive;
        Self { action, message: error.message().to_owned(), is_unanswered }
    }

    pub(super) fn other(action: &'static str, message: String) -> Self {
        Self { action, message, is_unanswered: false }
    }
}

/// Runs a call of libvirt where it may block.
async fn blocking<T: Send + 'static>(
    action: &'static str,
    call: impl FnOnce() -> Result<T, virt::error::Error> + Send + 'static,
) -> Result<T, LibvirtError> {
    match spawn_blocking(call).await {
        Ok(result) => result.map_err(|e| LibvirtError::new(action, &e)),
        Err(e) => Err(LibvirtError::other(action, e.to_string())),
    }
}

/// A kind of domains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// The architecture, by libvirt's name.
    pub(crate) architecture: &'static str,
    /// The machine type.
    pub(crate) machine: &'static str,
    /// `kvm`, or `qemu` for emulation.
    pub(crate) hypervisor: &'static str,
}

/// A connection; clones are the same.
#[derive(Clone)]
pub(crate) struct Connection {
    inner: Arc<virt::connect::Connect>,
    listener: Listener,
}

impl Connection {
    /// Connects to the session daemon behind a socket.
    pub(crate) async fn open(socket: &Path) -> Result<Self, LibvirtError> {
        events::start_loop()?;
        let uri = format!("qemu+unix:///session?socket={}", socket.display());
        let listener = Listener::default();
        let told = listener.clone();
        let open = move || {
            let connection = virt::connect::Connect::open(Some(&uri))?;
            events::register(&connection, &told)?;
            Ok(connection)
        };
        Ok(Self { inner: Arc::new(blocking("connect to libvirt", open).await?), listener })
    }

    /// The version of the daemon: millions for the major, thousands for the minor part.
    pub(crate) async fn version(&self) -> Result<u32, LibvirtError> {
        let connection = Arc::clone(&self.inner);
        blocking("ask for the version of libvirt", move || connection.get_lib_version()).await
    }

    /// What runs the guests, and its version, such as `QEMU 7.2.0`.
    pub(crate) async fn product(&self) -> Result<String, LibvirtError> {
        let connection = Arc::clone(&self.inner);
        let version = blocking("ask for the version of QEMU", move || connection.get_hyp_version()).await?;
        Ok(format!("QEMU {}.{}.{}", version / 1_000_000, version / 1000 % 1000, version % 1000))
    }

    /// What the host is, as libvirt writes it.
    pub(crate) async fn capabilities(&self) -> Result<String, LibvirtError> {
        let connection = Arc::clone(&self.inner);
        blocking("ask for the capabilities of the host", move || connection.get_capabilities()).await
    }

    /// What a domain of that kind can have, as libvirt writes it.
    pub(crate) async fn domain_capabilities(&self, kind: Kind) -> Result<String, LibvirtError> {
        let connection = Arc::clone(&self.inner);
        let Kind { architecture, machine, hypervisor } = kind;
        let ask = move || connection.get_domain_capabilities(None, Some(architecture), Some(machine), Some(hypervisor), 0);
        blocking("ask for the capabilities of domains", ask).await
    }

    /// The CPU that every domain of that kind can have, with all its features; `cpu` is the host's as libvirt writes it.
    pub(crate) async fn baseline(&self, kind: Kind, cpu: String) -> Result<String, LibvirtError> {
        const WHAT: &str = "ask for the CPU that every domain can have";
        let connection = Arc::clone(&self.inner);
        let text = |text: &str| CString::new(text).map_err(|error| LibvirtError::other(WHAT, error.to_string()));
        let (architecture, machine, hypervisor) = (text(kind.architecture)?, text(kind.machine)?, text(kind.hypervisor)?);
        let cpu = text(&cpu)?;
        let ask = move || {
            let mut cpus = [cpu.as_ptr()];
            // SAFETY: every text ends by zero and lives through the call, as does the connection, and there is one CPU
            let found = unsafe {
                sys::virConnectBaselineHypervisorCPU(
                    connection.as_ptr(),
                    std::ptr::null(),
                    architecture.as_ptr(),
                    machine.as_ptr(),
                    hypervisor.as_ptr(),
                    cpus.as_mut_ptr(),
                    1,
                    sys::VIR_CONNECT_BASELINE_CPU_EXPAND_FEATURES as _,
                )
            };
            if found.is_null() {
                return Err(virt::error::Error::last_error());
            }
            // SAFETY: libvirt gives a text that ends by zero, and that is ours to free
            let text = unsafe { CStr::from_ptr(found) }.to_string_lossy().into_owned();
            // SAFETY: as above; nobody has it any more
            unsafe { nix::libc::free(found.cast()) };
            Ok(text)
        };
        blocking(WHAT, ask).await
    }

    /// Makes the daemon look at QEMU, which it does once and takes about a second for: before anybody waits for it.
    pub(crate) fn warm_up(&self) {
        let connection = Arc::clone(&self.inner);
        spawn_blocking(move || {
            if let Err(error) = connection.get_domain_capabilities(None, None, None, None, 0) {
                tracing::debug!(%error, "Libvirt does not say what QEMU can do");
            }
        });
    }

    /// What happens to every domain from now on; who asked before is told nothing any more.
    pub(crate) fn events(&self) -> mpsc::UnboundedReceiver<Event> {
        self.listener.listen()
    }

    /// Defines a domain.
    pub(crate) async fn define(&self, xml: String) -> Result<Domain, LibvirtError> {
        let connection = Arc::clone(&self.inner);
        let inner = blocking("define the domain", move || virt::domain::Domain::define_xml(&connection, &xml)).await?;
        Ok(Domain { inner: Arc::new(inner) })
    }
}

/// A picture.
pub(crate) struct Picture {
    /// Its kind, such as `image/png`.
    pub(crate) mime: String,
    pub(crate) content: Vec<u8>,
}

/// No screen's picture is larger.
const LARGEST_PICTURE: usize = 128 << 20;

fn picture(connection: &virt::connect::Connect, domain: &virt::domain::Domain) -> Result<Picture, virt::error::Error> {
    let stream = virt::stream::Stream::new(connection, 0)?;
    let mime = domain.screenshot(&stream, 0, 0)?;
    let (mut content, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let n = stream.recv(&mut piece)?;
        if n == 0 || content.len() > LARGEST_PICTURE {
            break;
        }
        content.extend_from_slice(piece.get(..n).unwrap_or_default());
    }
    stream.finish()?;
    Ok(Picture { mime, content })
}

/// A domain.
#[derive(Clone)]
pub(crate) struct Domain {
    inner: Arc<virt::domain::Domain>,
}

impl Domain {
    pub(super) async fn call<T: Send + 'static>(
        &self,
        action: &'static str,
        call: impl FnOnce(&virt::domain::Domain) -> Result<T, virt::error::Error> + Send + 'static,
    ) -> Result<T, LibvirtError> {
        let inner = Arc::clone(&self.inner);
        blocking(action, move || call(&inner)).await
    }

    /// Starts QEMU; the guest's processors stand still until [`Domain::resume`].
    pub(crate) async fn start_paused(&self) -> Result<(), LibvirtError> {
        self.call("start the domain", |d| d.create_with_flags(sys::VIR_DOMAIN_START_PAUSED)).await.map(drop)
    }

    pub(crate) async fn resume(&self) -> Result<(), LibvirtError> {
        self.call("resume the domain", virt::domain::Domain::resume).await.map(drop)
    }

    /// Presses the power button.
    pub(crate) async fn press_power_button(&self) -> Result<(), LibvirtError> {
        self.call("press the guest's power button", |d| d.shutdown_flags(sys::VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN)).await.map(drop)
    }

    /// Asks the guest agent to power off.
    pub(crate) async fn ask_agent_to_power_off(&self) -> Result<(), LibvirtError> {
        self.call("ask the guest agent to power off", |d| d.shutdown_flags(sys::VIR_DOMAIN_SHUTDOWN_GUEST_AGENT)).await.map(drop)
    }

    /// Ends QEMU.
    pub(crate) async fn destroy(&self) -> Result<(), LibvirtError> {
        self.call("end the domain", virt::domain::Domain::destroy).await
    }

    /// Stops the guest's processors.
    pub(crate) async fn suspend(&self) -> Result<(), LibvirtError> {
        self.call("pause the domain", virt::domain::Domain::suspend).await.map(drop)
    }

    /// Presses the reset button: the guest starts anew at once.
    pub(crate) async fn reset(&self) -> Result<(), LibvirtError> {
        self.call("reset the domain", virt::domain::Domain::reset).await.map(drop)
    }

    /// Asks the guest to start anew, by its agent or by the power button.
    pub(crate) async fn reboot(&self, by_agent: bool) -> Result<(), LibvirtError> {
        let how = if by_agent { sys::VIR_DOMAIN_REBOOT_GUEST_AGENT } else { sys::VIR_DOMAIN_REBOOT_ACPI_POWER_BTN };
        self.call("reboot the domain", move |d| d.reboot(how)).await
    }

    /// Its state, and what led to it.
    pub(crate) async fn state(&self) -> Result<(State, StateReason), LibvirtError> {
        self.call("ask for the state of the domain", virt::domain::Domain::get_state)
            .await
            .map(|(state, reason)| state::understand(state, reason))
    }

    /// Writes its memory to a file, as the core of an ELF process, and waits for the end of that. Its processors stand still
    /// meanwhile, and libvirt lets it be looked at and destroyed, but not changed.
    pub(crate) async fn dump_memory(&self, file: String) -> Result<(), LibvirtError> {
        let (format, flags) = (sys::VIR_DOMAIN_CORE_DUMP_FORMAT_RAW, sys::VIR_DUMP_MEMORY_ONLY);
        self.call("dump the guest's memory", move |d| d.core_dump_with_format(&file, format, flags)).await.map(drop)
    }

    /// Its definition, as it runs.
    pub(crate) async fn xml(&self) -> Result<String, LibvirtError> {
        self.call("ask for the definition of the domain", |d| d.get_xml_desc(0)).await
    }

    /// What its screen shows.
    pub(crate) async fn screenshot(&self, connection: &Connection) -> Result<Picture, LibvirtError> {
        let connection = Arc::clone(&connection.inner);
        self.call("take a picture of the screen", move |d| picture(&connection, d)).await
    }

    /// How large a disk is for the guest, in bytes. `disk` is its target, such as `vda`.
    pub(crate) async fn capacity(&self, disk: String) -> Result<u64, LibvirtError> {
        self.call("ask for the size of a disk", move |d| d.get_block_info(&disk, 0)).await.map(|info| info.capacity)
    }

    /// Makes a disk larger for the guest, which is told so.
    pub(crate) async fn resize(&self, disk: String, bytes: u64) -> Result<(), LibvirtError> {
        self.call("resize a disk", move |d| d.block_resize(&disk, bytes, sys::VIR_DOMAIN_BLOCK_RESIZE_BYTES)).await.map(drop)
    }

    /// A command of the agent inside the guest, and its answer. `seconds` is how long it may take; `None`: as libvirt
    /// finds right.
    pub(crate) async fn agent(&self, command: String, seconds: Option<i32>) -> Result<String, LibvirtError> {
        let timeout = seconds.unwrap_or(sys::VIR_DOMAIN_QEMU_AGENT_COMMAND_DEFAULT);
        self.call("ask the guest agent", move |d| d.qemu_agent_command(&command, timeout, 0)).await
    }

    /// A command of QEMU's monitor for people. Its answer is empty when all went well.
    pub(crate) async fn monitor(&self, command: String) -> Result<String, LibvirtError> {
        self.call("give QEMU a command", move |d| d.qemu_monitor_command(&command, sys::VIR_DOMAIN_QEMU_MONITOR_COMMAND_HMP)).await
    }
}
