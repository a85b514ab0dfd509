//! Process 1 of the sandbox: makes the disks, starts libvirt and the guest, and sees it to its end.

use std::future::pending;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use kubevirt_rs::domain;
use kubevirt_rs::domain::blame::blame;
use kubevirt_rs::guest::{Action, End, Guest, Input, Outcome, Reason, grace_period};
use kubevirt_rs::storage;
use nix::sys::signal::{Signal, kill};
use nix::sys::utsname::uname;
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, getpid};
use serde_json::json;
use tokio::net::unix::pipe;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::console::{self, Attached};
use super::disks::Sources;
use super::host::{self, Host};
use super::machine::Machine;
use super::ports::Ports;
use super::report::Report;
use super::screen;
use super::shares::Daemons;
use super::state::State;
use crate::libvirt::{Connection, Daemon, Domain, Event, Layout, LibvirtError, Lifecycle};
use crate::linux::children::Children;
use crate::linux::sandbox::Inside;
use crate::linux::scratch::Scratch;
use crate::roles::launcher::args::{Accelerator, Args, Console};
use crate::roles::launcher::steps::{Calm, END, after, perform, understand};
use crate::roles::launcher::{Refusal, make, metrics};

/// All that is needed to launch.
pub(super) struct Launch {
    pub(super) machine: Machine,
    pub(super) sources: Sources,
    pub(super) host: Host,
    pub(super) ports: Ports,
    pub(super) screen: Option<TcpListener>,
    pub(super) state: Option<State>,
    pub(super) scratch: Scratch,
    pub(super) args: Args,
}

/// The domain that would be started.
pub(super) fn dry_run(machine: &Machine, sources: &Sources, args: &Args) -> Result<String, Refusal> {
    let emulated = match args.accelerator {
        Accelerator::Auto => crate::linux::kvm::usable().is_err(),
        Accelerator::Kvm => false,
        Accelerator::Tcg => true,
    };
    let facts = host::facts(machine, emulated, "/tmp/kubevirt-rs", sources.foresee(machine));
    Ok(convert(machine, &facts)?.to_xml())
}

fn convert(machine: &Machine, facts: &domain::Facts) -> Result<domain::Domain, Refusal> {
    domain::convert(&machine.vmi, facts).map_err(|e| {
        let lines = vec![machine.at(&e.field, &e.fault.to_string())];
        if e.depends_on_host() { Refusal::host(lines) } else { Refusal::object(lines) }
    })
}

/// Runs the guest to its end, and leaves nothing behind.
pub(super) fn run(inside: Inside, launch: &Launch) -> Result<ExitCode, Refusal> {
    let report = Report::new(launch.args.output);
    let mut builder = runtime::Builder::new_current_thread();
    let runtime =
        builder.enable_all().max_blocking_threads(4).thread_stack_size(512 << 10).thread_keep_alive(Duration::from_secs(1)).build();
    let result = match runtime {
        Ok(runtime) => {
            let result = runtime.block_on(drive(inside, launch, &report));
            // a thread may still wait for a key; it ends with the process
            runtime.shutdown_background();
            result
        }
        Err(e) => Err(Refusal::failure(format!("Failed to start: {e}"))),
    };
    end_everything();
    if let Err(e) = launch.scratch.remove() {
        report.line(&format!("{} could not be removed: {e}", launch.scratch.path().display()));
    }
    match &result {
        Ok(outcome) => Ok(ExitCode::from(outcome.exit_code())),
        Err(refusal) => {
            report.event(
                "Failed",
                json!({"code": refusal.code, "messages": refusal.lines}),
                &format!("kubevirt-rs: {}", refusal.lines.join("\nkubevirt-rs: ")),
            );
            Ok(ExitCode::from(refusal.code))
        }
    }
}

/// Ends every other process of the sandbox, so that no file is made after they were removed.
fn end_everything() {
    // only process 1 of a PID namespace may say "all": elsewhere that would be the whole machine
    if getpid() == Pid::from_raw(1) {
        let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
        while waitpid(None, None).is_ok() {}
    }
}

