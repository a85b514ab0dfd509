//! The one task that owns the guest: it waits for an order, starts the guest, and sees it to its end.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kubevirt_rs::guest::order::{Order, Volumes};
use kubevirt_rs::guest::status::{Agent, Credentials, Fault, FaultReason, MemoryDump, Notice, Stage, State, StateReason, Status};
use kubevirt_rs::guest::{Action, End, Guest, Input, Outcome, Reason, grace_period};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, sleep_until};

use super::agent::{self, Round};
use super::board::Board;
use super::start::{self, Libvirt, Started};
use super::task::Task;
use super::{credentials, ending, fault, growth, memory_dump, operate};
use crate::libvirt::{Event, Lifecycle, Picture};
use crate::linux::children::Children;
use crate::linux::memory;
use crate::roles::launcher::args::PodArgs;
use crate::roles::launcher::steps::{Calm, END, after, perform, understand};
use crate::wire::launcher::{DumpMemory, Exec, Executed, Freeze, Ping, Shutdown};

/// How long an answer may be on its way.
const ANSWERED: Duration = Duration::from_secs(1);

/// What the handler, or a probe in the pod, wants.
pub(super) enum Wish {
    Run(Box<Order>),
    Know(Volumes),
    Shutdown(Shutdown),
    Destroy,
    Pause,
    Unpause,
    Reset,
    SoftReboot,
    Freeze(Freeze),
    Unfreeze,
    DumpMemory(DumpMemory),
    Exec(Exec),
    Ping(Ping),
    Screenshot,
}

/// What comes of a wish.
pub(super) enum Answer {
    Done,
    Status(Arc<Status>),
    Executed(Executed),
    Picture(Picture),
}

/// A wish, and who waits for the answer.
pub(super) struct Request {
    pub(super) wish: Wish,
    pub(super) reply: oneshot::Sender<Result<Answer, Fault>>,
}

impl Request {
    fn answer(self, answer: Result<Answer, Fault>) {
        // whoever asked may be gone
        let _ = self.reply.send(answer);
    }
}

/// Why there is nothing left to do.
pub(super) enum Ended {
    /// The guest ended, one way or another.
    Guest,
    /// The guest was not wanted any more before it started.
    NotWanted,
}

pub(super) struct Driver<'a> {
    args: &'a PodArgs,
    board: &'a Board,
    children: Children,
    requests: mpsc::Receiver<Request>,
    stops: mpsc::UnboundedReceiver<()>,
}

