//! The guest's clock and its timers.

use kubevirt_api::v1;

use super::guest::Guest;
use super::model::{Clock, ClockOffset, Timer};

/// The clock of a guest.
pub(super) fn convert(guest: &Guest<'_>) -> Option<Clock> {
    let mut clock = guest.spec().clock.as_ref().map(given);
    if let Some(frequency) = fixed_frequency(guest) {
        clock.get_or_insert_default().timers.push(Timer::Tsc { frequency });
    }
    clock
}

fn given(source: &v1::Clock) -> Clock {
    let offset = match (&source.utc, &source.timezone) {
        (Some(utc), _) => Some(ClockOffset::Utc(utc.offset_seconds)),
        (None, Some(zone)) => Some(ClockOffset::Timezone(zone.clone())),
        (None, None) => None,
    };
    Clock { offset, timers: source.timer.as_ref().map(timers).unwrap_or_default() }
}

fn timers(source: &v1::Timer) -> Vec<Timer> {
    let on = |present: Option<bool>| present != Some(false);
    let mut timers = Vec::with_capacity(5);
    if let Some(rtc) = &source.rtc {
        timers.push(Timer::Rtc { present: on(rtc.present), ticks: rtc.tick_policy.clone(), track: rtc.track.clone() });
    }
    if let Some(pit) = &source.pit {
        timers.push(Timer::Pit { present: on(pit.present), ticks: pit.tick_policy.clone() });
    }
    if let Some(kvm) = &source.kvm {
        timers.push(Timer::Paravirtual { name: "kvmclock", present: on(kvm.present) });
    }
    if let Some(hpet) = &source.hpet {
        timers.push(Timer::Hpet { present: on(hpet.present), ticks: hpet.tick_policy.clone() });
    }
    if let Some(hyperv) = &source.hyperv {
        timers.push(Timer::Paravirtual { name: "hypervclock", present: on(hyperv.present) });
    }
    timers
}

/// The frequency of the time-stamp counter where the guest relies on it: the scheduler then chose one that the nodes
/// share, so that the guest can move.
fn fixed_frequency(guest: &Guest<'_>) -> Option<i64> {
    let spec = guest.spec();
    let invariant =
        spec.cpu.iter().flat_map(|cpu| &cpu.features).any(|f| f.name == "invtsc" && matches!(f.policy.as_str(), "require" | "force"));
    let hyperv = spec.features.as_ref().and_then(|features| features.hyperv.as_ref());
    let reenlightened = hyperv.and_then(|hyperv| hyperv.reenlightenment.as_ref()).is_some_and(|r| r.enabled == Some(true));
    let hint = guest.vmi.status.topology_hints.as_ref()?.tsc_frequency?;
    ((invariant || reenlightened) && hint > 0).then_some(hint)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::convert;
    use super::super::testing::{facts, with};

    #[test]
    fn the_frequency_is_fixed_only_where_the_guest_relies_on_it() {
        let enlightened = json!({ "features": { "hyperv": { "reenlightenment": { "enabled": true } } } });
        let invariant = |policy: &str| json!({ "cpu": { "features": [{ "name": "invtsc", "policy": policy }] } });
        for (domain, hint, expected) in [
            (json!({}), json!(2), false),
            (invariant("require"), json!(2), true),
            (invariant("force"), json!(2), true),
            (invariant("optional"), json!(2), false),
            (invariant("require"), json!(0), false),
            (invariant("require"), json!(null), false),
            (enlightened, json!(2), true),
            (json!({ "features": { "hyperv": { "reenlightenment": {} } } }), json!(2), false),
        ] {
            let vmi = with(json!({ "spec": { "domain": domain }, "status": { "topologyHints": { "tscFrequency": hint } } }));
            assert_eq!(convert(&vmi, &facts(&[])).unwrap().clock.is_some(), expected, "{domain}");
        }
    }
}
