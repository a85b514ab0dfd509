# Nodes of cluster.sh; sourced by it.

# Runs a command in a node's namespaces. `ip netns exec` would mount a /sys without cgroups.
enter() { # NODE COMMAND...
	local node=$1 pid
	shift
	if [ "$node" = control ]; then
		in_control "$@"
		return
	fi
	[ -f "$D/pid/$node" ] || die "there is no node '$node'"
	read -r pid _ <"$D/pid/$node"
	nsenter --target "$pid" --mount --net --uts "$@"
}

start_node() { # NUMBER
	local node=node$1 ip=$NET.$((10 + $1)) N=$D/node$1 other
	mkdir -p "$N"/{run,containerd,kubelet,cni,kubevirt,own,files}
	ip netns add "$NAME-$node"
	ip link add "$NAME-$node" netns "$NAME-control" type veth peer name eth0 netns "$NAME-$node"
	in_control ip link set "$NAME-$node" master br0 up
	ip -n "$NAME-$node" link set lo up
	ip -n "$NAME-$node" addr add "$ip/24" dev eth0
	ip -n "$NAME-$node" link set eth0 up
	ip -n "$NAME-$node" route add default via "$NET.1"
	for ((other = 1; other <= NODES; other++)); do
		[ $other = "$1" ] || ip -n "$NAME-$node" route add "$POD.$other.0/24" via "$NET.$((10 + other))"
	done
	in_control ip route add "$POD.$1.0/24" via "$ip"
	ip route add "$POD.$1.0/24" via "$ip" dev "$NAME-host"
	certificate "$node" "system:node:$node" system:nodes "DNS:$node,IP:$ip"
	kubeconfig "$node"
	node_files "$@"
	spawn "$node" nsenter --net="/run/netns/$NAME-$node" unshare --mount --uts --propagation private \
		env NAME="$NAME" D="$D" N="$N" NODE="$node" IP="$ip" POD="$POD" PROGRAMS="$PROGRAMS" bash "$here/lib/node-init.sh"
}

# What lies in the node's /etc, and the kubelet's configuration.
node_files() {
	local node=node$1
	cat >"$N/files/pods.conflist" <<-Y
		{"cniVersion": "0.4.0", "name": "pods", "plugins": [
		 {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
		  "ipam": {"type": "host-local", "ranges": [[{"subnet": "$POD.$1.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}], "dataDir": "/var/lib/cni/pods"}},
		 {"type": "portmap", "capabilities": {"portMappings": true}}]}
	Y
	# restrict_oom_score_adj: root may lack CAP_SYS_RESOURCE
	cat >"$N/files/containerd.toml" <<-Y
		version = 2
		root = "/var/lib/containerd"
		state = "/run/containerd"
		[grpc]
		address = "/run/containerd/containerd.sock"
		[plugins."io.containerd.grpc.v1.cri"]
		sandbox_image = "localhost/kubevirt-rs/busybox:latest"
		restrict_oom_score_adj = true
		[plugins."io.containerd.grpc.v1.cri".registry]
		config_path = "/etc/containerd/certs.d"
		[plugins."io.containerd.grpc.v1.cri".cni]
		bin_dir = "/usr/lib/cni"
		conf_dir = "/etc/cni/net.d"
		[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
		runtime_type = "io.containerd.runc.v2"
	Y
	cat >"$N/files/hosts.toml" <<-Y
		[host."http://$NET.1:5000"]
		capabilities = ["pull", "resolve"]
	Y
	# failCgroupV1: from 1.35 on a kubelet refuses version 1, which this one takes
	cat >"$N/files/kubelet.yaml" <<-Y
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $D/pki/ca.crt}}
		authorization: {mode: Webhook}
		tlsCertFile: $D/pki/$node.crt
		tlsPrivateKeyFile: $D/pki/$node.key
		containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
		cgroupDriver: cgroupfs
		cgroupRoot: /$NAME-$node
		enforceNodeAllocatable: []
		failSwapOn: false
		failCgroupV1: false
		evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}
		imageGCHighThresholdPercent: 100
		clusterDNS: [10.96.0.10]
		clusterDomain: cluster.local
		resolvConf: $N/files/resolv.conf
		maxPods: 200
		nodeStatusUpdateFrequency: 4s
		syncFrequency: 10s
	Y
	echo "nameserver 10.96.0.10" >"$N/files/resolv.conf"
}
