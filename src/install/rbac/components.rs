//! What the components may do: what their work needs and no more. None reads the secrets of users.

use super::{Binding, Role, Rule, Subject};

const LIST: &[&str] = &["list", "watch"];
const READ: &[&str] = &["get", "list", "watch"];
const CHANGE: &[&str] = &["get", "list", "watch", "patch", "update"];
const OWN: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete"];

const CORE: &str = "kubevirt.io";
const SNAPSHOT: &str = "snapshot.kubevirt.io";
const INSTANCETYPE: &str = "instancetype.kubevirt.io";
const INSTANCETYPES: &[&str] =
    &["virtualmachineinstancetypes", "virtualmachineclusterinstancetypes", "virtualmachinepreferences", "virtualmachineclusterpreferences"];

/// The service accounts.
pub(super) const ACCOUNTS: [&str; 3] = [API, CONTROLLER, HANDLER];
const API: &str = "kubevirt-apiserver";
const CONTROLLER: &str = "kubevirt-controller";
const HANDLER: &str = "kubevirt-handler";

/// In the whole cluster.
pub(super) const CLUSTER: &[Role] = &[
    Role::new(
        API,
        &[
            Rule::new("", &["pods"], &["get", "list", "patch"]),
            Rule::new("", &["persistentvolumeclaims", "limitranges", "namespaces"], READ),
            Rule::new("", &["nodes"], &["get"]),
            Rule::new(CORE, &["virtualmachines", "virtualmachineinstances"], CHANGE),
            Rule::new(CORE, &["virtualmachines/status"], &["patch", "update"]),
            Rule::new(CORE, &["virtualmachineinstancemigrations"], &["create", "get", "list", "watch", "patch"]),
            Rule::new(CORE, &["virtualmachineinstancepresets", "virtualmachineinstancereplicasets", "kubevirts"], READ),
            Rule::new(SNAPSHOT, &["virtualmachinesnapshots", "virtualmachinerestores", "virtualmachinesnapshotcontents"], READ),
            Rule::new("backup.kubevirt.io", &["virtualmachinebackups", "virtualmachinebackuptrackers"], READ),
            Rule::new("cdi.kubevirt.io", &["datasources", "datavolumes"], READ),
            Rule::new(INSTANCETYPE, INSTANCETYPES, READ),
            Rule::new("migrations.kubevirt.io", &["migrationpolicies"], READ),
            Rule::new("pool.kubevirt.io", &["virtualmachinepools"], READ),
            Rule::new("plugin.kubevirt.io", &["plugins"], READ),
            Rule::new("apps", &["controllerrevisions"], &["create", "list", "get"]),
            Rule::new("apiextensions.k8s.io", &["customresourcedefinitions"], READ),
        ],
    ),
    Role::new(
        CONTROLLER,
        &[
            Rule::new("", &["namespaces"], READ),
            Rule::new("", &["pods", "configmaps", "services"], OWN),
            Rule::new("", &["pods/finalizers"], &["update"]),
            Rule::new("", &["pods/eviction"], &["create"]),
            Rule::new("", &["pods/status"], &["patch"]),
            Rule::new("", &["events"], &["create", "update", "patch"]),
            Rule::new("", &["secrets"], &["create"]),
            Rule::new("", &["nodes"], CHANGE),
            Rule::new("", &["persistentvolumeclaims"], OWN),
            Rule::new("", &["resourcequotas", "limitranges"], LIST),
            Rule::new("policy", &["poddisruptionbudgets"], OWN),
            Rule::new("apps", &["daemonsets"], &["list"]),
            Rule::new("apps", &["controllerrevisions"], OWN),
            Rule::new("batch", &["jobs"], &["create", "get", "delete"]),
            Rule::new("authorization.k8s.io", &["subjectaccessreviews"], &["create"]),
            Rule::new("apiextensions.k8s.io", &["customresourcedefinitions"], READ),
            Rule::new("storage.k8s.io", &["storageclasses"], READ),
            Rule::new("resource.k8s.io", &["resourceslices", "resourceclaims"], READ),
            Rule::new(
                CORE,
                &[
                    "virtualmachines",
                    "virtualmachines/status",
                    "virtualmachines/finalizers",
                    "virtualmachineinstances",
                    "virtualmachineinstances/finalizers",
                    "virtualmachineinstancereplicasets",
                    "virtualmachineinstancereplicasets/status",
                    "virtualmachineinstancereplicasets/finalizers",
                    "virtualmachineinstancemigrations",
                    "virtualmachineinstancemigrations/status",
                    "virtualmachineinstancemigrations/finalizers",
                ],
                OWN,
            ),
            Rule::new(CORE, &["virtualmachineinstancepresets", "kubevirts"], READ),
            Rule::new(
                "pool.kubevirt.io",
                &["virtualmachinepools", "virtualmachinepools/status", "virtualmachinepools/scale", "virtualmachinepools/finalizers"],
                OWN,
            ),
            Rule::new(
                SNAPSHOT,
                &[
                    "virtualmachinesnapshots",
                    "virtualmachinesnapshots/status",
                    "virtualmachinesnapshots/finalizers",
                    "virtualmachinesnapshotcontents",
                    "virtualmachinesnapshotcontents/status",
                    "virtualmachinesnapshotcontents/finalizers",
                    "virtualmachinerestores",
                    "virtualmachinerestores/status",
                ],
                OWN,
            ),
            Rule::new(
                "export.kubevirt.io",
                &["virtualmachineexports", "virtualmachineexports/status", "virtualmachineexports/finalizers"],
                OWN,
            ),
            Rule::new(
                "backup.kubevirt.io",
                &[
                    "virtualmachinebackups",
                    "virtualmachinebackups/status",
                    "virtualmachinebackups/finalizers",
                    "virtualmachinebackuptrackers",
                    "virtualmachinebackuptrackers/status",
                ],
                OWN,
            ),
            Rule::new(
                "clone.kubevirt.io",
                &["virtualmachineclones", "virtualmachineclones/status", "virtualmachineclones/finalizers"],
                &["get", "list", "watch", "update", "patch", "delete"],
            ),
            Rule::new(INSTANCETYPE, INSTANCETYPES, READ),
            Rule::new("migrations.kubevirt.io", &["migrationpolicies"], READ),
            Rule::new("plugin.kubevirt.io", &["plugins"], READ),
            Rule::new(
                "subresources.kubevirt.io",
                &[
                    "virtualmachines/stop",
                    "virtualmachineinstances/addvolume",
                    "virtualmachineinstances/removevolume",
                    "virtualmachineinstances/backup",
                    "virtualmachineinstances/redefine-checkpoint",
                    "virtualmachineinstances/freeze",
                    "virtualmachineinstances/unfreeze",
                    "virtualmachineinstances/reset",
                    "virtualmachineinstances/softreboot",
                ],
                &["update"],
            ),
            Rule::new("cdi.kubevirt.io", &["datavolumes"], OWN),
            Rule::new("cdi.kubevirt.io", &["datasources", "storageprofiles", "cdiconfigs"], READ),
            // CDI asks whether who starts a clone of a disk may read its source
            Rule::new("cdi.kubevirt.io", &["datavolumes/source"], &["create"]),
            Rule::new("snapshot.storage.k8s.io", &["volumesnapshotclasses"], READ),
            Rule::new("snapshot.storage.k8s.io", &["volumesnapshots"], OWN),
        ],
    ),
    Role::new(
        HANDLER,
        &[
            Rule::new(CORE, &["virtualmachineinstances"], CHANGE),
            Rule::new(CORE, &["virtualmachines"], &["get"]),
            Rule::new(CORE, &["kubevirts"], READ),
            Rule::new("", &["nodes"], &["get", "list", "watch", "patch"]),
            Rule::new("", &["events"], &["create", "patch"]),
            Rule::new("migrations.kubevirt.io", &["migrationpolicies"], READ),
            Rule::new("plugin.kubevirt.io", &["plugins"], READ),
            Rule::new(
                "backup.kubevirt.io",
                &["virtualmachinebackuptrackers", "virtualmachinebackuptrackers/status"],
                &["list", "watch", "patch"],
            ),
        ],
    ),
];

