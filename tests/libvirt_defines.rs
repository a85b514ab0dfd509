//! The domains of the golden cases, accepted by libvirt: by its schema, and by a real daemon that defines them.
//!
//! Defining starts nothing, but libvirt judges all that it knows without a guest: what it cannot read, what contradicts
//! itself, what the emulator of that architecture cannot do (`tests/emulators.sh` brings those that Debian has).
//!
//! With `KUBEVIRT_RS_CASES=FILE` so are the domains of machines that stand in a file, one a line as `kubevirt-rs render
//! domain --batch` reads them, of those lines with the facts `tcg`.
//!
//! Before libvirt sees a domain, these things are replaced in it, and nothing else:
//!
//! | written | replaced by | because |
//! |---|---|---|
//! | `<domain type='kvm'` | `<domain type='qemu'` | libvirt defines no KVM domain on a machine without /dev/kvm |
//! | `/usr/bin/qemu-system-aarch64` as emulator | where the test has it | it is not installed |
//! | `accessMode=` (only FILE) | `accessmode=` | the batch writes KubeVirt's spelling, which libvirt passes over |

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test that cannot go on fails

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// A domain that libvirt refuses, rightly or because it is older than what the domain asks for.
struct Refusal {
    /// What such a domain has in it.
    shows: &'static str,
    /// Whether the schema refuses it.
    schema: bool,
    /// What the daemon says to it; empty when it defines it all the same, since it passes over what it does not know.
    says: &'static str,
    why: &'static str,
}

const fn refusal(shows: &'static str, schema: bool, says: &'static str, why: &'static str) -> Refusal {
    Refusal { shows, schema, says, why }
}

/// What libvirt 9.0, that of Debian 12, refuses of the golden cases. Whatever has none of these in it must be accepted,
/// and whatever has one must be refused: a row that no longer holds is to be taken away.
const GOLDEN: [Refusal; 12] = [
    refusal(
        " slots='0'>",
        false,
        "both maximum memory size and memory slot count must be specified",
        "memory can be plugged in without slots since libvirt 10; the launcher leaves it out for an older one",
    ),
    refusal("<launchSecurity type='tdx'>", true, "Invalid value for attribute 'type'", "TDX is newer"),
    refusal("<launchSecurity type='sev-snp'", true, "Invalid value for attribute 'type'", "SEV-SNP is newer"),
    refusal(
        "<launchSecurity type='sev'",
        false,
        "SEV launch security is not supported with this QEMU binary",
        "QEMU can do SEV only on a host that can",
    ),
    refusal("</table>\n      <table ", true, "Only one acpi table is supported", "several ACPI tables are newer"),
    refusal("<tlbflush state='on'>\n", true, "", "kinds of TLB flushes are newer"),
    refusal("<interface type='vhostuser'>", true, "Missing required attribute 'type'", "passt by vhost-user is newer"),
    refusal("migration='yes'", true, "", "reservations that move along are newer"),
    refusal("<iothreads>\n", true, "", "several I/O threads for one disk are newer"),
    refusal("discard_granularity=", true, "", "the attribute is newer"),
    refusal("<nvram format=", true, "", "the attribute is newer"),
    refusal("type='pci' managed='no' display='on'", true, "", "a display is the schema's own only for mediated devices"),
];

/// What it refuses of the cases in FILE beyond that: what KubeVirt admits, and hands to libvirt as it is.
const GIVEN: [Refusal; 7] = [
    refusal(
        "<disk type='file' device='lun'",
        true,
        "disk device='lun' is only valid for block type disk source",
        "the facts `tcg` give files to all claims",
    ),
    refusal(" bus='0x81' slot='0x01'", false, "Invalid PCI address 0000:81:01.0", "a port has only the slot 0"),
    refusal("<target dir=''/>", false, "missing target information", "a shared file system without a name"),
    refusal(
        "type='qcow2' error_policy='stop' io='native'",
        false,
        "io='native' needs either no disk cache or directsync cache mode",
        "native I/O with QEMU's own choice of cache",
    ),
    refusal("<vcpu placement='static'>3072<", false, "Maximum CPUs greater than specified machine type limit", "a q35 has 288"),
    refusal("machine='pc-q35-2.0'", false, "does not support machine type", "older than QEMU's oldest"),
    refusal("<feature name='lahf_lm'/>", true, "", "a feature without a policy, which the daemon takes as required"),
];

