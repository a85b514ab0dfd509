#!/bin/bash
# Loads localhost/kubevirt-rs/sidecar:latest, the image of a hook sidecar, into the nodes of the running test cluster.
#
#   tests/cluster/sidecar.sh BINARY      what serves, as /usr/bin/sidecar; all else is the image of all roles
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${KUBEVIRT_RS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kubevirt-rs}
work=$(mktemp -d "$cache/.sidecar.XXXXXX")
trap 'rm -rf "$work"' EXIT
objcopy --strip-debug "${1:?say which binary}" "$work/sidecar"
"$here/cluster.sh" load localhost/kubevirt-rs/sidecar:latest "$cache/image" --file "$work/sidecar" usr/bin/sidecar
