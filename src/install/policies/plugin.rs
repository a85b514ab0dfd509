//! Rules of plugins.

use crate::config::Gate;

use super::Rule;

pub(super) const RULES: &[Rule] = &[
    Rule::gated("feature", Gate::Plugins, "$creates", "spec"),
    Rule::one(
        "socket-path",
        "object.spec.?domainHooks.orValue([]).exists(h, h.?sidecar.?socketPath.orValue('/').startsWith('/') && \
         [h.?sidecar.?socketPath.orValue('/')].exists(p, p != '/' && (p.endsWith('/') || p.contains('//') || p.contains('/./') || \
         p.contains('/../') || p.endsWith('/.') || p.endsWith('/..'))))",
        "spec.domainHooks.sidecar.socketPath",
        "a path is not the shortest form of itself; leave out \"..\", \".\" and double slashes",
    ),
];
