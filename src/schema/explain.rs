//! What a field means, as text for people: `vm.spec.template.spec.domain.cpu`.

use std::fmt::Write as _;

use kubevirt_api::schema::{Field, Node, Shape};

use super::check::node;
use super::definitions::{DEFINITIONS, Definition};

/// Why nothing can be explained.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// The path begins with no kind.
    #[error("{0:?} is no kind; begin with a kind or a short name, such as VirtualMachine, vm or vmi")]
    Kind(String),
    /// The path names a field that is not there.
    #[error("{parent} has no field {field:?}; it has {fields}")]
    Field {
        /// The part of the path that is right.
        parent: String,
        /// The part that is not.
        field: String,
        /// What would be.
        fields: String,
    },
}

/// Explains a field: its type, limits, description and its own fields.
pub fn explain(path: &str) -> Result<String, ExplainError> {
    let mut steps = path.split('.').filter(|step| !step.is_empty());
    let kind = steps.next().unwrap_or_default();
    let definition = find(kind).ok_or_else(|| ExplainError::Kind(kind.to_owned()))?;
    let mut at = node(definition.kind).ok_or_else(|| ExplainError::Kind(kind.to_owned()))?;
    let mut walked = definition.kind.to_owned();
    for step in steps {
        let inner = innermost(at);
        let name = step.trim_end_matches("[]");
        at = inner.get(name).ok_or_else(|| ExplainError::Field {
            parent: walked.clone(),
            field: name.to_owned(),
            fields: match inner.fields() {
                [] => "none".to_owned(),
                fields => fields.iter().map(|f| f.name).collect::<Vec<_>>().join(", "),
            },
        })?;
        walked = format!("{walked}.{name}");
    }
    Ok(text(&walked, at))
}

/// A kind by its name, plural, singular or short name.
fn find(name: &str) -> Option<&'static Definition> {
    let lower = name.to_lowercase();
    DEFINITIONS.iter().find(|d| {
        d.kind.to_lowercase() == lower || d.short_names.contains(&lower.as_str()) || d.kind().is_some_and(|kind| kind.plural == lower)
    })
}

/// What a list or a map is made of.
fn innermost(node: &Node) -> &Node {
    match &node.shape {
        Shape::List { item, .. } | Shape::Map(item) => innermost(item),
        _ => node,
    }
}

fn text(path: &str, node: &Node) -> String {
    let mut out = format!("{path} <{}>\n\n{}\n", kind(node), node.description);
    for line in limits(node) {
        let _ = writeln!(out, "  {line}");
    }
    let fields = innermost(node).fields();
    if !fields.is_empty() {
        out.push_str("\nFields:\n");
    }
    for Field { name, required, node } in fields {
        let required = if *required { ", required" } else { "" };
        let _ = writeln!(out, "  {name} <{}{required}>\n    {}", kind(node), node.description);
    }
    out
}

/// The type of a value, as people say it.
fn kind(node: &Node) -> String {
    match &node.shape {
        Shape::Any => "any".to_owned(),
        Shape::Object(_) => "object".to_owned(),
        Shape::Map(item) => format!("map of {}", kind(item)),
        Shape::List { item, .. } => format!("list of {}", kind(item)),
        Shape::String => node.format.unwrap_or("string").to_owned(),
        Shape::Integer => "integer".to_owned(),
        Shape::Number => "number".to_owned(),
        Shape::Boolean => "boolean".to_owned(),
        Shape::IntOrString if node.is_quantity() => "quantity".to_owned(),
        Shape::IntOrString => "integer or string".to_owned(),
    }
}

fn limits(node: &Node) -> Vec<String> {
    let mut out = Vec::new();
    if !node.values.is_empty() {
        out.push(format!("{}: {}", if node.closed { "One of" } else { "Known values" }, node.values.join(", ")));
    }
    if let Some(default) = &node.default {
        out.push(format!("Default: {default}"));
    }
    let bounds = [
        ("At least", node.minimum.map(i128::from), ""),
        ("At most", node.maximum.map(i128::from), ""),
        ("At least", node.min_length.map(i128::from), " characters"),
        ("At most", node.max_length.map(i128::from), " characters"),
        ("At least", node.min_items.map(i128::from), " items"),
        ("At most", node.max_items.map(i128::from), " items"),
    ];
    out.extend(bounds.into_iter().filter_map(|(words, bound, unit)| Some(format!("{words} {}{unit}", bound?))));
    if let Shape::List { keys, .. } = &node.shape
        && !keys.is_empty()
    {
        out.push(format!("Items are told apart by {}", keys.join(" and ")));
    }
    out.extend(node.rules.iter().map(|rule| format!("Rule: {} ({})", rule.rule, rule.message)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_begin_with_any_name_of_a_kind() {
        for name in ["VirtualMachine", "vm", "vms", "virtualmachines", "virtualmachine"] {
            assert!(explain(name).unwrap().starts_with("VirtualMachine <object>"), "{name}");
        }
    }

    #[test]
    fn fields_are_explained_through_lists() {
        let text = explain("vmi.spec.volumes.containerPath.path").unwrap();
        assert!(text.starts_with("VirtualMachineInstance.spec.volumes.containerPath.path <string>"), "{text}");
        assert!(text.contains("At most 4096 characters") && text.contains("Rule: self.startsWith('/')"), "{text}");
        let text = explain("vm.spec.template.spec.domain.cpu").unwrap();
        assert!(text.contains("  cores <integer>\n    Cores of each socket"), "{text}");
    }

    #[test]
    fn a_wrong_path_says_what_would_be_right() {
        assert_eq!(explain("pod.spec"), Err(ExplainError::Kind("pod".to_owned())));
        let error = explain("vmi.spec.domain.cpu.numa.nope").unwrap_err().to_string();
        assert!(error.contains("VirtualMachineInstance.spec.domain.cpu.numa") && error.contains("guestMappingPassthrough"), "{error}");
    }

    /// No field without a description.
    #[test]
    fn every_field_is_explained() {
        fn silent(node: &Node, path: &str, found: &mut Vec<String>) {
            for Field { name, node, .. } in innermost(node).fields() {
                let path = format!("{path}.{name}");
                if node.description.is_empty() {
                    found.push(path.clone());
                }
                silent(node, &path, found);
            }
        }
        let mut found = Vec::new();
        for kind in kubevirt_api::kinds::ALL {
            silent(&(kind.schema)(), kind.kind, &mut found);
        }
        assert_eq!(found, [""; 0]);
    }
}
