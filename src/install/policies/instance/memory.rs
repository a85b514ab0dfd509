//! How much memory, on which pages; which machine it is in.

use crate::config::Gate;

use super::{Area, Rule};

/// A number of whole pages that is no such number.
macro_rules! amount {
    () => {
        "($memory_request.compareTo($nothing) != 0 ? $memory_request : $memory_guest.compareTo($nothing) != 0 ? $memory_guest : $memory_limit)"
    };
}

pub(super) const AREAS: &[Area] = &[
    Area::when("$memory.?hugepages.hasValue()", PAGES),
    Area::when("$requests.?memory.hasValue() || $limits.?memory.hasValue()", AMOUNTS),
    Area::always(OTHERS),
];

const PAGES: &[Rule] = &[
    Rule::one(
        "page-size-form",
        "$memory.?hugepages.hasValue() && (!isQuantity($page_size) || quantity($page_size).compareTo($nothing) <= 0)",
        "spec.domain.memory.hugepages.pageSize",
        "\"{$page_size}\" is no size of a page; give one that the nodes have, such as 2Mi or 1Gi",
    ),
    Rule::one(
        "whole-pages",
        concat!(
            "$memory.?hugepages.hasValue() && isQuantity($page_size) && quantity($page_size).isInteger() && quantity($page_size).asInteger() > 0 && ",
            amount!(),
            ".isInteger() && ",
            amount!(),
            ".asInteger() % quantity($page_size).asInteger() != 0"
        ),
        "spec.domain.resources.requests.memory",
        "the memory is no multiple of the page size of {$page_size}; round it to one, or take smaller pages",
    ),
];

const AMOUNTS: &[Rule] = &[
    Rule::one(
        "memory-request-positive",
        "$memory_request.compareTo(quantity('-1')) <= 0",
        "spec.domain.resources.requests.memory",
        "{$requests.memory} is negative; ask for 1M or more",
    ),
    Rule::one(
        "memory-request-enough",
        "$memory_request.compareTo($nothing) > 0 && $memory_request.compareTo(quantity('999999')) <= 0",
        "spec.domain.resources.requests.memory",
        "{$requests.memory} is less than any guest can run with; ask for 1M or more",
    ),
    Rule::one(
        "memory-limit-positive",
        "$memory_limit.compareTo(quantity('-1')) <= 0",
        "spec.domain.resources.limits.memory",
        "{$limits.memory} is negative; give a positive limit, or none",
    ),
    Rule::one(
        "memory-request-within-limit",
        "$memory_limit.compareTo($nothing) > 0 && $memory_request.compareTo($memory_limit) > 0",
        "spec.domain.resources.requests.memory",
        "{$requests.memory} is more than the limit of {$limits.memory}; ask for less, or raise the limit",
    ),
    Rule::one(
        "guest-within-limit",
        "!$live_update && $memory_limit.compareTo($nothing) != 0 && $memory_limit.compareTo($memory_guest) < 0",
        "spec.domain.memory.guest",
        "{$memory.guest} is more than the limit of {$limits.memory}; give the guest less, or raise the limit",
    ),
];

const OTHERS: &[Rule] = &[
    Rule::gated(
        "reserved-overhead",
        Gate::ReservedOverheadMemlock,
        "$memory.?reservedOverhead.hasValue()",
        "spec.domain.memory.reservedOverhead",
    ),
    Rule::one(
        "machine-permitted",
        "$known_architecture && $machine != '' && !$machines.exists(p, !p.matches('^[A-Za-z0-9._*-]*$') || \
         $machine.matches('^' + p.replace('.', '[.]').replace('*', '[^/]*') + '$'))",
        "spec.domain.machine.type",
        "the cluster permits no machine \"{$machine}\"; take one of {$machines.join(', ')}",
    ),
];
