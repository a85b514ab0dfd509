#!/bin/bash
# A real Kubernetes cluster on one machine, without a container engine or a VM.
#
#   cluster.sh up [NODES]          start it (default: 2 nodes); nothing happens when it runs already
#   cluster.sh down                end everything that it started, and remove its folder
#   cluster.sh load NAME SOURCE [--file FILE PATH]
#                                  put an image (images.py says from what) into every node; only what a node lacks is copied
#   cluster.sh exec NODE CMD...    run a command in a node's namespaces ("control" for those of the control plane)
#   cluster.sh env                 the lines to evaluate for using it: KUBECONFIG, and a kubectl of its version in PATH
#   cluster.sh check               say what this machine lacks for a cluster
#   cluster.sh --packages          the Debian packages that it needs
#
# etcd, API server, controller manager, scheduler, CoreDNS and a registry share a network namespace; every node is a network, mount and UTS namespace
# with containerd, kubelet and kube-proxy of its own. A node has its own /etc, /run, /dev (without kvm), /var/lib and /var/log.
#
# KUBEVIRT_RS_CLUSTER_NAME   lets several exist at the same time; at most 8 letters and digits (default: kvrs)
# KUBEVIRT_RS_CACHE          programs, and the cluster's folder cluster-NAME (default: ~/.cache/kubevirt-rs)
#
# Whatever registry an image's name begins with, nodes pull it from the one registry, which has what was loaded.
# The folder holds admin.conf, log/ (audit.log counts what writes), pki/, pid/ and the nodes' own folders.
set -euo pipefail

PACKAGES=(busybox-static conntrack containerd containernetworking-plugins ethtool iproute2 iptables libcap2-bin nftables openssl procps python3 runc socat util-linux)

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${KUBEVIRT_RS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kubevirt-rs}
NAME=${KUBEVIRT_RS_CLUSTER_NAME:-kvrs}
D=$cache/cluster-$NAME
export KUBECONFIG=$D/admin.conf

say() { printf '%s cluster: %s\n' "$(date +%T)" "$*" >&2; }
die() { say "$*"; exit 1; }
[[ $NAME =~ ^[a-z][a-z0-9]{0,7}$ ]] || die "KUBEVIRT_RS_CLUSTER_NAME is '$NAME'; it must be at most 8 small letters and digits, a letter first"

. "$here/lib/control-plane.sh"
. "$here/lib/node.sh"
. "$here/lib/check.sh"
. "$here/lib/down.sh"

# Starts a command in the background and notes its pid, with the time of its start: a pid alone may be someone else's by the end.
spawn() { # NAME COMMAND...
	local name=$1
	shift
	setsid "$@" >"$D/log/$name.log" 2>&1 </dev/null 9>&- &
	note_pid "$name" $!
}
note_pid() { echo "$2 $(sed 's/.*) //' "/proc/$2/stat" | cut -d' ' -f20)" >"$D/pid/$1"; }

wait_for() { # SECONDS WHAT COMMAND...
	local seconds=$1 what=$2 i
	shift 2
	for ((i = 0; i < seconds * 5; i++)); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.2
	done
	say "$what: not after $seconds s; the last lines of $D/log:"
	tail -n 5 "$D"/log/*.log >&2
	return 1
}

in_control() { ip netns exec "$NAME-control" "$@"; }
kubectl() { "$PROGRAMS/kubectl" "$@"; }

# A network that no other cluster of this machine uses: 172.30.N.0/24 for nodes, 10.(244-N).0.0/16 for pods.
choose_network() {
	local n
	for n in 0 1 2 3 4 5 6 7 8 9; do
		[ -z "$(ip -4 addr show to "172.30.$n.0/24")$(ip -4 route show root "10.$((244 - n)).0.0/16")" ] || continue
		echo "NET=172.30.$n POD=10.$((244 - n))"
		return
	done
	die "all ten networks for clusters are taken: 172.30.0.0/24 to 172.30.9.0/24"
}

up() {
	local nodes=${1:-2} i
	if [ -f "$D/ready" ]; then
		say "runs already; \`cluster.sh down\` ends it"
		return
	fi
	check >&2 || exit 1
	down # what an interrupted start has left
	local programs dns network
	programs=$("$here/programs.sh" cluster)
	dns=$("$here/programs.sh" dns)
	mkdir -p "$D"/{log,pid,pki,etcd}
	# one at a time chooses its network and makes its link, which takes the network
	exec 9>"$cache/cluster-network.lock"
	flock 9
	network=$(choose_network)
	printf '%s\n' "PROGRAMS=$programs" "DNS=$dns" $network "NODES=$nodes" >"$D/settings"
	. "$D/settings"
	trap 'status=$?; [ $status = 0 ] || { say "could not be started"; tail -n 5 "$D"/log/*.log >&2; down; }' EXIT
	make_network
	exec 9>&-
	python3 "$here/images.py" busybox "$D/images" localhost/kubevirt-rs/busybox:latest
	start_control_plane
	for ((i = 1; i <= nodes; i++)); do start_node "$i"; done
	for ((i = 1; i <= nodes; i++)); do
		wait_for 90 "node$i is ready" kubectl wait --for condition=Ready "node/node$i" --timeout 1s
	done
	wait_for 30 "namespace default is complete" kubectl --namespace default get serviceaccount default
	trap - EXIT
	touch "$D/ready"
	say "ready after $SECONDS s, with $nodes nodes"
}

running() { [ -f "$D/ready" ] && . "$D/settings" || die "'$NAME' does not run; \`cluster.sh up\` starts it"; }

case ${1:-} in
up) up "${2:-2}" ;;
down) down ;;
check) check ;;
env)
	running
	echo "export KUBECONFIG=$KUBECONFIG"
	type -P kubectl >/dev/null || echo "export PATH=$PROGRAMS:\$PATH"
	;;
exec)
	running
	node=$2
	shift 2
	enter "$node" "$@"
	;;
load)
	running
	shift
	python3 "$here/images.py" add "$D/images" "$@"
	for ((i = 1; i <= NODES; i++)); do
		enter "node$i" ctr --namespace k8s.io images pull --hosts-dir /etc/containerd/certs.d "$1" >"$D/log/pull-node$i.log" 2>&1 &
		pulls[i]=$!
	done
	for ((i = 1; i <= NODES; i++)); do
		wait "${pulls[i]}" || die "node$i could not pull $1: $(tail -n 2 "$D/log/pull-node$i.log")"
	done
	;;
--packages) printf '%s\n' "${PACKAGES[@]}" ;;
*)
	sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
	exit 2
	;;
esac