/// A folder that goes when the test does. Its name is short, since sockets lie below it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = PathBuf::from(format!("/tmp/kd{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn within(&self, name: &str) -> PathBuf {
        let folder = self.0.join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A libvirt daemon with everything of its own below a folder.
struct Libvirt {
    child: Child,
    socket: PathBuf,
}

impl Libvirt {
    fn start(folder: &Folder, emulators: &Path) -> Self {
        let log = File::create(folder.0.join("daemon.log")).unwrap();
        // in a user namespace, as one who is not root: root's daemon would use the folders of the whole machine
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-user=1000", "--map-group=1000", "libvirtd"]).env_clear().stderr(log);
        command.env("PATH", format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", emulators.display()));
        command.env("LIBVIRT_LOG_OUTPUTS", "3:stderr").env("HOME", folder.within("home"));
        for (variable, name) in
            [("XDG_RUNTIME_DIR", "run"), ("XDG_CONFIG_HOME", "config"), ("XDG_CACHE_HOME", "cache"), ("XDG_DATA_HOME", "data")]
        {
            command.env(variable, folder.within(name));
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("unshare runs");
        let mut daemon = Self { child, socket: folder.0.join("run/libvirt/libvirt-sock") };
        let begin = Instant::now();
        while !daemon.socket.exists() {
            let told = || fs::read_to_string(folder.0.join("daemon.log")).unwrap_or_default();
            assert!(daemon.child.try_wait().unwrap().is_none(), "libvirtd ended: {}", told());
            assert!(begin.elapsed() < Duration::from_secs(30), "libvirtd does not listen: {}", told());
            std::thread::sleep(Duration::from_millis(20));
        }
        daemon
    }

    /// Defines each of these domains, and forgets it again. Says why those were refused that were.
    fn refused(&self, domains: &BTreeMap<PathBuf, String>) -> BTreeMap<PathBuf, String> {
        let mut script = String::new();
        for (file, domain) in domains {
            let file = file.display();
            script += &format!("echo CASE {file}\ndefine {file}\nundefine --keep-nvram --domain {}\n", quoted(domain));
        }
        let mut virsh = Command::new("sh");
        // what it prints to either must stay in one order
        virsh.args(["-c", "exec virsh --connect \"$1\" 2>&1", "sh"]);
        virsh.arg(format!("qemu:///session?socket={}", self.socket.display()));
        let mut virsh = virsh.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("virsh runs");
        let mut stdin = virsh.stdin.take().unwrap();
        let writer = std::thread::spawn(move || stdin.write_all(script.as_bytes()));
        let output = virsh.wait_with_output().unwrap();
        writer.join().unwrap().expect("virsh reads all");
        let told = String::from_utf8_lossy(&output.stdout);
        let mut refused = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for part in told.split("\nCASE ").skip(1) {
            let (file, answers) = part.split_once('\n').unwrap_or((part, ""));
            seen.insert(PathBuf::from(file));
            let defined = answers.contains("' defined from ");
            if !defined {
                assert!(answers.contains("Failed to define domain"), "virsh says: {part}");
                let errors: Vec<_> = answers.lines().filter_map(|line| line.strip_prefix("error: ")).collect();
                refused.insert(file.into(), (*errors.get(1).unwrap_or(&"")).to_owned());
            }
        }
        assert!(seen.iter().eq(domains.keys()), "virsh ended early: {told}");
        refused
    }
}

impl Drop for Libvirt {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGTERM);
        let _ = self.child.wait();
    }
}

/// A word for virsh, which reads them as a shell does.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The folder of the emulators that are not installed.
fn emulators() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/emulators.sh");
    let output = Command::new(script).stderr(Stdio::inherit()).output().expect("the script runs");
    assert!(output.status.success(), "the emulators of other machines are missing");
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

fn golden() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/domain");
    let folders = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.join("out.xml").exists());
    folders
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path.join("out.xml")).unwrap()))
        .collect()
}