/// Roles of the cluster for components.
pub(super) const CLUSTER_BINDINGS: &[Binding] = &[
    Binding { name: API, role: API, subject: Subject::Account(API) },
    Binding { name: "kubevirt-apiserver-auth-delegator", role: "system:auth-delegator", subject: Subject::Account(API) },
    Binding { name: CONTROLLER, role: CONTROLLER, subject: Subject::Account(CONTROLLER) },
    Binding { name: HANDLER, role: HANDLER, subject: Subject::Account(HANDLER) },
];

const CONFIG_MAPS: Rule = Rule::new("", &["configmaps"], READ);

/// In the namespace of the installation.
pub(super) const HOME: &[Role] = &[
    Role::new(API, &[CONFIG_MAPS]),
    Role::new(
        CONTROLLER,
        &[
            CONFIG_MAPS,
            Rule::new("", &["secrets"], READ),
            Rule::new("coordination.k8s.io", &["leases"], OWN),
            Rule::new("networking.k8s.io", &["ingresses"], READ),
            Rule::new("route.openshift.io", &["routes"], READ),
        ],
    ),
    Role::new(HANDLER, &[CONFIG_MAPS]),
];

/// Roles of the installation's namespace for components.
pub(super) const HOME_BINDINGS: &[Binding] = &[
    Binding { name: API, role: API, subject: Subject::Account(API) },
    Binding { name: CONTROLLER, role: CONTROLLER, subject: Subject::Account(CONTROLLER) },
    Binding { name: HANDLER, role: HANDLER, subject: Subject::Account(HANDLER) },
];

/// An aggregated API server learns from a ConfigMap of the cluster whom to believe about users.
pub(super) const AUTHENTICATION: Binding = Binding {
    name: "kubevirt-apiserver-authentication",
    role: "extension-apiserver-authentication-reader",
    subject: Subject::Account(API),
};
