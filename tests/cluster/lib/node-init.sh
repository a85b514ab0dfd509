#!/bin/bash
# The first process of a node, in its namespaces: its file system, then containerd, kubelet and kube-proxy.
set -euo pipefail

hostname "$NODE"
mount --make-rshared /

# Folders of the machine that the node writes into as it likes; what it writes is gone with its mount namespace.
mount --types tmpfs --options mode=755 tmpfs "$N/own"
for folder in /etc /var/lib /var/log; do
	mkdir -p "$N/own/upper$folder" "$N/own/work$folder"
done

# /dev of its own: nothing of the machine's devices but what pods with rights use, and no kvm, which need not work on this machine.
dev=$N/own/dev
mkdir "$dev"
mount --types tmpfs --options mode=755 tmpfs "$dev"
mkdir -p "$dev"/{pts,shm,mqueue,hugepages,net,mapper,vfio}
for file in null zero full random urandom tty ptmx kmsg fuse loop-control net/tun vhost-net vhost-vsock; do
	[ ! -e "/dev/$file" ] || cp --archive "/dev/$file" "$dev/$file"
done
for file in /dev/loop[0-9]*; do
	[ ! -b "$file" ] || cp --archive "$file" "$dev/"
done
[ -e "$dev/net/tun" ] || mknod --mode 666 "$dev/net/tun" c 10 200
ln -s /proc/self/fd "$dev/fd"
for n in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${n%:*}" "$dev/${n#*:}"; done
for folder in pts shm mqueue; do
	[ ! -d "/dev/$folder" ] || mount --bind "/dev/$folder" "$dev/$folder"
done
# after this, paths below $N are reached through a bind of it, as /var/lib may hold $N
mount --rbind "$dev" /dev

mount --bind "$N/run" /run
mkdir -p /run/containerd /run/netns /run/lock /run/node
mount --rbind "$N" /run/node
for folder in /etc /var/lib /var/log; do
	[ -d "$folder" ] || continue
	mount --types overlay --options "lowerdir=$folder,upperdir=/run/node/own/upper$folder,workdir=/run/node/own/work$folder" overlay "$folder"
done
for folder in containerd kubelet cni kubevirt; do
	mkdir -p "/var/lib/$folder"
	mount --bind "/run/node/$folder" "/var/lib/$folder"
done
mkdir -p /etc/cni/net.d /etc/containerd/certs.d/{_default,localhost} /var/log/pods /var/log/containers
cp /run/node/files/pods.conflist /etc/cni/net.d/10-pods.conflist
for folder in _default localhost; do cp /run/node/files/hosts.toml "/etc/containerd/certs.d/$folder/hosts.toml"; done
mount --make-rshared /

sysctl --quiet --write net.ipv4.ip_forward=1
# there only when the module is; without it kube-proxy misses traffic between pods of one node
sysctl --quiet --write net.bridge.bridge-nf-call-iptables=1 2>/dev/null || true

if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
	for folder in /sys/fs/cgroup "/sys/fs/cgroup/$NAME-$NODE"; do
		mkdir -p "$folder"
		for controller in cpu cpuset io memory pids; do
			echo "+$controller" >"$folder/cgroup.subtree_control" 2>/dev/null || true
		done
	done
	echo 400 >"/sys/fs/cgroup/$NAME-$NODE/cpu.weight"
else
	for folder in /sys/fs/cgroup/*/; do
		mkdir -p "$folder/$NAME-$NODE" 2>/dev/null || true
	done
	for file in cpuset.cpus cpuset.mems; do
		cat "/sys/fs/cgroup/cpuset/$file" >"/sys/fs/cgroup/cpuset/$NAME-$NODE/$file"
	done
	# A node's pods weigh as much as a few of the machine's own programs, not as one: guests are emulated.
	echo 4096 >"/sys/fs/cgroup/cpu/$NAME-$NODE/cpu.shares"
fi

containerd --config /run/node/files/containerd.toml >"$D/log/containerd-$NODE.log" 2>&1 &
# As on any node, a kubelet that ends is started again: it registers its node anew.
while true; do
	"$PROGRAMS/testcluster" kubelet --kubeconfig "$D/$NODE.conf" --config /run/node/files/kubelet.yaml --root-dir /var/lib/kubelet \
		--hostname-override "$NODE" --node-ip "$IP" --v 2 >>"$D/log/kubelet-$NODE.log" 2>&1 &
	echo $! >/run/kubelet.pid
	wait $! || sleep 1
done &
"$PROGRAMS/testcluster" kube-proxy --kubeconfig "$D/proxy.conf" --proxy-mode iptables --cluster-cidr "$POD.0.0/16" \
	--hostname-override "$NODE" --conntrack-max-per-core 0 >"$D/log/kube-proxy-$NODE.log" 2>&1 &
wait
