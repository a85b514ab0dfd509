#!/usr/bin/env python3
"""The figures of the controller with very many machines. Uses Python's standard library only.

    benches/scale.py [--machines N] [--quiet-minutes M] [--keep FILE]

N: how many VirtualMachines there are in the end (default 10 000); the first 1 000 of them are those of the figures of a start. M: for
how long nobody does anything (default 10). FILE: where the controller's log goes when all is over.

Starts etcd and an API server of its own on loopback (the programs of tests/cluster), and the controller of the program that
KUBEVIRT_RS names (which should be the release build) as a plain process; ends them all. There are no webhooks, no scheduler, no
kubelet and no handler: machines are made as the webhooks would have left them, and StandIn, below, plays the nodes. It starts no
container and no guest, it only writes what a node would. All of them share this machine's processors, so the times are upper bounds.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import datetime
import http.client
import itertools
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = os.environ.get("KUBEVIRT_RS", str(ROOT / "target/kubevirt-rs"))
NAMESPACE = "bench"
MIB = 1024
# So many machines the figures of a start are taken with.
STARTED = 1000
# Kubernetes asks for at most 110 pods a node.
PODS_OF_A_NODE = 100
CONTROLLER, OTHERS = "virt-controller", "bench"
# What is not counted as a write of a machine's life: who leads, what is told to people.
UNCOUNTED = {"leases", "events"}
VMS, VMIS = (f"/apis/kubevirt.io/v1/namespaces/{NAMESPACE}/{kind}" for kind in ("virtualmachines", "virtualmachineinstances"))
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


def say(name, figure, wanted=""):
    print(f"{name:76} {figure:>12}" + (f"   wanted: {wanted}" if wanted else ""), flush=True)


def memory(pid, key="VmRSS"):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) / MIB
    return 0.0


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def now():
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(timestamp):
    return datetime.datetime.fromisoformat(timestamp).timestamp()


def until(what, probe, limit, every=0.5):
    begin = time.monotonic()
    while not (found := probe()):
        if time.monotonic() - begin > limit:
            raise SystemExit(f"not after {limit:.0f} s: {what}")
        time.sleep(every)
    return found


class Api:
    """Requests to the API server; each thread has a connection of its own."""

    def __init__(self, port, token):
        self.port, self.own = port, threading.local()
        self.headers = {"Authorization": f"Bearer {token}"}
        self.context = ssl._create_unverified_context()

    def connect(self, timeout=60):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.context)

    def send(self, method, path, body=None, kind="application/json"):
        """The status and the text of the answer."""
        headers = {**self.headers, "Content-Type": kind} if body is not None else self.headers
        for last in (False, True):
            if not hasattr(self.own, "connection"):
                self.own.connection = self.connect()
            try:
                self.own.connection.request(method, path, json.dumps(body) if body is not None else None, headers)
                answer = self.own.connection.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException):
                # the server closes connections that are idle
                self.own.connection.close()
                del self.own.connection
                if last:
                    raise

    def must(self, method, path, body=None, kind="application/json"):
        status, text = self.send(method, path, body, kind)
        if status >= 300:
            raise RuntimeError(f"{method} {path}: {status} {text[:500].decode(errors='replace')}")
        return json.loads(text)

    def list(self, path):
        token = ""
        while token is not None:
            page = self.must("GET", f"{path}?limit=500" + (f"&continue={token}" if token else ""))
            yield from page["items"]
            token = page["metadata"].get("continue") or None

    def watch(self, path, selector, ended):
        """What is there, and then what changes."""
        while not ended.is_set():
            try:
                connection = self.connect(timeout=600)
                connection.request("GET", f"{path}?watch=1&timeoutSeconds=300&{selector}", headers=self.headers)
                answer = connection.getresponse()
                while line := answer.readline():
                    event = json.loads(line)
                    if event["type"] in ("ADDED", "MODIFIED"):
                        yield event["object"]
            except (OSError, ValueError, http.client.HTTPException):
                if not ended.wait(0.5):
                    continue


class Server:
    """etcd and an API server. All that they write is in one folder."""

    def __enter__(self):
        run = subprocess.run([ROOT / "tests/cluster/programs.sh", "cluster"], check=True, stdout=subprocess.PIPE, text=True)
        self.program = run.stdout.strip() + "/testcluster"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="scale-of-kubevirt-rs-"))
        self.children = []
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for child in reversed(self.children):
            child.kill()
            child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        at = lambda name: f"{self.folder}/{name}"
        client, peer, self.port = free_port(), free_port(), free_port()
        openssl("genrsa", "-out", at("accounts.key"), "2048")
        openssl("rsa", "-in", at("accounts.key"), "-pubout", "-out", at("accounts.pub"))
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", at("tls.key"), "-out", at("tls.crt"), "-days", "9", "-subj", "/CN=bench")
        # Who may do what is not what is measured.
        pathlib.Path(at("tokens")).write_text("".join(f'{name},{name},{name},"system:masters"\n' for name in (CONTROLLER, OTHERS)))
        pathlib.Path(at("audit.yaml")).write_text(json.dumps({
            "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
            "rules": [{"level": "None", "verbs": ["get", "list", "watch"]}, {"level": "Metadata", "users": [CONTROLLER]}, {"level": "None"}],
        }))
        user = {"name": CONTROLLER, "user": {"token": CONTROLLER}}
        cluster = {"name": "bench", "cluster": {"server": f"https://127.0.0.1:{self.port}", "insecure-skip-tls-verify": True}}
        pathlib.Path(at("kubeconfig")).write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "clusters": [cluster], "users": [user], "current-context": "bench",
            "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": CONTROLLER}}],
        }))
        self.spawn("etcd", f"--data-dir={at('etcd')}", "--unsafe-no-fsync", "--log-level=warn", f"--quota-backend-bytes={8 << 30}",
                   f"--listen-client-urls=http://127.0.0.1:{client}", f"--advertise-client-urls=http://127.0.0.1:{client}",
                   f"--listen-peer-urls=http://127.0.0.1:{peer}", f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                   f"--initial-cluster=default=http://127.0.0.1:{peer}")
        # Without the controllers of Kubernetes there are no service accounts.
        self.spawn("kube-apiserver", f"--etcd-servers=http://127.0.0.1:{client}", "--bind-address=127.0.0.1", f"--secure-port={self.port}",
                   f"--cert-dir={at('pki')}", "--authorization-mode=RBAC", f"--token-auth-file={at('tokens')}", "--allow-privileged",
                   "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={at('accounts.pub')}",
                   f"--service-account-signing-key-file={at('accounts.key')}", "--service-cluster-ip-range=10.96.0.0/16",
                   "--disable-admission-plugins=ServiceAccount", f"--audit-policy-file={at('audit.yaml')}",
                   f"--audit-log-path={at('audit.log')}", "--audit-log-maxsize=4000")
        self.api = Api(self.port, OTHERS)
        self.until_served("/readyz")
        self.install()
        self.until_idle()

    def until_idle(self):
        """Definitions keep the API server busy for a while after they are there."""
        def idle():
            used = processor_seconds(self.children[1].pid)
            time.sleep(2)
            return processor_seconds(self.children[1].pid) - used < 0.4

        until("the API server has nothing to do", idle, 180, 0)

    def spawn(self, name, *arguments):
        """Starts a component that ends with this process, however that ends."""
        with open(self.folder / f"{name}.log", "wb") as log:
            command = ["setpriv", "--pdeathsig", "KILL", self.program, name, *arguments]
            # What is measured shares the processors with it: memory may go for its time, as long as there is enough.
            environment = {**os.environ, "GOGC": "200", "GOMEMLIMIT": "12GiB"}
            self.children.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment))

    def until_served(self, path):
        def served():
            if any(child.poll() is not None for child in self.children):
                raise SystemExit("\n".join((self.folder / f"{name}.log").read_text()[-2000:] for name in ("etcd", "kube-apiserver")))
            with contextlib.suppress(OSError, http.client.HTTPException):
                return self.api.send("GET", path)[0] == 200
            return False

        until(f"{path} is served", served, 90)

    def install(self):
        text = subprocess.run([BINARY, "schema", "crds", "--output", "json"], check=True, stdout=subprocess.PIPE, text=True).stdout
        definitions = json.loads(text)["items"]
        for definition in definitions:
            self.api.must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        for spec in (definition["spec"] for definition in definitions):
            version = next(version["name"] for version in spec["versions"] if version["storage"])
            self.until_served(f"/apis/{spec['group']}/{version}/{spec['names']['plural']}?limit=1")
        for name in ("kubevirt", NAMESPACE):
            self.api.must("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self.api.must("POST", "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts", {
            "apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
            "spec": {"configuration": {}},
        })


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Audit:
    """What the controller has written, as the API server tells it."""

    def __init__(self, file, children):
        self.file, self.children, self.at = file, children, 0

    def read(self):
        """The writes since the last time that succeeded, without leases and events; and the leases."""
        counted, leases = [], 0
        if ended := [child.args for child in self.children if child.poll() is not None]:
            raise SystemExit(f"ended before its time: {ended[0]}; --keep FILE keeps the controller's log")
        with contextlib.suppress(FileNotFoundError), open(self.file, "rb") as file:
            file.seek(self.at)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self.at += len(line)
                entry = json.loads(line)
                resource = entry.get("objectRef", {}).get("resource")
                leases += resource == "leases"
                if resource not in UNCOUNTED and entry.get("responseStatus", {}).get("code", 0) < 300:
                    counted.append(entry)
        return counted, leases

    def until_quiet(self, every, limit):
        """Waits until nothing is written any more, and gives what was."""
        found, _ = self.read()

        def quiet():
            time.sleep(every)
            new, _ = self.read()
            found.extend(new)
            return not new

        until("the controller writes nothing more", quiet, limit, 0)
        return found


def kind_of(entry):
    reference = entry["objectRef"]
    return f"{entry['verb']} {'/'.join(filter(None, (reference['resource'], reference.get('subresource'))))}"


class Controller:
    """The role, as a process of its own."""

    def __init__(self, server, name):
        self.server, self.log = server, server.folder / f"{name}.log"
        environment = {key: value for key, value in os.environ.items() if not key.startswith("KUBE")}
        command = ["setpriv", "--pdeathsig", "KILL", BINARY, "controller", "--kubeconfig", server.folder / "kubeconfig", "--namespace", "kubevirt",
                   "--certificates", server.folder, "--listen", "127.0.0.1", "--port", str(free_port())]
        with open(self.log, "wb") as log:
            self.begin = time.time()
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        self.pid = self.process.pid
        server.children.append(self.process)

    def said(self, text):
        """When it said that, in seconds from its start."""
        for line in self.log.read_text().splitlines():
            if text in line:
                return seconds(line.split()[0]) - self.begin
            if self.process.poll() is not None:
                raise SystemExit(f"the controller has ended: {self.log.read_text()[-2000:]}")
        return None

    def until_said(self, text, limit=120):
        return until(f"the controller says {text!r}", lambda: self.said(text), limit, 0.1)

    def end(self):
        self.server.children.remove(self.process)
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=30)


class StandIn:
    """Stands in for what runs on nodes, and for the scheduler: a pod is bound to the next node, and said to run; an instance whose
    pod runs is said to run. It writes as often as it must, where a kubelet and a handler would write more often."""

    def __init__(self, api, nodes):
        self.api, self.ended, self.faults = api, threading.Event(), []
        self.names = [f"node-{number}" for number in range(nodes)]
        for name in self.names:
            metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, "kubevirt.io/schedulable": "true"}, "annotations": {"kubevirt.io/heartbeat": now()}}
            api.must("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata})
        self.next = itertools.cycle(self.names)
        self.workers = concurrent.futures.ThreadPoolExecutor(6)
        self.taken = set()
        for part in (self.follow_pods, self.follow_instances, self.beat):
            threading.Thread(target=part, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.workers.shutdown(cancel_futures=True)

    def do(self, part, *arguments):
        def guarded():
            try:
                part(*arguments)
            except Exception as error:
                if not self.ended.is_set():
                    self.faults.append(error)
                    print(f"the stand-in: {error}", file=sys.stderr)

        with contextlib.suppress(RuntimeError):
            self.workers.submit(guarded)

    def beat(self):
        """The handlers' signs of life, one a minute each."""
        for name in itertools.cycle(self.names):
            if self.ended.wait(60 / len(self.names)):
                return
            self.do(self.api.must, "PATCH", f"/api/v1/nodes/{name}", {"metadata": {"annotations": {"kubevirt.io/heartbeat": now()}}}, "application/merge-patch+json")

    def follow_pods(self):
        for pod in self.api.watch(PODS, "fieldSelector=status.phase%3DPending", self.ended):
            if pod["metadata"]["uid"] not in self.taken:
                self.taken.add(pod["metadata"]["uid"])
                self.do(self.run_pod, pod, next(self.next))

    def follow_instances(self):
        # as handlers do: those that were given to a node
        for instance in self.api.watch(VMIS, "labelSelector=kubevirt.io/nodeName", self.ended):
            if instance.get("status", {}).get("phase") == "Scheduled":
                self.do(self.run_instance, instance)

    def run_pod(self, pod, node):
        name, number = pod["metadata"]["name"], len(self.taken)
        self.api.must("POST", f"{PODS}/{name}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": node}})
        time_, address = now(), f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"

        def status(container, state):
            ended = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": time_, "finishedAt": time_}}
            return {"name": container["name"], "image": container["image"], "imageID": f"{container['image']}@sha256:{'0' * 64}",
                    "containerID": f"containerd://{uuid.uuid4().hex * 2}", "ready": True, "restartCount": 0, "started": state == "running",
                    "state": {"running": {"startedAt": time_}} if state == "running" else ended}

        spec = pod["spec"]
        self.api.must("PATCH", f"{PODS}/{name}/status", {"status": {
            "phase": "Running", "hostIP": "192.168.0.1", "hostIPs": [{"ip": "192.168.0.1"}], "podIP": address, "podIPs": [{"ip": address}], "startTime": time_,
            "conditions": [{"type": kind, "status": "True", "lastTransitionTime": time_} for kind in ("PodReadyToStartContainers", "PodScheduled", "Initialized", "ContainersReady", "Ready")],
            "initContainerStatuses": [status(container, "ended") for container in spec.get("initContainers", [])],
            "containerStatuses": [status(container, "running") for container in spec["containers"]],
        }}, "application/strategic-merge-patch+json")

    def run_instance(self, instance):
        meta, status, time_ = instance["metadata"], instance["status"], now()
        ready = {"type": "Ready", "status": "True", "lastProbeTime": None, "lastTransitionTime": time_}
        conditions = [ready if c["type"] == "Ready" and "its pod is ready" in c.get("message", "") else c for c in status.get("conditions", [])]
        migratable = {"type": "LiveMigratable", "status": "True", "lastProbeTime": None, "lastTransitionTime": None}
        interfaces = [{**i, "ipAddress": "10.0.2.2", "ipAddresses": ["10.0.2.2"], "mac": "52:54:00:00:00:01", "infoSource": "domain", "linkState": "up", "queueCount": 1} for i in status.get("interfaces", [])]
        # The version makes the write fail if the controller was faster; its word leads here again.
        code, text = self.api.send("PATCH", f"{VMIS}/{meta['name']}", {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": {
            "phase": "Running", "conditions": [*conditions, migratable], "interfaces": interfaces, "machine": {"type": "pc-q35-10.0"},
            "memory": {**status.get("memory", {}), "guestCurrent": "128Mi"}, "selinuxContext": "none", "migrationMethod": "BlockMigration",
            "phaseTransitionTimestamps": [*status.get("phaseTransitionTimestamps", []), {"phase": "Running", "phaseTransitionTimestamp": time_}],
            "volumeStatus": [{**volume, "target": "vda"} for volume in status.get("volumeStatus", [])],
        }}, "application/merge-patch+json")
        if code >= 300 and code != 409:
            raise RuntimeError(f"patch the instance {meta['name']}: {code} {text[:300]}")