async fn drive(inside: Inside, launch: &Launch, report: &Report) -> Result<Outcome, Refusal> {
    let failed = |what: &'static str| move |e: io::Error| Refusal::failure(format!("Failed to {what}: {e}"));
    let children = Children::reap().map_err(failed("watch for children"))?;
    let mut stops = Stops::new(inside).map_err(failed("watch for signals"))?;
    if let Some(why) = &launch.host.emulated {
        report.line(&format!("The guest is emulated, which is slow: {why}."));
    }
    let mut running = tokio::select! {
        started = start(launch, &children, report) => started?,
        () = stops.next() => return Err(Refusal::failure("Stopped before the guest was started")),
    };
    let outcome = watch(launch, &mut running, &mut stops, report).await;
    if let Some(console) = &mut running.console {
        console.drained().await;
        console.release();
    }
    let sentence = match outcome {
        Outcome::PoweredOff => "The guest has powered off.".to_owned(),
        Outcome::Killed => "The guest was ended.".to_owned(),
        Outcome::TimedOut => "The guest's time is over.".to_owned(),
        Outcome::Crashed => format!("The guest has crashed. QEMU's last words:\n{}", running.daemon.qemu_log(&running.name)),
        Outcome::Failed => format!("The guest has failed. QEMU's last words:\n{}", running.daemon.qemu_log(&running.name)),
    };
    report.event("Ended", json!({"outcome": outcome, "code": outcome.exit_code()}), &sentence);
    Ok(outcome)
}

/// What wants the guest to stop from outside: signals, and the end of the process that was started.
struct Stops {
    signals: mpsc::UnboundedReceiver<()>,
    lifeline: Option<pipe::Receiver>,
}

impl Stops {
    fn new(inside: Inside) -> io::Result<Self> {
        let (sender, signals) = mpsc::unbounded_channel();
        for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup(), SignalKind::quit()] {
            let (mut stream, sender) = (signal(kind)?, sender.clone());
            tokio::spawn(async move { while stream.recv().await.is_some() && sender.send(()).is_ok() {} });
        }
        inside.let_signals_in()?;
        Ok(Self { signals, lifeline: Some(pipe::Receiver::from_owned_fd(inside.lifeline)?) })
    }

    /// Waits for the next. Cancellation safe.
    async fn next(&mut self) {
        let lifeline = async {
            match &self.lifeline {
                // nothing is ever written: readable means ended
                Some(lifeline) => drop(lifeline.readable().await),
                None => pending().await,
            }
        };
        tokio::select! {
            _ = self.signals.recv() => {}
            () = lifeline => self.lifeline = None,
        }
    }
}

/// A guest that runs.
struct Running {
    daemon: Daemon,
    _connection: Connection,
    domain: Domain,
    name: String,
    events: mpsc::UnboundedReceiver<Event>,
    console: Option<Attached>,
    shares: Daemons,
    _metrics: metrics::Metrics,
}

