#!/bin/bash
# Builds the Go programs that the cluster tests use, unless the cache already has them, and prints the folder with one of them.
#
#   tests/cluster/programs.sh cluster    testcluster (etcd, Kubernetes and kubectl), and kubectl as a name of it
#   tests/cluster/programs.sh dns        dns (CoreDNS)
#   tests/cluster/programs.sh client     client (kubevirt.io/client-go; tests/client)
#
# The folder is ${KUBEVIRT_RS_CACHE:-${XDG_CACHE_HOME:-~/.cache}/kubevirt-rs}/go-NAME-KEY. KEY is a hash of the sources, this script
# and the compiler's version. The first build of "cluster" takes four minutes on two idle cores, all others less than one.
set -euo pipefail
exec 3>&1 1>&2

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
say() { echo "programs: $*"; }
die() { say "$*"; exit 1; }

name=${1:-}
flags=()
case $name in
cluster)
	source=$here/program program=testcluster
	version=k8s.io/component-base/version
	# The components refuse to start, or lie to clients, without a version.
	flags=(-tags providerless,netgo,osusergo -ldflags "-s -w -X $version.gitVersion=v1.34.4 -X $version.gitMajor=1 -X $version.gitMinor=34
		-X $version.gitCommit=0000000 -X $version.gitTreeState=clean -X $version.buildDate=2026-01-01T00:00:00Z
		-X k8s.io/client-go/pkg/version.gitVersion=v1.34.4")
	;;
dns) source=$here/dns program=dns flags=(-tags netgo,osusergo -ldflags "-s -w") ;;
client) source=$here/../client program=client flags=(-tags netgo,osusergo -ldflags "-s -w") ;;
*) die "say which: cluster, dns or client" ;;
esac

command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin
command -v go >/dev/null || die "Go is missing: install Go 1.25 or newer; its module proxy gives the rest"
key=$({ cd "$source" && find . -type f | LC_ALL=C sort | xargs sha256sum; sha256sum <"$here/programs.sh"; go env GOVERSION GOARCH; } | sha256sum | cut -c1-16)
cache=${KUBEVIRT_RS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kubevirt-rs}
result=$cache/go-$name-$key
[ ! -d "$result" ] || { echo "$result" >&3; exit; }

mkdir -p "$cache"
exec 9>"$cache/go-$name.lock"
flock --nonblock 9 || { say "another build of $name is under way, waiting for it"; flock 9; }
[ ! -d "$result" ] || { echo "$result" >&3; exit; }
rm -rf "$cache/.go-$name".* # what a killed run left; none runs now, for the lock is ours
work=$(mktemp -d "$cache/.go-$name.XXXXXX")
trap 'rm -rf "$work"' EXIT
say "building $name (once)"
(cd "$source" && nice go build -buildvcs=false -mod=readonly -trimpath "${flags[@]}" -o "$work/$program" .) 9>&-
[ "$name" != cluster ] || ln -s testcluster "$work/kubectl"
chmod 755 "$work"
mv --no-target-directory "$work" "$result"
trap - EXIT
say "$name is built, in $SECONDS s: $(du -Lh "$result/$program" | cut -f1) at $result"
echo "$result" >&3
