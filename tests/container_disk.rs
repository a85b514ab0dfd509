//! The program of containers that hold a containerDisk, built and run as a pod does.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test that cannot go on fails

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Builds it, as `make build` does.
fn program() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("container-disk");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("container-disk");
    let mut cargo = Command::new(env!("CARGO"));
    // the flags for the linker lie beside the program, and are not to be overruled
    cargo.args(["build", "--release", "--locked", "--target-dir"]).arg(&target).current_dir(source).env_remove("RUSTFLAGS");
    assert!(cargo.status().expect("cargo runs").success());
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    target.join(triple).join("release/container-disk")
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn it_is_small_needs_nothing_and_does_what_its_container_is_for() {
    let built = program();
    let size = fs::metadata(&built).unwrap().len();
    assert!(size < 16 << 10, "a copy for each pod must cost nothing, but it has {size} bytes");

    let folder = std::env::temp_dir().join(format!("kubevirt-rs-cd{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let copy = folder.join("container-disk");
    for _ in 0..2 {
        assert!(Command::new(&built).arg("--install").arg(&copy).status().unwrap().success());
    }
    assert_eq!(fs::read(&copy).unwrap(), fs::read(&built).unwrap());
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(Command::new(&copy).arg("--no-op").status().unwrap().success());

    let long = "x".repeat(103);
    for wrong in [&[][..], &["--copy-path"], &["--copy-path", ""], &["--copy-path", &long], &["--other", "x"], &["--install", "/proc/none"]]
    {
        let output = Command::new(&copy).args(wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{wrong:?}");
        assert!(output.stderr.starts_with(b"container-disk: "), "{wrong:?}");
    }

    // in a folder that is not there yet; the second time the socket of one that was killed is
    let place = folder.join("disks/disk_0");
    let socket = folder.join("disks/disk_0.sock");
    let start = || Command::new(&copy).arg("--copy-path").arg(&place).stdin(Stdio::null()).spawn().unwrap();
    let listens = || UnixStream::connect(&socket).is_ok();
    let mut killed = start();
    until("it listens", listens);
    assert!(fs::metadata(&socket).unwrap().file_type().is_socket());
    killed.kill().unwrap();
    killed.wait().unwrap();

    let mut told = start();
    until("it listens again", listens);
    // more than the queue of a socket holds
    for round in 0..3 {
        let all: Vec<_> = (0..40).map(|_| UnixStream::connect(&socket)).collect();
        assert!(all.iter().all(Result::is_ok), "round {round}");
        std::thread::sleep(Duration::from_millis(1100));
    }
    let peer = UnixStream::connect(&socket).unwrap();
    let credentials = nix::sys::socket::getsockopt(&peer, nix::sys::socket::sockopt::PeerCredentials).unwrap();
    assert_eq!(credentials.pid(), i32::try_from(told.id()).unwrap(), "by which the handler finds the container");
    kill(Pid::from_raw(credentials.pid()), Signal::SIGTERM).unwrap();
    assert!(told.wait().unwrap().success());
    assert!(!socket.exists(), "it cleans up");

    let mut left = start();
    until("it listens once more", listens);
    fs::remove_file(&socket).unwrap();
    until("it leaves when its socket is removed", || left.try_wait().unwrap().is_some_and(|status| status.success()));
    fs::remove_dir_all(&folder).unwrap();
}