async fn start(launch: &Launch, children: &Children, report: &Report) -> Result<Running, Refusal> {
    let machine = &launch.machine;
    let folder = launch.scratch.path();
    let libvirt = async {
        let daemon = Daemon::start(&launch.host.daemon, Layout::under(folder), children).await.map_err(Refusal::failure)?;
        let connection = Connection::open(&daemon.socket).await.map_err(|e| Refusal::failure(format!("{e}\n{}", daemon.log())))?;
        let version = connection.version().await.map_err(Refusal::failure)?;
        domain::age::check(&machine.vmi, version).map_err(|e| Refusal::host(vec![machine.at(&e.field, &e.fault.to_string())]))?;
        Ok::<_, Refusal>((daemon, connection))
    };
    let disks = async {
        let facts = host::facts(machine, launch.host.emulated.is_some(), &folder.to_string_lossy(), Default::default());
        // unpacking keeps this thread busy; libvirt starts meanwhile in processes of its own
        tokio::task::yield_now().await;
        let ready = launch.sources.unpack(machine, &facts.paths, report)?;
        let builds = storage::plan(&machine.vmi, &facts.paths, &ready.images, &machine.sources)
            .map_err(|e| Refusal::object(vec![machine.at(&e.field, &e.message)]))?;
        make::all(builds, &launch.host.qemu_img, children).await.map_err(Refusal::failure)?;
        let mut facts = facts;
        facts.volumes.by_name = ready.facts;
        if let Some(state) = &launch.state {
            keep(state, machine, folder, &mut facts).map_err(|e| Refusal::failure(format!("Failed to lend the guest its state: {e}")))?;
        }
        Ok::<_, Refusal>(facts)
    };
    let ((daemon, connection), facts) = tokio::try_join!(libvirt, disks)?;
    for folder in [&facts.paths.sockets, &facts.paths.nvram] {
        let folder = if folder == &facts.paths.sockets { Path::new(folder).join(machine.uid()) } else { PathBuf::from(folder) };
        crate::linux::files::private_dir(&folder).map_err(|e| Refusal::failure(format!("Failed to make {}: {e}", folder.display())))?;
    }

    let virtiofsd = launch.host.virtiofsd.as_ref();
    let mut shares = Daemons::start(&launch.sources.shares, virtiofsd, machine, &facts.paths, folder, children)?;
    report.passing(&format!("Starting {}", machine.name()));
    let planned = convert(machine, &facts)?;
    let name = format!("{}_{}", machine.vmi.metadata.namespace.as_deref().unwrap_or("default"), machine.name());
    let refused = |said: &str| match blame(said, &machine.vmi, &planned) {
        Some(blame) => Refusal::failure(machine.at(&blame.field, &format!("{}; {}", said.trim_end(), blame.right))),
        None => Refusal::failure(said.trim_end().to_owned()),
    };
    let domain = connection.define(planned.to_xml()).await.map_err(|e| refused(&e.to_string()))?;
    let with_last_words = |e: LibvirtError, daemon: &Daemon| refused(&format!("{e}\n{}", daemon.qemu_log(&name)));
    let mut events = connection.events();
    if let Err(e) = domain.start_paused().await {
        let mut refusal = with_last_words(e, &daemon);
        // what looks like QEMU's fault may be that of a daemon which has failed before
        refusal.lines.extend(Some(shares.words()).filter(|words| !words.is_empty()));
        return Err(refusal);
    }
    forward(launch, &domain).await?;
    if let Some(listener) = &launch.screen {
        let listener = listener.try_clone().map_err(|e| Refusal::failure(format!("Failed to serve the screen: {e}")))?;
        screen::serve(listener, Path::new(&facts.paths.vnc(machine.uid())))
            .map_err(|e| Refusal::failure(format!("Failed to serve the screen: {e}")))?;
    }
    let console = match launch.args.console() {
        Console::None => None,
        _ if machine.vmi.spec.domain.devices.autoattach_serial_console == Some(false) => {
            report.line("The machine has no serial console (autoattachSerialConsole is false).");
            None
        }
        mode => {
            let socket = facts.paths.serial(machine.uid());
            let attached = console::attach(Path::new(&socket), mode == Console::Stdio).await;
            Some(attached.map_err(|e| Refusal::failure(format!("Failed to attach the console: {e}")))?)
        }
    };
    let host_name = uname().map(|names| names.nodename().to_string_lossy().into_owned()).unwrap_or_default();
    let metrics = metrics::begin(&machine.vmi, &facts.paths, &host_name, &connection, &domain).await;
    let metrics = metrics.map_err(|e| Refusal::failure(machine.at(&e.field, &e.to_string())))?;
    domain.resume().await.map_err(|e| with_last_words(e, &daemon))?;
    // what led to this point is known already
    while events.try_recv().is_ok_and(|event| !matches!(event, Event::Lifecycle(Lifecycle::Stopped(_)))) {}
    crate::linux::memory::give_back();
    let leave = if console.as_ref().is_some_and(Attached::interactive) { " Leave the console with Ctrl-]." } else { "" };
    report.event("Started", json!({"name": machine.name(), "uid": machine.uid()}), &format!("{} is booting.{leave}", machine.name()));
    Ok(Running { daemon, _connection: connection, domain, name, events, console, shares, _metrics: metrics })
}

