//! Golden files: `tests/golden/ROOM/NAME/in.*` is what a person gives to a tool, `out.*` what the tool prints.
//! `UPDATE_GOLDEN=1 cargo test --test golden` writes the latter anew.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test that cannot go on fails

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// A room, the tool that shows what it decides, and the files.
const ROOMS: [(&str, &[&str], &str, &str); 4] = [
    ("pod", &["render", "pod"], "in.yaml", "out.yaml"),
    ("explain-overhead", &["explain-overhead"], "in.yaml", "out.txt"),
    ("expand", &["render", "expand"], "in.yaml", "out.yaml"),
    ("install", &["install", "--kind", "Deployment", "--kind", "DaemonSet", "--of"], "in.yaml", "out.yaml"),
];

#[test]
fn every_tool_prints_what_it_printed() {
    let update = env::var_os("UPDATE_GOLDEN").is_some();
    let mut failures = Vec::new();
    for (room, arguments, input, output) in ROOMS {
        let room = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(room);
        let mut cases: Vec<_> = fs::read_dir(&room).expect("a folder").map(|entry| entry.expect("a folder").path()).collect();
        cases.sort();
        assert!(!cases.is_empty(), "{} is empty", room.display());
        for case in cases {
            let tool =
                Command::new(env!("CARGO_BIN_EXE_kubevirt-rs")).args(arguments).arg(case.join(input)).output().expect("the tool runs");
            let errors = String::from_utf8_lossy(&tool.stderr);
            assert!(tool.status.success(), "{}: {errors}", case.display());
            let found = String::from_utf8_lossy(&tool.stdout);
            let expected = case.join(output);
            if update {
                fs::write(&expected, found.as_bytes()).expect("a file that may be written");
            } else if fs::read_to_string(&expected).ok().as_deref() != Some(&found) {
                failures.push(difference(&fs::read_to_string(&expected).unwrap_or_default(), &found, &expected));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn difference(expected: &str, found: &str, file: &Path) -> String {
    let lines = expected.lines().zip(found.lines()).position(|(a, b)| a != b);
    let line = lines.unwrap_or_else(|| expected.lines().count().min(found.lines().count()));
    let at = |text: &str| text.lines().nth(line).unwrap_or("(nothing)").to_owned();
    format!("{}:{}\n  expected {}\n  found    {}", file.display(), line + 1, at(expected), at(found))
}
