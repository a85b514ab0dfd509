#!/bin/bash
# Makes one test guest, unless the cache already has it, and prints the folder that holds it.
#
#   tests/guests/build.sh tiny|debian     the folder is the only line on stdout; progress goes to stderr
#   tests/guests/build.sh --packages      the Debian packages that the scripts need
#
# The folder is ${KUBEVIRT_RS_CACHE:-${XDG_CACHE_HOME:-~/.cache}/kubevirt-rs}/guest-NAME-KEY. KEY is a
# hash of all that makes the guest, so a change of any script leads to a new folder. README.md tells
# what is in it.
set -euo pipefail

PACKAGES=(ca-certificates cpio debian-archive-keyring dosfstools e2fsprogs fdisk kmod mmdebstrap mtools
  python3 qemu-utils syslinux syslinux-common xz-utils zstd)

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# hash_of NAME: one hash over the shared scripts and the guest's own folder: names, modes, contents.
hash_of() {
  (
    cd "$here"
    find build.sh lib.sh oci.py "$1" \( -type f -o -type l \) | LC_ALL=C sort | while IFS= read -r file; do
      if [ -x "$file" ]; then printf 'x '; else printf -- '- '; fi
      if [ -L "$file" ]; then printf '%s -> %s\n' "$file" "$(readlink "$file")"; else sha256sum "$file"; fi
    done | sha256sum | cut -c1-16
  )
}

case ${1:-} in
--packages)
  printf '%s\n' "${PACKAGES[@]}"
  exit
  ;;
tiny | debian) name=$1 ;;
*)
  echo "usage: ${0##*/} tiny|debian|--packages" >&2
  exit 2
  ;;
esac

cache=${KUBEVIRT_RS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kubevirt-rs}
result=$cache/guest-$name-$(hash_of "$name")
if [ -d "$result" ]; then
  echo "$result"
  exit
fi

. "$here/lib.sh"
need_root
need_tools
mkdir -p "$cache"
exec 9>"$cache/guest-$name.lock"
flock -n 9 || { say "waiting for another build of $name"; flock 9; }
# Whoever held the lock may have made it.
if [ -d "$result" ]; then
  echo "$result"
  exit
fi

# With the lock held, an older work folder is what a killed build left.
rm -rf "$cache/.guest-$name".*
work=$(mktemp -d "$cache/.guest-$name.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/out" "$work/tmp"
export TMPDIR=$work/tmp

begin=$(date +%s)
# A process group of its own: a signal ends all of it at once, not after the command that is running.
set -m
(
  . "$here/$name/build.sh"
  python3 "$here/oci.py" --name "$name" --disk "$work/out/$name.qcow2" --out "$work/out/$name.oci.tar"
) &
builder=$!
set +m
stop() {
  trap '' INT TERM HUP
  say "stopped"
  # What it had mounted is gone when the last of the group is.
  while kill -TERM -- "-$builder" 2>/dev/null; do sleep 0.2; done
  exit 143
}
trap stop INT TERM HUP
wait "$builder"
chmod 755 "$work/out"
mv "$work/out" "$result"
say "$name is made, in $(($(date +%s) - begin)) s: $(du -h --apparent-size "$result/$name.qcow2" | cut -f1) at $result"
echo "$result"
