//! Rules for `Plugin`.

mod cel;

use crate::admission::{Cause, Findings, Operation, Path, Request};
use crate::api::plugin::Plugin;
use crate::config::Gate;

use super::reference::gated;
use cel::{Names, Yields, compile};

/// Judges a plugin.
pub fn judge(plugin: &Plugin, _: Option<&Plugin>, request: &Request, findings: &mut Findings) {
    if request.operation == Operation::Delete || (request.operation == Operation::Create && !gated(request, Gate::Plugins, findings)) {
        return;
    }
    let path = Path::new("spec");
    expression(&plugin.spec.condition, Names::Domain, Yields::Truth, path.key("condition"), findings);
    let hooks = path.key("domainHooks");
    for (i, hook) in plugin.spec.domain_hooks.iter().enumerate() {
        let path = hooks.index(i);
        if let Some(cel) = &hook.cel {
            expression(&cel.expression, Names::Domain, Yields::Domain, path.key("cel.expression"), findings);
        }
        expression(&hook.condition, Names::Domain, Yields::Truth, path.key("condition"), findings);
        if let Some(sidecar) = hook.sidecar.as_ref().filter(|sidecar| !is_clean(&sidecar.socket_path)) {
            let text =
                format!("{:?} is not the shortest form of the path; leave out \"..\", \".\" and double slashes", sidecar.socket_path);
            findings.deny(Cause::invalid(path.key("sidecar.socketPath"), text));
        }
    }
    let hooks = path.key("nodeHooks");
    for (i, hook) in plugin.spec.node_hooks.iter().enumerate() {
        expression(&hook.condition, Names::Json, Yields::Truth, hooks.index(i).key("condition"), findings);
    }
}

/// An expression that is there has to compile, and to yield what is asked for.
fn expression(text: &str, names: Names, yields: Yields, path: Path, findings: &mut Findings) {
    if text.is_empty() {
        return;
    }
    if let Err(error) = compile(text, names, yields) {
        findings.deny(Cause::invalid(path, format!("the expression cannot be used: {error}")));
    }
}

/// Whether a path is as short as it can be: no empty parts, no `.`, no `..` that could be resolved.
fn is_clean(path: &str) -> bool {
    if path == "/" || path == "." {
        return true;
    }
    let (rooted, rest) = path.strip_prefix('/').map_or((false, path), |rest| (true, rest));
    let mut leading = !rooted;
    !rest.is_empty()
        && rest.split('/').all(|part| {
            leading &= part == "..";
            !matches!(part, "" | ".") && (part != ".." || leading)
        })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::admission::testing::denied;

    #[test]
    fn rules_for_plugins() {
        let on = json!({"developerConfiguration": {"featureGates": ["Plugins"]}});
        let judged = |spec: Value, config: &Value| denied("Plugin", &json!({"metadata": {"name": "p"}, "spec": spec}), config, &json!([]));
        for (spec, want) in [
            (json!({}), &[] as &[&str]),
            (json!({"condition": "vmi.Name != ''"}), &[]),
            (json!({"condition": "vmi.metadata.name != ''"}), &["spec.condition"]),
            (json!({"nodeHooks": [{"condition": "vmi.metadata.name != ''", "socket": "/s", "permittedHooks": ["PreVMStart"]}]}), &[]),
            (
                json!({"nodeHooks": [{"condition": "vmi.Name != ''", "socket": "/s", "permittedHooks": ["PreVMStart"]}]}),
                &["spec.nodeHooks[0].condition"],
            ),
            (json!({"domainHooks": [{"cel": {"expression": "Domain{Name: domainSpec.Name}"}}]}), &[]),
            (json!({"domainHooks": [{"cel": {"expression": "Domain{name: 'x'}"}}]}), &["spec.domainHooks[0].cel.expression"]),
            (json!({"domainHooks": [{"condition": "1 +"}]}), &["spec.domainHooks[0].condition"]),
            (json!({"domainHooks": [{"sidecar": {"socketPath": "/run/p.sock"}}]}), &[]),
            (json!({"domainHooks": [{"sidecar": {"socketPath": "/run/../p.sock"}}]}), &["spec.domainHooks[0].sidecar.socketPath"]),
        ] {
            assert_eq!(judged(spec.clone(), &on), want, "{spec}");
        }
        assert_eq!(judged(json!({}), &json!({})), [""]);
    }

    #[test]
    fn clean_paths() {
        for (path, clean) in [
            ("/a/b", true),
            ("a/b", true),
            ("/", true),
            (".", true),
            ("../a", true),
            ("..", true),
            ("a b", true),
            ("", false),
            ("/a/", false),
            ("a//b", false),
            ("/./a", false),
            ("a/..", false),
            ("/..", false),
            ("./a", false),
        ] {
            assert_eq!(is_clean(path), clean, "{path:?}");
        }
    }
}