impl<'a> Driver<'a> {
    pub(super) fn new(args: &'a PodArgs, board: &'a Board, children: Children, requests: mpsc::Receiver<Request>) -> io::Result<Self> {
        let (sender, stops) = mpsc::unbounded_channel();
        for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup(), SignalKind::quit()] {
            let (mut stream, sender) = (signal(kind)?, sender.clone());
            tokio::spawn(async move { while stream.recv().await.is_some() && sender.send(()).is_ok() {} });
        }
        Ok(Self { args, board, children, requests, stops })
    }

    /// Goes all the way.
    pub(super) async fn run(mut self) -> Result<Ended, Fault> {
        // libvirt takes the longest, so it starts before anybody asks
        let mut libvirt = Libvirt::start(self.args, &self.children).await?;
        tracing::info!(name = self.args.name, namespace = self.args.namespace, "Ready for a guest");
        let Some(started) = self.begin(&mut libvirt).await? else { return Ok(Ended::NotWanted) };
        let mut watch = Watch::new(started, self.board);
        let outcome = watch.watch(&mut libvirt, &mut self.requests, &mut self.stops).await;
        self.board.set_doors(None);
        watch.conclude(outcome, &libvirt).await;
        watch.started.hooks.shutdown().await;
        Ok(Ended::Guest)
    }

    /// Waits for an order and starts the guest; tries again with the next order when that failed. Nothing when the guest
    /// is not wanted any more.
    async fn begin(&mut self, libvirt: &mut Libvirt) -> Result<Option<Started>, Fault> {
        let end = tokio::time::Instant::now() + self.args.qemu_timeout;
        // whoever has given the order shall hear who was missing
        let until = end.checked_sub(ANSWERED).unwrap_or(end);
        let limit = sleep_until(end);
        tokio::pin!(limit);
        let mut last: Option<Fault> = None;
        loop {
            let request = tokio::select! {
                request = self.requests.recv() => request,
                _ = self.stops.recv() => return Ok(None),
                status = libvirt.daemon.ended() => {
                    self.board.update(|shown| shown.last_words = libvirt.daemon.log());
                    return Err(ending::libvirt_lost(&status));
                }
                () = &mut limit => return Err(last.unwrap_or_else(|| {
                    let seconds = self.args.qemu_timeout.as_secs();
                    fault(FaultReason::TimedOut, format!("The node's handler has not said within {seconds} s what to run"))
                })),
            };
            let Some(request) = request else { return Ok(None) };
            let order = match request.wish {
                Wish::Run(order) => order,
                Wish::Shutdown(_) | Wish::Destroy => {
                    let _ = request.reply.send(Ok(Answer::Done));
                    return Ok(None);
                }
                _ => {
                    request.answer(Err(fault(FaultReason::NotRunning, "The guest does not run yet")));
                    continue;
                }
            };
            self.board.update(|status| status.stage = Stage::Preparing);
            let result = match self.refuse(&order) {
                Some(fault) => Err(fault),
                None => tokio::select! {
                    started = start::start(self.args, &order, libvirt, &self.children, until) => started,
                    _ = self.stops.recv() => return Ok(None),
                },
            };
            match result {
                Ok(started) => {
                    self.show(&started, order.volumes).await;
                    let _ = request.reply.send(Ok(Answer::Status(self.board.status())));
                    return Ok(Some(started));
                }
                Err(fault) => {
                    tracing::error!(reason = fault.reason.as_str(), field = fault.field, "The guest was not started: {fault}");
                    self.board.update(|status| {
                        status.stage = Stage::Waiting;
                        status.fault = Some(fault.clone());
                    });
                    last = Some(fault.clone());
                    let _ = request.reply.send(Err(fault));
                }
            }
        }
    }

    /// An order for somebody else's guest.
    fn refuse(&self, order: &Order) -> Option<Fault> {
        let uid = order.vmi.metadata.uid.as_deref().unwrap_or_default();
        let own = self.args.uid.as_deref().unwrap_or_default();
        (uid != own).then(|| fault(FaultReason::BadRequest, format!("This launcher is for the instance with the UID {own}, not {uid}")))
    }

    async fn show(&self, started: &Started, volumes: Volumes) {
        let domain = match start::look(&started.domain).await {
            Ok(domain) => Some(domain),
            Err(error) => {
                tracing::warn!(%error, "The domain cannot be looked at");
                Some(kubevirt_rs::guest::status::Domain { state: State::Running, name: started.name.clone(), ..Default::default() })
            }
        };
        self.board.set_doors(Some(started.doors.clone()));
        self.board.update(|status| {
            status.stage = Stage::Started;
            status.fault = None;
            status.domain = domain;
            status.volumes = Some(volumes);
        });
        tracing::info!(domain = started.name, "The guest has started");
    }
}

/// A guest that is watched.
struct Watch<'a> {
    started: Started,
    board: &'a Board,
    guest: Guest,
    begin: Instant,
    /// Since when QEMU is told to end.
    ending: Option<Instant>,
    agent: Option<Agent>,
    poller: Option<Task>,
    /// Brings keys and passwords into the guest.
    keeper: Option<Task>,
    /// Makes disks larger for the guest when they are.
    _growth: Option<Task>,
    told: mpsc::UnboundedSender<Round>,
    answers: mpsc::UnboundedReceiver<Round>,
    /// Thaws file systems that were left frozen.
    thaw: Option<Task>,
}

impl<'a> Watch<'a> {
    fn new(started: Started, board: &'a Board) -> Self {
        let (told, answers) = mpsc::unbounded_channel();
        let guest = Guest::new(grace_period(&started.vmi));
        let begin = Instant::now();
        let growth = growth::watch(&started, board);
        Self {
            started,
            board,
            guest,
            begin,
            ending: None,
            agent: None,
            poller: None,
            keeper: None,
            _growth: growth,
            told,
            answers,
            thaw: None,
        }
    }

    /// Sees the guest to its end.
    async fn watch(
        &mut self,
        libvirt: &mut Libvirt,
        requests: &mut mpsc::Receiver<Request>,
        stops: &mut mpsc::UnboundedReceiver<()>,
    ) -> Outcome {
        // from here on little happens, and little of the program is needed: mostly what asks the agent, for an instant
        let mut calm = Calm::new(self.begin.elapsed());
        loop {
            let now = self.begin.elapsed();
            let wake = self.guest.wake().map(|at| at.saturating_sub(now));
            let overdue = self.ending.map(|since| END.saturating_sub(since.elapsed()));
            let input = tokio::select! {
                Some(()) = stops.recv() => self.stop(),
                Some(request) = requests.recv() => self.request(request).await,
                () = after(wake) => Some(Input::Tick),
                () = after(overdue) => Some(Input::Ended(End::Destroyed)),
                () = sleep(calm.wait(now)) => {
                    memory::give_back();
                    calm.gave(self.begin.elapsed());
                    continue;
                }
                event = self.started.events.recv() => match event {
                    Some(event) => self.event(event).await,
                    None => Some(Input::Ended(End::Failed)),
                },
                Some(round) = self.answers.recv() => {
                    if let Round::News(agent) = round {
                        self.agent_says(Some(*agent));
                    }
                    None
                }
                status = libvirt.daemon.ended() => {
                    self.board.update(|shown| shown.fault = Some(ending::libvirt_lost(&status)));
                    Some(Input::Ended(End::Failed))
                }
            };
            calm.stirred(self.begin.elapsed());
            if let Some(input) = input {
                self.step(input);
            }
            if let Some(outcome) = self.guest.outcome() {
                return outcome;
            }
        }
    }

