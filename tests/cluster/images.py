#!/usr/bin/env python3
"""The images of a test cluster: a folder that holds them, and a registry that serves it to the nodes.

    images.py add STORE NAME SOURCE                     an image from an OCI layout or archive, or buildah's dir:
    images.py add STORE NAME SOURCE --file FILE PATH    the same with FILE at PATH, in a layer of its own
    images.py busybox STORE NAME                        Debian's static busybox: a shell, wget, nc; by itself it waits, as a sandbox does
    images.py serve STORE PORT                          answers pulls, of any registry's names, until it is ended

A store is a folder with blobs/sha256/DIGEST, as in an OCI layout, and names/NAME:TAG, each with the digest of a manifest.
"""

import argparse
import contextlib
import hashlib
import http.server
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import urllib.parse

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"


def described(kind, data):
    return {"mediaType": kind, "digest": "sha256:" + hashlib.sha256(data).hexdigest(), "size": len(data)}


def as_json(value):
    return json.dumps(value, sort_keys=True).encode()


def path_of(digest):
    """Where a blob lies in a layout or store. A digest may come from a request, so it must be one."""
    if not re.fullmatch("sha256:[0-9a-f]{64}", digest):
        raise KeyError(digest)
    return "blobs/" + digest.replace(":", "/")


def without_registry(name):
    """`localhost/a/b:1` → `a/b:1`: what stands in the path of a pull."""
    first, _, rest = name.partition("/")
    if rest and ("." in first or ":" in first or first == "localhost"):
        name = rest
    return name if ":" in name else name + ":latest"


class Source:
    """One image: an OCI layout, as a folder or in a tar, or a folder as `buildah push dir:` makes it."""

    def __init__(self, path):
        self.path = path
        self.tar = None if os.path.isdir(path) else tarfile.open(path)
        if self.tar is None and os.path.exists(os.path.join(path, "manifest.json")):
            self.name = lambda digest: path_of(digest).rpartition("/")[2]
            self.manifest_data = self.read("manifest.json")
        else:
            self.name = path_of
            entries = json.loads(self.read("index.json"))["manifests"]
            if len(entries) != 1:
                raise SystemExit(f"{path} holds {len(entries)} images; it must be one")
            self.manifest_data = self.blob(entries[0]["digest"])
        self.manifest = json.loads(self.manifest_data)

    def open(self, name):
        if self.tar is None:
            return open(os.path.join(self.path, name), "rb")
        return self.tar.extractfile(name)

    def read(self, name):
        with contextlib.closing(self.open(name)) as file:
            return file.read()

    def blob(self, digest):
        return self.read(self.name(digest))


class Store:
    """Each file appears whole, by a rename: the registry may be asked for it at any moment."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("blobs/sha256", "names"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)

    @contextlib.contextmanager
    def appearing(self, name):
        path = os.path.join(self.folder, name)
        with open(path + ".part", "wb") as file:
            yield file
        os.rename(path + ".part", path)

    def put(self, kind, data):
        entry = described(kind, data)
        with self.appearing(path_of(entry["digest"])) as file:
            file.write(data)
        return entry

    def take(self, source, digest):
        path = os.path.join(self.folder, path_of(digest))
        if os.path.exists(path):
            return
        if source.tar is None:
            with contextlib.suppress(OSError):  # another file system: copy
                os.link(os.path.join(source.path, source.name(digest)), path)
                return
        with contextlib.closing(source.open(source.name(digest))) as file, self.appearing(path_of(digest)) as out:
            shutil.copyfileobj(file, out, 1 << 20)

    def name(self, name, digest):
        with self.appearing("names/" + without_registry(name).replace("/", "%2F")) as file:
            file.write(digest.encode())

    def image(self, name, config, layers):
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": self.put(CONFIG, as_json(config)), "layers": layers}
        self.name(name, self.put(MANIFEST, as_json(manifest))["digest"])


def layer(entries):
    """An uncompressed layer of (path, mode, content): bytes, the target of a link, or None for a folder; capabilities may follow."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, mode, content, *capabilities in entries:
            info = tarfile.TarInfo(path)
            info.mode = mode
            if capabilities:
                info.pax_headers["SCHILY.xattr.security.capability"] = capabilities[0].decode()
            if content is None:
                info.type = tarfile.DIRTYPE
            elif isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
            else:
                info.size = len(content)
            tar.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    return out.getvalue()


