//! Rules for instance types, of a namespace and of the cluster.

use crate::admission::{Cause, Findings, Request};
use crate::api::instancetype::{VirtualMachineClusterInstancetype, VirtualMachineInstancetype, VirtualMachineInstancetypeSpec};

/// Tools match on the words, so they are KubeVirt's.
const LAUNCH_SECURITY_DEPRECATED: &str = "launchSecurity is deprecated and will be removed in a future release. Use preference instead.";

/// Judges an instance type of a namespace.
pub fn judge(it: &VirtualMachineInstancetype, _: Option<&VirtualMachineInstancetype>, _: &Request, findings: &mut Findings) {
    judge_spec(&it.spec, findings);
}

/// Judges an instance type of the cluster.
pub fn judge_cluster(
    it: &VirtualMachineClusterInstancetype,
    _: Option<&VirtualMachineClusterInstancetype>,
    _: &Request,
    findings: &mut Findings,
) {
    judge_spec(&it.spec, findings);
}

fn judge_spec(spec: &VirtualMachineInstancetypeSpec, findings: &mut Findings) {
    const OVERCOMMIT: &str = "spec.memory.overcommitPercent";
    let percent = spec.memory.overcommit_percent;
    if !(0..=100).contains(&percent) {
        findings.deny(Cause::invalid(OVERCOMMIT, format!("{percent} is no share of the memory; it must be between 0 and 100")));
    }
    if percent != 0 && spec.memory.hugepages.is_some() {
        let text = "huge pages are reserved one for one and cannot be overcommitted; remove this or spec.memory.hugepages";
        findings.deny(Cause::invalid(OVERCOMMIT, text));
    }
    if findings.causes.is_empty() && spec.launch_security.is_some() {
        findings.warn(LAUNCH_SECURITY_DEPRECATED);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::admission::review;
    use crate::admission::testing::{denied, request};

    #[test]
    fn memory_is_overcommitted_by_a_share_of_what_is_not_reserved() {
        for kind in ["VirtualMachineInstancetype", "VirtualMachineClusterInstancetype"] {
            for (percent, hugepages, faults) in
                [(0, false, 0), (50, false, 0), (100, false, 0), (-1, false, 1), (101, false, 1), (0, true, 0), (50, true, 1)]
            {
                let hugepages = hugepages.then(|| json!({"pageSize": "2Mi"}));
                let memory = json!({"guest": "1Gi", "overcommitPercent": percent, "hugepages": hugepages});
                let object = json!({"metadata": {"name": "i"}, "spec": {"cpu": {"guest": 1}, "memory": memory}});
                let got = denied(kind, &object, &json!({}), &json!([]));
                assert_eq!(got, vec!["spec.memory.overcommitPercent"; faults], "{kind} {percent}");
            }
        }
    }

    #[test]
    fn what_will_go_is_warned_of() {
        let object =
            json!({"metadata": {"name": "i"}, "spec": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}, "launchSecurity": {"sev": {}}}});
        let warnings = request("VirtualMachineClusterInstancetype", &object, |request| review(request).warnings);
        assert_eq!(warnings, [super::LAUNCH_SECURITY_DEPRECATED]);
    }
}
