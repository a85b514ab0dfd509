#!/usr/bin/env python3
"""The figures of the roles in a cluster. Uses Python's standard library only.

    benches/cluster.py [--machines N] [PART …]

N: guests on one node for the memory of its handler (default 10). PART: install, life, memory, answers; all unless named.

Starts a cluster of its own (tests/cluster), installs the program that KUBEVIRT_RS names (which should be the release build),
and ends it; KUBEVIRT_RS_CLUSTER names one that `make cluster` has started, which then stays.
"""
import argparse
import collections
import contextlib
import datetime
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HARNESS = ROOT / "tests/cluster"
BINARY = os.environ.get("KUBEVIRT_RS", str(ROOT / "target/kubevirt-rs"))
NAMESPACE = "bench"
MIB = 1024
# What is not counted as a write of a machine's life: who leads, what is told to people, and questions in the form of a write.
UNCOUNTED = {"leases", "events", "subjectaccessreviews", "tokenreviews", "selfsubjectaccessreviews"}


def say(name, figure, wanted):
    print(f"{name:66} {figure:>12}   wanted: {wanted}", flush=True)


def median(values):
    return sorted(values)[len(values) // 2]


class Cluster:
    def __init__(self):
        self.ours = "KUBEVIRT_RS_CLUSTER" not in os.environ
        self.name = os.environ.get("KUBEVIRT_RS_CLUSTER", "kvbench")
        self.environment = {**os.environ, "KUBEVIRT_RS_CLUSTER_NAME": self.name}

    def __enter__(self):
        if self.ours:
            try:
                self.script("install.sh", BINARY)
            except BaseException:
                self.script("cluster.sh", "down")
                raise
        lines = self.script("cluster.sh", "env").splitlines()
        config = next(line.partition("=")[2] for line in lines if line.startswith("export KUBECONFIG="))
        self.environment["KUBECONFIG"] = config
        self.folder = pathlib.Path(config).parent
        self.kubectl_program = self.script("programs.sh", "cluster") + "/kubectl"
        return self

    def __exit__(self, *_):
        with contextlib.suppress(subprocess.CalledProcessError):
            self.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false")
        if self.ours:
            self.script("cluster.sh", "down")

    def script(self, name, *arguments):
        run = subprocess.run([HARNESS / name, *arguments], check=True, stdout=subprocess.PIPE, text=True, env=self.environment)
        return run.stdout.strip()

    def kubectl(self, *arguments, text=None):
        run = subprocess.run([self.kubectl_program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=self.environment, input=text if text is not None else "")
        if run.returncode:
            print(f"kubectl {' '.join(arguments)}: {run.stderr}", file=sys.stderr)
            run.check_returncode()
        return run.stdout

    def get(self, *arguments):
        text = self.kubectl("get", "--output", "json", "--ignore-not-found", *arguments)
        return json.loads(text) if text else None

    def until(self, what, probe, limit=240.0, every=0.2):
        begin = time.monotonic()
        while True:
            found = probe()
            if found:
                return found
            if time.monotonic() - begin > limit:
                raise SystemExit(f"not after {limit:.0f} s: {what}")
            time.sleep(every)

    def writes(self, since):
        """Entries of the audit log that came after the first `since` lines: what changed an object."""
        lines = (self.folder / "log/audit.log").read_text().splitlines()[since:]
        for line in lines:
            entry = json.loads(line)
            reference = entry.get("objectRef", {})
            if reference.get("resource") not in UNCOUNTED and entry.get("responseStatus", {}).get("code", 0) < 300:
                yield entry

    def audit_length(self):
        return len((self.folder / "log/audit.log").read_text().splitlines())


def memory(pid, key="VmRSS"):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) / MIB
    return 0.0


def start_of(pid):
    """When a process began, in seconds since boot."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[19]) / os.sysconf("SC_CLK_TCK")


def container_processes(pod, container):
    """The processes of a pod's container, with their arguments."""
    statuses = {status["name"]: status for status in pod["status"].get("containerStatuses", [])}
    name = statuses.get(container, {}).get("containerID", "").rpartition("//")[2]
    found = {}
    for entry in pathlib.Path("/proc").iterdir() if name else ():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and name in (entry / "cgroup").read_text():
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return found


def role_pids(cluster, role, node=None):
    pods = cluster.get("pods", "--namespace", "kubevirt", "--selector", f"kubevirt.io=virt-{role}")["items"]
    pods = [pod for pod in pods if node in (None, pod["spec"].get("nodeName"))]
    return [pid for pod in pods for pid, line in container_processes(pod, f"virt-{role}").items() if f"kubevirt-rs {role}" in line]


def machine(name, node=None):
    """The tiny guest, by a VirtualMachine."""
    place = f"nodeSelector: {{kubernetes.io/hostname: {node}}}" if node else ""
    return f"""
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {{name: {name}, namespace: {NAMESPACE}}}
spec:
  runStrategy: Always
  template:
    spec:
      {place}
      terminationGracePeriodSeconds: 15
      domain:
        memory: {{guest: 128Mi}}
        devices:
          disks: [{{name: root, disk: {{bus: virtio}}}}]
          interfaces: [{{name: default, masquerade: {{}}}}]
      networks: [{{name: default, pod: {{}}}}]
      volumes: [{{name: root, containerDisk: {{image: "localhost/kubevirt-rs/tiny:latest"}}}}]
---
"""


def phase(cluster, name):
    vmi = cluster.get("vmi", name, "--namespace", NAMESPACE)
    return vmi["status"].get("phase") if vmi else None


def running(cluster, name):
    return phase(cluster, name) == "Running"


def life_figures(cluster):
    """One machine after the other: how soon QEMU starts, and what is written in its life."""
    times, counts, last = [], [], collections.Counter()
    cluster.kubectl("create", "namespace", NAMESPACE)
    for number in range(3):
        name = f"life-{number}"
        since = cluster.audit_length()
        begin = time.clock_gettime(time.CLOCK_BOOTTIME)
        cluster.kubectl("apply", "--filename", "-", text=machine(name))
        cluster.until(f"{name} is Running", lambda: running(cluster, name))
        pods = cluster.get("pods", "--namespace", NAMESPACE, "--selector", "kubevirt.io=virt-launcher")["items"]
        pods = [pod for pod in pods if pod["status"]["phase"] == "Running"]
        qemu = [pid for pod in pods for pid, line in container_processes(pod, "compute").items() if "qemu-system" in line]
        times.append(max(start_of(pid) for pid in qemu) - begin)
        time.sleep(5)  # what follows the start: the guest's agent, addresses
        cluster.kubectl("delete", "vm", name, "--namespace", NAMESPACE, "--wait=true")
        cluster.until(f"{name} is gone", lambda: phase(cluster, name) is None)
        time.sleep(2)
        last = collections.Counter(
            f"{entry['user']['username'].rpartition(':')[2]} {entry['verb']} {'/'.join(filter(None, (entry['objectRef']['resource'], entry['objectRef'].get('subresource'))))}"
            for entry in cluster.writes(since)
            if entry["user"]["username"].startswith("system:serviceaccount:kubevirt:") and entry["objectRef"].get("namespace") == NAMESPACE
        )
        counts.append(sum(last.values()))
    say("from kubectl apply of a machine to QEMU's start", f"{median(times):.2f} s", "at most 4 s")
    say("writes to the API for a machine's life, without leases and events", f"{sum(counts) / len(counts):.1f}", "at most 11")
    for what, count in sorted(last.items()):
        print(f"    {count} {what}")
    cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=true")


def memory_figures(cluster, number):
    cluster.kubectl("create", "namespace", NAMESPACE)
    cluster.kubectl("apply", "--filename", "-", text="".join(machine(f"many-{n}", "node1") for n in range(number)))
    for n in range(number):
        cluster.until(f"many-{n} is Running", lambda n=n: running(cluster, f"many-{n}"), limit=600)
    time.sleep(20)
    for role, wanted in (("handler", 20), ("api", 25), ("controller", 25), ("operator", 25)):
        sizes = [memory(pid) for pid in role_pids(cluster, role, "node1" if role == "handler" else None)]
        say(f"{role}, resident, with {number} machines{' on its node' if role == 'handler' else ''}", f"{max(sizes):.1f} MB", f"at most {wanted} MB")
    cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=true")


def answer_figures(cluster):
    """From a role's start, which is the first line of its log, to its first answer; the pod's probe needs no rights."""
    for role, port, path in (("api", 8443, "/healthz"), ("controller", 8443, "/healthz"), ("operator", 8443, "/healthz"), ("handler", 8443, "/healthz")):
        pods = cluster.get("pods", "--namespace", "kubevirt", "--selector", f"kubevirt.io=virt-{role}")["items"]
        pod = pods[0]
        port = next((p["containerPort"] for c in pod["spec"]["containers"] for p in c.get("ports", []) if p.get("name") == "metrics"), port)
        times = []
        for _ in range(3):
            old = role_pids_of(cluster.get("pod", pod["metadata"]["name"], "--namespace", "kubevirt"), role)
            os.kill(old[0], 15)
            times.append(first_answer(cluster, pod["metadata"]["name"], role, pod["status"]["podIP"], port, path, old[0]))
        say(f"{role}, from its start to its first answer", f"{median(times) * 1000:.0f} ms", "at most 100 ms")


def role_pids_of(pod, role):
    return [pid for pid, line in container_processes(pod, f"virt-{role}").items() if f"kubevirt-rs {role}" in line]


def started(cluster, name, role, after):
    """When the container began that runs since that time, by its own log."""
    def first_line():
        lines = cluster.kubectl("logs", name, "--namespace", "kubevirt", "--container", f"virt-{role}").splitlines()
        lines = [json.loads(line) for line in lines if line.startswith("{")]
        times = [line["timestamp"] for line in lines if line.get("message") == "starting"]
        begun = datetime.datetime.fromisoformat(times[0]) if times else None
        return begun if begun and begun > after else None

    return cluster.until(f"{role} has begun anew", first_line)


def first_answer(cluster, name, role, address, port, path, old):
    import http.client
    import ssl

    context = ssl._create_unverified_context()
    ended = datetime.datetime.now(datetime.UTC)
    # until then it may be the old one that answers
    cluster.until(f"{role} has ended", lambda: not pathlib.Path(f"/proc/{old}").exists(), every=0.005)
    begin = time.monotonic()
    while time.monotonic() - begin < 180:
        try:
            connection = http.client.HTTPSConnection(address, port, timeout=2, context=context)
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                now = datetime.datetime.now(datetime.UTC)
                return (now - started(cluster, name, role, ended)).total_seconds()
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.002)
    raise SystemExit(f"{role} does not answer at {address}:{port}")


