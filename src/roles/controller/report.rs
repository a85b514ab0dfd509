//! What is told: events about the object of a pass.

use k8s_openapi::api::core::v1::ObjectReference;
use kubevirt_rs::lifecycle::action::Event;

use super::Controller;

impl Controller {
    /// Tells the user what happened to an object.
    pub(super) fn tell(&self, about: &ObjectReference, event: &Event) {
        self.recorder.record(about.clone(), event.warning, event.reason, &event.message);
    }
}
