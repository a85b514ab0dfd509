# What cluster.sh needs of a machine; sourced by it.

# Says, a line each, what is missing; fails when something is.
check() {
	local missing=0 tool type
	lacks() { echo "this machine cannot hold a test cluster: $*"; missing=1; }
	[ "$(id -u)" = 0 ] || { lacks "it takes root"; return 1; }
	for tool in conntrack containerd ctr ip iptables nft nsenter openssl python3 runc; do
		command -v $tool >/dev/null || lacks "the program $tool is missing; \`deploy/setup.sh cluster\` installs it"
	done
	[ -x /usr/lib/cni/bridge ] || lacks "/usr/lib/cni/bridge is missing; \`deploy/setup.sh cluster\` installs it"
	[ -f /bin/busybox ] || lacks "/bin/busybox is missing; \`deploy/setup.sh cluster\` installs it"
	unshare --mount --uts --net true 2>/dev/null || lacks "root may not make mount, UTS and network namespaces (CAP_SYS_ADMIN, CAP_NET_ADMIN)"
	[ -e /dev/net/tun ] || lacks "there is no /dev/net/tun, so no guest has a network (the kernel's module tun)"
	grep -qw overlay /proc/filesystems || modprobe overlay 2>/dev/null || lacks "the kernel has no overlayfs, which containers' file systems are made with"
	unshare --net ip link add check-a type veth peer name check-b 2>/dev/null || lacks "the kernel has no veth network links (CONFIG_VETH)"
	unshare --net ip link add check-a type bridge 2>/dev/null || lacks "the kernel has no network bridges (CONFIG_BRIDGE)"
	unshare --net iptables -t nat -S >/dev/null 2>&1 || lacks "the kernel has no NAT tables, with which Services are made (CONFIG_NF_NAT)"
	unshare --net nft add table ip check 2>/dev/null || lacks "the kernel has no nftables (CONFIG_NF_TABLES)"
	mkdir -p "$cache"
	type=$(stat --file-system --format %T "$cache")
	case $type in
	overlayfs) lacks "$cache lies on an overlay, which containers' file systems cannot be made in; KUBEVIRT_RS_CACHE names a folder on a disk" ;;
	esac
	if [ ! -f /sys/fs/cgroup/cgroup.controllers ]; then
		for tool in cpu cpuset memory pids devices; do
			[ -d "/sys/fs/cgroup/$tool" ] || lacks "the cgroup controller $tool is not mounted at /sys/fs/cgroup/$tool"
		done
	fi
	mkdir -p "/sys/fs/cgroup/${first:=$([ -f /sys/fs/cgroup/cgroup.controllers ] || echo pids/)}$NAME-check" 2>/dev/null &&
		rmdir "/sys/fs/cgroup/$first$NAME-check" || lacks "root may not make cgroups below /sys/fs/cgroup"
	return $missing
}
