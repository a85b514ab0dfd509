use std::collections::BTreeMap;

use crate::{Quantity, api, v1::ExperimentalMigrationOptions};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

#[api]
pub struct MigrationPolicy {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: MigrationPolicySpec,
    #[api(always, nullable)]
    pub status: MigrationPolicyStatus,
}

#[api]
pub struct MigrationPolicySpec {
    #[api(required)]
    pub selectors: Option<Selectors>,
    pub allow_auto_converge: Option<bool>,
    pub bandwidth_per_migration: Option<Quantity>,
    pub completion_timeout_per_gi_b: Option<i64>,
    #[api(minimum = 1, maximum = 2_000_000)]
    pub max_downtime_ms: Option<u64>,
    pub allow_post_copy: Option<bool>,
    pub allow_workload_disruption: Option<bool>,
    pub experimental: Option<ExperimentalMigrationOptions>,
}

#[api]
pub struct Selectors {
    pub namespace_selector: BTreeMap<String, String>,
    pub virtual_machine_instance_selector: BTreeMap<String, String>,
}

#[api]
pub struct MigrationPolicyStatus {}