/// Puts what outlives the guest where libvirt looks for it.
fn keep(state: &State, machine: &Machine, folder: &Path, facts: &mut domain::Facts) -> io::Result<()> {
    if let Some(variables) = state.variables() {
        facts.paths.nvram = variables;
    }
    let uuid = machine.vmi.spec.domain.firmware.as_ref().map_or("", |firmware| firmware.uuid.as_str());
    state.lend_tpm(&Layout::under(folder).config, uuid)
}

async fn forward(launch: &Launch, domain: &Domain) -> Result<(), Refusal> {
    if launch.ports.is_empty() {
        return Ok(());
    }
    let Some(interface) = launch.machine.vmi.spec.domain.devices.interfaces.first() else {
        return Err(Refusal::usage("--forward: the machine has no interface that a port could lead to"));
    };
    let device = format!("hostua-{}", interface.name);
    for (shown, command) in launch.ports.commands(&device) {
        let answer = domain.monitor(command).await.map_err(Refusal::failure)?;
        if !answer.trim().is_empty() {
            return Err(Refusal::host(vec![format!("--forward {shown}: {}", answer.trim())]));
        }
    }
    Ok(())
}

/// Sees the guest to its end.
async fn watch(launch: &Launch, running: &mut Running, stops: &mut Stops, report: &Report) -> Outcome {
    let grace = grace_period(&launch.machine.vmi);
    let begin = Instant::now();
    let mut guest = Guest::new(grace);
    let mut ending: Option<Instant> = None;
    let mut calm = Calm::new(begin.elapsed());
    loop {
        let now = begin.elapsed();
        let wake = guest.wake().map(|at| at.saturating_sub(now));
        let limit = launch.args.timeout.filter(|_| !guest.stopping()).map(|limit| limit.saturating_sub(now));
        let overdue = ending.map(|since| END.saturating_sub(since.elapsed()));
        let input = tokio::select! {
            () = stops.next() => Input::Stop(Reason::Asked),
            () = left(&mut running.console) => Input::Stop(Reason::Asked),
            () = after(wake) => Input::Tick,
            () = after(limit) => Input::Stop(Reason::Timeout),
            () = after(overdue) => Input::Ended(End::Destroyed),
            () = tokio::time::sleep(calm.wait(now)) => {
                // from here on little happens, and little of the program is needed
                crate::linux::memory::give_back();
                calm.gave(begin.elapsed());
                continue;
            }
            event = running.events.recv() => match event {
                Some(Event::Lifecycle(event)) => match understand(event) { Some(input) => input, None => continue },
                Some(Event::Agent { .. }) => {
                    calm.stirred(begin.elapsed());
                    continue;
                }
                None => Input::Ended(End::Failed),
            },
            words = running.shares.failed() => {
                report.event("ShareFailed", json!({"message": words}), &words);
                continue;
            }
            status = running.daemon.ended() => {
                report.line(&format!("Libvirt's daemon has ended ({status}); the guest is ended with it.\n{}", running.daemon.log()));
                Input::Ended(End::Failed)
            }
        };
        calm.stirred(begin.elapsed());
        let was_stopping = guest.stopping();
        let actions = guest.step(input, begin.elapsed());
        if guest.stopping() && !was_stopping {
            if let Some(console) = &mut running.console {
                console.release();
            }
            if guest.outcome().is_none() {
                let seconds = grace.as_secs();
                report.event(
                    "Stopping",
                    json!({"gracePeriodSeconds": seconds}),
                    &format!("Asking the guest to power off; it has {seconds} s. Once more ends it at once."),
                );
            }
        }
        for action in actions {
            if action == Action::Destroy {
                ending = Some(Instant::now());
            }
            perform(action, running.domain.clone());
        }
        if let Some(outcome) = guest.outcome() {
            return outcome;
        }
    }
}

async fn left(console: &mut Option<Attached>) {
    match console {
        Some(console) => console.left().await,
        None => pending().await,
    }
}
