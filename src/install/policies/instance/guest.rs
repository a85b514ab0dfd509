//! Host names, accounts, strategies, probes, name resolution, keys and passwords; labels and annotations.

use crate::config::Gate;

use super::super::forms::{no_dns_label, no_dns_subdomain};
use super::{Area, Rule};

/// The rules of a probe.
macro_rules! probe {
    ($none:literal, $several:literal, $scheme:literal, $reach:literal, $key:literal) => {
        [
            Rule::one(
                $none,
                concat!(
                    "$spec.?",
                    $key,
                    ".hasValue() && ['httpGet', 'tcpSocket', 'exec', 'guestAgentPing'].all(k, !(k in $spec.",
                    $key,
                    "))"
                ),
                concat!("spec.", $key),
                "the probe asks nothing; give one of httpGet, tcpSocket, exec and guestAgentPing",
            ),
            Rule::one(
                $several,
                concat!(
                    "$spec.?",
                    $key,
                    ".hasValue() && ['httpGet', 'tcpSocket', 'exec', 'guestAgentPing'].filter(k, k in $spec.",
                    $key,
                    ").size() > 1"
                ),
                concat!("spec.", $key),
                "the probe asks several things; keep one of httpGet, tcpSocket, exec and guestAgentPing",
            ),
            Rule::one(
                $scheme,
                concat!("!($spec.?", $key, ".?httpGet.?scheme.orValue('') in ['', 'HTTP', 'HTTPS'])"),
                concat!("spec.", $key, ".httpGet.scheme"),
                concat!("\"{$spec.", $key, ".httpGet.scheme}\" cannot be asked by; give HTTP or HTTPS"),
            ),
            Rule::one(
                $reach,
                // A guest that names no networks at all gets the pod network.
                concat!(
                    "$spec.?",
                    $key,
                    ".hasValue() && ['httpGet', 'tcpSocket'].exists(k, k in $spec.",
                    $key,
                    ") && $pod_networks == [] && ($networks != [] || $interfaces != [] || !$devices.?autoattachPodInterface.orValue(true))"
                ),
                concat!("spec.", $key, ".httpGet, tcpSocket"),
                "the guest is not on the pod network, over which it is asked; take exec or guestAgentPing",
            ),
        ]
    };
}

const READINESS: [Rule; 4] = probe!("readiness-nothing", "readiness-several", "readiness-scheme", "readiness-network", "readinessProbe");
const LIVENESS: [Rule; 4] = probe!("liveness-nothing", "liveness-several", "liveness-scheme", "liveness-network", "livenessProbe");

macro_rules! credential {
    ($id:literal, $wrong:expr, $field:literal, $says:literal) => {
        Rule::one(
            $id,
            concat!("$spec.?accessCredentials.orValue([]).exists(c, ", $wrong, ")"),
            concat!("spec.accessCredentials", $field),
            $says,
        )
    };
}

pub(super) const AREAS: &[Area] = &[
    Area::when("$spec.?readinessProbe.hasValue()", READINESS_PROBE),
    Area::when("$spec.?livenessProbe.hasValue()", LIVENESS_PROBE),
    Area::when("$spec.?dnsPolicy.hasValue() || $spec.?dnsConfig.hasValue()", RESOLUTION),
    Area::when("$spec.?accessCredentials.hasValue()", CREDENTIALS),
    Area::when("$spec.?hostname.hasValue() || $spec.?subdomain.hasValue() || $spec.?serviceAccountName.hasValue()", NAMES),
    Area::always(OTHERS),
];

const READINESS_PROBE: &[Rule] = &[READINESS[0], READINESS[1], READINESS[2], READINESS[3]];

const LIVENESS_PROBE: &[Rule] = &[LIVENESS[0], LIVENESS[1], LIVENESS[2], LIVENESS[3]];

