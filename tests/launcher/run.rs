//! Starting, reaching, stopping; and that nothing is left.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::guest::{BOOT, Folder, Launcher, free_port, refused, repository, tiny};
use crate::traces;

fn arguments(more: &[&str]) -> Vec<String> {
    let mut arguments = vec!["--vmi".to_owned(), repository("examples/vmi-tiny.yaml").display().to_string()];
    arguments.extend(tiny());
    arguments.extend(more.iter().map(|a| (*a).to_owned()));
    arguments
}

/// An HTTP request, again and again until it is answered.
fn get(port: u16) -> String {
    let begin = Instant::now();
    loop {
        let answer = TcpStream::connect(("127.0.0.1", port)).and_then(|mut stream| {
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).map(|_| answer)
        });
        match answer {
            Ok(answer) if answer.contains("200 OK") => return answer,
            other => assert!(begin.elapsed() < BOOT, "no answer through the forwarded port: {other:?}"),
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

#[test]
fn the_smallest_example_boots_answers_and_leaves_nothing() {
    let (scratch, before) = (Folder::new(), traces::files());
    let port = free_port();
    let mut launcher = Launcher::start(&scratch, &arguments(&["--forward", &format!("{port}:80")]));
    launcher.log_in("root", "kubevirt");
    launcher.ask("echo hostname-is-$(hostname)", "hostname-is-vmi-tiny");
    assert!(get(port).contains("vmi-tiny"), "the guest's own page names it");
    assert!(launcher.told().matches("emulated").count() <= 1, "emulation is said once");
    launcher.signal(Signal::SIGTERM);
    assert_eq!(launcher.end(Duration::from_secs(60)), Some(0), "{}", launcher.told());
    assert!(launcher.told().contains("powered off"), "{}", launcher.told());
    traces::none_left(&scratch, &before, Duration::ZERO);
}

#[test]
fn a_killed_launcher_takes_everything_with_it_and_the_guest_has_its_grace_period() {
    let (scratch, before) = (Folder::new(), traces::files());
    let mut launcher = Launcher::start(&scratch, &arguments(&[]));
    launcher.wait_for("login: ", BOOT);
    assert!(traces::processes(&scratch).len() >= 3, "libvirt and QEMU run");
    launcher.signal(Signal::SIGKILL);
    launcher.end(Duration::from_secs(5));
    // examples/vmi-tiny.yaml grants 15 s
    traces::none_left(&scratch, &before, Duration::from_secs(40));
    assert!(launcher.printed().contains("Power down"), "the guest powered off by itself:\n{}", launcher.printed());
}

#[test]
fn when_the_inside_is_killed_the_outside_cleans_up() {
    let (scratch, before) = (Folder::new(), traces::files());
    let mut launcher = Launcher::start(&scratch, &arguments(&["--console", "log"]));
    launcher.wait_until_told("is booting", BOOT);
    let child = traces::child(launcher.pid()).expect("the launcher has a child, which is process 1 of its sandbox");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child), Signal::SIGKILL).expect("it is there");
    assert_eq!(launcher.end(Duration::from_secs(20)), Some(128 + 9));
    traces::none_left(&scratch, &before, Duration::ZERO);
}

#[test]
fn an_interrupt_while_it_starts_leaves_nothing() {
    let (scratch, before) = (Folder::new(), traces::files());
    for wait in [1, 60, 300, 900] {
        let mut launcher = Launcher::start(&scratch, &arguments(&[]));
        std::thread::sleep(Duration::from_millis(wait));
        launcher.signal(Signal::SIGINT);
        std::thread::sleep(Duration::from_millis(1200));
        launcher.signal(Signal::SIGINT);
        let code = launcher.end(Duration::from_secs(60));
        assert_ne!(code, Some(0), "after {wait} ms: {}", launcher.told());
        traces::none_left(&scratch, &before, Duration::from_secs(5));
    }
}

#[test]
fn two_launchers_do_not_disturb_each_other() {
    let (first_scratch, second_scratch, before) = (Folder::new(), Folder::new(), traces::files());
    let ports = [free_port(), free_port()];
    let mut first = Launcher::start(&first_scratch, &arguments(&["--forward", &format!("{}:80", ports[0])]));
    let mut second = Launcher::start(&second_scratch, &arguments(&["--forward", &format!("{}:80", ports[1])]));
    let boot_id = |page: String| page.lines().find(|l| l.contains("boot-id")).expect("the page tells the boot").to_owned();
    let ids = ports.map(|port| boot_id(get(port)));
    assert_ne!(ids[0], ids[1]);
    first.signal(Signal::SIGTERM);
    assert_eq!(first.end(Duration::from_secs(60)), Some(0));
    assert_eq!(boot_id(get(ports[1])), ids[1], "the second runs on");
    second.signal(Signal::SIGTERM);
    assert_eq!(second.end(Duration::from_secs(60)), Some(0));
    traces::none_left(&first_scratch, &before, Duration::ZERO);
    traces::none_left(&second_scratch, &before, Duration::ZERO);
}

