//! How vCPUs become sockets, cores and threads.

use crate::api::instancetype::{PreferredCpuTopology, SpreadAcross, VirtualMachineInstancetypeSpec, VirtualMachinePreferenceSpec};

use super::{Conflict, Conflicts};

/// A core that is spread over threads has two of them.
const THREADS_PER_CORE: u32 = 2;
const DEFAULT_RATIO: u32 = 2;

/// What a preference makes of vCPUs; each word has an older spelling with `prefer` before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Topology {
    Cores,
    Sockets,
    Threads,
    Any,
    Spread(Spread),
    Unknown,
}

/// Over what vCPUs are spread, and in which ratio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spread {
    pub(super) across: SpreadAcross,
    pub(super) ratio: u32,
}

/// Sockets, cores and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) sockets: u32,
    pub(super) cores: u32,
    pub(super) threads: u32,
}

impl Topology {
    /// The topology that a preference asks for; sockets where it asks for none, since sockets can be plugged in later.
    pub(super) fn of(preference: Option<&VirtualMachinePreferenceSpec>) -> Self {
        use PreferredCpuTopology as P;
        let Some(preference) = preference else { return Self::Sockets };
        match preference.cpu.as_ref().and_then(|cpu| cpu.preferred_cpu_topology.as_ref()) {
            None | Some(P::Sockets | P::PreferSockets) => Self::Sockets,
            Some(P::Cores | P::PreferCores) => Self::Cores,
            Some(P::Threads | P::PreferThreads) => Self::Threads,
            Some(P::Any | P::PreferAny) => Self::Any,
            Some(P::Spread | P::PreferSpread) => Self::Spread(Spread::of(preference)),
            Some(P::Other(_)) => Self::Unknown,
        }
    }

    /// The shape of a guest with this many vCPUs.
    pub(super) fn shape(&self, guest: u32) -> Shape {
        let one = Shape { sockets: 1, cores: 1, threads: 1 };
        if guest == 1 {
            return one;
        }
        match self {
            Self::Cores => Shape { cores: guest, ..one },
            Self::Sockets | Self::Any => Shape { sockets: guest, ..one },
            Self::Threads => Shape { threads: guest, ..one },
            Self::Spread(spread) => spread.shape(guest),
            Self::Unknown => one,
        }
    }
}

impl Spread {
    pub(super) fn of(preference: &VirtualMachinePreferenceSpec) -> Self {
        let options = preference.cpu.as_ref().and_then(|cpu| cpu.spread_options.as_ref());
        let older = Some(preference.prefer_spread_socket_to_core_ratio).filter(|ratio| *ratio != 0);
        Self {
            across: options.and_then(|o| o.across.clone()).unwrap_or(SpreadAcross::SocketsCores),
            ratio: options.and_then(|o| o.ratio).or(older).unwrap_or(DEFAULT_RATIO),
        }
    }

    fn shape(&self, guest: u32) -> Shape {
        // a ratio of nothing is refused before; it must not divide
        let ratio = self.ratio.max(1);
        match self.across {
            SpreadAcross::SocketsCores => Shape { sockets: guest / ratio, cores: ratio, threads: 1 },
            SpreadAcross::CoresThreads => Shape { sockets: 1, cores: guest / ratio, threads: ratio },
            SpreadAcross::SocketsCoresThreads => {
                Shape { sockets: guest / THREADS_PER_CORE / ratio, cores: ratio, threads: THREADS_PER_CORE }
            }
            SpreadAcross::Other(_) => Shape { sockets: 1, cores: 1, threads: 1 },
        }
    }

    /// What the number of vCPUs has to be a multiple of.
    fn unit(&self) -> u32 {
        match self.across {
            SpreadAcross::SocketsCores | SpreadAcross::CoresThreads => self.ratio,
            SpreadAcross::SocketsCoresThreads => self.ratio.saturating_mul(THREADS_PER_CORE),
            SpreadAcross::Other(_) => 1,
        }
    }
}

