//! Conditions of VirtualMachines, their instances and pods: looked up, set and taken away by type.

use crate::api::v1::{
    VirtualMachineCondition, VirtualMachineConditionType, VirtualMachineInstanceCondition, VirtualMachineInstanceConditionType,
};

/// What conditions of every kind have in common.
pub trait Condition: Clone + PartialEq {
    /// The type of its type.
    type Type: PartialEq;
    /// The type.
    fn type_(&self) -> &Self::Type;
    /// `True`, `False` or `Unknown`.
    fn status(&self) -> &str;
    /// The reason.
    fn reason(&self) -> &str;
    /// The same condition with the times of another.
    #[must_use]
    fn with_times_of(self, other: &Self) -> Self;
}

macro_rules! condition {
    ($condition:ty, $kind:ty) => {
        impl Condition for $condition {
            type Type = $kind;
            fn type_(&self) -> &$kind {
                &self.type_
            }
            fn status(&self) -> &str {
                &self.status
            }
            fn reason(&self) -> &str {
                &self.reason
            }
            fn with_times_of(mut self, other: &Self) -> Self {
                self.last_probe_time.clone_from(&other.last_probe_time);
                self.last_transition_time.clone_from(&other.last_transition_time);
                self
            }
        }
    };
}

condition!(VirtualMachineCondition, VirtualMachineConditionType);
condition!(VirtualMachineInstanceCondition, VirtualMachineInstanceConditionType);

/// The condition of that type.
pub fn find<'a, C: Condition>(conditions: &'a [C], kind: &C::Type) -> Option<&'a C> {
    conditions.iter().find(|c| c.type_() == kind)
}

/// Whether there is a condition of that type and status.
pub fn has<C: Condition>(conditions: &[C], kind: &C::Type, status: &str) -> bool {
    find(conditions, kind).is_some_and(|c| c.status() == status)
}

/// Whether there is a condition of that type, status and reason.
pub fn has_reason<C: Condition>(conditions: &[C], kind: &C::Type, status: &str, reason: &str) -> bool {
    find(conditions, kind).is_some_and(|c| c.status() == status && c.reason() == reason)
}

/// Puts a condition in the place of the one of its type. While status and reason stay, so do its times: a status is not
/// written for the sake of a clock.
pub fn set<C: Condition>(conditions: &mut Vec<C>, condition: C) {
    match conditions.iter_mut().find(|c| c.type_() == condition.type_()) {
        None => conditions.push(condition),
        Some(old) if old.status() == condition.status() && old.reason() == condition.reason() => {
            *old = condition.with_times_of(old);
        }
        Some(old) => *old = condition,
    }
}

/// Takes the condition of that type away.
pub fn remove<C: Condition>(conditions: &mut Vec<C>, kind: &C::Type) {
    conditions.retain(|c| c.type_() != kind);
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    fn condition(status: &str, seconds: i64) -> VirtualMachineCondition {
        VirtualMachineCondition {
            type_: VirtualMachineConditionType::Ready,
            status: status.to_owned(),
            last_transition_time: k8s_openapi::jiff::Timestamp::from_second(seconds).ok().map(Time),
            ..VirtualMachineCondition::default()
        }
    }

    #[test]
    fn a_condition_that_says_nothing_new_keeps_its_time() {
        let mut conditions = vec![condition("True", 1)];
        set(&mut conditions, condition("True", 2));
        assert_eq!(conditions, [condition("True", 1)]);
        set(&mut conditions, condition("False", 3));
        assert_eq!(conditions, [condition("False", 3)]);
        assert!(has(&conditions, &VirtualMachineConditionType::Ready, "False"));
        remove(&mut conditions, &VirtualMachineConditionType::Ready);
        assert!(conditions.is_empty());
    }
}
