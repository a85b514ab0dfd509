#!/usr/bin/env python3
"""How much of admission the API server does alone, by the definitions and the ValidatingAdmissionPolicies.

    without_api.py CASES --server URL --token TOKEN --program kubevirt-rs [--examples FOLDER] [--least PERCENT]

CASES is a folder with `admission.jsonl` and `kinds.jsonl`: a line has kind, operation, config, object, oldObject, user
and expect. The server is an empty kube-apiserver that this script may fill (no webhook is installed there); the token
is that of an administrator who may act as others.

Every object is sent as it was recorded, before any default is filled in. Creations are tried (dryRun). For an update
the old object is made first, without policies, under a name of its own, and the new one is tried on it; where the
definitions refuse the old object already, the case cannot be asked and counts as not denied. A denial is a denial
whoever makes it: `schema` are those by the definitions, `policy` those by a policy. Objects that were admitted are sent
a second time with their defaults, since that is what policies see in a cluster; none may be denied by a policy.
"""

import argparse
import collections
import copy
import http.client
import json
import pathlib
import re
import ssl
import subprocess
import sys
import time
import urllib.parse

HOME = "kubevirt"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"


class Server:
    def __init__(self, url, token):
        self.url, self.token = urllib.parse.urlsplit(url), token
        self.connection = None

    def __call__(self, method, path, body=None, user=None, kind="application/json"):
        """The code and the body of an answer."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        if user:
            headers |= {"Impersonate-User": user, "Impersonate-Group": "system:masters"}
        text = None if body is None else json.dumps(body)
        for attempt in (1, 2):
            try:
                if self.connection is None:
                    context = ssl._create_unverified_context()
                    self.connection = http.client.HTTPSConnection(self.url.hostname, self.url.port, context=context, timeout=60)
                self.connection.request(method, path, text, headers)
                answer = self.connection.getresponse()
                return answer.status, json.loads(answer.read() or b"{}")
            except (http.client.HTTPException, OSError):
                self.connection = None
                if attempt == 2:
                    raise
        raise AssertionError

    def apply(self, path, body):
        """Makes an object, or makes one that is there already the same."""
        name = body["metadata"]["name"]
        code, answer = self("PATCH", f"{path}/{name}?fieldManager=cases&force=true", body, kind="application/apply-patch+yaml")
        if code >= 300:
            raise SystemExit(f"{path}/{name}: {answer.get('message')}")
        return answer


def until(what, seconds, check):
    end = time.time() + seconds
    while not check():
        if time.time() > end:
            raise SystemExit(f"not within {seconds} s: {what}")
        time.sleep(0.05)


class Kinds:
    """Where objects of a kind are."""

    def __init__(self, definitions):
        self.of = {}
        for definition in definitions:
            spec = definition["spec"]
            version = next(v for v in spec["versions"] if v["storage"])
            self.of[spec["names"]["kind"]] = {
                "group": spec["group"],
                "version": version["name"],
                "plural": spec["names"]["plural"],
                "namespaced": spec["scope"] == "Namespaced",
                "status": "status" in version.get("subresources", {}),
            }

    def path(self, kind, version, namespace):
        of = self.of[kind]
        where = f"namespaces/{namespace}/" if of["namespaced"] else ""
        return f"/apis/{of['group']}/{version}/{where}{of['plural']}"


def given(kinds, kind, obj, namespace):
    """An object as a user would send it, and where to."""
    obj = copy.deepcopy(obj)
    of = kinds.of[kind]
    obj["kind"] = kind
    obj.setdefault("apiVersion", f"{of['group']}/{of['version']}")
    metadata = obj.setdefault("metadata", {})
    for field in ("resourceVersion", "uid", "creationTimestamp", "deletionTimestamp", "generation", "managedFields"):
        metadata.pop(field, None)
    if not metadata.get("name") and not metadata.get("generateName"):
        metadata["name"] = "nameless"
    metadata.pop("namespace", None)
    if of["namespaced"]:
        metadata["namespace"] = namespace
    return obj, kinds.path(kind, obj["apiVersion"].split("/")[-1], namespace)


def install(server, program):
    """The definitions; where objects of their kinds are."""
    definitions = json.loads(subprocess.check_output([program, "schema", "crds", "-o", "json"]))["items"]
    for definition in definitions:
        server.apply("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    for namespace in ("default", "lab", HOME):
        server.apply("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    kinds = Kinds(definitions)
    for kind in kinds.of:
        path = kinds.path(kind, kinds.of[kind]["version"], HOME)
        until(f"{kind} is served", 60, lambda: server("GET", path + "?limit=1")[0] == 200)
    return kinds


class Policies:
    """The policies of one configuration after the other."""

    def __init__(self, server, program):
        self.server, self.program, self.there = server, program, {}
        # what serves the webhooks: as long as none of its pods is ready, policies judge
        for name in ("virt-api", "virt-operator"):
            labels = {"kubevirt.io": name}
            server.apply(f"/apis/apps/v1/namespaces/{HOME}/deployments", {
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": HOME},
                "spec": {"replicas": 0, "selector": {"matchLabels": labels},
                         "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "none", "image": "none"}]}}},
            })
        self.clear()

    def clear(self):
        for plural in BINDINGS, POLICIES:
            self.server("DELETE", plural)

    def of(self, config):
        """The policies of a configuration, or what is wrong with it."""
        kubevirt = {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt", "namespace": HOME},
                    "spec": {"configuration": config}}
        run = subprocess.run([self.program, "install", "--policies", "--kubevirt", "-", "-o", "json"], input=json.dumps(kubevirt),
                             capture_output=True, text=True, check=False)
        if run.returncode:
            return None, run.stderr.strip()
        return json.loads(run.stdout)["items"], None

    def set(self, config, mark, kinds=None):
        """Has the policies of a configuration judge, those of these resources at least."""
        policies, fault = self.of(config)
        if fault:
            print(f"there are no policies for {config}: {fault}", file=sys.stderr)
            policies, _ = self.of({})
        wanted = None
        for obj in policies:
            key = obj["kind"], obj["metadata"]["name"]
            if obj["kind"].endswith("Policy"):
                wanted = kinds is None or set(obj["spec"]["matchConstraints"]["resourceRules"][0]["resources"]) & kinds
            if wanted and self.there.get(key) != obj:
                self.server.apply(POLICIES if obj["kind"].endswith("Policy") else BINDINGS, obj)
                self.there[key] = obj
        self.canary(mark)

    def canary(self, mark):
        """Waits until a policy judges that was made last: then those made before do, too."""
        self.server.apply(POLICIES, {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "canary"},
            "spec": {
                "matchConstraints": {"resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}]},
                "validations": [{"expression": "object.metadata.name != 'canary'", "message": f"mark {mark}"}],
            },
        })
        self.server.apply(BINDINGS, {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "canary"},
            "spec": {"policyName": "canary", "validationActions": ["Deny"]},
        })
        probe = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "canary", "namespace": "default"}}

        def judges():
            answer = self.server("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", probe)[1]
            return answer.get("message", "").endswith(f"mark {mark}")

        until(f"the policies of {mark} judge", 120, judges)


def prepare(server, kinds, case, namespace):
    """Makes the old object of an update; the live one, or why there is none."""
    old, path = given(kinds, case["kind"], case["oldObject"], namespace)
    code, live = server("POST", path, old)
    if code >= 300:
        return None, live.get("message")
    if old.get("status") and kinds.of[case["kind"]]["status"]:
        live["status"] = old["status"]
        code, answer = server("PUT", f"{path}/{live['metadata']['name']}/status", live)
        live = answer if code < 300 else live
    return live, None


def ask(server, kinds, case, obj, live, namespace):
    """Sends what was recorded; the code and the answer."""
    obj, path = given(kinds, case["kind"], obj, namespace)
    if case["operation"] == "CREATE":
        return server("POST", f"{path}?dryRun=All", obj, case.get("user"))
    obj["metadata"]["name"] = live["metadata"]["name"]
    obj["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
    return server("PUT", f"{path}/{obj['metadata']['name']}?dryRun=All", obj, case.get("user"))


def judge(code, answer):
    if code < 300:
        return "admitted"
    if "ValidatingAdmissionPolicy" in answer.get("message", ""):
        return "policy"
    return "schema" if code in (400, 422) else f"code {code}"


def last(field):
    """The last segment of a field."""
    return re.sub(r"\[[^]]*\]$", "", field).rsplit(".", 1)[-1].lower()


def read(folder):
    cases = []
    for name in ("admission.jsonl", "kinds.jsonl"):
        cases += [json.loads(line) for line in (folder / name).read_text().splitlines() if line]
    return [case for case in cases if case["operation"] in ("CREATE", "UPDATE")]


def examples(server, kinds, policies, folder, mark):
    """The examples that are refused, under the configuration that is among them."""
    import yaml

    documents = [(file.name, document) for file in sorted(folder.glob("*.yaml")) for document in yaml.safe_load_all(file.read_text())]
    documents = [(name, document) for name, document in documents if document and document["kind"] in kinds.of]
    config = next((document["spec"].get("configuration") for _, document in documents if document["kind"] == "KubeVirt"), {})
    policies.set(config, mark)
    refused = []
    for name, document in documents:
        obj, path = given(kinds, document["kind"], document, "default")
        code, answer = server("POST", f"{path}?dryRun=All", obj)
        if code >= 300 and code != 409:
            refused.append(f"{name}: {answer.get('message')}")
    return refused


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cases", type=pathlib.Path)
    parser.add_argument("--server", required=True)
    parser.add_argument("--token", required=True)
    parser.add_argument("--program", required=True, help="kubevirt-rs, which prints the definitions and the policies")
    parser.add_argument("--examples", type=pathlib.Path, help="a folder of objects that must be admitted")
    parser.add_argument("--least", type=float, default=0, help="the percentage of denials below which this fails")
    parser.add_argument("--configurations", type=int, help="ask only the cases of so many configurations, the most frequent ones: "
                        "every one has its own policies, which the API server compiles for a second or two")
    parser.add_argument("--show", type=int, default=0, help="how many cases to show that were judged otherwise")
    parser.add_argument("--json", type=pathlib.Path, help="keep every answer in this file")
    args = parser.parse_args()

    server = Server(args.server, args.token)
    kinds = install(server, args.program)
    # none of an earlier run is there to judge the old objects
    policies = Policies(server, args.program)
    run = format(int(time.time()), "x")
    cases = read(args.cases)
    old = {}
    time.sleep(2)
    for case in cases:
        if case["operation"] == "UPDATE":
            namespace = f"{run}-{case['id']}"
            server("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
            case = old[case["id"]] = copy.deepcopy(case)
            if not kinds.of[case["kind"]]["namespaced"]:
                case["oldObject"]["metadata"]["name"] = namespace
            case["live"] = prepare(server, kinds, case, namespace) + (namespace,)

    groups = collections.defaultdict(list)
    for case in cases:
        groups[json.dumps(case["config"], sort_keys=True)].append(case)

    outcomes, wrong, missed, unnamed = collections.Counter(), [], [], []
    answers = {}
    spent = count = 0
    frequent = sorted(groups.items(), key=lambda item: -len(item[1]))
    for number, (config, members) in enumerate(frequent[:args.configurations]):
        policies.set(json.loads(config), f"{run}-{number}", {kinds.of[case["kind"]]["plural"] for case in members})
        for case in members:
            live, why, namespace = old[case["id"]]["live"] if case["id"] in old else (None, None, "default")
            expected = case["expect"]["allowed"]
            if case["operation"] == "UPDATE" and live is None:
                got, answer = "cannot be asked", {"message": why}
            else:
                start = time.monotonic()
                code, answer = ask(server, kinds, case, case["object"], live, namespace)
                spent, count = spent + time.monotonic() - start, count + 1
                got = judge(code, answer)
            message = answer.get("message", "") if got != "admitted" else ""
            outcomes[case["kind"], expected, got] += 1
            answers[case["id"]] = {"got": got, "message": message, "expect": case["expect"].get("causes"), "allowed": expected}
            if expected and got != "admitted" and got != "cannot be asked":
                wrong.append((case["id"], got, message))
            if not expected:
                if got in ("admitted", "cannot be asked"):
                    missed.append((case["id"], case["kind"], case["expect"].get("causes"), message))
                else:
                    fields = [last(cause["field"]) for cause in case["expect"].get("causes") or [] if cause.get("field")]
                    if fields and not any(field in message.lower() for field in fields):
                        unnamed.append((case["id"], fields, message))
            defaulted = case["expect"].get("defaulted")
            if expected and defaulted and case["operation"] == "CREATE":
                code, answer = ask(server, kinds, case, defaulted, None, namespace)
                if judge(code, answer) != "admitted":
                    wrong.append((case["id"] + " with defaults", judge(code, answer), answer.get("message")))

    denied = admitted = total = 0
    print(f"{'kind':36} {'denials':>8} {'schema':>7} {'policy':>7} {'not':>5}   {'admissions':>10} {'refused':>8}")
    for kind in sorted({kind for kind, _, _ in outcomes}):
        of = lambda allowed, got: outcomes[kind, allowed, got]
        sums = {allowed: sum(n for (k, a, _), n in outcomes.items() if k == kind and a == allowed) for allowed in (True, False)}
        schema, policy = of(False, "schema"), of(False, "policy")
        refused = sums[True] - of(True, "admitted") - of(True, "cannot be asked")
        print(f"{kind:36} {sums[False]:8} {schema:7} {policy:7} {sums[False] - schema - policy:5}   {sums[True]:10} {refused:8}")
        total, denied, admitted = total + sums[False], denied + schema + policy, admitted + refused
    share = 100 * denied / max(total, 1)
    schema = sum(n for (_, allowed, got), n in outcomes.items() if not allowed and got == "schema")
    print(f"{denied} of {total} denials without the api: {share:.1f} % ({100 * schema / max(total, 1):.1f} % by the definitions)")
    print(f"{len(unnamed)} denials name none of the recorded fields; {1000 * spent / max(count, 1):.2f} ms a request")
    for line in missed[:args.show]:
        print("missed", *line)
    for line in unnamed[:args.show]:
        print("unnamed", *line)
    for line in wrong:
        print("WRONG", *line)
    if args.json:
        args.json.write_text(json.dumps(answers, indent=1))
    refused = []
    if args.examples:
        refused = examples(server, kinds, policies, args.examples, f"{run}-examples")
        for line in refused:
            print("WRONG", line)
    by_policy = [line for line in wrong if line[1] == "policy"]
    policies.clear()
    return 1 if by_policy or refused or share < args.least else 0


if __name__ == "__main__":
    sys.exit(main())
