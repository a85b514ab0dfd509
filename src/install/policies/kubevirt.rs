//! Rules of the installation itself, when it is changed.

use crate::config::Gate;

use super::Rule;
use super::variables::Table;

/// How long certificates last; the fields of old win over the sections that replaced them.
pub(super) const VARIABLES: Table = &[
    ("old_config", "oldObject.?spec.?configuration.orValue({})"),
    ("certificates", "object.spec.?certificateRotateStrategy.?selfSigned.orValue({})"),
    ("ca", "duration($certificates.?caRotateInterval.orValue($certificates.?ca.?duration.orValue('168h')))"),
    ("server", "duration($certificates.?certRotateInterval.orValue($certificates.?server.?duration.orValue('24h')))"),
    ("ca_renewal", "duration($certificates.?caOverlapInterval.orValue($certificates.?ca.?renewBefore.orValue('0s')))"),
    ("server_renewal", "duration($certificates.?server.?renewBefore.orValue('0s'))"),
    ("gates", "$config.?developerConfiguration.orValue({})"),
    ("seccomp", "$config.?seccompConfiguration.orValue({})"),
    ("tls", "$config.?tlsConfiguration.orValue({})"),
];

const SELF_SIGNED: &str = "spec.certificateRotateStrategy.selfSigned";
const PROFILE: &str = "spec.configuration.seccompConfiguration.virtualMachineInstanceProfile.customProfile";

pub(super) const RULES: &[Rule] = &[
    Rule::one(
        "patches",
        "object.spec.?customizeComponents.?patches.orValue([]).exists(p, \
         !p.?patch.orValue('{}').matches('^\\\\s*([\\\\[{\"0-9-]|(null|true|false)\\\\s*$)'))",
        "spec.customizeComponents.patches.patch",
        "a patch is no JSON",
    ),
    Rule::one("replicas", "object.spec.?infra.?replicas.orValue(1) == 0", "spec.infra.replicas", "at least one replica has to run"),
    Rule::one(
        "certificates-one-way",
        "['caRotateInterval', 'certRotateInterval', 'caOverlapInterval'].exists(k, k in $certificates) && \
         ('ca' in $certificates || 'server' in $certificates)",
        SELF_SIGNED,
        "caRotateInterval, certRotateInterval and caOverlapInterval are deprecated and cannot stand beside ca and server; remove them",
    ),
    Rule::one(
        "authority-renewed",
        "$ca_renewal > $ca",
        "spec.certificateRotateStrategy.selfSigned.ca.renewBefore",
        "the authority is to be renewed before it begins; renew it later, or let it last longer",
    ),
    Rule::one(
        "certificates-renewed",
        "$server_renewal > $server",
        "spec.certificateRotateStrategy.selfSigned.server.renewBefore",
        "the certificates are to be renewed before they begin; renew them later, or let them last longer",
    ),
    Rule::one(
        "certificates-end-first",
        "$server > $ca",
        "spec.certificateRotateStrategy.selfSigned.server.duration",
        "the certificates outlast the authority that signs them; let them end before",
    ),
    Rule::one(
        "overhead-ratio-form",
        "$config.?additionalGuestMemoryOverheadRatio.hasValue() && \
         !$config.additionalGuestMemoryOverheadRatio.matches('^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$')",
        "spec.configuration.additionalGuestMemoryOverheadRatio",
        "\"{$config.additionalGuestMemoryOverheadRatio}\" is no number",
    ),
    Rule::one(
        "overhead-ratio",
        "$config.?additionalGuestMemoryOverheadRatio.orValue('1').matches('^-|^0([.]|$)|^[.]') && \
         !$config.?additionalGuestMemoryOverheadRatio.orValue('1').matches('[eE]')",
        "spec.configuration.additionalGuestMemoryOverheadRatio",
        "{$config.additionalGuestMemoryOverheadRatio} must be a number of at least 1",
    ),
    Rule::gated(
        "template-deployment",
        Gate::Template,
        "$config.?virtTemplateDeployment.?enabled.orValue(false)",
        "spec.configuration.virtTemplateDeployment.enabled",
    ),
    Rule::gated(
        "role-aggregation",
        Gate::OptOutRoleAggregation,
        "$config.?roleAggregationStrategy.orValue('AggregateToDefault') != 'AggregateToDefault'",
        "spec.configuration.roleAggregationStrategy",
    ),
    Rule::gated(
        "downtime",
        Gate::MigrationStallDetection,
        "$config.?migrations.?maxDowntimeMs.hasValue() && $old_config.?migrations.?maxDowntimeMs.orValue(-1) != $config.migrations.maxDowntimeMs",
        "spec.configuration.migrations.maxDowntimeMs",
    ),
    Rule::one(
        "ciphers-version",
        "$tls.?ciphers.orValue([]) != [] && $tls.?minTLSVersion.orValue('') in ['', 'VersionTLS13'] && \
         $tls != $old_config.?tlsConfiguration.orValue({})",
        "spec.configuration.tlsConfiguration.ciphers",
        "the ciphers of TLS 1.3 cannot be chosen; set minTLSVersion to VersionTLS12, or leave them out",
    ),
    Rule::one(
        "ciphers-form",
        "$tls.?ciphers.orValue([]).exists(c, !c.matches('^TLS_[A-Z0-9_]+$')) && $tls != $old_config.?tlsConfiguration.orValue({})",
        "spec.configuration.tlsConfiguration.ciphers",
        "a cipher is unknown; give names such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    ),
    Rule::one(
        "profile-given",
        "$seccomp.?virtualMachineInstanceProfile.hasValue() && !$seccomp.?virtualMachineInstanceProfile.?customProfile.hasValue() && \
         $seccomp != $old_config.?seccompConfiguration.orValue({})",
        PROFILE,
        "the profile is missing; give localhostProfile or runtimeDefaultProfile",
    ),
    Rule::one(
        "profile-one",
        "$seccomp.?virtualMachineInstanceProfile.?customProfile.?localhostProfile.hasValue() && \
         $seccomp.virtualMachineInstanceProfile.customProfile.?runtimeDefaultProfile.orValue(false) && $seccomp != $old_config.?seccompConfiguration.orValue({})",
        PROFILE,
        "localhostProfile and runtimeDefaultProfile cannot stand side by side; remove one of them",
    ),
    Rule::one(
        "gates-once",
        "$gates.?featureGates.orValue([]).exists(g, g in $gates.?disabledFeatureGates.orValue([])) && \
         $gates != $old_config.?developerConfiguration.orValue({})",
        "spec.configuration.developerConfiguration.featureGates",
        "a feature gate is both enabled here and disabled in disabledFeatureGates; remove it from one of them",
    ),
];
