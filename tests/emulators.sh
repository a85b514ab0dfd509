#!/bin/bash
# Prints a folder with QEMU's emulators of machines other than this one, for a libvirt that defines domains for them:
#
#   tests/emulators.sh            the folder is the only line on stdout
#   tests/emulators.sh --packages the Debian packages that the script needs
#
# libvirt asks an emulator what it can before it defines a domain. Two programs of 33 MB are wanted, of packages that
# would install 250 MB: so they are taken out of them, into ${KUBEVIRT_RS_CACHE:-~/.cache/kubevirt-rs}. Their modules and
# libraries are those of qemu-system-x86, which has the same version.
set -euo pipefail

if [ "${1:-}" = --packages ]; then
	echo qemu-system-x86
	exit
fi
declare -A programs=([qemu-system-arm]=qemu-system-aarch64 [qemu-system-misc]=qemu-system-s390x)
say() { echo "emulators: $*" >&2; }
die() { say "$*"; exit 1; }

version=$(dpkg-query --show --showformat '${Version}' qemu-system-common) || die "QEMU is missing: deploy/setup.sh test installs it"
cache=${KUBEVIRT_RS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kubevirt-rs}
result=$cache/emulators-$(tr -c 'A-Za-z0-9.\n' - <<<"$version")
if [ -d "$result" ]; then
	echo "$result/usr/bin"
	exit
fi

mkdir -p "$cache"
exec 9>"$cache/emulators.lock"
flock 9
work=$(mktemp -d "$cache/.emulators.XXXXXX")
trap 'rm -rf "$work"' EXIT
packages=("${!programs[@]}")
get() { (cd "$work" && apt-get --quiet --quiet -o APT::Sandbox::User=root download "${packages[@]/%/=$version}") >&2; }
if [ ! -d "$result" ]; then
	get || {
		# a fresh container has no lists, an old one has lists whose packages are gone
		if [ "$(id -u)" = 0 ]; then apt-get --quiet update >&2; else sudo apt-get --quiet update >&2; fi
		get || die "QEMU $version, which is installed here, is not to be had any more: apt-get install qemu-system-x86 brings a newer one"
	}
	mkdir -p "$work/done"
	for package in "${!programs[@]}"; do
		dpkg-deb --fsys-tarfile "$work/${package}"_*.deb | tar -x -C "$work/done" "./usr/bin/${programs[$package]}"
	done
	# QEMU looks for its modules beside itself
	library=usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || echo x86_64-linux-gnu)
	mkdir -p "$work/done/$library"
	ln -s "/$library/qemu" "$work/done/$library/qemu"
	for program in "${programs[@]}"; do
		"$work/done/usr/bin/$program" --version >/dev/null || die "$program does not run here"
	done
	mv "$work/done" "$result"
fi
echo "$result/usr/bin"
