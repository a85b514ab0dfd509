#!/usr/bin/env python3
"""Writes an OCI archive (a tar of an OCI layout) with one disk image in it, as containerDisks are.

The only layer holds /disk/FILE, owned by 107:107, the user that QEMU runs as in KubeVirt's pods. The
same disk gives the same bytes: times are fixed, names are sorted, nothing of this machine gets in.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile

QEMU = 107


def entry(name, size=0, mode=0o644, owner=0, folder=False):
    """A tar header with nothing in it that differs from run to run."""
    info = tarfile.TarInfo(name)
    info.size = size
    info.mode = mode
    info.uid = info.gid = owner
    if folder:
        info.type = tarfile.DIRTYPE
    return info


def hashed(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def write_layer(disk, folder):
    """Writes the layer, gives its path and the hash of its tar before compression (its diff id)."""
    plain = os.path.join(folder, "layer.tar")
    with tarfile.open(plain, "w", format=tarfile.USTAR_FORMAT) as tar:
        tar.addfile(entry("disk", mode=0o555, owner=QEMU, folder=True))
        with open(disk, "rb") as file:
            name = "disk/" + os.path.basename(disk)
            tar.addfile(entry(name, os.path.getsize(disk), 0o440, QEMU), file)
    packed = plain + ".gz"
    # Level 1: the disk inside is compressed already.
    with open(plain, "rb") as source, open(packed, "wb") as target:
        with gzip.GzipFile("", "wb", 1, target, mtime=0) as zipped:
            shutil.copyfileobj(source, zipped, 1 << 20)
    return packed, hashed(plain)


def as_json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--name", required=True, help="name of the image")
    options.add_argument("--disk", required=True, help="disk image to put in")
    options.add_argument("--out", required=True, help="archive to write")
    args = options.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        layer, diff_id = write_layer(args.disk, folder)
        layer_digest = hashed(layer)
        config = as_json(
            {
                "architecture": "amd64",
                "os": "linux",
                "config": {},
                "rootfs": {"type": "layers", "diff_ids": ["sha256:" + diff_id]},
            }
        )

        def described(kind, digest, size):
            return {"mediaType": kind, "digest": "sha256:" + digest, "size": size}

        manifest = as_json(
            {
                "schemaVersion": 2,
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": described(
                    "application/vnd.oci.image.config.v1+json", hashlib.sha256(config).hexdigest(), len(config)
                ),
                "layers": [
                    described("application/vnd.oci.image.layer.v1.tar+gzip", layer_digest, os.path.getsize(layer))
                ],
            }
        )
        manifest_entry = described(
            "application/vnd.oci.image.manifest.v1+json", hashlib.sha256(manifest).hexdigest(), len(manifest)
        )
        manifest_entry["platform"] = {"architecture": "amd64", "os": "linux"}
        manifest_entry["annotations"] = {"org.opencontainers.image.ref.name": args.name + ":latest"}
        index = as_json(
            {
                "schemaVersion": 2,
                "mediaType": "application/vnd.oci.image.index.v1+json",
                "manifests": [manifest_entry],
            }
        )

        texts = {
            "oci-layout": as_json({"imageLayoutVersion": "1.0.0"}),
            "index.json": index,
            "blobs/sha256/" + hashlib.sha256(config).hexdigest(): config,
            "blobs/sha256/" + hashlib.sha256(manifest).hexdigest(): manifest,
        }
        with tarfile.open(args.out, "w", format=tarfile.USTAR_FORMAT) as tar:
            for name in ("blobs", "blobs/sha256"):
                tar.addfile(entry(name, mode=0o755, folder=True))
            for name, text in sorted(texts.items()):
                tar.addfile(entry(name, len(text)), io.BytesIO(text))
            with open(layer, "rb") as file:
                tar.addfile(entry("blobs/sha256/" + layer_digest, os.path.getsize(layer)), file)


if __name__ == "__main__":
    main()
