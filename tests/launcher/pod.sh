#!/bin/bash
# The inside of a launcher pod without a cluster: what kubelet and handler bring, and then the launcher as they start it.
#
#   unshare --mount --pid --net --uts --fork --mount-proc tests/launcher/pod.sh BINARY UID IMAGE FOLDER [ARGUMENT...]
#
# FOLDER/sockets is the pod's volume of that name, FOLDER/hooks the one for the sockets of as many sidecars as HOOKS says, FOLDER/virtiofs the one for those of shared folders. As in a pod, process 1 is the user 107, with no capability but one.
set -euo pipefail
binary=$1 uid=$2 image=$3 folder=$4
shift 4

mount --make-rprivate /
mount -t tmpfs -o mode=755 none /run
cp "$binary" "$folder/kubevirt-rs"
setcap cap_net_bind_service=p "$folder/kubevirt-rs"
mkdir -p "$folder/sockets" /run/kubevirt/{sockets,container-disks} /run/kubevirt-private /run/kubevirt-ephemeral-disks /run/libvirt
chown -R 107:107 "$folder/sockets" /run/kubevirt /run/kubevirt-private /run/kubevirt-ephemeral-disks /run/libvirt
mount --bind "$folder/sockets" /run/kubevirt/sockets
touch /run/kubevirt/container-disks/disk_{0.img,0.sock}
chown 107:107 /run/kubevirt/container-disks/disk_0.sock
mount --bind "$image" /run/kubevirt/container-disks/disk_0.img
# the user and group of the image; this machine may know them by another name, or not at all
for file in passwd group; do
	entry=$([ $file = passwd ] && echo 'qemu:x:107:107::/:/usr/sbin/nologin' || echo 'qemu:x:107:')
	(echo "$entry" && awk -F: '$3 != 107' /etc/$file) >/run/$file
	mount --bind /run/$file /etc/$file
done
printf 'search lab.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\n' >/run/resolv.conf
mount --bind /run/resolv.conf /etc/resolv.conf
# as the handler leaves it to the pod's user
mknod /run/tun c 10 200
chown 107:107 /run/tun
mount --bind /run/tun /dev/net/tun
if [ -d "$folder/private" ]; then
	chown -R 107:107 "$folder/private"
	mount --bind "$folder/private" /run/kubevirt-private
fi
if [ -d "$folder/hooks" ]; then
	mkdir /run/kubevirt-hooks
	mount --bind "$folder/hooks" /run/kubevirt-hooks
fi
if [ -d "$folder/virtiofs" ]; then
	mkdir /run/kubevirt/virtiofs-containers
	mount --bind "$folder/virtiofs" /run/kubevirt/virtiofs-containers
fi
if [ -d "$folder/hotplug" ]; then
	# claims as the handler shows them; one has room for the guest's memory, but not for all that a dump takes
	chown 107:107 "$folder"/hotplug/*
	mkdir /run/kubevirt/hotplug-disks
	mount --bind "$folder/hotplug" /run/kubevirt/hotplug-disks
	mount -t tmpfs -o size=260m,uid=107,gid=107 none /run/kubevirt/hotplug-disks/tight
fi
hostname pod-of-tiny

ip link set lo up
ip link add k6t-eth0 type bridge
ip address add 10.0.2.1/24 dev k6t-eth0
ip tuntap add tap0 mode tap user 107 group 107
ip link set tap0 master k6t-eth0 up
ip link set k6t-eth0 up

exec setpriv --reuid 107 --regid 107 --clear-groups --no-new-privs --bounding-set -all,+net_bind_service --inh-caps -all \
	"$folder/kubevirt-rs" launcher --name tiny --namespace lab --uid "$uid" --kubevirt-share-dir /var/run/kubevirt \
	--ephemeral-disk-dir /var/run/kubevirt-ephemeral-disks --container-disk-dir /var/run/kubevirt/container-disks \
	--grace-period-seconds 30 --hook-sidecars "${HOOKS:-0}" --ovmf-path /usr/share/OVMF --disk-memory-limit 2097152000 --hypervisor kvm \
	--run-as-nonroot --allow-emulation "$@"
