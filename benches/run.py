#!/usr/bin/env python3
"""The figures that README quotes, measured on this machine. Uses Python's standard library only.

    benches/run.py [--minutes N] [PART …]

N: how long the guests of the memory figures run (default 1; an hour shows growth). PART: program, crate, codec,
decisions, reviews, start, memory or polling (which needs root); all of them unless told.

KUBEVIRT_RS names the binary, which should be the release build. Where a figure has two sides, both are measured in
this run and the ratio or difference is printed, since machines are noisy.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import overhead

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = os.environ.get("KUBEVIRT_RS", str(ROOT / "target/kubevirt-rs"))
VMI = str(ROOT / "examples/vmi-tiny.yaml")
MIB = 1024


def say(name, figure, wanted):
    print(f"{name:58} {figure:>22}   wanted: {wanted}", flush=True)


def median(values):
    return sorted(values)[len(values) // 2]


def tiny():
    folder = subprocess.run([ROOT / "tests/guests/build.sh", "tiny"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return f"localhost/kubevirt-rs/tiny:latest={folder}/tiny.oci.tar"


def start_of(pid):
    """When a process began, in seconds since boot."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[19]) / os.sysconf("SC_CLK_TCK")


def processes(needle):
    """The processes in whose arguments or environment a text stands, with their programs."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            text = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
            if needle.encode() in text:
                found[int(entry.name)] = os.path.basename(os.readlink(entry / "exe"))
        except OSError:
            pass
    return found


def memory(pid, key="VmRSS"):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) / MIB
    return 0.0


def milliseconds(*arguments):
    """The median time of a short command."""
    times = []
    for _ in range(21):
        begin = time.perf_counter()
        subprocess.run([BINARY, *arguments], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - begin)
    return f"{median(times) * 1000:.1f} ms"


def program_figures():
    # by a small program: a child's peak begins with that of whoever started it, and Python is larger than the figure
    peak = subprocess.run(["/usr/bin/time", "-f", "%M", BINARY, "--help"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).stderr
    say("kubevirt-rs --help, time", milliseconds("--help"), "at most 20 ms")
    say("kubevirt-rs --help, memory", f"{int(peak) / MIB:.1f} MB", "at most 8 MB")
    say("binary, stripped", f"{os.path.getsize(BINARY) / 1e6:.1f} MB", "at most 35 MB")
    say("kubevirt-rs schema crds", milliseconds("schema", "crds"), "at most 50 ms")


def crate_figures():
    """The crate of the types with all that it depends on, from sources that have been downloaded."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["cargo", "build", "--locked", "--offline", "--package", "kubevirt-api", "--target-dir", folder]
        subprocess.run(["cargo", "fetch", "--locked", "--quiet"], check=True, cwd=ROOT)
        begin = time.monotonic()
        subprocess.run(command, check=True, cwd=ROOT, stderr=subprocess.DEVNULL)
        say("kubevirt-api with its dependencies, built from nothing", f"{time.monotonic() - begin:.0f} s", "")
        subprocess.run(["cargo", "clean", "--locked", "--offline", "--package", "kubevirt-api", "--package", "kubevirt-api-macros",
                        "--target-dir", folder], check=True, cwd=ROOT, stderr=subprocess.DEVNULL)
        begin = time.monotonic()
        subprocess.run(command, check=True, cwd=ROOT, stderr=subprocess.DEVNULL)
        say("kubevirt-api, its dependencies built before", f"{time.monotonic() - begin:.0f} s", "at most 90 s")


def codec_figures():
    """The crate of the types as its users build it, against KubeVirt's own client library on the same documents."""
    text = subprocess.run([BINARY, "schema", "roundtrip", "--file", ROOT / "examples", "--output", "json"],
                          check=True, stdout=subprocess.PIPE, text=True).stdout
    machines = [document for document in documents(text) if document["kind"] == "VirtualMachine"]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "documents")
        file.write_text("\n".join(json.dumps(machine, separators=(",", ":")) for machine in machines))
        command = ["cargo", "bench", "--locked", "--package", "kubevirt-api", "--bench", "codec", "--profile", "library", "--", file]
        ours = json.loads(subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])["perSecond"]
        codec = os.path.join(folder, "codec")
        subprocess.run(["go", "build", "-o", codec, "./codec"], check=True, cwd=ROOT / "tests/client")
        theirs = json.loads(subprocess.run([codec, file], check=True, stdout=subprocess.PIPE, text=True).stdout)["perSecond"]
    say("VirtualMachines decoded and encoded by kubevirt-api", f"{ours:,.0f} / s", "")
    say("the same by KubeVirt's client library", f"{theirs:,.0f} / s", "")
    say("ours against it", f"{ours / theirs:.1f} times", "at least 4 times")


