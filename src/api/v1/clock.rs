use crate::{api, v1::FeatureState};

#[api]
pub struct ClockOffset {
    pub utc: Option<ClockOffsetUtc>,
    pub timezone: Option<String>,
}

#[api]
pub struct ClockOffsetUtc {
    #[api(format = "")]
    pub offset_seconds: Option<i64>,
}

#[api]
pub struct Clock {
    pub utc: Option<ClockOffsetUtc>,
    pub timezone: Option<String>,
    pub timer: Option<Timer>,
}

#[api]
pub struct Timer {
    pub hpet: Option<HpetTimer>,
    pub kvm: Option<KvmTimer>,
    pub pit: Option<PitTimer>,
    pub rtc: Option<RtcTimer>,
    pub hyperv: Option<HypervTimer>,
}

#[api]
pub enum HpetTickPolicy {
    Delay = "delay",
    Catchup = "catchup",
    Merge = "merge",
    Discard = "discard",
}

#[api]
pub enum PitTickPolicy {
    Delay = "delay",
    Catchup = "catchup",
    Discard = "discard",
}

#[api]
pub enum RtcTickPolicy {
    Delay = "delay",
    Catchup = "catchup",
}

#[api]
pub enum RtcTimerTrack {
    Guest = "guest",
    Wall = "wall",
}

#[api]
pub struct RtcTimer {
    pub tick_policy: RtcTickPolicy,
    pub present: Option<bool>,
    pub track: RtcTimerTrack,
}

#[api]
pub struct HpetTimer {
    pub tick_policy: HpetTickPolicy,
    pub present: Option<bool>,
}

#[api]
pub struct PitTimer {
    pub tick_policy: PitTickPolicy,
    pub present: Option<bool>,
}

#[api]
pub struct KvmTimer {
    pub present: Option<bool>,
}

#[api]
pub struct HypervTimer {
    pub present: Option<bool>,
}

#[api]
pub struct SynicTimer {
    pub enabled: Option<bool>,
    pub direct: Option<FeatureState>,
}
