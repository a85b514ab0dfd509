//! What the configuration of a cluster may say.

use std::collections::BTreeSet;

use crate::admission::{Cause, Findings, Path};
use crate::api::v1::{KubeVirtConfiguration, RoleAggregationStrategy, SeccompConfiguration, TlsConfiguration, TlsProtocolVersion};
use crate::config::{ClusterConfig, Gate};

/// Names of cipher suites of TLS 1.2 and 1.3, those included that nobody should use any more: a configuration that
/// was valid stays valid.
const CIPHERS: [&str; 25] = [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_RSA_WITH_RC4_128_SHA",
];

/// Judges a configuration that takes the place of another. What did not change and was accepted once is left alone,
/// where it cannot be told from a mistake.
pub(super) fn judge(new: &KubeVirtConfiguration, old: &KubeVirtConfiguration, path: &Path, findings: &mut Findings) {
    overhead_ratio(new, path, findings);
    gated(new, old, path, findings);
    if let Some(tls) = new.tls_configuration.as_ref().filter(|_| new.tls_configuration != old.tls_configuration) {
        ciphers(tls, &path.key("tlsConfiguration.ciphers"), findings);
    }
    if let Some(seccomp) = new.seccomp_configuration.as_ref().filter(|_| new.seccomp_configuration != old.seccomp_configuration) {
        profile(seccomp, &path.key("seccompConfiguration.virtualMachineInstanceProfile.customProfile"), findings);
    }
    if gates_changed(new, old) {
        gates(new, path, findings);
    }
    warn(new, path, findings);
}

fn overhead_ratio(new: &KubeVirtConfiguration, path: &Path, findings: &mut Findings) {
    const FIELD: &str = "additionalGuestMemoryOverheadRatio";
    let Some(text) = &new.additional_guest_memory_overhead_ratio else { return };
    match text.parse::<f64>() {
        Err(_) => findings.deny(Cause::not_supported(path.key(FIELD), format!("{text:?} is no number"))),
        Ok(ratio) if ratio.is_finite() && ratio >= 1.0 => {}
        Ok(_) => findings.deny(Cause::not_supported(path.key(FIELD), format!("{text} must be a number of at least 1"))),
    }
}

/// What only a feature gate of the new configuration makes possible.
fn gated(new: &KubeVirtConfiguration, old: &KubeVirtConfiguration, path: &Path, findings: &mut Findings) {
    let config = ClusterConfig::new(new);
    let downtime = |of: &KubeVirtConfiguration| of.migrations.as_ref().and_then(|migrations| migrations.max_downtime_ms);
    let strategy = new.role_aggregation_strategy.as_ref();
    for (used, field, gate) in [
        (new.virt_template_deployment.as_ref().and_then(|d| d.enabled) == Some(true), "virtTemplateDeployment.enabled", Gate::Template),
        (
            strategy.is_some_and(|strategy| *strategy != RoleAggregationStrategy::AggregateToDefault),
            "roleAggregationStrategy",
            Gate::OptOutRoleAggregation,
        ),
        (downtime(new).is_some() && downtime(new) != downtime(old), "migrations.maxDowntimeMs", Gate::MigrationStallDetection),
    ] {
        if used && !config.enabled(gate) {
            findings.deny(Cause::invalid(path.key(field), format!("the feature gate {} has to be enabled to set this", gate.name())));
        }
    }
}

fn ciphers(tls: &TlsConfiguration, path: &Path, findings: &mut Findings) {
    if tls.ciphers.is_empty() {
        return;
    }
    if tls.min_tls_version.is_unset() || tls.min_tls_version == TlsProtocolVersion::VersionTls13 {
        let text = "the ciphers of TLS 1.3 cannot be chosen; set minTLSVersion to VersionTLS12, or leave them out";
        findings.deny(Cause::not_supported(path, text));
        return;
    }
    for (i, cipher) in tls.ciphers.iter().enumerate() {
        if !CIPHERS.contains(&cipher.as_str()) {
            findings.deny(Cause::not_supported(path.index(i), format!("{cipher:?} is unknown; it must be one of {}", CIPHERS.join(", "))));
        }
    }
}