const RESOLUTION: &[Rule] = &[
    Rule::one(
        "dns-policy",
        "!($spec.?dnsPolicy.orValue('') in ['', 'ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'])",
        "spec.dnsPolicy",
        "\"{$spec.dnsPolicy}\" is no policy; take one of ClusterFirstWithHostNet, ClusterFirst, Default and None",
    ),
    Rule::one(
        "dns-config",
        "$spec.?dnsPolicy.orValue('') == 'None' && !$spec.?dnsConfig.hasValue()",
        "spec.dnsConfig",
        "with the policy None only this tells the servers; give it",
    ),
    Rule::one(
        "dns-servers-given",
        "$spec.?dnsPolicy.orValue('') == 'None' && $spec.?dnsConfig.hasValue() && $spec.dnsConfig.?nameservers.orValue([]) == []",
        "spec.dnsConfig.nameservers",
        "with the policy None only these are asked; give at least one",
    ),
    Rule::one(
        "dns-servers-count",
        "$spec.?dnsConfig.?nameservers.orValue([]).size() > 3",
        "spec.dnsConfig.nameservers",
        "{$spec.dnsConfig.nameservers.size()} servers are too many; give at most 3",
    ),
    Rule::one(
        "dns-servers",
        "$spec.?dnsConfig.?nameservers.orValue([]).exists(s, !isIP(s) && !s.contains(':'))",
        "spec.dnsConfig.nameservers",
        "a server is told by its IP address, and one of {$spec.dnsConfig.nameservers.join(', ')} is none",
    ),
    Rule::one(
        "dns-searches-count",
        "$spec.?dnsConfig.?searches.orValue([]).size() > 6",
        "spec.dnsConfig.searchDomains",
        "{$spec.dnsConfig.searches.size()} search domains are too many; give at most 6",
    ),
    Rule::one(
        "dns-searches-length",
        "$spec.?dnsConfig.?searches.orValue([]).map(s, string(s)).join(' ').size() > 256",
        "spec.dnsConfig.searchDomains",
        "the search domains are too long; keep them within 256 characters with the spaces between",
    ),
    Rule::one(
        "dns-searches",
        concat!("$spec.?dnsConfig.?searches.orValue([]).exists(s, ", no_dns_subdomain!("s"), ")"),
        "spec.dnsConfig.searchDomains",
        "a search domain is none; use at most 253 lower-case letters, digits, dashes and dots",
    ),
    Rule::one(
        "dns-options",
        "$spec.?dnsConfig.?options.orValue([]).exists(o, o.?name.orValue('') == '')",
        "spec.dnsConfig.options",
        "an option has no name; give it one, such as ndots",
    ),
];

const CREDENTIALS: &[Rule] = &[
    credential!(
        "credential-kind",
        "has(c.sshPublicKey) == has(c.userPassword)",
        "",
        "a credential is one thing; give either sshPublicKey or userPassword"
    ),
    credential!(
        "key-source",
        "has(c.sshPublicKey) && !c.sshPublicKey.?source.?secret.hasValue()",
        ".sshPublicKey.source",
        "nothing says where the key is; give secret"
    ),
    credential!(
        "key-way",
        "has(c.sshPublicKey) && ['noCloud', 'configDrive', 'qemuGuestAgent'].filter(k, k in c.sshPublicKey.?propagationMethod.orValue({})).size() != 1",
        ".sshPublicKey.propagationMethod",
        "the key goes one way into the guest; give exactly one of noCloud, configDrive and qemuGuestAgent"
    ),
    credential!(
        "key-no-cloud",
        "c.?sshPublicKey.?propagationMethod.?noCloud.hasValue() && !$volumes.exists(v, has(v.cloudInitNoCloud))",
        ".sshPublicKey.propagationMethod",
        "noCloud puts the key on a cloudInitNoCloud volume, and there is none; add one"
    ),
    credential!(
        "key-config-drive",
        "c.?sshPublicKey.?propagationMethod.?configDrive.hasValue() && !$volumes.exists(v, has(v.cloudInitConfigDrive))",
        ".sshPublicKey.propagationMethod",
        "configDrive puts the key on a cloudInitConfigDrive volume, and there is none; add one"
    ),
    credential!(
        "key-users",
        "c.?sshPublicKey.?propagationMethod.?qemuGuestAgent.hasValue() && \
         c.sshPublicKey.propagationMethod.qemuGuestAgent.?users.orValue([]) == []",
        ".sshPublicKey.propagationMethod.qemuGuestAgent.users",
        "name the users of the guest that get the key"
    ),
    credential!(
        "password-source",
        "has(c.userPassword) && !c.userPassword.?source.?secret.hasValue()",
        ".userPassword.source",
        "nothing says where the password is; give secret"
    ),
    credential!(
        "password-way",
        "has(c.userPassword) && !c.userPassword.?propagationMethod.?qemuGuestAgent.hasValue()",
        ".userPassword.propagationMethod",
        "nothing says how the password gets into the guest; give qemuGuestAgent"
    ),
];