def machine(name):
    """The tiny guest of benches/cluster.py, as the webhook leaves it."""
    return {
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"runStrategy": "Always", "template": {"metadata": {"annotations": {"kubevirt.io/pci-topology-version": "v3"}}, "spec": {
            "architecture": "amd64",
            "terminationGracePeriodSeconds": 15,
            "domain": {
                "firmware": {"uuid": str(uuid.uuid4()), "serial": str(uuid.uuid4())}, "machine": {"type": "q35"}, "memory": {"guest": "128Mi"},
                "devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}], "interfaces": [{"name": "default", "masquerade": {}}]},
            },
            "networks": [{"name": "default", "pod": {}}],
            "volumes": [{"name": "root", "containerDisk": {"image": "localhost/kubevirt-rs/tiny:latest"}}],
        }}},
    }


def make(api, numbers, taken):
    """Makes machines, several at once; notes which name each uid has."""
    def one(number):
        made = api.must("POST", VMS, machine(f"many-{number:05}"))
        taken[made["metadata"]["uid"]] = made["metadata"]["name"]

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        collections.deque(threads.map(one, numbers), maxlen=0)


def before_the_pod(writes, names):
    """The writes for each machine up to that which made its pod, by what they are."""
    of, done = collections.defaultdict(collections.Counter), {}
    for entry in writes:
        resource, name = entry["objectRef"]["resource"], entry["objectRef"]["name"]
        if resource == "controllerrevisions":
            # revision-start-vm-UID-GENERATION
            name = names.get(name.removeprefix("revision-start-vm-").rpartition("-")[0], name)
        elif resource == "pods":
            name = name.removeprefix("virt-launcher-").rpartition("-")[0]
        if name in done:
            continue
        of[name][kind_of(entry)] += 1
        if kind_of(entry) == "create pods":
            done[name] = seconds(entry["stageTimestamp"])
    return of, done


