//! Whether a server is to be sent requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Response, reply};

/// What must be so before the server is ready: each thing under its name, until it is there.
#[derive(Clone, Default)]
pub(crate) struct Health(Arc<Mutex<BTreeMap<&'static str, bool>>>);

impl Health {
    /// Says whether the thing of that name is there. What is never named is not waited for.
    pub(crate) fn set(&self, name: &'static str, is_there: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name, is_there);
    }

    /// What is missing.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter(|(_, is_there)| !**is_there).map(|(name, _)| *name).collect()
    }

    /// The answer to `/readyz`.
    pub(crate) fn answer(&self) -> Response {
        let missing = self.missing();
        if missing.is_empty() { reply::text(200, "ok") } else { reply::text(503, format!("waiting for {}", missing.join(", "))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_is_who_misses_nothing() {
        let health = Health::default();
        assert_eq!(health.answer().status(), 200);
        health.set("configuration", false);
        health.set("certificate", true);
        assert_eq!((health.answer().status().as_u16(), health.missing()), (503, vec!["configuration"]));
        health.clone().set("configuration", true);
        assert_eq!(health.answer().status(), 200);
    }
}
