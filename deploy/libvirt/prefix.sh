#!/bin/sh
# Prints where the static libvirt client of this checkout lies in the cache, whether or not it has been built.
# The name's key covers all that the result depends on: the recipe, the sources, the architecture, the compiler and the C library.
# Comments are left out of it, so that explaining the recipe better does not rebuild it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
home=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
cache=${KUBEVIRT_RS_CACHE:-${XDG_CACHE_HOME:-$home/.cache}/kubevirt-rs}
key=$({
	grep -hv '^[[:space:]]*#' "$here/build.sh" "$here/sources.txt"
	uname -m
	/usr/bin/gcc -dumpfullversion
	getconf GNU_LIBC_VERSION
} 2>&1 | sha256sum | cut -c1-16)
echo "$cache/libvirt-$key"
