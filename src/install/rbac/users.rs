//! What users may do: the roles that an administrator binds, and that admin, edit and view of a namespace include.
//! Names and rules are KubeVirt's: whoever was given a role keeps what it gave.

use super::{Binding, Role, Rule, Subject};

const GET: &[&str] = &["get"];
const UPDATE: &[&str] = &["update"];
const LOOK: &[&str] = &["get", "list"];
const READ: &[&str] = &["get", "list", "watch"];
const EDIT: &[&str] = &["get", "delete", "create", "update", "patch", "list", "watch"];
const ALL: &[&str] = &["get", "delete", "create", "update", "patch", "list", "watch", "deletecollection"];

const CORE: &str = "kubevirt.io";
const SUBRESOURCES: &str = "subresources.kubevirt.io";
const INSTANCETYPE: &str = "instancetype.kubevirt.io";

// What several roles give, some to look at, some to change.
const CHANGE_GUEST: &[&str] = &[
    "virtualmachineinstances/pause",
    "virtualmachineinstances/unpause",
    "virtualmachineinstances/addvolume",
    "virtualmachineinstances/removevolume",
    "virtualmachineinstances/freeze",
    "virtualmachineinstances/unfreeze",
    "virtualmachineinstances/softreboot",
    "virtualmachineinstances/reset",
    "virtualmachineinstances/sev/setupsession",
    "virtualmachineinstances/sev/injectlaunchsecret",
    "virtualmachineinstances/evacuate/cancel",
];
const CHANGE_MACHINE: &[&str] = &[
    "virtualmachines/start",
    "virtualmachines/stop",
    "virtualmachines/restart",
    "virtualmachines/addvolume",
    "virtualmachines/removevolume",
    "virtualmachines/memorydump",
    "virtualmachines/evacuate/cancel",
];
const INSTANCETYPES: &[&str] =
    &["virtualmachineinstancetypes", "virtualmachineclusterinstancetypes", "virtualmachinepreferences", "virtualmachineclusterpreferences"];
const MACHINES: &[&str] =
    &["virtualmachines", "virtualmachineinstances", "virtualmachineinstancepresets", "virtualmachineinstancereplicasets"];
const SNAPSHOTS: &[&str] = &["virtualmachinesnapshots", "virtualmachinesnapshotcontents", "virtualmachinerestores"];

