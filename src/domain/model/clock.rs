//! The guest's clock and its timers.

use kubevirt_api::v1::{HpetTickPolicy, PitTickPolicy, RtcTickPolicy, RtcTimerTrack};

use super::super::xml::{Element, Xml};
use super::yes_no;

/// The clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clock {
    /// What it shows at the start.
    pub offset: Option<ClockOffset>,
    /// Its timers.
    pub timers: Vec<Timer>,
}

/// What a clock shows at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClockOffset {
    /// Universal time, so many seconds off; `None` starts at universal time anew with every start.
    Utc(Option<i64>),
    /// The time of a zone.
    Timezone(String),
}

/// A timer.
#[derive(Clone, Debug, PartialEq)]
pub enum Timer {
    /// The real-time clock.
    Rtc {
        /// Whether the guest has it.
        present: bool,
        /// What becomes of ticks that the guest missed.
        ticks: RtcTickPolicy,
        /// What it follows.
        track: RtcTimerTrack,
    },
    /// The interval timer.
    Pit {
        /// Whether the guest has it.
        present: bool,
        /// What becomes of ticks that the guest missed.
        ticks: PitTickPolicy,
    },
    /// The high-precision event timer.
    Hpet {
        /// Whether the guest has it.
        present: bool,
        /// What becomes of ticks that the guest missed.
        ticks: HpetTickPolicy,
    },
    /// A clock of the hypervisor: `kvmclock` or `hypervclock`.
    Paravirtual {
        /// Which one.
        name: &'static str,
        /// Whether the guest has it.
        present: bool,
    },
    /// The time-stamp counter.
    Tsc {
        /// Its frequency in Hz.
        frequency: i64,
    },
}

impl Element for Clock {
    fn write(&self, x: &mut Xml) {
        x.element("clock", |x| {
            match &self.offset {
                Some(ClockOffset::Utc(seconds)) => {
                    x.attribute("offset", "utc");
                    match seconds {
                        Some(seconds) => x.attribute("adjustment", seconds),
                        None => x.attribute("adjustment", "reset"),
                    }
                }
                Some(ClockOffset::Timezone(zone)) => {
                    x.attribute("offset", "timezone");
                    x.attribute("timezone", zone);
                }
                None => {}
            }
            x.put(&self.timers);
        });
    }
}

impl Element for Timer {
    fn write(&self, x: &mut Xml) {
        match self {
            Self::Rtc { present, ticks, track } => {
                x.leaf("timer", &[("name", &"rtc"), ("present", &yes_no(*present)), ("tickpolicy", ticks), ("track", track)]);
            }
            Self::Pit { present, ticks } => {
                x.leaf("timer", &[("name", &"pit"), ("present", &yes_no(*present)), ("tickpolicy", ticks)]);
            }
            Self::Hpet { present, ticks } => {
                x.leaf("timer", &[("name", &"hpet"), ("present", &yes_no(*present)), ("tickpolicy", ticks)]);
            }
            Self::Paravirtual { name, present } => x.leaf("timer", &[("name", name), ("present", &yes_no(*present))]),
            Self::Tsc { frequency } => x.leaf("timer", &[("name", &"tsc"), ("frequency", frequency)]),
        }
    }
}