#[test]
fn root_is_not_needed_and_events_are_told_as_json() {
    if !nix::unistd::geteuid().is_root() {
        return; // then every other test shows it
    }
    let scratch = Folder::new();
    let files = Folder::new();
    let copy = |from: &std::path::Path, name: &str| {
        let to = files.0.join(name);
        std::fs::copy(from, &to).expect("a copy");
        to
    };
    let image = copy(&crate::guest::folder("tiny").join("tiny.oci.tar"), "tiny.oci.tar");
    let machine = copy(&repository("examples/vmi-tiny.yaml"), "vmi.yaml");
    let binary = copy(&crate::guest::binary(), "kubevirt-rs");
    nix::unistd::chown(&scratch.0, Some(65534.into()), Some(65534.into())).expect("the folder is given to nobody");
    let list = [
        "--vmi",
        &machine.display().to_string(),
        "--image",
        &format!("localhost/kubevirt-rs/tiny:latest={}", image.display()),
        "-o",
        "json",
        "--timeout",
        "5s",
    ]
    .map(str::to_owned);
    let mut launcher = Launcher::start_as_nobody(&scratch, &binary, &list);
    assert_eq!(launcher.end(BOOT), Some(7), "its time is over: {}", launcher.told());
    let events: Vec<Value> = launcher.printed().lines().map(|l| serde_json::from_str(l).expect("an object a line")).collect();
    let names: Vec<&str> = events.iter().filter_map(|e| e["event"].as_str()).collect();
    assert_eq!(names, ["Started", "Stopping", "Ended"]);
    assert_eq!(events[2]["outcome"], "TimedOut");
    assert_eq!(scratch.list(), Vec::<String>::new());
}

#[test]
fn the_screen_speaks_vnc() {
    let scratch = Folder::new();
    let port = free_port();
    let mut launcher = Launcher::start(&scratch, &arguments(&["--vnc", &format!("127.0.0.1:{port}"), "--console", "log"]));
    let begin = Instant::now();
    let greeting = loop {
        let greeting = TcpStream::connect(("127.0.0.1", port)).and_then(|mut stream| {
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            let mut greeting = [0; 12];
            stream.read_exact(&mut greeting).map(|()| greeting)
        });
        match greeting {
            Ok(greeting) => break greeting,
            Err(e) => assert!(begin.elapsed() < BOOT, "{e}"),
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    assert_eq!(&greeting, b"RFB 003.008\n");
    launcher.wait_until_told("is booting", BOOT);
    launcher.signal(Signal::SIGTERM);
    std::thread::sleep(Duration::from_millis(1500));
    launcher.signal(Signal::SIGTERM);
    assert_eq!(launcher.end(Duration::from_secs(20)), Some(6), "asked twice, it is ended at once");
}

#[test]
fn what_is_missing_is_said_before_anything_is_started() {
    let scratch = Folder::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its number").port();
    let vmi = repository("examples/vmi-tiny.yaml").display().to_string();
    let cases: [(Vec<String>, i32, &str); 5] = [
        (arguments(&["--forward", &format!("{port}:80")]), 3, "choose another"),
        (arguments(&["--vnc", &format!("127.0.0.1:{port}")]), 3, "choose another"),
        (vec!["--vmi".into(), vmi.clone()], 3, "spec.volumes[0].containerDisk.image"),
        (vec!["--vmi".into(), vmi.clone(), "--image".into(), "localhost/kubevirt-rs/tiny:latest=/nowhere".into()], 3, "/nowhere"),
        (arguments(&["--image", "other=/etc/hostname"]), 2, "no volume, claim or container image of that name"),
    ];
    for (arguments, code, text) in cases {
        let output = refused(&scratch, &arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), told.contains(text)), (Some(code), true), "{arguments:?}: {told}");
        assert_eq!(scratch.list(), Vec::<String>::new(), "nothing was started");
    }
}

#[test]
fn a_dry_run_prints_the_domain_and_starts_nothing() {
    let scratch = Folder::new();
    let output = refused(&scratch, &arguments(&["--dry-run"]));
    assert!(output.status.success());
    let xml = String::from_utf8(output.stdout).expect("text");
    let document = roxmltree::Document::parse(&xml).expect("XML");
    assert_eq!(document.descendants().find(|n| n.has_tag_name("name")).and_then(|n| n.text()), Some("default_vmi-tiny"));
    assert_eq!(scratch.list(), Vec::<String>::new());
}