    fn step(&mut self, input: Input) {
        for action in self.guest.step(input, self.begin.elapsed()) {
            if action == Action::Destroy {
                self.ending = Some(Instant::now());
            }
            perform(action, self.started.domain.clone());
        }
        if self.guest.stopping() && self.guest.outcome().is_none() {
            self.board.update(|status| status.stage = Stage::Stopping);
        }
    }

    /// Asked to stop: once is enough, however often it is said.
    fn stop(&self) -> Option<Input> {
        (!self.guest.stopping()).then_some(Input::Stop(Reason::Asked))
    }

    async fn event(&mut self, event: Event) -> Option<Input> {
        match event {
            Event::Agent { connected } => {
                self.hush();
                self.agent_says(connected.then(Agent::default));
                if connected {
                    self.poll();
                } else {
                    let gone = Credentials { succeeded: false, message: "The guest agent is offline".to_owned() };
                    self.board.update(|status| status.credentials = status.credentials.is_some().then_some(gone));
                }
                None
            }
            Event::Lifecycle(event) => {
                match event {
                    // nobody answers while the processors stand still
                    Lifecycle::Suspended => self.hush(),
                    Lifecycle::Resumed if self.agent.is_some() => self.poll(),
                    Lifecycle::Crashed => self.panicked(),
                    _ => {}
                }
                self.look().await;
                understand(event)
            }
        }
    }

    fn poll(&mut self) {
        let known = self.agent.clone().unwrap_or_default();
        self.poller = Some(agent::poll(self.started.domain.clone(), known, self.told.clone()));
        self.keeper = credentials::keep(self.started.domain.clone(), &self.started.vmi, self.board);
    }

    /// Asks the agent nothing more of itself.
    fn hush(&mut self) {
        (self.poller, self.keeper) = (None, None);
    }

    fn agent_says(&mut self, agent: Option<Agent>) {
        self.agent.clone_from(&agent);
        self.board.update(|status| status.agent = agent);
    }

    fn panicked(&self) {
        self.board.update(|status| {
            if let Some(domain) = &mut status.domain {
                domain.panics += 1;
            }
        });
        let message = format!("The kernel of the guest {} has reported a panic", self.started.name);
        self.board.note(Notice { warning: true, reason: "GuestPanicked".to_owned(), message });
    }

    /// Looks at the domain and shows what is seen.
    async fn look(&self) {
        match start::look(&self.started.domain).await {
            // how it ended is shown with the reason, all at once
            Ok(seen) if !start::lives(seen.state) => {}
            Ok(seen) => self.board.update(|status| {
                let panics = status.domain.as_ref().map_or(0, |domain| domain.panics);
                status.domain = Some(kubevirt_rs::guest::status::Domain { panics, ..seen });
            }),
            Err(error) => tracing::debug!(%error, "The domain cannot be looked at"),
        }
    }