const NAMES: &[Rule] = &[
    Rule::one(
        "hostname",
        concat!("$spec.?hostname.orValue('') != '' && ", no_dns_label!("$spec.hostname")),
        "spec.hostname",
        "\"{$spec.hostname}\" is no host name; use at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends",
    ),
    Rule::one(
        "subdomain",
        concat!("$spec.?subdomain.orValue('') != '' && ", no_dns_subdomain!("$spec.subdomain")),
        "spec.subdomain",
        "\"{$spec.subdomain}\" is no subdomain; use at most 253 lower-case letters, digits, dashes and dots",
    ),
    Rule::one(
        "service-account-name",
        concat!("$spec.?serviceAccountName.orValue('') != '' && ", no_dns_subdomain!("$spec.serviceAccountName")),
        "spec.serviceAccountName",
        "\"{$spec.serviceAccountName}\" is no name of a service account; use at most 253 lower-case letters, digits, dashes and dots",
    ),
    Rule::one(
        "service-account-volume",
        "$spec.?serviceAccountName.orValue('') != '' && $volumes.exists(v, has(v.serviceAccount) && \
         v.serviceAccount.?serviceAccountName.orValue('') != $spec.serviceAccountName)",
        "spec.serviceAccountName",
        "the pod runs as \"{$spec.serviceAccountName}\", so its volume cannot hold the token of another account; name the same",
    ),
];

const OTHERS: &[Rule] = &[
    Rule::one(
        "start-strategy",
        "$spec.?startStrategy.hasValue() && $spec.startStrategy != 'Paused'",
        "spec.startStrategy",
        "\"{$spec.startStrategy}\" is no way to start; give Paused, or leave it out",
    ),
    Rule::one(
        "paused-liveness",
        "$spec.?startStrategy.orValue('') == 'Paused' && $spec.?livenessProbe.hasValue()",
        "spec.startStrategy",
        "a paused guest does not answer its livenessProbe and would be killed; leave one of them out",
    ),
    Rule::one(
        "eviction-strategy",
        "!($spec.?evictionStrategy.orValue($complete ? $default_eviction : 'None') in \
         ['None', 'LiveMigrate', 'LiveMigrateIfPossible', 'External'])",
        "spec.evictionStrategy",
        "the strategy is unknown; give one of None, LiveMigrate, LiveMigrateIfPossible and External",
    ),
    Rule::one(
        "utility-volumes",
        "$spec.?utilityVolumes.orValue([]) != []",
        "spec.utilityVolumes",
        "utility volumes are attached to a running guest only; leave them out",
    ),
];

/// Labels and annotations of instances and of templates of machines.
pub(super) const METADATA: &[Area] = &[Area::always(LABELS)];

const LABELS: &[Rule] = &[
    Rule::one(
        "reserved-labels",
        "!$by_component && $reserved_labels.exists(l, l in $metadata.?labels.orValue({}))",
        "metadata.labels",
        "{$reserved_labels.filter(l, l in $metadata.?labels.orValue({})).join(', ')} is set by KubeVirt itself; leave it out",
    ),
    Rule::gated("ignition", Gate::Ignition, "$metadata.?annotations[?$ignition_annotation].orValue('') != ''", "metadata.annotations"),
    Rule::gated("sidecars", Gate::Sidecar, "$metadata.?annotations[?$sidecars_annotation].orValue('') != ''", "metadata.annotations"),
];
