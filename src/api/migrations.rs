//! The group `migrations.kubevirt.io`: how machines migrate that labels select.

use std::collections::BTreeMap;

use crate::{Quantity, api, v1::ExperimentalMigrationOptions};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// How machines migrate that labels select. The policy with the most labels that match applies.
#[api]
pub struct MigrationPolicy {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// Which machines, and how they migrate.
    #[api(required)]
    pub spec: MigrationPolicySpec,
    /// Nothing yet.
    #[api(always, nullable)]
    pub status: MigrationPolicyStatus,
}

/// Which machines, and how they migrate. What is unset is as the cluster's configuration says.
#[api]
pub struct MigrationPolicySpec {
    /// The machines.
    #[api(required)]
    pub selectors: Option<Selectors>,
    /// Whether a guest is slowed down that writes faster than is copied.
    pub allow_auto_converge: Option<bool>,
    /// How much a migration may send, in bytes a second. 0: no limit.
    pub bandwidth_per_migration: Option<Quantity>,
    /// How many seconds a migration may take for each GiB of memory; not negative.
    #[api(name = "completionTimeoutPerGiB")]
    pub completion_timeout_per_gib: Option<i64>,
    /// How many milliseconds the guest may stand still at the switch; from 1 to 2000000.
    #[api(minimum = 1, maximum = 2_000_000)]
    pub max_downtime_ms: Option<u64>,
    /// Whether the guest may go on at the target while its memory follows.
    pub allow_post_copy: Option<bool>,
    /// Whether the guest may be paused or slowed down for a migration to come to an end.
    pub allow_workload_disruption: Option<bool>,
    /// Settings that may change or go.
    pub experimental: Option<ExperimentalMigrationOptions>,
}

/// The machines of a policy; both selectors must match.
#[api]
pub struct Selectors {
    /// Labels that the namespace has.
    pub namespace_selector: BTreeMap<String, String>,
    /// Labels that the machine has.
    pub virtual_machine_instance_selector: BTreeMap<String, String>,
}

/// Nothing yet.
#[api]
pub struct MigrationPolicyStatus {}