fn profile(seccomp: &SeccompConfiguration, path: &Path, findings: &mut Findings) {
    let Some(profile) = &seccomp.virtual_machine_instance_profile else { return };
    let Some(custom) = &profile.custom_profile else {
        findings.deny(Cause::invalid(path, "the profile is missing; give localhostProfile or runtimeDefaultProfile"));
        return;
    };
    if custom.localhost_profile.is_some() && custom.runtime_default_profile {
        for (field, other) in [("localhostProfile", "runtimeDefaultProfile"), ("runtimeDefaultProfile", "localhostProfile")] {
            findings.deny(Cause::invalid(path.key(field), format!("it cannot stand beside {other}; remove one of them")));
        }
    }
}

fn lists(of: &KubeVirtConfiguration) -> Option<(&[String], &[String])> {
    of.developer_configuration.as_ref().map(|d| (d.feature_gates.as_slice(), d.disabled_feature_gates.as_slice()))
}

fn gates_changed(new: &KubeVirtConfiguration, old: &KubeVirtConfiguration) -> bool {
    lists(new).is_some() && lists(new) != lists(old)
}

fn gates(new: &KubeVirtConfiguration, path: &Path, findings: &mut Findings) {
    let Some((enabled, disabled)) = lists(new) else { return };
    let disabled: BTreeSet<&String> = disabled.iter().collect();
    for gate in enabled.iter().filter(|gate| disabled.contains(gate)) {
        let text = format!("the feature gate {gate} is both enabled here and disabled in disabledFeatureGates; remove it from one of them");
        findings.deny(Cause::forbidden(path.key("developerConfiguration.featureGates"), text));
    }
    for gate in enabled {
        if let Some(warning) = Gate::named(gate).and_then(Gate::warning) {
            findings.warn(warning);
        }
    }
}

