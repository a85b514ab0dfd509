//! One running guest: what happens to it, what is wanted of it, and the steps that follow.
//!
//! ```text
//!   Running ──stop──▶ Stopping ──grace over, or asked again──▶ Ending ──▶ Done(outcome)
//!      │                 │ (power button, again and again; at half time the agent too)     ▲
//!      └── stopped ──────┴── stopped ────────────────────────────────────────────────────┘
//! ```
//!
//! The state here is owned by one task; it is told the time, and asks for nothing.
//!
//! What travels between the handler of a node and a launcher is here too: [`order`] downwards, [`status`] upwards; and
//! how what libvirt ([`live`]) and the guest's agent ([`agent`]) say is read.

pub mod agent;
pub mod credentials;
pub mod hooks;
pub mod live;
pub mod order;
pub mod picture;
pub mod status;

use std::time::Duration;

use serde::Serialize;

use crate::api::v1::VirtualMachineInstance;

/// How long a guest has to power off when its machine does not say.
const GRACE: Duration = Duration::from_secs(30);

/// How long a guest has to power off. One that cannot be asked, having no ACPI, gets no time.
pub fn grace_period(vmi: &VirtualMachineInstance) -> Duration {
    let spec = &vmi.spec;
    if spec.domain.features.as_ref().is_some_and(|features| features.acpi.enabled == Some(false)) {
        return Duration::ZERO;
    }
    spec.termination_grace_period_seconds.map_or(GRACE, |seconds| Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// How often the power button is pressed: a guest that is still booting does not see the first time.
const PRESS_EVERY: Duration = Duration::from_secs(3);

/// Requests this close together are one: a signal to a group of processes may arrive twice.
const SAME: Duration = Duration::from_secs(1);

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Somebody wants the guest to stop.
    Stop(Reason),
    /// Somebody wants it to end at once.
    Destroy,
    /// QEMU has ended.
    Ended(End),
    /// The guest's kernel reported a panic.
    Panicked,
    /// The time that [`Guest::wake`] named has come.
    Tick,
}

/// Why a guest is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Reason {
    /// A person, or whoever runs the launcher, wants it.
    Asked,
    /// The time that it was given is over.
    Timeout,
    /// The launcher lost what it needs.
    Failure,
}

/// How QEMU ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The guest powered off.
    PoweredOff,
    /// It was destroyed.
    Destroyed,
    /// The guest crashed.
    Crashed,
    /// QEMU failed.
    Failed,
}

/// A step to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Action {
    /// Press the guest's power button.
    PressPowerButton,
    /// Ask the guest agent to power off.
    AskAgent,
    /// End QEMU.
    Destroy,
}

/// How the guest's life ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Outcome {
    /// It powered off by itself, or in time when it was asked to.
    PoweredOff,
    /// It did not power off within its grace period, or was not given one.
    Killed,
    /// Its time was over.
    TimedOut,
    /// It crashed.
    Crashed,
    /// QEMU or libvirt failed.
    Failed,
}

impl Outcome {
    /// The exit code that tells it.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::PoweredOff => 0,
            Self::Failed => 4,
            Self::Crashed => 5,
            Self::Killed => 6,
            Self::TimedOut => 7,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Stopping { reason: Reason, since: Duration, pressed: Duration, asked_agent: bool },
    Ending { reason: Option<Reason> },
    Done(Outcome),
}

/// A guest. Times are counted from any fixed moment.
#[derive(Debug)]
pub struct Guest {
    state: State,
    grace: Duration,
    panicked: bool,
}

impl Guest {
    /// A guest that runs, with the time that it has to power off.
    pub fn new(grace: Duration) -> Self {
        Self { state: State::Running, grace, panicked: false }
    }

