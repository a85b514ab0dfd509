//! Where the pod may run: affinities and topology spread constraints.

use super::super::forms::{no_dns_label, no_dns_subdomain, no_label_key, no_label_value};
use super::super::variables::Table;
use super::{Area, Rule};

/// The terms of affinities, selectors of labels among them, and the constraints of spreading.
pub(super) const VARIABLES: Table = &[
    ("node_affinity", "$spec.?affinity.?nodeAffinity.orValue({})"),
    ("node_preferred", "$node_affinity.?preferredDuringSchedulingIgnoredDuringExecution.orValue([])"),
    (
        "node_terms",
        "$node_affinity.?requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([]) + \
         $node_preferred.map(p, p.?preference.orValue({}))",
    ),
    (
        "pod_preferred",
        "$spec.?affinity.?podAffinity.?preferredDuringSchedulingIgnoredDuringExecution.orValue([]) + \
         $spec.?affinity.?podAntiAffinity.?preferredDuringSchedulingIgnoredDuringExecution.orValue([])",
    ),
    (
        "pod_terms",
        "$spec.?affinity.?podAffinity.?requiredDuringSchedulingIgnoredDuringExecution.orValue([]) + \
         $spec.?affinity.?podAntiAffinity.?requiredDuringSchedulingIgnoredDuringExecution.orValue([]) + \
         $pod_preferred.map(p, p.?podAffinityTerm.orValue({}))",
    ),
    ("spread", "$spec.?topologySpreadConstraints.orValue([])"),
    (
        "selectors",
        "($pod_terms + $spread).filter(t, has(t.labelSelector)).map(t, t.labelSelector) + \
         $pod_terms.filter(t, has(t.namespaceSelector)).map(t, t.namespaceSelector)",
    ),
    ("weighted", "$node_preferred + $pod_preferred"),
    ("node_requirements", "$node_terms.filter(t, has(t.matchExpressions)).map(t, t.matchExpressions)"),
    ("node_fields", "$node_terms.filter(t, has(t.matchFields)).map(t, t.matchFields)"),
    ("requirements", "$selectors.filter(s, has(s.matchExpressions)).map(s, s.matchExpressions)"),
];

/// The terms of affinities, and what is wrong with one of them.
macro_rules! term {
    ($id:literal, $terms:literal, $wrong:literal, $field:literal, $says:literal) => {
        Rule::one($id, concat!("$", $terms, ".exists(t, ", $wrong, ")"), concat!("spec.affinity.", $field), $says)
    };
}

macro_rules! requirement {
    ($id:literal, $list:literal, $key:literal, $wrong:expr, $field:literal, $says:literal) => {
        Rule::one(
            $id,
            concat!("$", $list, ".exists(l, l.exists(r, ", $wrong, "))"),
            concat!("spec.affinity.nodeAffinity.", $key, ".", $field),
            $says,
        )
    };
}

macro_rules! selector {
    ($id:literal, $wrong:expr, $field:literal, $says:literal) => {
        Rule::one(
            $id,
            concat!("$requirements.exists(l, l.exists(r, ", $wrong, "))"),
            concat!("spec.labelSelector.matchExpressions.", $field),
            $says,
        )
    };
}

pub(super) const AREAS: &[Area] = &[
    Area::when("$spec.?affinity.?nodeAffinity.hasValue()", NODES),
    Area::when("$spec.?tolerations.hasValue()", TOLERATIONS),
    Area::when("$spread != []", SPREAD),
    Area::when("$spec.?affinity.hasValue() || $spread != []", PODS),
];

const NODES: &[Rule] = &[
    Rule::one(
        "node-terms",
        "$spec.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution.hasValue() && \
         $spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([]) == []",
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
        "the list is empty, so no node fits; give at least one term",
    ),
    requirement!(
        "node-values",
        "node_requirements",
        "matchExpressions",
        "(r.?operator.orValue('') in ['In', 'NotIn'] && r.?values.orValue([]) == []) || \
         (r.?operator.orValue('') in ['Exists', 'DoesNotExist'] && r.?values.orValue([]) != []) || \
         (r.?operator.orValue('') in ['Gt', 'Lt'] && r.?values.orValue([]).size() != 1)",
        "values",
        "In and NotIn compare with values, Gt and Lt with one, Exists and DoesNotExist with none"
    ),
    requirement!(
        "node-operator",
        "node_requirements",
        "matchExpressions",
        "!(r.?operator.orValue('') in ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'])",
        "operator",
        "an operator is unknown; give In, NotIn, Exists, DoesNotExist, Gt or Lt"
    ),
    requirement!(
        "node-key",
        "node_requirements",
        "matchExpressions",
        no_label_key!("r.?key.orValue('')"),
        "key",
        "a key is none of a label; use a DNS name and a slash, or neither, and then at most 63 letters, digits, '-', '_' and '.'"
    ),
    requirement!(
        "node-field",
        "node_fields",
        "matchFields",
        "r.?key.orValue('') != 'metadata.name'",
        "key",
        "nodes can be selected by no other field than metadata.name"
    ),
    requirement!(
        "node-field-operator",
        "node_fields",
        "matchFields",
        "!(r.?operator.orValue('') in ['In', 'NotIn'])",
        "operator",
        "an operator does not work on fields of nodes; give In or NotIn"
    ),
    requirement!(
        "node-field-values",
        "node_fields",
        "matchFields",
        "r.?operator.orValue('') in ['In', 'NotIn'] && r.?values.orValue([]).size() != 1",
        "values",
        "a field of a node is compared with one value"
    ),
    requirement!(
        "node-field-name",
        "node_fields",
        "matchFields",
        concat!("r.?key.orValue('') == 'metadata.name' && r.?values.orValue([]).exists(v, ", no_dns_subdomain!("v"), ")"),
        "values",
        "a value is no name of a node; use at most 253 lower-case letters, digits, dashes and dots"
    ),
];