/// The domains of the machines in a file.
fn given(file: &str) -> BTreeMap<String, String> {
    let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{file}: {e}"));
    let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).filter(|case| case["facts"] == "tcg");
    let questions: Vec<String> =
        cases.map(|case| json!({"id": case["id"], "facts": case["facts"], "vmi": case["vmi"]}).to_string() + "\n").collect();
    let binary = std::env::var_os("KUBEVIRT_RS").map_or_else(|| env!("CARGO_BIN_EXE_kubevirt-rs").into(), PathBuf::from);
    let mut render = Command::new(binary);
    let mut render = render.args(["render", "domain", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, all) = (render.stdin.take().unwrap(), questions.concat());
    let writer = std::thread::spawn(move || stdin.write_all(all.as_bytes()));
    let output = render.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let answers: BTreeMap<String, String> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter_map(|answer| Some((answer["id"].as_str()?.to_owned(), answer["xml"].as_str()?.to_owned())))
        .collect();
    assert!(answers.len() * 10 > questions.len() * 9, "{} of {} machines have a domain", answers.len(), questions.len());
    answers.into_iter().map(|(id, xml)| (id, xml.replace(" accessMode=", " accessmode="))).collect()
}

/// What is wrong about the verdicts on one domain.
fn misjudged(xml: &str, schema: Option<&String>, daemon: Option<&String>, known: &[&Refusal]) -> Option<String> {
    let shown: Vec<_> = known.iter().filter(|row| xml.contains(row.shows)).collect();
    let reasons = || shown.iter().map(|row| format!("{} ({})", row.shows.trim(), row.why)).collect::<Vec<_>>().join(", ");
    match (schema, shown.iter().any(|row| row.schema)) {
        (Some(why), false) => return Some(format!("the schema refuses it:\n{why}")),
        (None, true) => return Some(format!("the schema accepts it although it has {}", reasons())),
        _ => {}
    }
    match (daemon, shown.iter().any(|row| !row.says.is_empty())) {
        (Some(why), _) if !shown.iter().any(|row| !row.says.is_empty() && why.contains(row.says)) => {
            Some(format!("libvirt refuses it: {why}"))
        }
        (None, true) => Some(format!("libvirt defines it although it has {}", reasons())),
        _ => None,
    }
}

#[test]
fn libvirt_defines_every_domain() {
    let (folder, emulators) = (Folder::new(), emulators());
    let files = std::env::var("KUBEVIRT_RS_CASES").ok().filter(|file| !file.is_empty());
    let mut known: Vec<&Refusal> = GOLDEN.iter().collect();
    let mut cases = golden();
    assert!(cases.len() > 25, "only {} domains", cases.len());
    if let Some(file) = files {
        known.extend(&GIVEN);
        cases.extend(given(&file));
    }
    let foreign = format!("<emulator>{}/", emulators.display());
    let (mut domains, mut texts, mut machines) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
    let out = folder.within("domains");
    for (name, xml) in cases {
        let xml = xml.replacen("<domain type='kvm'", "<domain type='qemu'", 1);
        let xml = xml.replace("<emulator>/usr/bin/qemu-system-aarch64<", &format!("{foreign}qemu-system-aarch64<"));
        let document = roxmltree::Document::parse(&xml).unwrap_or_else(|e| panic!("{name}: {e}"));
        let find = |tag: &str| document.descendants().find(|node| node.has_tag_name(tag)).unwrap_or_else(|| panic!("{name}: no {tag}"));
        machines.insert(find("type").attribute("arch").unwrap_or_default().to_owned());
        let file = out.join(format!("{name}.xml"));
        domains.insert(file.clone(), find("name").text().unwrap_or_default().to_owned());
        fs::write(&file, &xml).unwrap();
        texts.insert(file, xml);
    }
    assert!(["x86_64", "aarch64", "s390x"].iter().all(|machine| machines.contains(*machine)), "{machines:?}");
    let idle: Vec<_> = known.iter().map(|row| row.shows).filter(|shows| !texts.values().any(|xml| xml.contains(shows))).collect();
    assert!(idle.is_empty(), "no domain has these any more: {idle:?}");

    let by_schema = common::refused_by_schema(&domains.keys().cloned().collect::<Vec<_>>());
    let libvirt = Libvirt::start(&folder, &emulators);
    let by_daemon = libvirt.refused(&domains);
    let wrong: Vec<_> = texts
        .iter()
        .filter_map(|(file, xml)| {
            let wrong = misjudged(xml, by_schema.get(file), by_daemon.get(file), &known)?;
            Some(format!("{}: {wrong}", file.file_stem()?.to_string_lossy()))
        })
        .collect();
    println!("{} domains, {} refused by the schema, {} by the daemon", texts.len(), by_schema.len(), by_daemon.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