def started_figures(server, controller, audit, number):
    audit.read()
    used, begin, names, writes = processor_seconds(controller.pid), time.time(), {}, []
    make(server.api, range(number), names)

    def all_have_pods():
        writes.extend(audit.read()[0])
        return sum(kind_of(entry) == "create pods" for entry in writes) >= number

    until("every machine has a pod", all_have_pods, 600)
    writes += audit.until_quiet(10, 600)
    of, done = before_the_pod(writes, names)
    assert set(done) == set(names.values()), "a pod of no machine"
    took = max(done.values()) - begin
    say(f"{number} machines from their making to the last one's pod", f"{took:.1f} s")
    say("of them a second", f"{number / took:.0f}")
    most, all_ = max(counts.total() for counts in of.values()), sum(of.values(), collections.Counter())
    say("the controller's writes for a machine up to its pod, without leases and events", f"{all_.total() / number:.2f}", "at most 6")
    say("the most for one of them", f"{most}", "at most 6")
    print_counts(all_, number)
    say("its writes for a machine until its guest runs and all is told", f"{len(writes) / number:.2f}")
    print_counts(collections.Counter(map(kind_of, writes)), number)
    say("its processor time for a machine", f"{(processor_seconds(controller.pid) - used) / number * 1000:.1f} ms")


