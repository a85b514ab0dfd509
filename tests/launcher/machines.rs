//! Machines with many parts, each looked at from inside its guest.
//!
//! A machine is a file of `machines/`. What shall be seen stands in it as comments, beside the field that it is about:
//!
//! ```text
//! # guest: COMMAND → TEXT     the command's output in the guest holds the text
//! # qemu: TEXT                QEMU's own arguments hold the text, where no guest can see it
//! ```
//!
//! `$FILES` in it is a folder of the test's own.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use nix::sys::signal::Signal;

use crate::guest::{BOOT, Folder, Launcher, folder, free_port, repository, tiny};
use crate::{screen, traces};

/// How often a machine is started until its emulator must have come through.
const STARTS: u32 = 4;

/// A machine's file, and what shall be seen of it.
struct Machine {
    arguments: Vec<String>,
    text: String,
    files: Folder,
}

impl Machine {
    fn new(name: &str) -> Self {
        let files = Folder::new();
        let text = fs::read_to_string(repository(&format!("tests/launcher/machines/{name}.yaml"))).expect("the machine's file");
        let text = text.replace("$FILES", &files.0.display().to_string());
        let vmi = files.write(&format!("{name}.yaml"), &text);
        let arguments = ["--vmi".to_owned(), vmi.display().to_string()].into_iter().chain(tiny()).collect();
        Self { arguments, text, files }
    }

    fn with(mut self, more: &[&str]) -> Self {
        self.arguments.extend(more.iter().map(|a| a.replace("$FILES", &self.files.0.display().to_string())));
        self
    }

    /// A raw disk that is full of one byte.
    fn disk(self, name: &str, byte: u8, mib: usize) -> Self {
        fs::write(self.files.0.join(name), vec![byte; mib << 20]).expect("a disk is written");
        self
    }

    /// Boots it, up to a shell that listens.
    ///
    /// The emulator of QEMU 7.2 reads through a null pointer now and then when a guest with several processors moves the
    /// windows of its devices, which it does at its boot. KVM has no such code. Such a guest is started anew.
    fn boot(&self, scratch: &Folder) -> Launcher {
        for _ in 0..STARTS {
            let mut launcher = Launcher::start(scratch, &self.arguments);
            match launcher.reaches("login: ", BOOT) {
                Ok(()) => {
                    launcher.answer("root", "kubevirt");
                    launcher.listen();
                    return launcher;
                }
                Err(ended) if launcher.told().contains("reason=crashed") => eprintln!("QEMU has crashed ({ended}); once more"),
                Err(ended) => panic!("no login ({ended}): {}", launcher.told()),
            }
        }
        panic!("QEMU has crashed {STARTS} times");
    }

    /// The values of the comments of a kind.
    fn comments(&self, kind: &str) -> impl Iterator<Item = &str> {
        let begin = format!("# {kind}: ");
        self.text.lines().filter_map(move |line| Some(line.split_once(&begin)?.1.trim()))
    }

