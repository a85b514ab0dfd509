#!/usr/bin/env python3
"""What a launcher pod needs beside its guest's memory: the figures of docs/memory.md, measured on this machine.

    benches/overhead.py [--seconds N] [--rows FILE] [CORES …]

CORES: the guests' vCPUs, 1 2 4 8 unless told. Each guest boots in a pod as tests/launcher/pod.sh makes it, is looked
at while it idles, and then N seconds (30) with its disks, its network and its screen busy. The highest figure counts.
Needs root. KUBEVIRT_RS names the binary, which should be the release build.

The guests are emulated. What QEMU translates lies in memory of its own (`translated`), and is told apart; what else
emulation costs within QEMU (tables of addresses for each vCPU) cannot be, and stays in the figure.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = os.environ.get("KUBEVIRT_RS", str(ROOT / "target/kubevirt-rs"))
UID = "0d3f0d3e-0024-4a4e-9b0a-00000000000b"
MAC = "02:00:00:00:00:01"
GUEST_MIB = 256
BOOT = 240
# the stack that the kernel has for each thread
KERNEL_STACK = 16


def order(cores):
    vmi = {
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
        "metadata": {"name": "tiny", "namespace": "lab", "uid": UID},
        "spec": {
            "architecture": "amd64", "terminationGracePeriodSeconds": 20,
            "domain": {
                "machine": {"type": "q35"}, "cpu": {"cores": cores, "model": "host-model"}, "memory": {"guest": f"{GUEST_MIB}Mi"},
                "firmware": {"uuid": "6a1a24a1-4061-4607-8bf4-a3963d0c5895"}, "features": {"acpi": {"enabled": True}},
                "devices": {
                    "rng": {}, "disks": [{"name": name, "disk": {"bus": "virtio"}} for name in ("root", "seed", "empty")],
                    "interfaces": [{"name": "default", "model": "virtio", "macAddress": MAC, "masquerade": {}}],
                },
            },
            "networks": [{"name": "default", "pod": {}}],
            "volumes": [
                {"name": "root", "containerDisk": {"image": "localhost/kubevirt-rs/tiny:latest"}},
                {"name": "seed", "cloudInitNoCloud": {"userData": "#cloud-config\nhostname: tiny\npassword: kubevirt\n"}},
                {"name": "empty", "emptyDisk": {"capacity": "1Gi"}},
            ],
        },
    }
    lease = {"link": "k6t-eth0", "mac": MAC, "address": "10.0.2.2", "prefix": 24, "server": "10.0.2.1", "gateway": "10.0.2.1", "mtu": 1450}
    return {"vmi": vmi, "configuration": {"developerConfiguration": {"useEmulation": True}},
            "interfaces": {"default": {"tap": "tap0", "mtu": 1450, "dhcp": lease}}}


class Pod:
    """The inside of a launcher pod, with its processes in namespaces of their own."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ko", dir="/tmp"))
        self.folder.chmod(0o755)
        image = subprocess.run([ROOT / "tests/guests/build.sh", "tiny"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        self.helpers = []
        command = ["unshare", "--mount", "--pid", "--net", "--uts", "--fork", "--mount-proc", ROOT / "tests/launcher/pod.sh", BINARY, UID, f"{image}/tiny.qcow2", self.folder]
        self.log = open(self.folder / "log", "w")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log)
        self.socket = self.folder / "sockets/launcher-sock"
        limit = time.monotonic() + 60
        while not self.socket.exists():
            assert time.monotonic() < limit and self.process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.1)
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        self.first = int(children[0])

    def send(self, method, path, headers="", body=""):
        stream = socket.socket(socket.AF_UNIX)
        stream.settimeout(BOOT)
        stream.connect(str(self.socket))
        stream.sendall(f"{method} {path} HTTP/1.1\r\nHost: launcher\r\nContent-Length: {len(body)}\r\n{headers}\r\n{body}".encode())
        return stream

    def ask(self, method, path, body=None):
        stream = self.send(method, path, "Connection: close\r\n", json.dumps(body) if body is not None else "")
        answer = b""
        while piece := stream.recv(65536):
            answer += piece
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.split()[1].startswith(b"2"), answer[:2000]
        return body

    def upgrade(self, path):
        stream = self.send("GET", path, "Connection: upgrade\r\nUpgrade: raw\r\n")
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += stream.recv(1)
        return stream

    def processes(self):
        own = os.readlink(f"/proc/{self.first}/ns/pid")
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.readlink(entry / "ns/pid") == own:
                    found[int(entry.name)] = os.path.basename(os.readlink(entry / "exe"))
            except OSError:
                pass
        return found

    def beside(self, code):
        """Runs a piece of Python in the pod's network, as the world outside of the guest."""
        self.helpers.append(subprocess.Popen(["nsenter", "--net", f"--target={self.first}", sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def stop(self):
        for helper in self.helpers:
            helper.kill()
            helper.wait()
        try:
            # process 1 of its namespace, and with it every other
            os.kill(self.first, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.log.close()
        time.sleep(0.5)
        shutil.rmtree(self.folder, ignore_errors=True)


def read_until(stream, text):
    read, limit = b"", time.monotonic() + BOOT
    while text.encode() not in read:
        piece = stream.recv(4096)
        assert piece and time.monotonic() < limit, read
        read += piece
    return read


def mappings(pid):
    """Every mapping of a process: mode, size, name, and what of it is resident, of files and else; all in KiB."""
    entry = None
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        fields = line.split()
        if not fields[0].endswith(":"):
            name = fields[5] if len(fields) > 5 else ""
            entry = {"mode": fields[1], "name": name, "file": name.startswith("/") and not name.startswith(("/memfd", "/dev/zero"))}
        elif fields[0] in ("Size:", "Rss:", "Anonymous:"):
            entry[fields[0][:-1]] = int(fields[1])
            if fields[0] == "Anonymous:":
                yield entry


def look(pid, guest_mib=None):
    """What a process has in memory, by kind, in KiB. With a guest's memory, that is left out."""
    figures = {"own": 0, "program": 0, "translated": 0, "guest": 0, "kernel": 0}
    for entry in mappings(pid):
        resident = entry["Rss"]
        if guest_mib and (entry["Size"] == guest_mib << 10 or entry["name"].startswith("/memfd:memory-backend")):
            figures["guest"] += resident
        elif entry["mode"].startswith("rwx"):
            figures["translated"] += resident
        else:
            # a page of a file that was written to is the process's own
            own = entry["Anonymous"] if entry["file"] else resident
            figures["own"] += own
            figures["program"] += resident - own
    status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    figures["kernel"] = int(status["VmPTE"].split()[0]) + int(status["Threads"]) * KERNEL_STACK
    return figures


def watch_screen(pod, over):
    """A viewer that asks for the whole screen again and again, in the encoding that costs the server most."""
    stream = pod.upgrade("/v1/vnc")
    stream.settimeout(20)
    exact = lambda n: b"".join(iter_exact(stream, n))
    exact(12)
    stream.sendall(b"RFB 003.008\n")
    exact(exact(1)[0])
    stream.sendall(b"\x01")
    exact(4)
    stream.sendall(b"\x01")
    width, height = struct.unpack(">HH", exact(4))
    exact(16)
    exact(struct.unpack(">I", exact(4))[0])
    stream.sendall(struct.pack(">BBHiii", 2, 0, 3, 16, 7, 0))
    stream.settimeout(0.05)
    while not over.is_set():
        try:
            stream.sendall(struct.pack(">BBHHHH", 3, 0, 0, 0, width, height))
            while stream.recv(1 << 20):
                pass
        except TimeoutError:
            pass


def iter_exact(stream, n):
    while n:
        piece = stream.recv(n)
        assert piece, "the screen is gone"
        n -= len(piece)
        yield piece


SINK = """
import socket
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(('10.0.2.1', 9000)); s.listen()
while True:
    c, _ = s.accept()
    while c.recv(1 << 16): pass
"""
FLOOD = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    for _ in range(64): s.sendto(b'x' * 1400, ('10.0.2.2', 9))
    time.sleep(0.01)
"""
PAGES = """
import time, urllib.request
while True:
    try: urllib.request.urlopen('http://10.0.2.2/', timeout=10).read()
    except OSError: time.sleep(0.2)
"""
BUSY = [
    "while :; do echo 3 >/proc/sys/vm/drop_caches; dd if=/dev/vda of=/dev/null bs=1M; done >/dev/null 2>&1 &",
    "while :; do dd if=/dev/zero of=/dev/vdc bs=1M count=900 conv=fsync; done >/dev/null 2>&1 &",
    "while :; do nc 10.0.2.1 9000 </dev/zero; done >/dev/null 2>&1 &",
]


def highest(pod, seconds):
    """The most that each kind of process had within some seconds."""
    most = {}
    for _ in range(max(1, int(seconds / 2))):
        now = {}
        for pid, name in pod.processes().items():
            role = "process 1" if pid == pod.first else "libvirt" if name in ("libvirtd", "virtqemud") else "QEMU" if name.startswith("qemu-system") else "helpers"
            try:
                figures = look(pid, GUEST_MIB if role == "QEMU" else None)
            except (OSError, KeyError):
                continue
            sums = now.setdefault(role, dict.fromkeys(figures, 0))
            for kind, kib in figures.items():
                sums[kind] += kib
        for role, figures in now.items():
            best = most.setdefault(role, figures)
            for kind, kib in figures.items():
                best[kind] = max(best[kind], kib)
        time.sleep(2)
    return most


def measure(cores, seconds):
    pod = Pod()
    try:
        pod.ask("PUT", "/v1/instance", order(cores))
        console = pod.upgrade("/v1/console")
        read_until(console, "tiny login: ")
        for line, answer in (("root", "assword: "), ("kubevirt", "# ")):
            console.sendall(f"{line}\n".encode())
            read_until(console, answer)
        console.sendall(b"until ip -4 address show eth0 | grep -q inet; do sleep 1; done; echo ready-$((6*7))\n")
        read_until(console, "ready-42")
        start = highest(pod, 2)
        time.sleep(20)
        idle = highest(pod, 10)
        before = pathlib.Path(f"/proc/{pod.first}/net/dev").read_text()
        over = threading.Event()
        viewer = threading.Thread(target=watch_screen, args=(pod, over), daemon=True)
        viewer.start()
        for code in (SINK, FLOOD, PAGES):
            pod.beside(code)
        for line in BUSY:
            console.sendall(f"{line}\n".encode())
        busy = highest(pod, seconds)
        alive = viewer.is_alive()
        over.set()
        after = pathlib.Path(f"/proc/{pod.first}/net/dev").read_text()
        traffic = [tap(text)[i] for i in (0, 8) for text in (before, after)]
        assert alive, "the viewer lost the screen"
        return {"at the prompt": start, "idle": idle, "busy": busy}, ((traffic[1] - traffic[0]) >> 20, (traffic[3] - traffic[2]) >> 20)
    finally:
        pod.stop()


def tap(text):
    line = next(line for line in text.splitlines() if line.strip().startswith("tap0:"))
    return [int(n) for n in line.split(":")[1].split()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--rows", help="writes the figures as JSON, too")
    parser.add_argument("cores", nargs="*", type=int)
    arguments = parser.parse_args()
    print("| vCPUs | when | process 1 | libvirt | QEMU: own | QEMU: program | helpers | page tables, stacks | sum | translated |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    rows = []
    for cores in arguments.cores or (1, 2, 4, 8):
        found, traffic = measure(cores, arguments.seconds)
        for when, roles in found.items():
            mib = lambda role, *kinds: sum(roles.get(role, {}).get(kind, 0) for kind in kinds) / 1024
            cells = [mib("process 1", "own", "program"), mib("libvirt", "own", "program"), mib("QEMU", "own"), mib("QEMU", "program"), mib("helpers", "own", "program"),
                     sum(mib(role, "kernel") for role in roles)]
            translated = mib("QEMU", "translated")
            print(f"| {cores} | {when} | " + " | ".join(f"{cell:.1f}" for cell in [*cells, sum(cells), translated]) + " |", flush=True)
            rows.append({"cores": cores, "when": when, "roles": roles})
        print(f"traffic while busy: {traffic[1]} MiB to the guest, {traffic[0]} MiB from it", file=sys.stderr, flush=True)
    if arguments.rows:
        pathlib.Path(arguments.rows).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