/// Judges whether the vCPUs of an instance type can be spread as the preference wants it.
pub fn check_spread(
    instancetype: Option<&VirtualMachineInstancetypeSpec>,
    preference: Option<&VirtualMachinePreferenceSpec>,
) -> Result<(), Conflicts> {
    let (Some(instancetype), Topology::Spread(spread)) = (instancetype, Topology::of(preference)) else { return Ok(()) };
    let (guest, unit) = (instancetype.cpu.guest, spread.unit());
    if guest.checked_rem(unit) == Some(0) {
        return Ok(());
    }
    Err(Conflicts(vec![Conflict::Spread { guest, across: spread.across.to_string(), ratio: spread.ratio, unit }]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::instancetype::{CpuPreferences, SpreadOptions};

    fn preference(topology: &str, across: Option<&str>, ratio: Option<u32>, older: u32) -> VirtualMachinePreferenceSpec {
        VirtualMachinePreferenceSpec {
            cpu: Some(CpuPreferences {
                preferred_cpu_topology: Some(topology.into()),
                spread_options: (across.is_some() || ratio.is_some())
                    .then(|| SpreadOptions { across: across.map(SpreadAcross::from), ratio }),
                ..CpuPreferences::default()
            }),
            prefer_spread_socket_to_core_ratio: older,
            ..VirtualMachinePreferenceSpec::default()
        }
    }

    #[test]
    fn vcpus_take_the_shape_that_is_preferred() {
        for (topology, across, ratio, older, guest, want) in [
            ("cores", None, None, 0, 4, (1, 4, 1)),
            ("preferCores", None, None, 0, 4, (1, 4, 1)),
            ("sockets", None, None, 0, 4, (4, 1, 1)),
            ("threads", None, None, 0, 4, (1, 1, 4)),
            ("any", None, None, 0, 4, (4, 1, 1)),
            ("spread", None, None, 0, 4, (2, 2, 1)),
            ("preferSpread", None, None, 4, 8, (2, 4, 1)),
            ("spread", None, Some(8), 4, 16, (2, 8, 1)),
            ("spread", Some("CoresThreads"), None, 0, 6, (1, 3, 2)),
            ("spread", Some("SocketsCoresThreads"), Some(4), 0, 16, (2, 4, 2)),
            ("spread", Some("SocketsCoresThreads"), Some(0), 0, 16, (8, 1, 2)),
            ("spread", Some("Elsewhere"), None, 0, 16, (1, 1, 1)),
            ("diagonal", None, None, 0, 16, (1, 1, 1)),
            ("spread", None, None, 0, 1, (1, 1, 1)),
        ] {
            let shape = Topology::of(Some(&preference(topology, across, ratio, older))).shape(guest);
            assert_eq!((shape.sockets, shape.cores, shape.threads), want, "{topology} {across:?} {ratio:?} {older} {guest}");
        }
        assert_eq!(Topology::of(None), Topology::Sockets);
    }

    #[test]
    fn vcpus_that_cannot_be_spread_evenly_are_refused() {
        for (across, ratio, guest, fits) in [
            ("SocketsCores", 2, 4, true),
            ("SocketsCores", 2, 1, false),
            ("SocketsCores", 2, 5, false),
            ("SocketsCores", 0, 4, false),
            ("CoresThreads", 2, 3, false),
            ("SocketsCoresThreads", 2, 4, true),
            ("SocketsCoresThreads", 2, 2, false),
            ("SocketsCoresThreads", u32::MAX, 2, false),
            ("Elsewhere", 3, 4, true),
        ] {
            let mut instancetype = VirtualMachineInstancetypeSpec::default();
            instancetype.cpu.guest = guest;
            let verdict = check_spread(Some(&instancetype), Some(&preference("spread", Some(across), Some(ratio), 0)));
            assert_eq!(verdict.is_ok(), fits, "{across} {ratio} {guest}: {verdict:?}");
        }
        let none = preference("spread", Some("SocketsCores"), Some(3), 0);
        assert_eq!(check_spread(None, Some(&none)), Ok(()));
    }
}
