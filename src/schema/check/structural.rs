//! What an API server demands of a definition before it takes it, so that no cluster is needed to know that it does.

use kubevirt_api::kinds;
use kubevirt_api::schema::{ListKind, Node, Shape};

use serde_json::json;

use super::check_value;
use crate::schema::DEFINITIONS;
use crate::schema::cel::Program;

/// What is wrong with a schema; `lone` says whether a value here has one old value that it can be compared with.
fn demands(node: &Node, path: &str, lone: bool, found: &mut Vec<String>) {
    let mut fault = |text: &str| found.push(format!("{path}: {text}"));
    let is = |shapes: &[&str]| shapes.contains(&name(&node.shape));
    if node.atomic && !is(&["object", "map"]) {
        fault("only an object can be atomic");
    }
    if (node.min_length.is_some() || node.max_length.is_some()) && !is(&["string"]) {
        fault("only a string has a length");
    }
    if (node.min_items.is_some() || node.max_items.is_some()) && !is(&["list"]) {
        fault("only a list has items");
    }
    if (node.minimum.is_some() || node.maximum.is_some()) && !is(&["integer", "number"]) {
        fault("only a number has bounds");
    }
    if node.minimum.zip(node.maximum).is_some_and(|(least, most)| least > most) {
        fault("the bounds leave nothing");
    }
    if node.pattern.is_some() && !is(&["string", "int-or-string"]) {
        fault("only a string has a pattern");
    }
    if node.closed && (node.values.is_empty() || !is(&["string"])) {
        fault("an enumeration has values, and they are strings");
    }
    if let Some(default) = &node.default
        && !check_value(node, default, None).is_empty()
    {
        fault("the default is no value of the schema");
    }
    for rule in &node.rules {
        if rule.message.is_empty() || rule.message.contains('\n') {
            fault("the message of a rule is one line");
        }
        if !lone && Program::parse(rule.rule).is_ok_and(|rule| rule.is_transition()) {
            fault("a rule looks back, and there is nothing to look back at");
        }
    }
    match &node.shape {
        Shape::List { item, kind, keys } => {
            if *kind == Some(ListKind::Set) && !matches!(name(&item.shape), "string" | "integer" | "number" | "boolean") {
                fault("the items of a set are scalars");
            }
            if (*kind == Some(ListKind::Map)) == keys.is_empty() {
                fault("a list has keys if its items are told apart by them");
            }
            for key in keys {
                let field = item.fields().iter().find(|f| f.name == *key);
                if !field.is_some_and(|f| (f.required || f.node.default.is_some()) && !f.node.nullable) {
                    fault("a key must always be there");
                }
            }
            demands(item, &format!("{path}[]"), lone && *kind == Some(ListKind::Map), found);
        }
        Shape::Map(item) => demands(item, &format!("{path}[*]"), lone, found),
        Shape::Object(fields) => {
            for field in fields {
                if fields.iter().filter(|f| f.name == field.name).count() != 1 {
                    found.push(format!("{path}: {} stands there twice", field.name));
                }
                demands(&field.node, &format!("{path}.{}", field.name), lone && !node.atomic, found);
            }
        }
        _ => {}
    }
}

fn name(shape: &Shape) -> &'static str {
    match shape {
        Shape::Any => "any",
        Shape::Object(_) => "object",
        Shape::Map(_) => "map",
        Shape::List { .. } => "list",
        Shape::String => "string",
        Shape::Integer => "integer",
        Shape::Number => "number",
        Shape::Boolean => "boolean",
        Shape::IntOrString => "int-or-string",
    }
}

#[test]
fn every_definition_is_what_an_api_server_takes() {
    for kind in kinds::ALL {
        let schema = (kind.schema)();
        let mut found = Vec::new();
        demands(&schema, kind.kind, true, &mut found);
        assert_eq!(found, [""; 0]);
    }
}

#[test]
fn no_definition_says_anything_of_metadata() {
    for definition in DEFINITIONS {
        let printed = definition.to_json();
        for version in printed["spec"]["versions"].as_array().unwrap() {
            let metadata = &version["schema"]["openAPIV3Schema"]["properties"]["metadata"];
            assert_eq!(metadata, &json!({"type": "object"}), "{}", definition.kind);
        }
    }
}

#[test]
fn what_an_api_server_refuses_is_found() {
    let good = Node::object().field("a", true, Node::new(Shape::String));
    let list = |kind, item: Node| Node::new(Shape::List { item: Box::new(item), kind: Some(kind), keys: vec![] });
    for bad in [
        good.clone().min_length(1),
        good.clone().default(1),
        Node::new(Shape::String).minimum(1),
        Node::new(Shape::Integer).minimum(2).maximum(1),
        Node::new(Shape::String).one_of(&[]),
        Node::new(Shape::String).rule("true", ""),
        list(ListKind::Set, good.clone()),
        list(ListKind::Map, good.clone()),
        list(ListKind::Map, good.clone()).key("b"),
        list(ListKind::Atomic, Node::new(Shape::String).rule("self == oldSelf", "stays")),
        good.clone().field("a", false, Node::new(Shape::String)),
    ] {
        let mut found = Vec::new();
        demands(&bad, "", true, &mut found);
        assert!(!found.is_empty(), "{bad:?}");
    }
}
