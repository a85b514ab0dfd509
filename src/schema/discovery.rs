//! The discovery documents of the aggregated API: what clients read before they ask for anything.

use kubevirt_api::names::SUBRESOURCE_GROUP;
use serde_json::{Value, json};

use super::operations::{OPERATIONS, VERSIONS};

/// The group with its versions: `GET /apis/subresources.kubevirt.io`.
pub fn group() -> Value {
    let version = |version: &&str| json!({"groupVersion": format!("{SUBRESOURCE_GROUP}/{version}"), "version": version});
    json!({
        "apiVersion": "v1",
        "kind": "APIGroup",
        "name": SUBRESOURCE_GROUP,
        "versions": VERSIONS.iter().map(version).collect::<Vec<_>>(),
        "preferredVersion": VERSIONS.first().map(version),
    })
}

/// All groups of the server: `GET /apis`.
pub fn groups() -> Value {
    json!({"apiVersion": "v1", "kind": "APIGroupList", "groups": [group()]})
}

/// The resources of a version: `GET /apis/subresources.kubevirt.io/v1`.
///
/// They have no kind of their own, and no verbs: clients that list or delete everything are to pass them by.
pub fn resources(version: &str) -> Value {
    let resource = |name: String| json!({"name": name, "singularName": "", "namespaced": true, "kind": "", "verbs": []});
    let listed = OPERATIONS.iter().filter(|o| o.listed);
    // What follows a parameter's brace is no part of the resource.
    let names = listed.map(|o| format!("{}{}", o.of.resource(), o.path.split("/{").next().unwrap_or(o.path)));
    json!({
        "apiVersion": "v1",
        "kind": "APIResourceList",
        "groupVersion": format!("{SUBRESOURCE_GROUP}/{version}"),
        "resources": names.map(resource).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn both_versions_have_the_same_resources_each_once() {
        let names = |version| -> Vec<String> {
            resources(version)["resources"].as_array().unwrap().iter().map(|r| r["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names("v1"), names("v1alpha3"));
        assert_eq!(names("v1").iter().collect::<BTreeSet<_>>().len(), 31);
        assert!(names("v1").contains(&"virtualmachineinstances/portforward".to_owned()));
        assert!(names("v1").contains(&"expand-vm-spec".to_owned()));
    }

    #[test]
    fn the_stable_version_is_preferred() {
        assert_eq!(group()["preferredVersion"]["groupVersion"], "subresources.kubevirt.io/v1");
        assert_eq!(group()["versions"].as_array().map(Vec::len), Some(2));
    }
}
