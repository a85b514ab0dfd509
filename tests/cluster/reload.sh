#!/bin/bash
# Puts another binary into the running test cluster, for development: a layer with it is loaded into the nodes, and the role pods start anew.
#
#   tests/cluster/reload.sh BINARY [ROLE...]     a debug build will do; ROLE (operator, api, controller, handler) restarts only these
#
# Launcher pods of running guests keep the binary that they were started with.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${KUBEVIRT_RS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kubevirt-rs}
binary=${1:?say which binary}
shift
say() { printf '%s reload: %s\n' "$(date +%T)" "$*" >&2; }
eval "$("$here/cluster.sh" env)"
SECONDS=0

work=$(mktemp -d "$cache/.reload.XXXXXX")
trap 'rm -rf "$work"' EXIT
objcopy --strip-debug "$binary" "$work/kubevirt-rs"
setcap cap_net_bind_service=p "$work/kubevirt-rs" # as the Containerfile does
image=$(kubectl --namespace kubevirt get deployment virt-operator --output jsonpath='{.spec.template.spec.containers[0].image}')
"$here/cluster.sh" load "$image" "$cache/image" --file "$work/kubevirt-rs" usr/bin/kubevirt-rs
say "$image is loaded after $SECONDS s"
kubectl apply --filename "$here/../../deploy/kubevirt-operator.yaml" >/dev/null # its roles may have changed with it

selector=kubevirt.io
[ $# = 0 ] || selector="kubevirt.io in ($(printf 'virt-%s,' "$@" | sed 's/,$//'))"
kubectl --namespace kubevirt delete pods --selector "$selector" --wait=false >/dev/null
roles=("${@:-operator}")
[ $# -gt 0 ] || roles=(operator api controller handler)
for role in "${roles[@]}"; do
	case $role in handler) kind=daemonset ;; *) kind=deployment ;; esac
	kubectl --namespace kubevirt rollout status "$kind/virt-$role" --timeout 60s >&2
done
say "done after $SECONDS s"