    /// How it ended, if it has.
    pub fn outcome(&self) -> Option<Outcome> {
        match self.state {
            State::Done(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Whether it has been asked to stop.
    pub fn stopping(&self) -> bool {
        self.state != State::Running
    }

    /// When the next [`Input::Tick`] is due.
    pub fn wake(&self) -> Option<Duration> {
        match self.state {
            State::Stopping { since, pressed, asked_agent, .. } => {
                let half = if asked_agent { Duration::MAX } else { since + self.grace / 2 };
                Some((since + self.grace).min(pressed + PRESS_EVERY).min(half))
            }
            _ => None,
        }
    }

    /// Takes in what happened, and says what is to be done.
    pub fn step(&mut self, input: Input, now: Duration) -> Vec<Action> {
        match (self.state, input) {
            (State::Done(_), _) => vec![],
            (_, Input::Ended(end)) => {
                self.state = State::Done(self.judge(end));
                vec![]
            }
            (_, Input::Panicked) => {
                self.panicked = true;
                vec![]
            }
            (State::Running | State::Stopping { .. }, Input::Destroy) => self.end(None),
            (State::Running, Input::Stop(reason)) if self.grace.is_zero() => self.end(Some(reason)),
            (State::Running, Input::Stop(reason)) => {
                self.state = State::Stopping { reason, since: now, pressed: now, asked_agent: false };
                vec![Action::PressPowerButton]
            }
            // asked once more: whoever asks does not want to wait
            (State::Stopping { since, .. }, Input::Stop(Reason::Asked)) if now >= since + SAME => self.end(None),
            (State::Stopping { reason, since, .. }, Input::Tick) if now >= since + self.grace => self.end(Some(reason)),
            (State::Stopping { reason, since, pressed, asked_agent }, Input::Tick) => {
                let mut actions = vec![];
                let ask = !asked_agent && now >= since + self.grace / 2;
                let press = now >= pressed + PRESS_EVERY;
                if ask {
                    actions.push(Action::AskAgent);
                }
                if press {
                    actions.push(Action::PressPowerButton);
                }
                self.state = State::Stopping { reason, since, pressed: if press { now } else { pressed }, asked_agent: asked_agent || ask };
                actions
            }
            (State::Running | State::Stopping { .. } | State::Ending { .. }, _) => vec![],
        }
    }

    fn end(&mut self, reason: Option<Reason>) -> Vec<Action> {
        self.state = State::Ending { reason };
        vec![Action::Destroy]
    }

    fn judge(&self, end: End) -> Outcome {
        let reason = match self.state {
            State::Stopping { reason, .. } => Some(reason),
            State::Ending { reason } => reason,
            _ => None,
        };
        match (end, reason) {
            (_, Some(Reason::Failure)) => Outcome::Failed,
            (_, Some(Reason::Timeout)) => Outcome::TimedOut,
            (End::Crashed, _) => Outcome::Crashed,
            (End::PoweredOff | End::Destroyed, _) if self.panicked => Outcome::Crashed,
            (End::PoweredOff, _) => Outcome::PoweredOff,
            (End::Destroyed, _) => Outcome::Killed,
            (End::Failed, _) => Outcome::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_guest_that_powers_off_in_time_ends_well() {
        let mut guest = Guest::new(GRACE);
        assert_eq!(guest.wake(), None);
        assert_eq!(guest.step(Input::Stop(Reason::Asked), s(100)), [Action::PressPowerButton]);
        assert_eq!(guest.wake(), Some(s(103)));
        assert_eq!(guest.step(Input::Tick, s(103)), [Action::PressPowerButton]);
        assert_eq!(guest.step(Input::Ended(End::PoweredOff), s(105)), []);
        assert_eq!(guest.outcome(), Some(Outcome::PoweredOff));
    }

    #[test]
    fn the_agent_is_asked_at_half_time_and_the_guest_is_killed_at_the_end() {
        let mut guest = Guest::new(GRACE);
        guest.step(Input::Stop(Reason::Asked), s(0));
        let mut log = vec![];
        while let Some(at) = guest.wake() {
            log.extend(guest.step(Input::Tick, at).into_iter().map(|a| (at.as_secs(), a)));
        }
        assert!(log.contains(&(15, Action::AskAgent)));
        assert_eq!(log.iter().filter(|(_, a)| *a == Action::AskAgent).count(), 1);
        assert_eq!(log.last(), Some(&(30, Action::Destroy)));
        guest.step(Input::Ended(End::Destroyed), s(31));
        assert_eq!(guest.outcome(), Some(Outcome::Killed));
    }

    #[test]
    fn how_it_ended_decides_the_outcome() {
        let cases: [(&[Input], Outcome); 9] = [
            (&[Input::Ended(End::PoweredOff)], Outcome::PoweredOff),
            (&[Input::Ended(End::Failed)], Outcome::Failed),
            (&[Input::Ended(End::Crashed)], Outcome::Crashed),
            (&[Input::Panicked, Input::Ended(End::PoweredOff)], Outcome::Crashed),
            (&[Input::Stop(Reason::Timeout), Input::Ended(End::PoweredOff)], Outcome::TimedOut),
            (&[Input::Stop(Reason::Asked), Input::Stop(Reason::Asked), Input::Ended(End::Destroyed)], Outcome::Killed),
            (&[Input::Stop(Reason::Timeout), Input::Stop(Reason::Asked), Input::Ended(End::Destroyed)], Outcome::Killed),
            (&[Input::Stop(Reason::Failure), Input::Ended(End::Destroyed)], Outcome::Failed),
            (&[Input::Ended(End::PoweredOff), Input::Ended(End::Failed)], Outcome::PoweredOff),
        ];
        for (inputs, outcome) in cases {
            let mut guest = Guest::new(GRACE);
            for (at, input) in (1..).zip(inputs) {
                guest.step(*input, s(at));
            }
            assert_eq!(guest.outcome(), Some(outcome), "{inputs:?}");
        }
    }

    #[test]
    fn one_signal_that_arrives_twice_is_one_request() {
        let mut guest = Guest::new(GRACE);
        guest.step(Input::Stop(Reason::Asked), s(10));
        assert_eq!(guest.step(Input::Stop(Reason::Asked), Duration::from_millis(10_050)), []);
        assert_eq!(guest.step(Input::Stop(Reason::Asked), s(12)), [Action::Destroy]);
    }

    #[test]
    fn a_guest_that_is_to_end_at_once_is_ended_once() {
        let mut guest = Guest::new(GRACE);
        assert_eq!(guest.step(Input::Destroy, s(1)), [Action::Destroy]);
        assert_eq!(guest.step(Input::Destroy, s(2)), []);
        guest.step(Input::Ended(End::Destroyed), s(3));
        assert_eq!(guest.outcome(), Some(Outcome::Killed));
    }

    #[test]
    fn the_machine_says_how_long_it_has() {
        for (spec, seconds) in [
            (r#"{"domain": {"devices": {}}}"#, 30),
            (r#"{"terminationGracePeriodSeconds": 5, "domain": {"devices": {}}}"#, 5),
            (r#"{"terminationGracePeriodSeconds": 0, "domain": {"devices": {}}}"#, 0),
            (r#"{"domain": {"devices": {}, "features": {"acpi": {"enabled": false}}}}"#, 0),
            (r#"{"domain": {"devices": {}, "features": {"acpi": {}}}}"#, 30),
        ] {
            let vmi: VirtualMachineInstance = serde_json::from_str(&format!(r#"{{"spec": {spec}}}"#)).unwrap();
            assert_eq!(grace_period(&vmi), s(seconds), "{spec}");
        }
    }

    #[test]
    fn without_a_grace_period_the_guest_is_ended_at_once() {
        let mut guest = Guest::new(Duration::ZERO);
        assert_eq!(guest.step(Input::Stop(Reason::Asked), s(1)), [Action::Destroy]);
    }

    proptest::proptest! {
        #[test]
        fn a_guest_that_was_asked_to_stop_is_ended_within_its_grace_period(grace in 0u64..600, ticks in proptest::collection::vec(0u64..5, 0..50)) {
            let mut guest = Guest::new(s(grace));
            let mut actions = guest.step(Input::Stop(Reason::Asked), s(0));
            let mut now = 0;
            for tick in ticks {
                now += tick;
                actions.extend(guest.step(Input::Tick, s(now)));
            }
            while let Some(at) = guest.wake() {
                proptest::prop_assert!(at <= s(grace.max(now)));
                actions.extend(guest.step(Input::Tick, at.max(s(now))));
            }
            proptest::prop_assert_eq!(actions.iter().filter(|a| **a == Action::Destroy).count(), 1);
        }
    }
}
