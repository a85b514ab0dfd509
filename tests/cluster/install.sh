#!/bin/bash
# Starts the test cluster, unless it runs, and installs the program in it as a user does; then says how to use it.
#
#   tests/cluster/install.sh BINARY [NODES]
#
# What is applied is deploy/kubevirt-operator.yaml and deploy/kubevirt-cr.yaml. The KubeVirt object is then told what is particular to these
# nodes: they have no KVM, and their Kubernetes (1.34) does not mount images as volumes, so that container disks come by a container.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$here/../..
binary=${1:?say which binary}
SECONDS=0
say() { printf '%s install: %s\n' "$(date +%T)" "$*" >&2; }

"$here/cluster.sh" up "${2:-2}"
eval "$("$here/cluster.sh" env)"
layout=$("$here/image.sh" "$binary")
say "loading images"
# the name that the manifest uses
image=$(sed -nE 's/^ *image: *"?([^" ]+)"?$/\1/p' "$top/deploy/kubevirt-operator.yaml" | head -n 1)
"$here/cluster.sh" load "$image" "$layout"
for guest in tiny debian; do
	"$here/cluster.sh" load "localhost/kubevirt-rs/$guest:latest" "$("$top/tests/guests/build.sh" $guest)/$guest.oci.tar"
done

say "applying deploy/kubevirt-operator.yaml and deploy/kubevirt-cr.yaml"
kubectl apply --filename "$top/deploy/kubevirt-operator.yaml" >/dev/null
kubectl wait --for condition=Established crd/kubevirts.kubevirt.io --timeout 30s >/dev/null
kubectl apply --filename "$top/deploy/kubevirt-cr.yaml" >/dev/null
applied=$SECONDS
kubectl --namespace kubevirt patch kubevirt kubevirt --type merge --patch \
	'{"spec": {"configuration": {"developerConfiguration": {"useEmulation": true, "disabledFeatureGates": ["ImageVolume"]}}}}' >/dev/null

# Progress: what there is, whenever it changes.
last=
while ! kubectl --namespace kubevirt wait --for condition=Available kubevirt/kubevirt --timeout 1s >/dev/null 2>&1; do
	now=$(kubectl --namespace kubevirt get kubevirt,deployments,daemonsets --no-headers 2>/dev/null | sed -E "s#kubevirt.kubevirt.io/(\S+) +\S+ +(\S+)#kubevirt/\1 \2#" | awk '{ printf "%s %s; ", $1, $2 }')
	[ "$now" = "$last" ] || say "waiting for Available: $now"
	last=$now
	if [ $((SECONDS - applied)) -gt 180 ]; then
		say "not Available after 180 s"
		kubectl --namespace kubevirt get kubevirt kubevirt --output jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}' >&2 || true
		kubectl --namespace kubevirt get pods --output wide >&2
		kubectl --namespace kubevirt get events --sort-by .lastTimestamp 2>/dev/null | tail -n 15 >&2
		for pod in $(kubectl --namespace kubevirt get pods --output name); do
			say "last lines of $pod"
			kubectl --namespace kubevirt logs "$pod" --all-containers --tail 8 >&2 || true
		done
		exit 1
	fi
done
say "KubeVirt is Available, $((SECONDS - applied)) s after its object was applied; all in all $SECONDS s"
"$here/cluster.sh" env
