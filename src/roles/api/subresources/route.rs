//! Paths of the aggregated API, and what one must be allowed to ask for them.

use hyper::Method;
use k8s_openapi::api::authorization::v1::ResourceAttributes;
use kubevirt_rs::api::names::SUBRESOURCE_GROUP;
use kubevirt_rs::schema::operations::{OPERATIONS, Of, VERSIONS};

use super::verb;
use crate::serve::access::unescape;

/// What a request is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Route {
    /// The version of the group.
    pub(super) version: &'static str,
    /// The namespace.
    pub(super) namespace: String,
    /// What in it.
    pub(super) target: Target,
}

/// What a request is about, below the namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A machine that is sent.
    ExpandSpec,
    /// A VirtualMachine.
    Machine {
        /// Its name.
        name: String,
        /// What is asked for.
        operation: String,
    },
    /// A VirtualMachineInstance.
    Instance {
        /// Its name.
        name: String,
        /// What is asked for.
        operation: String,
    },
}

impl Route {
    /// Reads a path such as `/apis/subresources.kubevirt.io/v1/namespaces/lab/virtualmachines/vm/start`.
    pub(super) fn parse(path: &str) -> Option<Self> {
        let rest = path.strip_prefix("/apis/")?.strip_prefix(SUBRESOURCE_GROUP)?.strip_prefix('/')?;
        let (version, rest) = rest.split_once('/')?;
        let version = VERSIONS.iter().find(|known| **known == version)?;
        let (namespace, rest) = rest.strip_prefix("namespaces/")?.split_once('/')?;
        let part = |text: &str| Some(unescape(text)).filter(|text| !text.is_empty() && !text.contains('/'));
        let rest = rest.trim_end_matches('/');
        let target = if rest == "expand-vm-spec" {
            Target::ExpandSpec
        } else {
            let (resource, rest) = rest.split_once('/')?;
            let (name, operation) = rest.split_once('/')?;
            let (name, operation) = (part(name)?, unescape(operation));
            match resource {
                "virtualmachines" => Target::Machine { name, operation },
                "virtualmachineinstances" => Target::Instance { name, operation },
                _ => return None,
            }
        };
        Some(Self { version, namespace: part(namespace)?, target })
    }

    fn parts(&self) -> (&'static str, &str, &str) {
        match &self.target {
            Target::ExpandSpec => ("expand-vm-spec", "", ""),
            Target::Machine { name, operation } => ("virtualmachines", name, operation),
            Target::Instance { name, operation } => ("virtualmachineinstances", name, operation),
        }
    }

    /// What is asked for, without ports.
    pub(super) fn operation(&self) -> &str {
        let (resource, _, operation) = self.parts();
        match operation {
            "" => resource,
            // port and protocol are no matter of permission
            forward if forward.split('/').next() == Some("portforward") => "portforward",
            other => other,
        }
    }

    /// What one must be allowed to do, as one says it.
    pub(super) fn resource(&self) -> String {
        match self.parts() {
            (resource, _, "") => resource.to_owned(),
            (resource, ..) => format!("{resource}/{}", self.operation()),
        }
    }

    /// What the API server is asked; nothing for a method that has no verb.
    pub(super) fn attributes(&self, method: &Method) -> Option<ResourceAttributes> {
        let (resource, name, operation) = self.parts();
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Some(ResourceAttributes {
            namespace: some(&self.namespace),
            verb: some(verb(method, !name.is_empty())?),
            group: some(SUBRESOURCE_GROUP),
            version: some(self.version),
            resource: some(resource),
            subresource: if operation.is_empty() { None } else { some(self.operation()) },
            name: some(name),
            ..ResourceAttributes::default()
        })
    }

    /// Whether clients take the answer for bytes that only they understand.
    pub(super) fn is_read_raw(&self) -> bool {
        const RAW: [&str; 6] =
            ["guestosinfo", "userlist", "filesystemlist", "vnc/screenshot", "sev/fetchcertchain", "sev/querylaunchmeasurement"];
        matches!(&self.target, Target::Instance { operation, .. } if RAW.contains(&operation.as_str()))
    }

    /// The method of the operation, if there is such an operation.
    pub(super) fn method(&self) -> Option<Method> {
        let (of, wanted) = match &self.target {
            Target::ExpandSpec => (Of::Namespace, "expand-vm-spec"),
            Target::Machine { .. } => (Of::Machine, self.operation()),
            Target::Instance { .. } => (Of::Instance, self.operation()),
        };
        let found = OPERATIONS.iter().find(|o| o.of == of && o.path.split("/{").next() == Some(wanted))?;
        Some(if found.method == "put" { Method::PUT } else { Method::GET })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: &Method, path: &str) -> Option<String> {
        let path = format!("/apis/subresources.kubevirt.io/v1/namespaces/{path}");
        let a = Route::parse(&path)?.attributes(method)?;
        let text = |text: Option<String>| text.unwrap_or("-".to_owned());
        Some([a.verb, a.namespace, a.resource, a.name, a.subresource].map(text).join(" "))
    }

    #[test]
    fn permissions_are_asked_for_as_rbac_names_them() {
        for (method, path, want) in [
            (Method::PUT, "lab/virtualmachines/vm/start", "update lab virtualmachines vm start"),
            (Method::GET, "lab/virtualmachineinstances/vm/console", "get lab virtualmachineinstances vm console"),
            (Method::GET, "lab/virtualmachineinstances/vm/vnc/screenshot", "get lab virtualmachineinstances vm vnc/screenshot"),
            (Method::GET, "lab/virtualmachines/vm/portforward/22/tcp", "get lab virtualmachines vm portforward"),
            (Method::PUT, "lab/virtualmachines/vm/evacuate/cancel", "update lab virtualmachines vm evacuate/cancel"),
            (Method::PUT, "lab/expand-vm-spec", "update lab expand-vm-spec - -"),
            (Method::GET, "lab/expand-vm-spec", "list lab expand-vm-spec - -"),
            (Method::PUT, "la%62/virtualmachines/v%6D/start/", "update lab virtualmachines vm start"),
        ] {
            assert_eq!(asked(&method, path).as_deref(), Some(want), "{method} {path}");
        }
        for path in [
            "lab/pods/p/log",
            "lab/virtualmachines/vm",
            "lab/virtualmachines//start",
            "/virtualmachines/vm/start",
            "lab",
            "a%2Fb/virtualmachines/vm/start",
        ] {
            assert_eq!(asked(&Method::GET, path), None, "{path}");
        }
        assert_eq!(asked(&Method::TRACE, "lab/virtualmachines/vm/start"), None);
        assert_eq!(Route::parse("/apis/subresources.kubevirt.io/v2/namespaces/lab/virtualmachines/vm/start"), None);
    }

    #[test]
    fn every_operation_has_its_method() {
        let method = |path: &str| Route::parse(&format!("/apis/subresources.kubevirt.io/v1alpha3/namespaces/lab/{path}")).unwrap().method();
        assert_eq!(method("virtualmachines/vm/start"), Some(Method::PUT));
        assert_eq!(method("virtualmachineinstances/vm/portforward/22"), Some(Method::GET));
        assert_eq!(method("virtualmachineinstances/vm/vnc/screenshot"), Some(Method::GET));
        assert_eq!(method("virtualmachineinstances/vm/dance"), None);
    }
}