def documents(text):
    """JSON documents that stand one after the other."""
    decoder, at = json.JSONDecoder(), 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        document, at = decoder.raw_decode(text, at)
        yield document


def decision_figures():
    """Decisions a second on one core."""
    cases = os.environ.get("KUBEVIRT_RS_CASES")
    # KubeVirt's own figures on a machine of this kind: 862 validations and 750 mutations a second, 4 065 conversions
    wanted = {
        "default and judge an object": "at least 8 times 862",
        "instance to libvirt XML": "at least 10 times 4 065",
        "instance to pod": "at least 10 times KubeVirt's",
    }
    for line in bench("decisions", *(["--cases", cases] if cases else [])):
        say(line["name"], f"{line['perSecond']:,.0f} / s", wanted[line["name"]])


def reviews_figures():
    """The api role over HTTPS; the clients share its processors."""
    (figures,) = bench("reviews")
    before, after = figures["ownMegabytes"]
    say("reviews over HTTPS", f"{figures['perSecond']:,} / s", "at least 3 000")
    say("of them 99 % within", f"{figures['p99Milliseconds']:.2f} ms", "below 5 ms")
    say(f"memory of its own before and after {figures['reviews']:,} reviews", f"{before}, {after} MB", "flat")


def bench(name, *arguments):
    """What a bench of Cargo's says: an object a line."""
    command = ["cargo", "bench", "--locked", "--bench", name, "--", *arguments]
    environment = {**os.environ, **libvirt(), "KUBEVIRT_RS": BINARY}
    out = subprocess.run(command, check=True, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def libvirt():
    """The variables by which Cargo finds the static libvirt client."""
    script = ". deploy/libvirt/env.sh >&2; env -0"
    out = subprocess.run(["bash", "-c", script], check=True, cwd=ROOT, stdout=subprocess.PIPE).stdout
    return dict(entry.split("=", 1) for entry in out.decode().split("\0") if "=" in entry)


class Launcher:
    def __init__(self, image):
        self.scratch = tempfile.mkdtemp(prefix="kb", dir="/tmp")
        self.begin = time.clock_gettime(time.CLOCK_BOOTTIME)
        self.process = subprocess.Popen([BINARY, "launcher", "--vmi", VMI, "--image", image, "-o", "json"],
                                        env={**os.environ, "TMPDIR": self.scratch}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        event = json.loads(self.process.stdout.readline())
        assert event["event"] == "Started", event

    def named(self, program):
        return [pid for pid, name in processes(self.scratch).items() if name.startswith(program)]

    def stop(self):
        for _ in range(2):
            self.process.send_signal(signal.SIGTERM)
            time.sleep(1.2)
        self.process.wait()
        shutil.rmtree(self.scratch, ignore_errors=True)


def bare(xml):
    """libvirt's and QEMU's own time: the same domain by a session daemon and virsh, from start to QEMU's start."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kb", dir="/tmp"))
    try:
        for name in ("run", "config/libvirt", "cache", "data"):
            (folder / name).mkdir(parents=True)
        (folder / "config/libvirt/qemu.conf").write_text('stdio_handler = "file"\n')
        private = f"{folder}/private"
        (folder / "private").mkdir()
        for sub in ("sockets", "nvram"):
            (folder / "private" / sub).mkdir()
        text = xml.replace("/tmp/kubevirt-rs", private)
        uid = text.split(f"{private}/sockets/")[1].split("/")[0]
        (folder / "private/sockets" / uid).mkdir()
        for path in set(part.split("'")[0] for part in text.split("file='")[1:]):
            pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
            kind = "qcow2" if path.endswith(("qcow2", "disk_0.img")) else "raw"
            subprocess.run(["qemu-img", "create", "-q", "-f", kind, path, "64M"], check=True)
        (folder / "domain.xml").write_text(text)
        script = f"""
set -e
export HOME={folder} XDG_RUNTIME_DIR={folder}/run XDG_CONFIG_HOME={folder}/config XDG_CACHE_HOME={folder}/cache XDG_DATA_HOME={folder}/data
/usr/sbin/libvirtd 2>/dev/null &
until [ -S {folder}/run/libvirt/libvirt-sock ]; do sleep 0.005; done
virsh -q -c 'qemu+unix:///session?socket={folder}/run/libvirt/libvirt-sock' create --paused {folder}/domain.xml
touch {folder}/done
sleep 60
"""
        begin = time.clock_gettime(time.CLOCK_BOOTTIME)
        # the shell stays process 1, so that what it started lives until the figure is taken
        process = subprocess.Popen(["unshare", "--user", "--map-user=65534", "--map-group=65534", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        limit = time.monotonic() + 60
        while not (folder / "done").exists() and time.monotonic() < limit and process.poll() is None:
            time.sleep(0.02)
        qemu = [pid for pid, name in processes(str(folder)).items() if name.startswith("qemu-system")]
        result = max(start_of(pid) for pid in qemu) - begin if qemu else None
        process.kill()
        process.wait()
        return result
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def start_figures(image):
    xml = subprocess.run([BINARY, "launcher", "--vmi", VMI, "--image", image, "--dry-run"], check=True, stdout=subprocess.PIPE, text=True).stdout
    ours, theirs = [], []
    for _ in range(3):
        launcher = Launcher(image)
        ours.append(max(start_of(pid) for pid in launcher.named("qemu-system")) - launcher.begin)
        launcher.stop()
        alone = bare(xml)
        if alone is not None:
            theirs.append(alone)
    say("from command to QEMU's start", f"{median(ours):.2f} s", "")
    if theirs:
        say("the same by libvirtd and virsh alone", f"{median(theirs):.2f} s", "")
        say("our own time beside them", f"{median(ours) - median(theirs):.2f} s", "at most 1.0 s")


def memory_figures(image, minutes):
    launcher = Launcher(image)
    time.sleep(20)
    first = {pid: memory(pid) for pid in launcher.named(os.path.basename(BINARY))}
    inside = max(first, key=lambda pid: start_of(pid))
    time.sleep(max(0, minutes * 60 - 20))
    for pid in sorted(first):
        role = "inside (process 1 of the sandbox)" if pid == inside else "outside"
        say(f"launcher {role}, resident after 20 s", f"{first[pid]:.1f} MB", "at most 10 MB")
        say(f"launcher {role}, resident after {minutes} min", f"{memory(pid):.1f} MB", "not more")
    launcher.stop()


def polling_figures(minutes):
    """Process 1 of a pod whose guest's agent is asked again and again, looked at twice a second."""
    pod = overhead.Pod()
    try:
        pod.ask("PUT", "/v1/instance", overhead.order(1))
        limit = time.monotonic() + overhead.BOOT
        while not (json.loads(pod.ask("GET", "/v1/domain")).get("agent") or {}).get("os", {}).get("id"):
            assert time.monotonic() < limit, "the guest's agent has not answered"
            time.sleep(1)
        looks = []
        while len(looks) < max(2, minutes * 120):
            time.sleep(0.5)
            looks.append((memory(pod.first), memory(pod.first, "RssAnon")))
    finally:
        pod.stop()
    a_minute = 120
    for when, part in (("in the first minute", looks[:a_minute]), (f"in the last of {minutes:g} min", looks[-a_minute:])):
        resident = [rss for rss, _ in part]
        say(f"process 1 of a pod, the agent polled, resident {when}: mean", f"{sum(resident) / len(resident):.1f} MB", "at most 10 MB")
        say("    at most", f"{max(resident):.1f} MB", "")
        say("    its own of that, at most", f"{max(own for _, own in part):.1f} MB", "no growth")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("parts", nargs="*", metavar="PART")
    arguments = parser.parse_args()
    parts = {
        "program": program_figures,
        "crate": crate_figures,
        "codec": codec_figures,
        "decisions": decision_figures,
        "reviews": reviews_figures,
        "start": lambda: start_figures(tiny()),
        "memory": lambda: memory_figures(tiny(), arguments.minutes),
        "polling": lambda: polling_figures(arguments.minutes),
    }
    unknown = set(arguments.parts) - parts.keys()
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; a part is one of {', '.join(parts)}")
    for name in arguments.parts or parts:
        parts[name]()


if __name__ == "__main__":
    main()
