//! The clock of a guest and its timers.

use crate::{api, v1::FeatureState};

/// What the clock of the guest shows at boot; one of both.
#[api]
pub struct ClockOffset {
    /// Universal time, shifted or not.
    pub utc: Option<ClockOffsetUtc>,
    /// The time of a zone, as the tz database names it: Europe/Berlin.
    pub timezone: Option<String>,
}

/// Universal time, shifted or not.
#[api]
pub struct ClockOffsetUtc {
    /// By how many seconds the clock is ahead. Unset: what the guest changes is kept from boot to boot.
    #[api(format = "")]
    pub offset_seconds: Option<i64>,
}

/// The clock of the guest and its timers.
#[api]
pub struct Clock {
    /// Universal time, shifted or not. This is the default.
    pub utc: Option<ClockOffsetUtc>,
    /// The time of a zone, as the tz database names it: Europe/Berlin.
    pub timezone: Option<String>,
    /// The timers that the guest sees.
    pub timer: Option<Timer>,
}

/// The timers that the guest sees.
#[api]
pub struct Timer {
    /// The high precision event timer.
    pub hpet: Option<HpetTimer>,
    /// The paravirtual clock of KVM.
    pub kvm: Option<KvmTimer>,
    /// The programmable interval timer.
    pub pit: Option<PitTimer>,
    /// The real-time clock.
    pub rtc: Option<RtcTimer>,
    /// The reference counter of Hyper-V, for Windows.
    pub hyperv: Option<HypervTimer>,
}

/// What happens to ticks of the HPET that the guest missed.
#[api]
pub enum HpetTickPolicy {
    Delay = "delay",
    Catchup = "catchup",
    Merge = "merge",
    Discard = "discard",
}

/// What happens to ticks of the PIT that the guest missed.
#[api]
pub enum PitTickPolicy {
    Delay = "delay",
    Catchup = "catchup",
    Discard = "discard",
}

/// What happens to ticks of the real-time clock that the guest missed.
#[api]
pub enum RtcTickPolicy {
    Delay = "delay",
    Catchup = "catchup",
}

/// What the real-time clock follows.
#[api]
pub enum RtcTimerTrack {
    Guest = "guest",
    Wall = "wall",
}

/// The real-time clock.
#[api]
pub struct RtcTimer {
    /// What happens to ticks that the guest missed: delay (default) hands them out at the usual pace, catchup faster.
    pub tick_policy: RtcTickPolicy,
    /// Whether the guest has it. Default: true.
    pub present: Option<bool>,
    /// What it follows: guest (default; stands still with the machine) or wall (the node's clock).
    pub track: RtcTimerTrack,
}

/// The high precision event timer.
#[api]
pub struct HpetTimer {
    /// What happens to ticks that the guest missed: delay (default), catchup, merge (as one) or discard.
    pub tick_policy: HpetTickPolicy,
    /// Whether the guest has it. Default: true.
    pub present: Option<bool>,
}

/// The programmable interval timer.
#[api]
pub struct PitTimer {
    /// What happens to ticks that the guest missed: delay (default), catchup or discard.
    pub tick_policy: PitTickPolicy,
    /// Whether the guest has it. Default: true.
    pub present: Option<bool>,
}

/// The paravirtual clock of KVM.
#[api]
pub struct KvmTimer {
    /// Whether the guest has it. Default: true.
    pub present: Option<bool>,
}

/// The reference counter of Hyper-V.
#[api]
pub struct HypervTimer {
    /// Whether the guest has it. Default: true.
    pub present: Option<bool>,
}

/// The synthetic timers of Hyper-V.
#[api]
pub struct SynicTimer {
    /// Whether the guest has them. Default: true.
    pub enabled: Option<bool>,
    /// Whether a timer may interrupt without a message, which is faster.
    pub direct: Option<FeatureState>,
}
