//! The machine type, and what the guest's architecture leaves to choose from.

use super::{Rule, Subject};
use crate::admission::Cause;

pub(super) const RULES: &[Rule] = &[emulated];

fn emulated(s: &Subject, causes: &mut Vec<Cause>) {
    let machine = s.domain().machine.as_ref().map_or("", |m| &m.type_);
    if machine.is_empty() || s.config.permits_machine(&s.spec.architecture, machine) {
        return;
    }
    let permitted = s.config.emulated_machines(&s.spec.architecture);
    let message = format!("the cluster permits no machine {machine:?}; take one of {}", permitted.join(", "));
    causes.push(Cause::invalid(s.at.key("domain.machine.type"), message));
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;
    use serde_json::json;

    #[test]
    fn the_cluster_says_which_machines_there_are() {
        check(
            RULES,
            &[],
            &[
                (json!({"domain": {"machine": {"type": "pc-q35-9.0"}}}), &[]),
                (json!({"domain": {}}), &[]),
                (json!({"domain": {"machine": {"type": "pc-i440fx-9.0"}}}), &["s.domain.machine.type"]),
                (json!({"architecture": "arm64", "domain": {"machine": {"type": "q35"}}}), &["s.domain.machine.type"]),
            ],
        );
    }
}
