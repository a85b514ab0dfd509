//! The house's own rules: the upper floor knows no effects, and `unsafe` lives in two rooms.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test that cannot go on fails

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms of the ground floor and the wiring, below src/.
const GROUND: [&str; 8] = ["linux", "libvirt", "images", "cluster", "serve", "wire", "roles", "tools"];
/// The rooms that may hold `unsafe`.
const UNSAFE: [&str; 2] = ["linux", "libvirt"];
/// What the upper floor never does: look, wait, draw lots, or talk.
const EFFECTS: [&str; 17] = [
    "std::fs",
    "TcpStream",
    "UdpSocket",
    "std::env",
    "std::process",
    "std::thread",
    "std::io",
    "tokio",
    "kube::",
    "hyper::",
    "virt::",
    "nix::",
    "SystemTime",
    "Instant::now",
    "Timestamp::now",
    "RandomState",
    "async fn",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()) {
        if entry.is_dir() {
            sources(&entry, found);
        } else if entry.extension().is_some_and(|e| e == "rs") {
            found.push(entry);
        }
    }
}

/// The code of a file without its comments and its tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a text");
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn room(path: &Path) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let first = path.strip_prefix(source).expect("below src").components().next().expect("a name");
    first.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned()
}

fn all() -> Vec<PathBuf> {
    let mut found = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    found
}

#[test]
fn the_upper_floor_has_no_effects() {
    let mut faults = Vec::new();
    for path in all() {
        let room = room(&path);
        if GROUND.contains(&room.as_str()) || matches!(room.as_str(), "main" | "cli") || is_test_only(&path) {
            continue;
        }
        let code = code(&path);
        faults.extend(EFFECTS.iter().filter(|effect| says(&code, effect)).map(|effect| format!("{}: {effect}", path.display())));
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn only_two_rooms_hold_unsafe() {
    let unsafe_code = |path: &PathBuf| code(path).split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "unsafe");
    let faults: Vec<_> = all().into_iter().filter(|path| !UNSAFE.contains(&room(path).as_str()) && unsafe_code(path)).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn no_role_calls_another() {
    let roles = ["operator", "api", "controller", "handler", "launcher"];
    let mut faults = Vec::new();
    for path in all().into_iter().filter(|path| room(path) == "roles") {
        let own = path.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect::<Vec<_>>();
        let code = code(&path);
        for role in roles.iter().filter(|role| !own.iter().any(|part| part.trim_end_matches(".rs") == **role)) {
            if code.contains(&format!("roles::{role}")) {
                faults.push(format!("{}: {role}", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Whether a code has a word or path that begins with this text.
fn says(code: &str, text: &str) -> bool {
    code.match_indices(text).any(|(at, _)| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// Helpers that only tests see.
fn is_test_only(path: &Path) -> bool {
    matches!(path.file_stem().and_then(|s| s.to_str()), Some("testing" | "fixture" | "properties"))
}
