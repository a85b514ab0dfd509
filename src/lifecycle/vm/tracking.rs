//! Changed block tracking: which machines track, and how far each is with it. A running guest takes it up at its restart.

use super::pass::Pass;
use crate::api::selector;
use crate::api::v1::{ChangedBlockTrackingState as State, ChangedBlockTrackingStatus};
use crate::config::Gate;
use crate::lifecycle::persistent_state;

/// Whether the cluster wants the machine to track, by the labels of the machine or of its namespace.
fn is_selected(pass: &Pass<'_>) -> bool {
    let Some(selectors) = &pass.config.spec().changed_block_tracking_label_selectors else {
        return false;
    };
    let labels = pass.machine.metadata.labels.clone().unwrap_or_default();
    let machine = selectors.virtual_machine_label_selector.as_ref();
    let namespace = selectors.namespace_label_selector.as_ref();
    // A selector that makes no sense selects nothing.
    machine.is_some_and(|s| selector::matches(s, &labels).unwrap_or(false))
        || namespace.is_some_and(|s| selector::matches(s, &pass.observed.namespace_labels).unwrap_or(false))
}

fn state(status: Option<&ChangedBlockTrackingStatus>) -> State {
    status.map(|s| s.state.clone()).unwrap_or_default()
}

fn is_off(state: &State) -> bool {
    state.is_unset() || *state == State::Disabled
}

/// What a new instance starts with.
pub(super) fn of_new_instance(pass: &Pass<'_>) -> Option<ChangedBlockTrackingStatus> {
    if !pass.config.enabled(Gate::IncrementalBackup) {
        return None;
    }
    let with = |state| Some(ChangedBlockTrackingStatus { state, ..ChangedBlockTrackingStatus::default() });
    if is_selected(pass) {
        with(State::Initializing)
    } else if state(pass.machine.status.changed_block_tracking.as_ref()).is_unset() {
        None
    } else {
        with(State::Disabled)
    }
}

/// Tells how far the machine is with tracking.
pub(super) fn report(pass: &mut Pass<'_>) {
    let status = pass.machine.status.changed_block_tracking.as_ref();
    let before = state(status);
    let of_instance = pass.instance.as_ref().map(|i| state(i.status.changed_block_tracking.as_ref()));
    let idle = of_instance.as_ref().is_none_or(is_off);
    let selected = is_selected(pass);
    let next = match (pass.config.enabled(Gate::IncrementalBackup), selected) {
        (false, _) if before == State::IncrementalBackupFeatureGateDisabled => return,
        (false, true) if idle => State::IncrementalBackupFeatureGateDisabled,
        (false, false) if idle => State::default(),
        (false, _) if persistent_state::tracks_changes(status) => State::PendingRestart,
        (false, _) => return,
        (true, true) => wanted(&before, of_instance.as_ref()),
        (true, false) if is_off(&before) => return,
        (true, false) if idle => State::Disabled,
        (true, false) if before.is_known() => State::PendingRestart,
        (true, false) => State::default(),
    };
    let tracking = &mut pass.machine.status.changed_block_tracking;
    if next.is_unset() && (!pass.config.enabled(Gate::IncrementalBackup) || tracking.is_none()) {
        *tracking = None;
    } else {
        tracking.get_or_insert_default().state = next;
    }
}

fn wanted(before: &State, of_instance: Option<&State>) -> State {
    match (before, of_instance) {
        (State::Other(unknown), _) if !unknown.is_empty() => State::default(),
        (State::Enabled, None) => State::Enabled,
        (_, None) => State::Initializing,
        (State::Initializing | State::Enabled, Some(State::Enabled)) => State::Enabled,
        (State::Initializing | State::Enabled, Some(_)) => State::Initializing,
        (State::PendingRestart | State::Disabled, Some(State::Initializing)) => State::Initializing,
        (State::PendingRestart | State::Disabled, Some(State::Enabled)) => State::Enabled,
        _ => State::PendingRestart,
    }
}
