//! How the verdicts are told: to people, to programs, and to code scanners.

use std::fmt::Write as _;

use clap::ValueEnum;
use kubevirt_rs::admission::Cause;
use serde_json::{Value, json};

use super::Answer;

/// The form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    /// For people: the place, the line, and a mark below the field
    Text,
    /// For programs: an array, an object for each document
    Json,
    /// For code scanners: SARIF 2.1.0
    Sarif,
}

/// The whole answer.
pub(super) fn print(answers: &[Answer], output: Output, explain: bool) -> String {
    match output {
        Output::Text => text(answers, explain),
        Output::Json => pretty(&answers.iter().map(|a| object(a, explain)).collect()),
        Output::Sarif => pretty(&sarif(answers)),
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

fn text(answers: &[Answer], explain: bool) -> String {
    let mut out = String::new();
    for Answer { input, verdict } in answers {
        let mut lines = Vec::new();
        for cause in &verdict.causes {
            let field = if cause.field.is_empty() { String::new() } else { format!("{}: ", cause.field) };
            let mark = input.excerpt(&cause.field);
            let line = format!("{}: error: {field}{}\n{mark}", input.place(&cause.field), cause.message);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        out.extend(lines);
        for warning in &verdict.warnings {
            let _ = writeln!(out, "{}: warning: {warning}", input.place(""));
        }
        if explain {
            let _ = writeln!(out, "{}: {} {}", input.place(""), input.document.kind(), input.document.name());
            for (sign, path, value) in difference(&input.document.value, &verdict.object) {
                let _ = writeln!(out, "  {sign} {path}: {value}");
            }
        }
    }
    let denied = answers.iter().filter(|a| !a.verdict.allowed).count();
    let _ = match (answers.len(), denied) {
        (0, _) => writeln!(out, "There is no object of this API in the files."),
        (all, 0) => writeln!(out, "{all} of {all} objects may enter."),
        (all, denied) => writeln!(out, "{denied} of {all} objects may not enter."),
    };
    out
}

fn object(answer: &Answer, explain: bool) -> Value {
    let Answer { input, verdict } = answer;
    let cause = |c: &Cause| {
        let at = input.document.position(&c.field);
        json!({"reason": c.reason, "field": c.field, "message": c.message, "line": at.line, "column": at.column})
    };
    let mut object = json!({
        "file": input.source, "line": input.document.start.line, "kind": input.document.kind(), "name": input.document.name(),
        "allowed": verdict.allowed, "causes": verdict.causes.iter().map(cause).collect::<Vec<_>>(), "warnings": verdict.warnings,
    });
    if explain && let Some(map) = object.as_object_mut() {
        map.insert("object".to_owned(), verdict.object.clone());
    }
    object
}

fn sarif(answers: &[Answer]) -> Value {
    let mut results = Vec::new();
    for Answer { input, verdict } in answers {
        for cause in &verdict.causes {
            let at = input.document.position(&cause.field);
            results.push(json!({
                "ruleId": cause.reason, "level": "error", "message": {"text": format!("{}: {}", cause.field, cause.message)},
                "locations": [{"physicalLocation": {"artifactLocation": {"uri": input.source}, "region": {"startLine": at.line, "startColumn": at.column}}}],
            }));
        }
        for warning in &verdict.warnings {
            results.push(json!({
                "ruleId": "Warning", "level": "warning", "message": {"text": warning},
                "locations": [{"physicalLocation": {"artifactLocation": {"uri": input.source}, "region": {"startLine": input.document.start.line}}}],
            }));
        }
    }
    let driver = json!({"name": "kubevirt-rs", "version": env!("CARGO_PKG_VERSION")});
    json!({"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]})
}

/// What differs between two documents, leaf by leaf: `+` was added, `-` was taken away.
fn difference(before: &Value, after: &Value) -> Vec<(char, String, String)> {
    let (old, new) = (leaves(before), leaves(after));
    let gone = old.iter().filter(|l| !new.contains(l)).map(|(p, v)| ('-', p.clone(), v.clone()));
    let come = new.iter().filter(|l| !old.contains(l)).map(|(p, v)| ('+', p.clone(), v.clone()));
    let mut all: Vec<_> = gone.chain(come).collect();
    all.sort_by(|a, b| (&a.1, b.0).cmp(&(&b.1, a.0)));
    all
}

fn leaves(value: &Value) -> Vec<(String, String)> {
    fn walk(value: &Value, path: String, out: &mut Vec<(String, String)>) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                for (key, value) in map {
                    walk(value, if path.is_empty() { key.clone() } else { format!("{path}.{key}") }, out);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                for (i, value) in items.iter().enumerate() {
                    walk(value, format!("{path}[{i}]"), out);
                }
            }
            Value::Null => {}
            leaf => out.push((path, leaf.to_string())),
        }
    }
    let mut out = Vec::new();
    walk(value, String::new(), &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_defaulting_adds_is_shown_leaf_by_leaf() {
        let lines = difference(&json!({"a": {"b": 1}, "c": [1]}), &json!({"a": {"b": 2, "d": {}}, "c": [1], "e": null}));
        let lines: Vec<_> = lines.iter().map(|(s, p, v)| format!("{s} {p}: {v}")).collect();
        assert_eq!(lines, ["- a.b: 1", "+ a.b: 2", "+ a.d: {}"]);
    }
}