def install_figures(cluster):
    """KubeVirt is removed and installed again, by its object alone."""
    manifest = (ROOT / "deploy/kubevirt-cr.yaml").read_text()
    cluster.kubectl("delete", "kubevirt", "kubevirt", "--namespace", "kubevirt", "--wait=true")
    begin = time.monotonic()
    cluster.kubectl("apply", "--filename", "-", text=manifest)
    cluster.kubectl("patch", "kubevirt", "kubevirt", "--namespace", "kubevirt", "--type", "merge", "--patch",
                    '{"spec": {"configuration": {"developerConfiguration": {"useEmulation": true, "disabledFeatureGates": ["ImageVolume"]}}}}')

    def available():
        status = (cluster.get("kubevirt", "kubevirt", "--namespace", "kubevirt") or {}).get("status", {})
        return any(c["type"] == "Available" and c["status"] == "True" for c in status.get("conditions", []))

    cluster.until("KubeVirt is Available", available)
    say("from kubectl apply of KubeVirt's object to Available", f"{time.monotonic() - begin:.1f} s", "at most 30 s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--machines", type=int, default=10)
    parser.add_argument("parts", nargs="*", metavar="PART")
    arguments = parser.parse_args()
    parts = {
        "install": install_figures,
        "life": life_figures,
        "memory": lambda cluster: memory_figures(cluster, arguments.machines),
        "answers": answer_figures,
    }
    if unknown := set(arguments.parts) - set(parts):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(parts)}")
    with Cluster() as cluster:
        for name, part in parts.items():
            if name in (arguments.parts or parts):
                part(cluster)


if __name__ == "__main__":
    main()
