//! Devices that are claimed (dynamic resource allocation): the claims, and who takes what from them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Rule, Subject, closed};
use crate::admission::validate::naming;
use crate::admission::{Cause, Path};
use crate::api::v1::VirtualMachineInstanceResourceClaim;
use crate::config::Gate;

pub(super) const RULES: &[Rule] = &[claims, devices];

fn claims(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key("resourceClaims");
    let mut names = BTreeSet::new();
    for (i, claim) in s.spec.resource_claims.iter().enumerate() {
        let at = list.index(i);
        if claim.name.is_empty() {
            causes.push(Cause::required(at.key("name"), "give the claim a name that devices can refer to"));
        } else if !names.insert(claim.name.as_str()) {
            causes
                .push(Cause::duplicate(at.key("name"), format!("{:?} is the name of an earlier claim, too; take another one", claim.name)));
        } else if let Err(right) = naming::dns_label(&claim.name) {
            causes.push(Cause::invalid(at.key("name"), format!("{:?} is no name of a claim; {right}", claim.name)));
        }
        source(&at, claim, causes);
    }
}

fn source(at: &Path, claim: &VirtualMachineInstanceResourceClaim, causes: &mut Vec<Cause>) {
    let sources = [("resourceClaimName", &claim.resource_claim_name), ("resourceClaimTemplateName", &claim.resource_claim_template_name)];
    match sources.iter().filter(|(_, name)| name.is_some()).count() {
        1 => {}
        0 => causes.push(Cause::invalid(at, "nothing says what is claimed; give resourceClaimName or resourceClaimTemplateName")),
        _ => causes.push(Cause::invalid(at, "both resourceClaimName and resourceClaimTemplateName are given; leave one of them out")),
    }
    for (key, name) in sources {
        if let Some(name) = name
            && let Err(right) = naming::dns_subdomain(name)
        {
            causes.push(Cause::invalid(at.key(key), format!("{name:?} is no name of an object; {right}")));
        }
    }
}

/// A device that is either named by the resource of a device plugin or taken from a claim.
struct Device<'a> {
    resource: &'a str,
    claim: &'a str,
    request: &'a str,
}

impl Device<'_> {
    fn has_claim(&self) -> bool {
        !self.claim.is_empty() || !self.request.is_empty()
    }

    fn is_claimed(&self) -> bool {
        self.resource.is_empty() && self.has_claim()
    }
}

/// One list of devices.
struct List<'a> {
    key: &'static str,
    gate: Gate,
    /// Whether both kinds may stand side by side.
    mixes: bool,
    devices: Vec<Device<'a>>,
}

/// Requests of claims, and who took them first.
type Taken<'a> = BTreeMap<(&'a str, &'a str), String>;

fn devices(s: &Subject, causes: &mut Vec<Cause>) {
    let (gpus, hosts) = (&s.devices().gpus, &s.devices().host_devices);
    let gpus = gpus.iter().map(|d| Device { resource: &d.device_name, claim: &d.claim_name, request: &d.request_name }).collect();
    let hosts = hosts.iter().map(|d| Device { resource: &d.device_name, claim: &d.claim_name, request: &d.request_name }).collect();
    let lists = [
        List { key: "domain.devices.gpus", gate: Gate::GpusWithDra, mixes: false, devices: gpus },
        List { key: "domain.devices.hostDevices", gate: Gate::HostDevicesWithDra, mixes: true, devices: hosts },
    ];
    let mut taken = Taken::new();
    let mut used = BTreeSet::new();
    for list in &lists {
        judge(&s.at.key(list.key), list, s, &mut taken, &mut used, causes);
    }
    if s.enabled(Gate::NetworkDevicesWithDra) {
        networks(s, &mut taken, causes);
    }
    let known = |name: &&str| s.spec.resource_claims.iter().any(|claim| claim.name == **name);
    if let Some(missing) = used.iter().find(|name| !known(name)) {
        let message = format!("there is no claim {missing:?}, which a device is taken from; add it here");
        causes.push(Cause::invalid(s.at.key("resourceClaims"), message));
    }
}