    /// Looks at everything; tells all at once what is not as it should be.
    fn look(&self, launcher: &mut Launcher, scratch: &Folder) {
        let mut faults = Vec::new();
        let checks: Vec<_> = self.comments("guest").map(|line| line.split_once(" → ").expect("a command, an arrow and a text")).collect();
        assert!(!checks.is_empty(), "there is nothing to look at");
        for (command, wanted) in checks {
            let seen = launcher.run(command);
            if !seen.contains(wanted) {
                faults.push(format!("{command}: {wanted:?} is not in {seen:?}"));
            }
        }
        let qemu = traces::processes(scratch).into_iter().find(|p| p.contains("qemu-system") && p.contains("-name")).expect("QEMU runs");
        faults.extend(self.comments("qemu").filter(|wanted| !qemu.contains(*wanted)).map(|wanted| format!("{wanted:?} is not in {qemu}")));
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}

/// Talks to the TPM in its own words: `tpm HEX` prints the answer as hexadecimal digits.
const TPM: &str = "tpm() { exec 3<>/dev/tpm0; echo $1 | xxd -r -p >/run/q; cat /run/q >&3; dd bs=4096 count=1 <&3 2>/dev/null | xxd -p -c 256; exec 3>&-; }";
/// `TPM2_NV_DefineSpace`: 4 bytes that the owner reads and writes, at 01800018.
const DEFINE: &str = "tpm 80020000002d0000012a40000001000000094000000900000000000000000e01800018000b0206000600000004";
/// `TPM2_NV_Write` of `kept`.
const WRITE: &str = "tpm 8002000000270000013740000001018000180000000940000009000000000000046b6570740000";
/// `TPM2_NV_Read` of it.
const READ: &str = "tpm 8002000000230000014e40000001018000180000000940000009000000000000040000";
/// `kept` in hexadecimal digits.
const KEPT: &str = "6b657074";
const VARIABLE: &str = "/sys/firmware/efi/efivars/Kept-6a1a24a1-4061-4607-8bf4-a3963d0c5895";

#[test]
fn efi_variables_and_the_tpm_of_a_guest_with_secure_boot_outlive_it() {
    let (scratch, before) = (Folder::new(), traces::files());
    let machine = Machine::new("kept").with(&["--state", "$FILES/state"]);
    for start in ["first", "second"] {
        let mut launcher = machine.boot(&scratch);
        machine.look(&mut launcher, &scratch);
        launcher.run(TPM);
        let (variable, memory) = (launcher.run(&format!("xxd -p {VARIABLE}")), launcher.run(READ));
        if start == "first" {
            assert!(!variable.contains(KEPT) && !memory.contains(KEPT), "nothing is there yet: {variable} {memory}");
            launcher.run(&format!(r"printf '\7\0\0\0kept' >/run/v; dd if=/run/v of={VARIABLE} bs=64"));
            for command in [DEFINE, WRITE] {
                let answer = launcher.run(command);
                assert!(answer.get(12..20) == Some("00000000"), "the TPM takes it: {answer}");
            }
        } else {
            assert!(variable.contains(KEPT) && memory.contains(KEPT), "both are there again: {variable} {memory}");
        }
        launcher.signal(Signal::SIGTERM);
        assert_eq!(launcher.end(Duration::from_secs(60)), Some(0), "{}", launcher.told());
    }
    traces::none_left(&scratch, &before, Duration::ZERO);
}

/// A loop device for a file; returns its path, and takes it away at the end.
struct Loop(String);

impl Loop {
    fn new(file: &Path) -> Option<Self> {
        let output = Command::new("losetup").args(["--find", "--show"]).arg(file).output().ok()?;
        output.status.success().then(|| Self(String::from_utf8_lossy(&output.stdout).trim().to_owned()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

#[test]
fn every_bus_and_kind_of_volume_is_seen_and_a_watchdog_ends_the_guest() {
    let (scratch, before) = (Folder::new(), traces::files());
    let machine = Machine::new("disks").disk("kept.img", b'k', 4).disk("block.img", b'b', 4).disk("shared.img", b's', 4);
    let block = Loop::new(&machine.files.0.join("block.img"));
    let device = block.as_ref().map_or_else(
        || {
            eprintln!("there is no loop device here: the claim that is a block device is a file");
            machine.files.0.join("block.img").display().to_string()
        },
        |device| device.0.clone(),
    );
    let device = format!("block={device}");
    let machine = machine.with(&["--volume", "kept=$FILES/kept.img", "--volume", "shared=$FILES/shared.img", "--volume", &device]);
    let mut launcher = machine.boot(&scratch);
    machine.look(&mut launcher, &scratch);
    assert_eq!(fs::metadata(machine.files.0.join("host.img")).expect("the disk was made").len(), 8 << 20);
    assert!(fs::read(machine.files.0.join("kept.img")).expect("the claim").iter().all(|byte| *byte == b'k'), "what is ephemeral is");
    assert!(fs::read(machine.files.0.join("shared.img")).expect("the claim").starts_with(b"written"), "what is not, is not");
    // nobody feeds it: its time is half a minute at most, in two halves
    launcher.type_line("0 exec 9>/dev/watchdog");
    // its action is poweroff, for which QEMU leaves at once and without a word: to everyone else a crash
    assert_eq!(launcher.end(BOOT), Some(4), "the watchdog ends the guest: {}", launcher.told());
    traces::none_left(&scratch, &before, Duration::ZERO);
}

#[test]
fn odd_devices_are_seen_a_watchdog_resets_the_guest_and_a_panic_is_told() {
    let (scratch, before) = (Folder::new(), traces::files());
    let port = free_port();
    let kernel = format!("kernel={}", folder("tiny").display());
    let mut machine = Machine::new("odd").with(&["--image", &kernel, "--vnc", &format!("127.0.0.1:{port}")]);
    // the machine has no disk that the image could be for
    machine.arguments.retain(|argument| !argument.starts_with("localhost/"));
    machine.arguments.remove(2);
    let mut launcher = machine.boot(&scratch);
    machine.look(&mut launcher, &scratch);
    let clock: i64 = launcher.run("date +%s").trim().parse().expect("seconds");
    let now = SystemTime::UNIX_EPOCH.elapsed().expect("the time").as_secs();
    let ahead = clock - i64::try_from(now).expect("seconds");
    assert!((864_000 - 300..=864_000 + 60).contains(&ahead), "its clock goes ten days before ours: {ahead} s");
    let picture = screen::picture(port);
    assert!(
        picture.width >= 640 && picture.height >= 400 && picture.colours() > 1,
        "a screen with something on it: {} colours",
        picture.colours()
    );

    launcher.type_line("0 exec 9>/dev/watchdog");
    let begin = Instant::now();
    launcher.log_in("root", "kubevirt");
    launcher.listen();
    println!("started anew by the watchdog after {:?}", begin.elapsed());
    launcher.type_line("0 echo c >/proc/sysrq-trigger");
    assert_eq!(launcher.end(BOOT), Some(5), "a panic is a crash: {}", launcher.told());
    assert!(launcher.told().contains("has crashed"), "{}", launcher.told());
    traces::none_left(&scratch, &before, Duration::ZERO);
}
