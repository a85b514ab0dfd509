//! The webhooks: what the API server asks of whom, where, and when it need not ask at all.
//!
//! One table serves both sides. The operator installs configurations that it makes from it; the server of the operator
//! and that of the api role look a path up in it and learn what is asked. What needs no judgement (a status, a
//! finalizer, a spec that stays as it is, what our own components have judged already) never leaves the API server:
//! match conditions say so, so that it works while nobody serves.

mod configuration;
mod need;
pub mod path;
mod table;

pub use configuration::{Configuration, configurations};
pub use need::Need;
pub(super) use need::{by_component, by_controller};
pub use table::{API_MUTATING, API_VALIDATING, LAUNCHER_PODS, OPERATOR};

/// What is asked at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// The object with its defaults.
    Defaults,
    /// Whether the object may enter.
    Judgement,
    /// Whether the status may become this.
    StatusJudgement,
    /// Whether a pod may be evicted.
    Eviction,
    /// The launcher pod with what it needs from its containers.
    LauncherPod,
}

/// One webhook.
#[derive(Clone, Copy, Debug)]
pub struct Webhook {
    /// Its name, by which people find it.
    pub name: &'static str,
    /// Where it is served.
    pub path: &'static str,
    /// What is asked there.
    pub asks: Asks,
    /// The API group of what it is about.
    pub group: &'static str,
    /// The versions of that group.
    pub versions: &'static [&'static str],
    /// The resources.
    pub resources: &'static [&'static str],
    /// The operations.
    pub operations: &'static [&'static str],
    /// Which of these requests need an answer.
    pub need: Need,
}

/// What is asked at that path of the api role, or of the operator.
pub fn at(path: &str) -> Option<&'static Webhook> {
    [OPERATOR, API_VALIDATING, API_MUTATING, LAUNCHER_PODS].into_iter().flatten().find(|webhook| webhook.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_asks_one_thing() {
        let all: Vec<&Webhook> = [OPERATOR, API_VALIDATING, API_MUTATING, LAUNCHER_PODS].into_iter().flatten().collect();
        assert_eq!(all.len(), 31);
        for webhook in all {
            assert_eq!(at(webhook.path).map(|found| found.asks), Some(webhook.asks), "{}", webhook.path);
        }
        assert!(at("/").is_none());
    }
}
