#!/bin/bash
# Checks licences, doubles, banned crates and sources of all dependencies against deny.toml.
#
#   deploy/audit.sh [CHECK...]     default: licenses bans sources; `advisories` as well where the advisory database can be fetched
#
# cargo-deny is built once, at the version below, and kept in the cache: some five minutes on two cores.
set -euo pipefail

version=0.20.2

cd "$(dirname "$0")/.."
home=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
cache=${KUBEVIRT_RS_CACHE:-${XDG_CACHE_HOME:-$home/.cache}/kubevirt-rs}
deny=$cache/cargo-deny-$version/bin/cargo-deny

if [ ! -x "$deny" ]; then
	mkdir -p "$cache"
	exec 9>"$cache/cargo-deny.lock"
	flock 9
fi
if [ ! -x "$deny" ]; then   # unless whoever held the lock has made it
	echo "audit: building cargo-deny $version" >&2
	build=$(mktemp -d "$cache/cargo-deny-build.XXXXXX")
	trap 'rm -rf "$build"' EXIT
	# The variables that point this project's build elsewhere shall not move the tool's.
	env -u CARGO_BUILD_TARGET -u RUSTFLAGS cargo install cargo-deny --version "=$version" --locked --quiet \
		--root "$build/root" --target-dir "$build/target" >&2
	rm -rf "${deny%/bin/*}"
	mv --no-target-directory "$build/root" "${deny%/bin/*}"
fi

[ $# -gt 0 ] || set -- licenses bans sources
"$deny" --locked check --hide-inclusion-graph "$@"