fn judge<'a>(at: &Path, list: &List<'a>, s: &Subject, taken: &mut Taken<'a>, used: &mut BTreeSet<&'a str>, causes: &mut Vec<Cause>) {
    let claimed = list.devices.iter().filter(|d| d.is_claimed()).count();
    if !list.mixes && claimed > 0 && claimed < list.devices.len() {
        causes.push(Cause::invalid(at, "some devices are claimed and some named; name all of them by deviceName, or claim all of them"));
        return;
    }
    for device in list.devices.iter().filter(|d| !d.is_claimed()) {
        if device.resource.is_empty() {
            causes.push(Cause::required(at, "a device says neither its deviceName nor the claim that it is taken from; give one of them"));
        } else if device.has_claim() {
            causes.push(Cause::invalid(at, format!("{:?} has both a deviceName and a claim; leave one of them out", device.resource)));
        }
    }
    if claimed > 0 && !s.enabled(list.gate) {
        causes.push(Cause::invalid(at, closed(list.gate)));
        return;
    }
    for (i, device) in list.devices.iter().enumerate().filter(|(_, d)| d.is_claimed()) {
        let at = at.index(i);
        for (key, value) in [("claimName", device.claim), ("requestName", device.request)] {
            if value.is_empty() {
                causes.push(Cause::required(at.key(key), "name the claim and the request in it that the device is taken from"));
            }
        }
        if !device.claim.is_empty() && !device.request.is_empty() {
            used.insert(device.claim);
            take(&at, (device.claim, device.request), taken, causes);
        }
    }
}

fn networks<'a>(s: &Subject<'a>, taken: &mut Taken<'a>, causes: &mut Vec<Cause>) {
    let list = s.at.key("networks");
    let mut own = BTreeSet::new();
    for (i, claim) in s.spec.networks.iter().enumerate().filter_map(|(i, n)| Some((i, n.resource_claim.as_ref()?))) {
        let pair = (claim.claim_name.as_str(), claim.request_name.as_str());
        // What two networks both take is told among the networks.
        if !pair.0.is_empty() && !pair.1.is_empty() && own.insert(pair) {
            take(&list.index(i), pair, taken, causes);
        }
    }
}

fn take<'a>(at: &Path, pair: (&'a str, &'a str), taken: &mut Taken<'a>, causes: &mut Vec<Cause>) {
    match taken.get(&pair) {
        Some(first) => {
            let message = format!("request {:?} of claim {:?} is already taken by {first}; take another one", pair.1, pair.0);
            causes.push(Cause::duplicate(at, message));
        }
        None => {
            taken.insert(pair, at.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, check_with};
    use super::*;
    use serde_json::{Value, json};

    fn with(gpus: Value, hosts: Value) -> Value {
        json!({"domain": {"devices": {"gpus": gpus, "hostDevices": hosts}}, "resourceClaims": [{"name": "c", "resourceClaimName": "rc"}]})
    }

    #[test]
    fn claims_are_named_and_of_one_source() {
        let claims = |list: Value| json!({"resourceClaims": list});
        check(
            RULES,
            &[],
            &[
                (claims(json!([{"name": "a", "resourceClaimName": "b"}])), &[]),
                (claims(json!([{"name": "", "resourceClaimName": "b"}])), &["s.resourceClaims[0].name"]),
                (claims(json!([{"name": "A", "resourceClaimName": "b"}])), &["s.resourceClaims[0].name"]),
                (
                    claims(json!([{"name": "a", "resourceClaimName": "b"}, {"name": "a", "resourceClaimName": "b"}])),
                    &["s.resourceClaims[1].name"],
                ),
                (claims(json!([{"name": "a"}])), &["s.resourceClaims[0]"]),
                (claims(json!([{"name": "a", "resourceClaimName": "b", "resourceClaimTemplateName": "c"}])), &["s.resourceClaims[0]"]),
                (claims(json!([{"name": "a", "resourceClaimTemplateName": "C"}])), &["s.resourceClaims[0].resourceClaimTemplateName"]),
            ],
        );
    }

    #[test]
    fn devices_are_named_or_claimed() {
        const GPUS: &str = "s.domain.devices.gpus";
        let claimed = |request: &str| json!({"name": "d", "claimName": "c", "requestName": request});
        check(
            RULES,
            &[],
            &[
                (with(json!([{"name": "a", "deviceName": "v/d"}]), json!([claimed("r")])), &[]),
                (with(json!([{"name": "a"}]), json!([])), &[GPUS]),
                (with(json!([{"name": "a", "deviceName": "v/d", "claimName": "c"}]), json!([])), &[GPUS]),
                (with(json!([{"name": "a", "deviceName": "v/d"}, claimed("r")]), json!([])), &[GPUS]),
                (with(json!([{"name": "a", "claimName": "c"}]), json!([])), &["s.domain.devices.gpus[0].requestName"]),
                (with(json!([claimed("r"), claimed("r")]), json!([])), &["s.domain.devices.gpus[1]"]),
                (with(json!([claimed("r")]), json!([claimed("r")])), &["s.domain.devices.hostDevices[0]"]),
                (with(json!([{"name": "a", "claimName": "x", "requestName": "r"}]), json!([])), &["s.resourceClaims"]),
            ],
        );
        let off = json!({"developerConfiguration": {"disabledFeatureGates": ["GPUsWithDRA"]}});
        check_with(RULES, off, &[(with(json!([claimed("r")]), json!([])), &[GPUS])]);
    }
}
