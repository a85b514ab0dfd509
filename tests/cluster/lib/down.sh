# The end of cluster.sh; sourced by it.

# The processes of this cluster: those whose pid was noted, those in the nodes' network namespaces, and those in the cgroups of pods.
processes() {
	local file pid start now
	for file in "$D"/pid/*; do
		[ -f "$file" ] || continue
		read -r pid start <"$file" || continue
		now=$({ sed 's/.*) //' "/proc/$pid/stat" | cut -d' ' -f20; } 2>/dev/null || true)
		[ "$now" != "$start" ] || echo "$pid"
	done
	for file in /run/netns/"$NAME"-control /run/netns/"$NAME"-node*; do
		[ ! -e "$file" ] || ip netns pids "${file##*/}" 2>/dev/null || true
	done
	find /sys/fs/cgroup -path "/sys/fs/cgroup*/$NAME-node*" -name cgroup.procs -exec cat {} + 2>/dev/null || true
}

down() {
	local i pids file
	# Pods may start another process between the look and the kill: look again until there is none.
	for ((i = 0; i < 100; i++)); do
		pids=$(processes | sort -u)
		[ -n "$pids" ] || break
		kill -KILL $pids 2>/dev/null || true
		sleep 0.1
	done
	[ -z "$pids" ] || say "these processes do not end: $(echo $pids)"
	for file in /run/netns/"$NAME"-control /run/netns/"$NAME"-node*; do
		[ ! -e "$file" ] || ip netns del "${file##*/}"
	done
	ip link del "$NAME-host" 2>/dev/null || true
	# loop devices that pods made of files within the cluster's folder
	losetup --list --noheadings --output NAME,BACK-FILE 2>/dev/null | while read -r file i; do
		case $i in "$D"/*) losetup --detach "$file" ;; esac
	done
	find /sys/fs/cgroup -depth -type d -path "/sys/fs/cgroup*/$NAME-node*" -exec rmdir {} + 2>/dev/null || true
	if [ -n "${KUBEVIRT_RS_CLUSTER_LOGS:-}" ] && [ -d "$D/log" ]; then
		mkdir -p "$KUBEVIRT_RS_CLUSTER_LOGS"
		cp -r "$D/log/." "$KUBEVIRT_RS_CLUSTER_LOGS/"
	fi
	rm -rf --one-file-system "$D"
}