def add(args):
    store, source = Store(args.store), Source(args.source)
    for part in source.manifest["layers"]:
        store.take(source, part["digest"])
    if not args.file:
        store.take(source, source.manifest["config"]["digest"])
        store.name(args.name, store.put(MANIFEST, source.manifest_data)["digest"])
        return
    with open(args.file[0], "rb") as file:
        entry = [args.file[1], 0o755, file.read()]
    with contextlib.suppress(OSError):  # it has none
        entry.append(os.getxattr(args.file[0], "security.capability"))
    data = layer([entry])
    config = json.loads(source.blob(source.manifest["config"]["digest"]))
    top = store.put(LAYER, data)
    config["rootfs"]["diff_ids"].append(top["digest"])
    config.pop("history", None)  # it would have to tell of every layer
    store.image(args.name, config, source.manifest["layers"] + [top])


def busybox(args):
    store = Store(args.store)
    with open("/bin/busybox", "rb") as file:
        entries = [("bin", 0o755, None), ("tmp", 0o1777, None), ("bin/busybox", 0o755, file.read())]
    names = subprocess.run(["/bin/busybox", "--list"], check=True, capture_output=True, text=True).stdout.split()
    entries += [(f"bin/{name}", 0o777, "busybox") for name in names if name != "busybox"]
    only = store.put(LAYER, layer(entries))
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": ["/bin/sleep", "infinity"], "Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [only["digest"]]},
    }
    store.image(args.name, config, [only])


class Registry(http.server.BaseHTTPRequestHandler):
    """The pull half of the distribution protocol."""

    protocol_version = "HTTP/1.1"
    folder = ""

    def find(self):
        """The file and media type that are asked for."""
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        blob = re.fullmatch("/v2/.+/blobs/([^/]+)", path)
        if blob:
            return path_of(blob[1]), "application/octet-stream"
        manifest = re.fullmatch("/v2/(.+)/manifests/([^/]+)", path)
        if not manifest:
            raise KeyError(path)
        digest = manifest[2]
        if not digest.startswith("sha256:"):
            with open(os.path.join(self.folder, "names", f"{manifest[1]}:{digest}".replace("/", "%2F")), encoding="ascii") as file:
                digest = file.read()
        self.digest = digest
        return path_of(digest), MANIFEST

    def answer(self, with_body):
        self.digest = None
        if urllib.parse.urlsplit(self.path).path == "/v2/":
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        try:
            name, kind = self.find()
            file = open(os.path.join(self.folder, name), "rb")
        except (KeyError, OSError):
            self.send_error(404)
            return
        with file:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(os.fstat(file.fileno()).st_size))
            if self.digest:
                self.send_header("Docker-Content-Digest", self.digest)
            self.end_headers()
            if with_body:
                shutil.copyfileobj(file, self.wfile, 1 << 20)

    def do_GET(self):
        self.answer(True)

    def do_HEAD(self):
        self.answer(False)


def serve(args):
    Registry.folder = args.store
    http.server.ThreadingHTTPServer(("", args.port), Registry).serve_forever()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = options.add_subparsers(required=True, metavar="COMMAND")

    def command(run, *arguments):
        parser = commands.add_parser(run.__name__)
        parser.set_defaults(run=run)
        for argument in arguments:
            parser.add_argument(argument)
        return parser

    command(add, "store", "name", "source").add_argument("--file", nargs=2, metavar=("FILE", "PATH"))
    command(busybox, "store", "name")
    command(serve, "store").add_argument("port", type=int)
    args = options.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