/// Fields that will go. Tools match on the words, so they are KubeVirt's.
fn warn(new: &KubeVirtConfiguration, path: &Path, findings: &mut Findings) {
    if let Some(devices) = &new.mediated_devices_configuration {
        let path = path.key("mediatedDevicesConfiguration");
        let warning = |field: Path| format!("{field} is deprecated, use mediatedDeviceTypes");
        if !devices.mediated_devices_types.is_empty() {
            findings.warn(warning(path.key("mediatedDevicesTypes")));
        }
        let nodes = path.key("nodeMediatedDeviceTypes");
        for (i, node) in devices.node_mediated_device_types.iter().enumerate() {
            if !node.mediated_devices_types.is_empty() {
                findings.warn(warning(nodes.index(i).key("mediatedDevicesTypes")));
            }
        }
    }
    if new.architecture_configuration.as_ref().is_some_and(|architectures| architectures.ppc64le.is_some()) {
        findings.warn("spec.configuration.architectureConfiguration.ppc64le is deprecated and no longer supported.");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::updated;
    use crate::admission::review;
    use crate::admission::testing::update;

    fn changed(old: &Value, new: &Value) -> Vec<String> {
        let fields = updated(json!({"configuration": old}), json!({"configuration": new}));
        fields.iter().map(|field| field.trim_start_matches("configuration.").to_owned()).collect()
    }

    #[test]
    fn rules_for_configurations() {
        let gates = |on: &[&str], off: &[&str]| json!({"developerConfiguration": {"featureGates": on, "disabledFeatureGates": off}});
        let profile = |custom: Value| json!({"seccompConfiguration": {"virtualMachineInstanceProfile": {"customProfile": custom}}});
        let tls = |version: Option<&str>, ciphers: &[&str]| json!({"tlsConfiguration": {"minTLSVersion": version, "ciphers": ciphers}});
        let (known, profile_path) = ("TLS_RSA_WITH_RC4_128_SHA", "seccompConfiguration.virtualMachineInstanceProfile.customProfile");
        for (new, want) in [
            (json!({}), vec![]),
            (json!({"additionalGuestMemoryOverheadRatio": "1.0"}), vec![]),
            (json!({"additionalGuestMemoryOverheadRatio": "0.99"}), vec!["additionalGuestMemoryOverheadRatio".to_owned()]),
            (json!({"additionalGuestMemoryOverheadRatio": "NaN"}), vec!["additionalGuestMemoryOverheadRatio".to_owned()]),
            (json!({"additionalGuestMemoryOverheadRatio": "x"}), vec!["additionalGuestMemoryOverheadRatio".to_owned()]),
            (json!({"virtTemplateDeployment": {"enabled": true}}), vec![]),
            (
                json!({"virtTemplateDeployment": {"enabled": true}, "developerConfiguration": {"disabledFeatureGates": ["Template"]}}),
                vec!["virtTemplateDeployment.enabled".to_owned()],
            ),
            (json!({"roleAggregationStrategy": "Manual"}), vec![]),
            (
                json!({"roleAggregationStrategy": "Manual", "developerConfiguration": {"disabledFeatureGates": ["OptOutRoleAggregation"]}}),
                vec!["roleAggregationStrategy".to_owned()],
            ),
            (json!({"migrations": {"maxDowntimeMs": 1}}), vec!["migrations.maxDowntimeMs".to_owned()]),
            (json!({"migrations": {"maxDowntimeMs": 1}, "developerConfiguration": {"featureGates": ["MigrationStallDetection"]}}), vec![]),
            (tls(Some("VersionTLS12"), &[known]), vec![]),
            (tls(Some("VersionTLS12"), &[known, "x"]), vec!["tlsConfiguration.ciphers[1]".to_owned()]),
            (tls(Some("VersionTLS13"), &[known]), vec!["tlsConfiguration.ciphers".to_owned()]),
            (tls(None, &[known]), vec!["tlsConfiguration.ciphers".to_owned()]),
            (tls(Some("VersionTLS13"), &[]), vec![]),
            (profile(json!({"localhostProfile": "x"})), vec![]),
            (profile(json!({"runtimeDefaultProfile": true})), vec![]),
            (profile(json!(null)), vec![profile_path.to_owned()]),
            (
                profile(json!({"localhostProfile": "x", "runtimeDefaultProfile": true})),
                vec![format!("{profile_path}.localhostProfile"), format!("{profile_path}.runtimeDefaultProfile")],
            ),
            (gates(&["Sidecar"], &["HostDisk"]), vec![]),
            (gates(&["Sidecar"], &["Sidecar"]), vec!["developerConfiguration.featureGates".to_owned()]),
        ] {
            assert_eq!(changed(&json!({}), &new), want, "{new}");
        }
    }

    #[test]
    fn what_was_there_stays_where_it_is_only_odd() {
        for config in [
            json!({"migrations": {"maxDowntimeMs": 1}}),
            json!({"tlsConfiguration": {"ciphers": ["x"]}}),
            json!({"seccompConfiguration": {"virtualMachineInstanceProfile": {}}}),
            json!({"developerConfiguration": {"featureGates": ["Sidecar"], "disabledFeatureGates": ["Sidecar"]}}),
        ] {
            assert!(changed(&config, &config).is_empty(), "{config}");
        }
    }

    #[test]
    fn what_will_go_is_warned_of() {
        let kubevirt = |configuration: Value| json!({"metadata": {"name": "k"}, "spec": {"configuration": configuration}});
        let (old, new) = (
            kubevirt(json!({})),
            kubevirt(json!({
                "developerConfiguration": {"featureGates": ["MultiArchitecture", "Sidecar"]},
                "mediatedDevicesConfiguration": {"mediatedDevicesTypes": ["a"]},
                "architectureConfiguration": {"ppc64le": {}},
            })),
        );
        assert_eq!(
            update("KubeVirt", &new, &old, |request| review(request).warnings),
            [
                "MultiArchitecture has been deprecated since v1.8.0",
                "spec.configuration.mediatedDevicesConfiguration.mediatedDevicesTypes is deprecated, use mediatedDeviceTypes",
                "spec.configuration.architectureConfiguration.ppc64le is deprecated and no longer supported.",
            ]
        );
    }
}