    async fn request(&mut self, request: Request) -> Option<Input> {
        let domain = self.started.domain.clone();
        let changes = matches!(request.wish, Wish::Pause | Wish::Unpause | Wish::Reset | Wish::SoftReboot);
        if changes && self.board.status().memory_dump.as_ref().is_some_and(MemoryDump::goes_on) {
            // libvirt would let it wait, and with it everybody else
            request.answer(Err(fault(FaultReason::Conflict, "The guest's memory is being dumped; try again when that is over")));
            return None;
        }
        match request.wish {
            Wish::Run(_) => {
                let _ = request.reply.send(Ok(Answer::Status(self.board.status())));
            }
            Wish::Know(volumes) => {
                self.board.update(|status| status.volumes = Some(volumes));
                let _ = request.reply.send(Ok(Answer::Done));
            }
            Wish::Shutdown(how) => {
                if let Some(seconds) = how.grace_period_seconds.filter(|_| !self.guest.stopping()) {
                    self.guest = Guest::new(grace_period(&self.started.vmi).min(Duration::from_secs(seconds)));
                }
                let _ = request.reply.send(Ok(Answer::Done));
                return self.stop();
            }
            Wish::Destroy => {
                let _ = request.reply.send(Ok(Answer::Done));
                return Some(Input::Destroy);
            }
            Wish::Pause => self.reply(request.reply, operate::pause(&domain, true).await).await,
            Wish::Unpause => {
                let result = operate::pause(&domain, false).await;
                if result.is_ok() && self.agent.is_some() {
                    // the guest's clock has stood still as well
                    tokio::spawn(async move { agent::set_time(&domain).await });
                }
                self.reply(request.reply, result).await;
            }
            Wish::Reset => self.reply(request.reply, domain.reset().await.map_err(operate::failed)).await,
            Wish::SoftReboot => {
                let result = operate::soft_reboot(&domain, &self.started.vmi, self.agent.is_some()).await;
                self.reply(request.reply, result).await;
            }
            Wish::Freeze(how) => {
                self.thaw = None;
                if how.unfreeze_timeout_seconds > 0 {
                    self.thaw_after(Duration::from_secs(how.unfreeze_timeout_seconds));
                }
                beside(request.reply, async move { agent::freeze(&domain, true).await.map(|()| Answer::Done) });
            }
            Wish::Unfreeze => {
                self.thaw = None;
                beside(request.reply, async move { agent::freeze(&domain, false).await.map(|()| Answer::Done) });
            }
            Wish::DumpMemory(to) => {
                let begun = memory_dump::begin(domain, self.board, to);
                let _ = request.reply.send(begun.map(|()| Answer::Done));
            }
            Wish::Screenshot => {
                let connection = self.started.connection.clone();
                beside(request.reply, async move { operate::screenshot(&domain, &connection).await.map(Answer::Picture) });
            }
            Wish::Exec(what) => beside(request.reply, async move { agent::exec(&domain, &what).await.map(Answer::Executed) }),
            Wish::Ping(how) => {
                beside(request.reply, async move { agent::ping(&domain, how.timeout_seconds).await.map(|()| Answer::Done) });
            }
        }
        None
    }

    async fn reply(&self, reply: oneshot::Sender<Result<Answer, Fault>>, result: Result<(), Fault>) {
        // whoever asks afterwards shall see what was done
        self.look().await;
        let _ = reply.send(result.map(|()| Answer::Done));
    }

    fn thaw_after(&mut self, time: Duration) {
        let domain = self.started.domain.clone();
        self.thaw = Some(Task::begin(async move {
            sleep(time).await;
            if let Err(error) = agent::freeze(&domain, false).await {
                tracing::warn!(%error, "The file systems of the guest could not be thawed");
            }
        }));
    }

    /// Shows how the guest ended.
    async fn conclude(&mut self, outcome: Outcome, libvirt: &Libvirt) {
        self.hush();
        let (state, reason) = match self.started.domain.state().await {
            Ok((state, reason)) if !start::lives(state) && state != State::NoState => (state, reason),
            // libvirt cannot be asked any more
            _ => (State::Shutoff, presumed(outcome)),
        };
        tracing::info!(domain = self.started.name, ?outcome, "The guest has ended");
        let sentence = match outcome {
            Outcome::PoweredOff | Outcome::Killed | Outcome::TimedOut => None,
            Outcome::Crashed => Some("The guest has crashed"),
            Outcome::Failed => Some("QEMU has ended without being asked to"),
        };
        let words = sentence.map(|_| libvirt.daemon.qemu_log(&self.started.name)).unwrap_or_default();
        self.board.update(|status| {
            status.agent = None;
            let domain = status.domain.get_or_insert_default();
            (domain.state, domain.reason) = (state, reason);
            if let Some(sentence) = sentence {
                status.fault.get_or_insert_with(|| fault(FaultReason::QemuFailed, with_last_words(sentence, &words)));
            }
            status.last_words = words;
        });
    }
}

/// What led to the end of a guest, as far as it is known here.
fn presumed(outcome: Outcome) -> StateReason {
    match outcome {
        Outcome::PoweredOff => StateReason::Shutdown,
        Outcome::Killed | Outcome::TimedOut => StateReason::Destroyed,
        Outcome::Crashed | Outcome::Failed => StateReason::Crashed,
    }
}

/// A sentence, and the last lines that QEMU printed.
fn with_last_words(sentence: &str, words: &str) -> String {
    let lines: Vec<&str> = words.lines().filter(|line| !line.trim().is_empty()).collect();
    match lines.get(lines.len().saturating_sub(LAST_LINES)..) {
        Some(last @ [_, ..]) => format!("{sentence}; its last words: {}", last.join("; ")),
        _ => sentence.to_owned(),
    }
}

/// How many lines a message has room for; the status has more of them.
const LAST_LINES: usize = 3;

/// Works beside the watch: what the guest does takes its time.
fn beside(reply: oneshot::Sender<Result<Answer, Fault>>, work: impl Future<Output = Result<Answer, Fault>> + Send + 'static) {
    tokio::spawn(async move {
        let _ = reply.send(work.await);
    });
}
