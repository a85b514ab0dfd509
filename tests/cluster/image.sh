#!/bin/bash
# Builds the image of every role from the Containerfile, and prints the folder that holds it.
#
#   tests/cluster/image.sh BINARY      the program; container-disk-program, as `make build` makes it, lies beside it
#
# The base, docker.io/library/debian:trixie-slim, is made here from Debian's packages, by the archive that this machine's apt uses.
# buildah keeps what the Containerfile's steps made: with another binary only the step that copies it is done again.
#
# KUBEVIRT_RS_CACHE   holds buildah's storage and the layout (default: ~/.cache/kubevirt-rs)
set -euo pipefail
exec 3>&1 1>&2

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$here/../..
cache=${KUBEVIRT_RS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kubevirt-rs}
binary=$(realpath "${1:?say which binary}")
base=docker.io/library/debian:trixie-slim
layout=$cache/image

. "$here/../guests/lib.sh" # mirror, bootstrap
say() { echo "image: $*" >&2; }
# vfs would copy the whole file system for each step
buildah() { command buildah --root "$cache/buildah" --runroot "$cache/buildah/run" --storage-driver overlay "$@"; }

mkdir -p "$cache"
exec 9>"$cache/image.lock"
flock --nonblock 9 || { say "another build is under way, waiting for it"; flock 9; }
work=$(mktemp -d "$cache/.image.XXXXXX")
trap 'rm -rf "$work"' EXIT

if ! buildah inspect --type image "$base" >/dev/null 2>&1; then
	say "making $base (once)"
	bootstrap minbase "$work/base.tar" ca-certificates --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*'
	container=$(buildah from scratch)
	buildah add --quiet "$container" "$work/base.tar" / >/dev/null
	buildah config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin --cmd bash "$container"
	buildah commit --quiet --rm "$container" "$base" >/dev/null
fi

# A context with just what is copied, so that a checkout's size does not matter.
mkdir -p "$work/context/target"
cp "$binary" "$work/context/target/kubevirt-rs"
cp "$(dirname "$binary")/container-disk-program" "$work/context/target/"
cp "$top/LICENSE" "$top/NOTICE" "$work/context/"
say "building from the Containerfile"
buildah bud --quiet --layers --isolation chroot --pull-never --format oci --tag localhost/kubevirt-rs --file "$top/Containerfile" "$work/context" >/dev/null
rm -rf "$layout"
# not compressed, which the other kinds of folders would be: it does not leave this machine
buildah push --quiet --disable-compression localhost/kubevirt-rs "dir:$layout" >/dev/null
# images of former builds, but not the steps that the next one starts from
buildah rmi --prune >/dev/null 2>&1 || true
say "$(du -sh "$layout" | cut -f1) at $layout, after $SECONDS s"
echo "$layout" >&3