def print_counts(counts, number):
    for what, count in sorted(counts.items()):
        print(f"    {count / number:.2f} {what}")


def memory_figures(server, controller, audit, have, number, empty):
    begin = time.monotonic()
    make(server.api, range(have, number), {})
    audit.until_quiet(15, 1800)
    say("all of them made, and all told of them, after", f"{time.monotonic() - begin:.0f} s")
    machines = sum(vm.get("status", {}).get("printableStatus") == "Running" and vm["status"].get("ready", False) for vm in server.api.list(VMS))
    assert machines == number, f"only {machines} of {number} machines run"
    size = memory(controller.pid)
    say(f"controller, resident, with {number} machines that run", f"{size:.1f} MB", "at most 200 MB for 10 000 (KubeVirt: 1270 to 1450 MB for 8 000)")
    say("more than without any, for a machine", f"{(size - empty) * MIB / number:.1f} KB")
    say("controller, the most that was ever resident", f"{memory(controller.pid, 'VmHWM'):.1f} MB")


def quiet_figures(controller, audit, minutes):
    audit.read()
    used = processor_seconds(controller.pid)
    time.sleep(minutes * 60)
    writes, leases = audit.read()
    say(f"its writes in {minutes:g} min in which only nodes gave signs of life, without the lease's", f"{len(writes)}", "0")
    for what, count in collections.Counter(map(kind_of, writes)).items():
        print(f"    {count} {what}")
    say("its writes of the lease meanwhile", f"{leases}")
    say("its processor time meanwhile", f"{processor_seconds(controller.pid) - used:.1f} s")
    say("controller, resident, afterwards", f"{memory(controller.pid):.1f} MB", "not more")


