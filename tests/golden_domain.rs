//! VMIs and the domains that they become: `tests/golden/domain/NAME/{in.yaml, facts.yaml, out.xml | out.error}`.
//!
//! `UPDATE_GOLDEN=1 cargo test --test golden_domain` writes the outputs anew.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test that cannot go on fails

use std::fs;
use std::path::{Path, PathBuf};

use kubevirt_rs::api::v1::VirtualMachineInstance;
use kubevirt_rs::domain::{Facts, convert};
use proptest::prelude::*;
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/domain")
}

fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_yaml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Lays one value over another: objects field by field, everything else whole.
fn lay_over(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (name, value) in above {
                lay_over(below.entry(name).or_insert(Value::Null), value);
            }
        }
        (below, above) => *below = above,
    }
}

struct Case {
    name: String,
    folder: PathBuf,
    vmi: Value,
    facts: Facts,
}

fn cases() -> Vec<Case> {
    let base = read(&folder().join("facts.yaml"));
    let mut folders: Vec<_> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    let case = |folder: PathBuf| {
        let mut facts = base.clone();
        let own = folder.join("facts.yaml");
        if own.exists() {
            lay_over(&mut facts, read(&own));
        }
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let facts = serde_json::from_value(facts).unwrap_or_else(|e| panic!("{name}/facts.yaml: {e}"));
        Case { vmi: read(&folder.join("in.yaml")), name, folder, facts }
    };
    folders.into_iter().map(case).collect()
}

#[test]
fn every_vmi_becomes_its_domain() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut wrong = Vec::new();
    for case in cases() {
        let vmi: VirtualMachineInstance = serde_json::from_value(case.vmi).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        let (file, other, text) = match convert(&vmi, &case.facts) {
            Ok(domain) => ("out.xml", "out.error", domain.to_xml()),
            Err(error) => ("out.error", "out.xml", format!("{}: {error}\n", error.reason())),
        };
        if update {
            fs::write(case.folder.join(file), &text).unwrap();
            let _ = fs::remove_file(case.folder.join(other));
        } else if fs::read_to_string(case.folder.join(file)).ok().as_ref() != Some(&text) {
            wrong.push(format!("── {}/{file} would be\n{text}", case.name));
        }
    }
    assert!(wrong.is_empty(), "UPDATE_GOLDEN=1 writes these anew; look at the difference first\n{}", wrong.join("\n"));
}

/// Replaces, or takes away, the value at a place that a list of numbers leads to.
fn mutate(value: &mut Value, way: &[usize], new: &Value) {
    let Some((step, way)) = way.split_first() else {
        *value = new.clone();
        return;
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let name = fields.keys().nth(step % fields.len()).unwrap().clone();
            if way.is_empty() && new.is_null() {
                fields.remove(&name);
            } else {
                mutate(fields.get_mut(&name).unwrap(), way, new);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let place = step % items.len();
            if way.is_empty() && new.is_boolean() {
                items.push(items[place].clone());
            } else {
                mutate(&mut items[place], way, new);
            }
        }
        other => *other = new.clone(),
    }
}

fn anything() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!({})),
        Just(json!([])),
        any::<bool>().prop_map(Value::from),
        prop_oneof![Just(0i64), Just(-1), Just(1), Just(65_536), Just(4_294_967_295), Just(i64::MAX), any::<i64>()].prop_map(Value::from),
        prop_oneof![
            Just("virtio"),
            Just("scsi"),
            Just("0000:00:00.0"),
            Just("/../.."),
            Just("1Gi"),
            Just("-1"),
            Just("1e30"),
            Just("s390x"),
            Just("arm64")
        ]
        .prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_vmi_panics_and_every_domain_is_xml(
        which: prop::sample::Index,
        facts_of: prop::sample::Index,
        changes in prop::collection::vec((prop::collection::vec(0usize..64, 1..9), anything()), 1..6),
    ) {
        static CASES: std::sync::LazyLock<Vec<Case>> = std::sync::LazyLock::new(cases);
        let mut value = CASES[which.index(CASES.len())].vmi.clone();
        for (way, new) in &changes {
            mutate(&mut value, way, new);
        }
        if let Ok(vmi) = serde_json::from_value::<VirtualMachineInstance>(value) {
            match convert(&vmi, &CASES[facts_of.index(CASES.len())].facts) {
                Ok(domain) => {
                    let xml = domain.to_xml();
                    prop_assert!(roxmltree::Document::parse(&xml).is_ok(), "{xml}");
                }
                Err(error) => prop_assert!(error.field.starts_with("spec.") || error.field.starts_with("metadata."), "{error}"),
            }
        }
    }
}