/// The roles.
pub(super) const ROLES: &[Role] = &[
    Role {
        name: "kubevirt.io:default",
        labels: &[("kubernetes.io/bootstrapping", "rbac-defaults")],
        annotations: &[("rbac.authorization.kubernetes.io/autoupdate", "true")],
        rules: &[Rule::new(CORE, &["kubevirts"], LOOK), Rule::new(SUBRESOURCES, &["version", "guestfs"], LOOK)],
    },
    Role {
        name: "kubevirt.io:admin",
        labels: &[("rbac.authorization.k8s.io/aggregate-to-admin", "true")],
        annotations: &[],
        rules: &[
            Rule::new(
                SUBRESOURCES,
                &[
                    "virtualmachineinstances/console",
                    "virtualmachineinstances/vnc",
                    "virtualmachineinstances/vnc/screenshot",
                    "virtualmachineinstances/portforward",
                    "virtualmachineinstances/guestosinfo",
                    "virtualmachineinstances/filesystemlist",
                    "virtualmachineinstances/userlist",
                    "virtualmachineinstances/sev/fetchcertchain",
                    "virtualmachineinstances/sev/querylaunchmeasurement",
                    "virtualmachineinstances/usbredir",
                    "virtualmachines/objectgraph",
                    "virtualmachineinstances/objectgraph",
                ],
                GET,
            ),
            Rule::new(SUBRESOURCES, CHANGE_GUEST, UPDATE),
            Rule::new(SUBRESOURCES, &["virtualmachines/expand-spec", "virtualmachines/portforward"], GET),
            Rule::new(SUBRESOURCES, CHANGE_MACHINE, UPDATE),
            Rule::new(SUBRESOURCES, &["expand-vm-spec"], UPDATE),
            Rule::new(CORE, MACHINES, ALL),
            Rule::new(CORE, &["virtualmachineinstancemigrations"], READ),
            Rule::new("snapshot.kubevirt.io", SNAPSHOTS, ALL),
            Rule::new("backup.kubevirt.io", &["virtualmachinebackups", "virtualmachinebackuptrackers"], ALL),
            Rule::new("plugin.kubevirt.io", &["plugins"], ALL),
            Rule::new("export.kubevirt.io", &["virtualmachineexports"], ALL),
            Rule::new("clone.kubevirt.io", &["virtualmachineclones"], ALL),
            Rule::new(INSTANCETYPE, INSTANCETYPES, ALL),
            Rule::new("pool.kubevirt.io", &["virtualmachinepools"], ALL),
            Rule::new("migrations.kubevirt.io", &["migrationpolicies"], READ),
        ],
    },
    Role {
        name: "kubevirt.io:edit",
        labels: &[("rbac.authorization.k8s.io/aggregate-to-edit", "true")],
        annotations: &[],
        rules: &[
            Rule::new(
                SUBRESOURCES,
                &[
                    "virtualmachineinstances/console",
                    "virtualmachineinstances/vnc",
                    "virtualmachineinstances/portforward",
                    "virtualmachineinstances/guestosinfo",
                    "virtualmachineinstances/filesystemlist",
                    "virtualmachineinstances/userlist",
                    "virtualmachineinstances/sev/fetchcertchain",
                    "virtualmachineinstances/sev/querylaunchmeasurement",
                    "virtualmachineinstances/usbredir",
                    "virtualmachines/objectgraph",
                    "virtualmachineinstances/objectgraph",
                ],
                GET,
            ),
            Rule::new(SUBRESOURCES, CHANGE_GUEST, UPDATE),
            Rule::new(SUBRESOURCES, &["virtualmachines/expand-spec", "virtualmachines/portforward"], GET),
            Rule::new(SUBRESOURCES, CHANGE_MACHINE, UPDATE),
            Rule::new(SUBRESOURCES, &["expand-vm-spec"], UPDATE),
            Rule::new(CORE, MACHINES, EDIT),
            Rule::new(CORE, &["virtualmachineinstancemigrations"], READ),
            Rule::new("snapshot.kubevirt.io", SNAPSHOTS, EDIT),
            Rule::new("backup.kubevirt.io", &["virtualmachinebackups", "virtualmachinebackuptrackers"], EDIT),
            Rule::new("export.kubevirt.io", &["virtualmachineexports"], EDIT),
            Rule::new("clone.kubevirt.io", &["virtualmachineclones"], EDIT),
            Rule::new(INSTANCETYPE, INSTANCETYPES, EDIT),
            Rule::new("pool.kubevirt.io", &["virtualmachinepools"], EDIT),
            Rule::new(CORE, &["kubevirts"], LOOK),
            Rule::new("migrations.kubevirt.io", &["migrationpolicies"], READ),
        ],
    },
    Role {
        name: "kubevirt.io:view",
        labels: &[("rbac.authorization.k8s.io/aggregate-to-view", "true")],
        annotations: &[],
        rules: &[
            Rule::new(CORE, &["kubevirts"], LOOK),
            Rule::new(
                SUBRESOURCES,
                &[
                    "virtualmachines/expand-spec",
                    "virtualmachineinstances/guestosinfo",
                    "virtualmachineinstances/filesystemlist",
                    "virtualmachineinstances/userlist",
                    "virtualmachineinstances/sev/fetchcertchain",
                    "virtualmachineinstances/sev/querylaunchmeasurement",
                    "virtualmachines/objectgraph",
                    "virtualmachineinstances/objectgraph",
                ],
                GET,
            ),
            Rule::new(SUBRESOURCES, &["expand-vm-spec"], UPDATE),
            Rule::new(
                CORE,
                &[
                    "virtualmachines",
                    "virtualmachineinstances",
                    "virtualmachineinstancepresets",
                    "virtualmachineinstancereplicasets",
                    "virtualmachineinstancemigrations",
                ],
                READ,
            ),
            Rule::new("snapshot.kubevirt.io", SNAPSHOTS, READ),
            Rule::new("backup.kubevirt.io", &["virtualmachinebackups", "virtualmachinebackuptrackers"], READ),
            Rule::new("export.kubevirt.io", &["virtualmachineexports"], READ),
            Rule::new("clone.kubevirt.io", &["virtualmachineclones"], READ),
            Rule::new(INSTANCETYPE, INSTANCETYPES, READ),
            Rule::new("pool.kubevirt.io", &["virtualmachinepools"], READ),
            Rule::new("migrations.kubevirt.io", &["migrationpolicies"], READ),
            Rule::new("plugin.kubevirt.io", &["plugins"], READ),
        ],
    },
    Role {
        name: "instancetype.kubevirt.io:view",
        labels: &[],
        annotations: &[],
        rules: &[Rule::new(INSTANCETYPE, &["virtualmachineclusterinstancetypes", "virtualmachineclusterpreferences"], READ)],
    },
    Role {
        name: "kubevirt.io:migrate",
        labels: &[],
        annotations: &[],
        rules: &[
            Rule::new(SUBRESOURCES, &["virtualmachines/migrate"], UPDATE),
            Rule::new(CORE, &["virtualmachineinstancemigrations"], ALL),
        ],
    },
];

/// Who has a role from the beginning.
pub(super) const BINDINGS: &[Binding] = &[
    Binding { name: "kubevirt.io:default", role: "kubevirt.io:default", subject: Subject::Everyone },
    Binding { name: "instancetype.kubevirt.io:view", role: "instancetype.kubevirt.io:view", subject: Subject::Everyone },
];
