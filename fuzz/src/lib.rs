//! What the fuzz targets share: the question to ask, and what must hold of every answer.

#[path = "../../src/schema/check/generator.rs"]
mod generator;
pub mod oddity;

use std::sync::OnceLock;

use kubevirt_api::kinds::Kind;
use kubevirt_rs::admission::{self, Operation, Request, Seed, Verdict};
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::{domain, pod};
use serde_json::Value;

/// The machines, sets and configurations in the examples, and whatever else is there.
pub fn examples() -> &'static [Value] {
    static EXAMPLES: OnceLock<Vec<Value>> = OnceLock::new();
    EXAMPLES.get_or_init(|| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");
        let mut files: Vec<_> = std::fs::read_dir(folder).expect(folder).map(|file| file.expect("an example").path()).collect();
        files.sort();
        let texts = files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "yaml")).map(|file| std::fs::read(file).expect("an example"));
        texts.flat_map(|text| kubevirt_rs::manifest::read(&text).expect("an example")).map(|document| document.value).collect()
    })
}

/// The configuration with the gates of the examples, so that nothing is turned away before it is looked at.
pub fn config() -> &'static ClusterConfig {
    static CONFIG: OnceLock<ClusterConfig> = OnceLock::new();
    CONFIG.get_or_init(|| {
        let kubevirt = examples().iter().find(|object| kind(object) == "KubeVirt").expect("examples/kubevirt.yaml");
        let settings = kubevirt.pointer("/spec/configuration").cloned().unwrap_or_default();
        ClusterConfig::new(&serde_json::from_value(settings).expect("a configuration"))
    })
}

/// The kind that a document says it is of.
pub fn kind(object: &Value) -> &str {
    object.get("kind").and_then(Value::as_str).unwrap_or_default()
}

/// A document of that kind that its schema has nothing against. The numbers pick the fields, of a hundred so many.
pub fn document(kind: &Kind, numbers: &[u32], density: u32) -> Value {
    let mut document = generator::document(&(kind.schema)(), &mut generator::Choice::new(numbers), density);
    document["apiVersion"] = format!("{}/{}", kind.group, kind.version).into();
    document["kind"] = kind.kind.into();
    document
}

/// Asks whether the object may enter, and holds the answer to its promises: it is consistent, it is the same again for
/// what came out, and an instance that may enter can be started.
pub fn judge(kind: &str, operation: Operation, object: &Value, old: Option<&Value>) -> Verdict {
    let ask = |object: &Value| {
        admission::review(&Request {
            kind,
            operation,
            config: config(),
            object,
            old,
            user: "somebody",
            user_node: None,
            namespace: "kubevirt",
            cluster: examples(),
            seed: Seed(7),
            now: jiff::Timestamp::UNIX_EPOCH,
        })
    };
    let verdict = ask(object);
    assert_eq!(verdict.allowed, verdict.causes.is_empty(), "{verdict:?}");
    if verdict.allowed && kind == "VirtualMachineInstance" && operation == Operation::Create {
        startable(&verdict.object);
    }
    verdict
}

/// Neither the domain nor the pod refuses the instance for what it says itself.
fn startable(object: &Value) {
    let vmi = serde_json::from_value(object.clone()).expect("what may enter can be read");
    if let Err(error) = domain::convert(&vmi, &domain::Facts::default()) {
        assert!(error.depends_on_host(), "admitted, but: {error:?}: {object}");
    }
    if let Err(error) = pod::render(&vmi, config(), &pod::Context::default()) {
        assert!(!matches!(error, pod::Error::NoSource { .. } | pod::Error::HookSidecars { .. }), "admitted, but: {error:?}: {object}");
    }
}
