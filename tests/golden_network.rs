//! VMIs with the links of their pods, and what is made in the pods' network namespaces:
//! `tests/golden/network/NAME/{in.yaml, out.yaml}`. `UPDATE_GOLDEN=1 cargo test --test golden_network` writes the latter.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test that cannot go on fails

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use kubevirt_rs::api::v1::{KubeVirtConfiguration, VirtualMachineInstance};
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::network::{Link, Step, plan};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    links: Vec<Link>,
    #[serde(default)]
    configuration: KubeVirtConfiguration,
    vmi: VirtualMachineInstance,
}

fn cases() -> Vec<(String, std::path::PathBuf, Case)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/network");
    let mut cases: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    let read = |path: std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(path.join("in.yaml")).unwrap();
        let case = serde_yaml::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        (name, path, case)
    };
    cases.into_iter().map(read).collect()
}

#[test]
fn every_pod_gets_its_network() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut wrong = Vec::new();
    for (name, folder, case) in cases() {
        let text = match plan(&case.vmi, &ClusterConfig::new(&case.configuration), &case.links) {
            Ok(plan) => serde_yaml::to_string(&plan).unwrap(),
            Err(error) => format!("error: {error}{}\n", std::error::Error::source(&error).map(|e| format!(": {e}")).unwrap_or_default()),
        };
        let file = folder.join("out.yaml");
        if update {
            fs::write(&file, &text).unwrap();
        } else if fs::read_to_string(&file).ok().as_ref() != Some(&text) {
            wrong.push(format!("── {name}/out.yaml would be\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "UPDATE_GOLDEN=1 writes these anew; look at the difference first\n{}", wrong.join("\n"));
}

/// nft itself reads the rules, twice over: what is there already must not be in the way.
#[test]
fn nft_takes_every_rule() {
    // a network namespace of one's own is needed; where there is none, or no nft, the cluster's tests show it
    let can = Command::new("unshare").args(["-n", "nft", "list", "ruleset"]).output().is_ok_and(|out| out.status.success());
    if !can {
        eprintln!("skipped: nft, or a network namespace to use it in, cannot be had here");
        return;
    }
    for (name, _, case) in cases() {
        let Ok(plan) = plan(&case.vmi, &ClusterConfig::new(&case.configuration), &case.links) else { continue };
        for rules in plan.steps.iter().filter_map(|step| if let Step::Nft { rules } = step { Some(rules) } else { None }) {
            let mut nft =
                Command::new("unshare").args(["-n", "nft", "-f", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let twice = format!("{rules}{rules}");
            std::io::Write::write_all(&mut nft.stdin.take().unwrap(), twice.as_bytes()).unwrap();
            let out = nft.wait_with_output().unwrap();
            assert!(out.status.success(), "{name}: {}\n{rules}", String::from_utf8_lossy(&out.stderr));
        }
    }
}
