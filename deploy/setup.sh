#!/bin/bash
# Installs the Debian 12 packages that a purpose needs, and does nothing, fast, when they are there.
#   deploy/setup.sh PURPOSE...     with PURPOSE one of the table's
# Needs root, or sudo. Starts no service, and asks for none: libvirtd runs as a child of the launcher.
set -euo pipefail

# purpose -> packages; a word with @ before it stands for all packages of that purpose.
declare -A packages=(
	[libvirt]="gcc libc6-dev make pkg-config ninja-build perl python3 python3-packaging python3-setuptools xsltproc libxml2-utils rpcsvc-proto
		binutils bzip2 xz-utils curl ca-certificates
		libtirpc-dev nettle-dev libgmp-dev libnl-3-dev libnl-route-3-dev libpcre2-dev libffi-dev zlib1g-dev"
	[build]="@libvirt git"
	[run]="libvirt-daemon libvirt-daemon-driver-qemu qemu-system-x86 qemu-utils ovmf seabios"
	[test]="@build @run libvirt-clients libxml2-utils openssh-client curl swtpm swtpm-tools debootstrap"
)

die() { echo "setup: $*" >&2; exit 1; }

# The packages of a purpose, those of the purposes within it included.
expand() {
	local word
	[ -n "${packages[$1]:-}" ] || die "unknown purpose '$1'; it is one of: ${!packages[*]}"
	for word in ${packages[$1]}; do
		case $word in
		@*) expand "${word#@}" ;;
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

[ $# -gt 0 ] || die "say what for: ${!packages[*]}"
wanted=$(for purpose in "$@"; do expand "$purpose"; done)
absent=$(missing $wanted)
if [ -n "$absent" ]; then
	echo "setup: installing" $absent >&2
	install_packages $absent >&2
fi