def cold_figures(server, controller, audit, number):
    controller.end()
    audit.read()
    # One thing that is to be done shows when the first pass has been made.
    make(server.api, [number], {})
    used = processor_seconds(server.children[1].pid)
    again = Controller(server, "controller-again")
    leads = again.until_said("leading")
    listed = again.said("everything is listed")
    say(f"controller, from its start until all is listed, with {number} machines", f"{listed:.2f} s")
    say("until it leads, which is when the first pass begins", f"{leads:.2f} s", "at most 5 s")
    say("its processor time until then", f"{processor_seconds(again.pid):.2f} s")
    say("the API server's", f"{processor_seconds(server.children[1].pid) - used:.2f} s")
    writes = []

    def has_pod():
        writes.extend(audit.read()[0])
        return any(kind_of(entry) == "create pods" for entry in writes)

    until("the machine that was made meanwhile has a pod", has_pod, 120, 0.1)
    say("until its first write, for a machine that was made meanwhile", f"{seconds(writes[0]['requestReceivedTimestamp']) - again.begin:.2f} s")
    pod = next(entry for entry in writes if kind_of(entry) == "create pods")
    say("until that machine's pod", f"{seconds(pod['stageTimestamp']) - again.begin:.2f} s")
    writes += audit.until_quiet(15, 600)
    say("writes after the start for machines of which nothing has changed", f"{sum(f'{number:05}' not in entry['objectRef']['name'] and entry['objectRef']['resource'] != 'controllerrevisions' for entry in writes)}", "0")
    say("controller, resident, afterwards", f"{memory(again.pid):.1f} MB")
    return again


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--machines", type=int, default=10_000)
    parser.add_argument("--quiet-minutes", type=float, default=10)
    parser.add_argument("--keep", metavar="FILE")
    arguments = parser.parse_args()
    number, first = arguments.machines, min(STARTED, arguments.machines)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with Server() as server, StandIn(server.api, max(1, number // PODS_OF_A_NODE)) as stand_in:
        audit = Audit(server.folder / "audit.log", server.children)
        controller = Controller(server, "controller")
        controller.until_said("leading")
        time.sleep(6)  # until it has given back what its start took
        empty = memory(controller.pid)
        say("controller, resident, without machines", f"{empty:.1f} MB")
        try:
            started_figures(server, controller, audit, first)
            memory_figures(server, controller, audit, first, number, empty)
            controller = cold_figures(server, controller, audit, number)
            quiet_figures(controller, audit, arguments.quiet_minutes)
        finally:
            if arguments.keep:
                logs = (server.folder / f"{name}.log" for name in ("controller", "controller-again"))
                pathlib.Path(arguments.keep).write_text("".join(log.read_text() for log in logs if log.exists()))
        if stand_in.faults:
            raise SystemExit(f"{len(stand_in.faults)} faults of the stand-in: the figures do not count")


if __name__ == "__main__":
    main()
