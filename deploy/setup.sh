#!/bin/bash
# Installs the Debian 12 packages that a purpose needs, and does nothing, fast, when they are there.
#
#   deploy/setup.sh PURPOSE...       a purpose of the table below
#   deploy/setup.sh --list PURPOSE   only says which packages these are
#
# Needs root, or sudo. Starts no service, and brings none: libvirtd runs as a child of the launcher.
set -euo pipefail

# purpose -> packages. A word with @ before it stands for another purpose; one with ! for a script of this checkout that lists its own.
declare -A packages=(
	# the static libvirt client (deploy/libvirt/build.sh)
	[libvirt]="binutils bzip2 ca-certificates gcc libc6-dev libffi-dev libgmp-dev libnl-3-dev libnl-route-3-dev libpcre2-dev libtirpc-dev
		libxml2-utils make nettle-dev ninja-build perl pkg-config python3 python3-packaging rpcsvc-proto xsltproc xz-utils zlib1g-dev"
	# the program
	[build]="@libvirt git"
	# guests by the local launcher; libvirt-daemon is the program alone, without the units and users of libvirt-daemon-system,
	# and qemu-system-common has virtiofsd
	[run]="ipxe-qemu libvirt-daemon libvirt-daemon-driver-qemu ovmf qemu-system-common qemu-system-x86 qemu-utils seabios swtpm swtpm-tools"
	# a Kubernetes cluster on this machine, and the image that is loaded into it
	[cluster]="@build buildah !tests/cluster/cluster.sh !tests/guests/build.sh"
	# all tests: schema checks, a reader of ISO images, ssh and curl into guests, the guests themselves
	[test]="@build @run @cluster !tests/emulators.sh curl libarchive-tools libvirt-clients openssh-client procps time"
)

top=$(cd "$(dirname "$0")/.." && pwd)
say() { echo "setup: $*" >&2; }
die() { say "$*"; exit 1; }

# The packages of a purpose, those of the purposes within it included.
expand() {
	local word
	[ -n "${packages[$1]:-}" ] || die "unknown purpose '$1'; it is one of: ${!packages[*]}"
	for word in ${packages[$1]}; do
		case $word in
		@*) expand "${word#@}" || exit ;;
		!*) "$top/${word#!}" --packages || die "${word#!} could not say what it needs" ;;
		*) echo "$word" ;;
		esac
	done
}

# Those of the given packages that are not installed. One call of dpkg-query for all of them.
missing() {
	local installed
	# dpkg-query fails when it does not know one of the packages, which is just what is asked.
	installed=$({ dpkg-query --show --showformat '${db:Status-Abbrev} ${Package}\n' "$@" 2>/dev/null || true; } | sed -n 's/^ii *//p')
	comm -23 <(printf '%s\n' "$@" | sort -u) <(sort -u <<<"$installed")
}

# Runs a command as root.
privileged() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Installs packages, while invoke-rc.d is told that nothing may be started.
install_packages() {
	local policy=/usr/sbin/policy-rc.d
	local -a apt=(env DEBIAN_FRONTEND=noninteractive apt-get --quiet --yes --no-install-recommends -o Dpkg::Use-Pty=0 -o Dpkg::Lock::Timeout=300)
	[ "$(id -u)" = 0 ] || command -v sudo >/dev/null || die "these packages are missing, and installing them takes root: $*"
	command -v apt-get >/dev/null || die "only Debian and its kin are known here; install by hand: $*"
	if [ ! -e "$policy" ]; then
		trap 'privileged rm -f /usr/sbin/policy-rc.d' EXIT
		printf '#!/bin/sh\nexit 101\n' | privileged tee "$policy" >/dev/null
		privileged chmod 755 "$policy"
	fi
	# A fresh container has no lists at all, an old one has lists whose packages are gone: refresh them only when it is of use.
	privileged "${apt[@]}" install "$@" && return
	privileged "${apt[@]}" update
	privileged "${apt[@]}" install "$@" || die "apt-get could not install: $*"
}

# rustfmt and clippy, which the tests use, are parts of a Rust toolchain that it may lack. Debian's own would be too old.
rust_components() {
	local tool
	command -v cargo >/dev/null || die "cargo is missing: install Rust as rust-toolchain.toml says, with rustup"
	for tool in fmt clippy; do
		! (cd "$top" && cargo "$tool" --version) >/dev/null 2>&1 || continue
		case $tool in fmt) tool=rustfmt ;; esac
		say "this Rust toolchain lacks $tool"
		(cd "$top" && rustup component add "$tool") >&2 || say "$tool could not be added with rustup; the checks that use it will fail"
	done
}

list=
if [ "${1:-}" = --list ]; then
	list=yes
	shift
fi
[ $# -gt 0 ] || die "say what for: ${!packages[*]}"
wanted=
for purpose in "$@"; do
	wanted+=" $(expand "$purpose")" || exit
done
if [ -n "$list" ]; then
	printf '%s\n' $wanted | sort -u
	exit
fi
absent=$(missing $wanted)
if [ -n "$absent" ]; then
	say "installing" $absent
	install_packages $absent >&2
fi
case " $* " in *" build "* | *" cluster "* | *" test "*) rust_components ;; esac