const TOLERATIONS: &[Rule] = &[Rule::one(
    "toleration-words",
    "$spec.?tolerations.orValue([]).exists(t, !(t.?operator.orValue('') in ['', 'Exists', 'Equal']) || \
         !(t.?effect.orValue('') in ['', 'NoSchedule', 'PreferNoSchedule', 'NoExecute']))",
    "spec.tolerations",
    "an operator or effect is unknown; give Exists or Equal, and NoSchedule, PreferNoSchedule or NoExecute",
)];

const SPREAD: &[Rule] = &[
    Rule::one(
        "spread-skew",
        "$spread.exists(t, t.?maxSkew.orValue(0) < 1)",
        "spec.topologySpreadConstraints.maxSkew",
        "a difference in numbers is none; give 1 or more",
    ),
    Rule::one(
        "spread-key",
        "$spread.exists(t, t.?topologyKey.orValue('') == '')",
        "spec.topologySpreadConstraints.topologyKey",
        "name the node label that tells places apart, such as kubernetes.io/hostname",
    ),
    Rule::one(
        "spread-action",
        "$spread.exists(t, !(t.?whenUnsatisfiable.orValue('') in ['DoNotSchedule', 'ScheduleAnyway']))",
        "spec.topologySpreadConstraints.whenUnsatisfiable",
        "an action is unknown; give DoNotSchedule or ScheduleAnyway",
    ),
    Rule::one(
        "spread-policies",
        "$spread.exists(t, !(t.?nodeAffinityPolicy.orValue('Honor') in ['Honor', 'Ignore']) || !(t.?nodeTaintsPolicy.orValue('Honor') in ['Honor', 'Ignore']))",
        "spec.topologySpreadConstraints.nodeAffinityPolicy, nodeTaintsPolicy",
        "a policy is unknown; give Honor or Ignore",
    ),
    Rule::one(
        "spread-once",
        "$spread.exists(t, $spread.filter(o, o.?topologyKey.orValue('') == t.?topologyKey.orValue('') && o.?whenUnsatisfiable.orValue('') == t.?whenUnsatisfiable.orValue('')).size() > 1)",
        "spec.topologySpreadConstraints.{topologyKey, whenUnsatisfiable}",
        "a constraint is given twice; merge the two",
    ),
];

const PODS: &[Rule] = &[
    term!(
        "affinity-weight",
        "weighted",
        "t.?weight.orValue(0) < 1 || t.?weight.orValue(0) > 100",
        "weight",
        "a term has no weight, or one that is none; give 1 to 100"
    ),
    term!(
        "topology-key-given",
        "pod_terms",
        "t.?topologyKey.orValue('') == ''",
        "topologyKey",
        "name the node label that tells places apart, such as kubernetes.io/hostname"
    ),
    Rule::one(
        "topology-key",
        concat!("($pod_terms + $spread).exists(t, t.?topologyKey.orValue('') != '' && ", no_label_key!("t.topologyKey"), ")"),
        "spec.affinity.topologyKey",
        "a key is none of a label; use a DNS name and a slash, or neither, and then at most 63 letters, digits, '-', '_' and '.'",
    ),
    Rule::one(
        "affinity-namespaces",
        concat!("$pod_terms.exists(t, t.?namespaces.orValue([]).exists(n, ", no_dns_label!("n"), "))"),
        "spec.affinity.namespace",
        "a name is none of a namespace; use at most 63 lower-case letters, digits and dashes",
    ),
    selector!(
        "selector-values",
        "(r.?operator.orValue('') in ['In', 'NotIn'] && r.?values.orValue([]) == []) || \
         (r.?operator.orValue('') in ['Exists', 'DoesNotExist'] && r.?values.orValue([]) != [])",
        "values",
        "In and NotIn compare with values, Exists and DoesNotExist with none"
    ),
    selector!(
        "selector-operator",
        "!(r.?operator.orValue('') in ['In', 'NotIn', 'Exists', 'DoesNotExist'])",
        "operator",
        "an operator is unknown; give In, NotIn, Exists or DoesNotExist"
    ),
    selector!(
        "selector-key",
        no_label_key!("r.?key.orValue('')"),
        "key",
        "a key is none of a label; use a DNS name and a slash, or neither, and then at most 63 letters, digits, '-', '_' and '.'"
    ),
    selector!(
        "selector-value",
        concat!("r.?values.orValue([]).exists(v, ", no_label_value!("v"), ")"),
        "values",
        "a value is none of a label; use at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"
    ),
    Rule::one(
        "selector-labels",
        concat!(
            "$selectors.exists(s, s.?matchLabels.orValue({}).exists(k, ",
            no_label_key!("k"),
            " || [s.matchLabels[k]].exists(v, ",
            no_label_value!("v"),
            ")))"
        ),
        "spec.labelSelector.matchLabels",
        "a key or a value is none of a label; use at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends",
    ),
];
