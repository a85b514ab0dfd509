//! How much memory, on which pages.

use super::{Amount, Rule, Subject, closed};
use crate::admission::Cause;
use crate::api::Quantity;
use crate::config::Gate;

pub(super) const RULES: &[Rule] = &[request, limit, pages, guest_within_limit, reserved_overhead];

/// Less than a megabyte is a unit forgotten.
const LEAST: i128 = 1_000_000;

fn request(s: &Subject, causes: &mut Vec<Cause>) {
    let (at, asked) = (s.at.key("domain.resources.requests.memory"), s.request("memory"));
    if asked.value() < 0 {
        causes.push(Cause::invalid(at, format!("{asked} is negative; ask for 1M or more")));
    } else if asked.value() > 0 && asked.value() < LEAST {
        causes.push(Cause::invalid(at, format!("{asked} is less than any guest can run with; ask for 1M or more")));
    }
}

fn limit(s: &Subject, causes: &mut Vec<Cause>) {
    let (asked, most) = (s.request("memory"), s.limit("memory"));
    if most.value() < 0 {
        causes.push(Cause::invalid(
            s.at.key("domain.resources.limits.memory"),
            format!("{most} is negative; give a positive limit, or none"),
        ));
    }
    if most.value() > 0 && asked.value() > most.value() {
        let message = format!("{asked} is more than the limit of {most}; ask for less, or raise the limit");
        causes.push(Cause::invalid(s.at.key("domain.resources.requests.memory"), message));
    }
}

fn pages(s: &Subject, causes: &mut Vec<Cause>) {
    let Some((memory, pages)) = s.domain().memory.as_ref().and_then(|m| Some((m, m.hugepages.as_ref()?))) else { return };
    let size = match pages.page_size.parse::<Quantity>() {
        // Nothing is a multiple of no size at all.
        Ok(size) if size.value() > 0 => size,
        _ => {
            let message = format!("{:?} is no size of a page; give one that the nodes have, such as 2Mi or 1Gi", pages.page_size);
            causes.push(Cause::invalid(s.at.key("domain.memory.hugepages.pageSize"), message));
            return;
        }
    };
    let sources = [s.request("memory"), Amount(memory.guest.as_ref()), s.limit("memory")];
    let amount = sources.into_iter().find(|amount| amount.value() != 0).unwrap_or(Amount(None));
    let at = s.at.key("domain.resources.requests.memory");
    if amount.value() != 0 && amount.value() < size.value() {
        causes.push(Cause::invalid(at, format!("{amount} does not fill one huge page of {size}; ask for more, or take smaller pages")));
    } else if amount.value() % size.value() != 0 {
        causes.push(Cause::invalid(at, format!("{amount} is no multiple of the page size of {size}; round it to one")));
    }
}

fn guest_within_limit(s: &Subject, causes: &mut Vec<Cause>) {
    // Where memory can grow while the guest runs, the limit grows with it.
    if s.config.live_update() {
        return;
    }
    let Some(guest) = s.domain().memory.as_ref().and_then(|m| m.guest.as_ref()) else { return };
    let most = s.limit("memory");
    if most.value() != 0 && most.value() < guest.value() {
        let message = format!("{guest} is more than the limit of {most}; give the guest less, or raise the limit");
        causes.push(Cause::invalid(s.at.key("domain.memory.guest"), message));
    }
}

fn reserved_overhead(s: &Subject, causes: &mut Vec<Cause>) {
    let reserved = s.domain().memory.as_ref().is_some_and(|m| m.reserved_overhead.is_some());
    if reserved && !s.enabled(Gate::ReservedOverheadMemlock) {
        causes.push(Cause::invalid(s.at.key("domain.memory.reservedOverhead"), closed(Gate::ReservedOverheadMemlock)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, check_with};
    use super::*;
    use serde_json::json;

    const REQUEST: &[&str] = &["s.domain.resources.requests.memory"];

    #[test]
    fn memory_fits_limits_and_pages() {
        check(
            RULES,
            &[],
            &[
                (json!({"domain": {"resources": {"requests": {"memory": "64Mi"}, "limits": {"memory": "64Mi"}}}}), &[]),
                (json!({"domain": {"resources": {"requests": {"memory": "-1"}}}}), REQUEST),
                (json!({"domain": {"resources": {"requests": {"memory": "64"}}}}), REQUEST),
                (json!({"domain": {"resources": {"limits": {"memory": "-64Mi"}}}}), &["s.domain.resources.limits.memory"]),
                (json!({"domain": {"resources": {"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}}}), REQUEST),
                (json!({"domain": {"memory": {"guest": "64Mi", "hugepages": {"pageSize": "2Mi"}}}}), &[]),
                (json!({"domain": {"memory": {"hugepages": {"pageSize": "big"}}}}), &["s.domain.memory.hugepages.pageSize"]),
                (json!({"domain": {"memory": {"hugepages": {"pageSize": "0"}}}}), &["s.domain.memory.hugepages.pageSize"]),
                (json!({"domain": {"memory": {"guest": "64Mi", "hugepages": {"pageSize": "1Gi"}}}}), REQUEST),
                (json!({"domain": {"memory": {"guest": "65Mi", "hugepages": {"pageSize": "2Mi"}}}}), REQUEST),
                (json!({"domain": {"memory": {"reservedOverhead": {}}}}), &["s.domain.memory.reservedOverhead"]),
                (json!({"domain": {"memory": {"guest": "2Gi"}, "resources": {"limits": {"memory": "1Gi"}}}}), &[]),
            ],
        );
    }

    #[test]
    fn a_guest_that_cannot_grow_stays_within_its_limit() {
        let staged = json!({"vmRolloutStrategy": "Stage"});
        check_with(
            RULES,
            staged,
            &[(json!({"domain": {"memory": {"guest": "2Gi"}, "resources": {"limits": {"memory": "1Gi"}}}}), &["s.domain.memory.guest"])],
        );
    }
}
