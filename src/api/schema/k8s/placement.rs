//! Where a pod may run.

use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodAffinity, PodAffinityTerm, PodAntiAffinity,
    PreferredSchedulingTerm, Toleration, TopologySpreadConstraint, WeightedPodAffinityTerm,
};
use kubevirt_api_macros::mirror;

mirror! {
    /// Where the scheduler must, should or must not place a pod.
    Affinity {
        /// Which nodes are wanted, by their labels.
        node_affinity,
        /// Beside which pods to run.
        pod_affinity,
        /// Away from which pods to run.
        pod_anti_affinity,
    }

    /// Which nodes are wanted, by their labels.
    NodeAffinity {
        /// Nodes to prefer. The node with the largest sum of weights wins.
        preferred_during_scheduling_ignored_during_execution,
        /// Nodes to choose among. A pod that runs stays when the node's labels change.
        required_during_scheduling_ignored_during_execution,
    }

    /// A node that is preferred, and how much.
    PreferredSchedulingTerm {
        /// Which nodes the weight counts for.
        #[api(required)]
        preference,
        /// How much the preference counts, from 1 to 100.
        #[api(required)]
        weight,
    }

    /// Terms of which a node must match one.
    #[api(atomic)]
    NodeSelector {
        /// The terms; a node that matches one of them will do.
        #[api(required)]
        node_selector_terms,
    }

    /// Requirements that a node must all meet. A term without any matches no node.
    #[api(atomic)]
    NodeSelectorTerm {
        /// Requirements on the node's labels.
        match_expressions,
        /// Requirements on the node's fields; only metadata.name is known.
        match_fields,
    }

    /// One requirement on a label or a field of a node.
    NodeSelectorRequirement {
        /// The label or field.
        #[api(required)]
        key,
        /// How its value relates to the values: In, NotIn, Exists, DoesNotExist, Gt or Lt.
        #[api(required)]
        operator,
        /// The values: some for In and NotIn, none for Exists and DoesNotExist, one whole number for Gt and Lt.
        values,
    }

    /// Beside which pods to run.
    PodAffinity {
        /// Pods to prefer as neighbours. The node with the largest sum of weights wins.
        preferred_during_scheduling_ignored_during_execution,
        /// Pods that must be neighbours; all terms must be met.
        required_during_scheduling_ignored_during_execution,
    }

    /// Away from which pods to run.
    PodAntiAffinity {
        /// Pods to avoid if possible. The node with the smallest sum of weights wins.
        preferred_during_scheduling_ignored_during_execution,
        /// Pods that must not be neighbours; all terms must be met.
        required_during_scheduling_ignored_during_execution,
    }

    /// Neighbours that are preferred, and how much.
    WeightedPodAffinityTerm {
        /// Which pods, and what makes them neighbours.
        #[api(required)]
        pod_affinity_term,
        /// How much the preference counts, from 1 to 100.
        #[api(required)]
        weight,
    }

    /// Which pods are meant, and what makes a node their neighbour.
    PodAffinityTerm {
        /// The pods, by their labels. Unset: none.
        label_selector,
        /// Labels whose values are taken from the new pod and added to the selector as "is one of".
        match_label_keys,
        /// Labels whose values are taken from the new pod and added to the selector as "is none of".
        mismatch_label_keys,
        /// The namespaces of the pods, by their labels; added to those named. Empty: all namespaces.
        namespace_selector,
        /// The namespaces of the pods by name. With neither names nor a selector: the new pod's own.
        namespaces,
        /// The node label that makes neighbours: nodes with the same value are one place.
        #[api(required)]
        topology_key,
    }

    /// A taint of nodes that the pod puts up with.
    Toleration {
        /// The effect of the taint: NoSchedule, PreferNoSchedule or NoExecute. Empty: every effect.
        effect,
        /// The key of the taint. Empty, with the operator Exists: every taint.
        key,
        /// How the taint's value is compared: Equal (default) or Exists, which takes any value.
        operator,
        /// For NoExecute: after how many seconds the pod is evicted nevertheless. Unset: never; 0 or less: at once.
        toleration_seconds,
        /// The value of the taint, for Equal.
        value,
    }

    /// How evenly pods are spread.
    TopologySpreadConstraint {
        /// The pods that are counted, by their labels.
        label_selector,
        /// Labels whose values are taken from the new pod and added to the selector.
        match_label_keys,
        /// By how many the places with the most and the fewest pods may differ; at least 1.
        #[api(required)]
        max_skew,
        /// How many places there must be before the difference is computed; with fewer, the fewest counts as 0. Default: 1.
        min_domains,
        /// Whether nodes that the pod's node affinity and selector rule out count: Honor (default: they do not) or Ignore.
        node_affinity_policy,
        /// Whether nodes with taints that the pod does not tolerate count: Honor (they do not) or Ignore (default).
        node_taints_policy,
        /// The node label that makes a place: nodes with the same value are one.
        #[api(required)]
        topology_key,
        /// What to do when the limit cannot be kept: DoNotSchedule or ScheduleAnyway (prefer what brings it down).
        #[api(required)]
        when_unsatisfiable,
    }
}
