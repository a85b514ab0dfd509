# Network, certificates and control plane of cluster.sh; sourced by it.

# A bridge in a namespace of its own joins the nodes; a veth joins the machine to it.
make_network() {
	ip netns add "$NAME-control"
	in_control ip link set lo up
	in_control ip link add br0 type bridge
	in_control ip addr add "$NET.1/24" dev br0
	in_control ip link set br0 up
	ip link add "$NAME-host" type veth peer name host netns "$NAME-control"
	ip addr add "$NET.254/24" dev "$NAME-host"
	ip link set "$NAME-host" up
	in_control ip link set host master br0 up
}

authority() { openssl req -x509 -newkey rsa:2048 -nodes -keyout "$D/pki/$1.key" -out "$D/pki/$1.crt" -days 3650 -subj "/CN=$1" 2>/dev/null; }

certificate() { # FILE CN O [NAMES]; CA is the authority's name
	local file=$D/pki/$1 ca=$D/pki/${CA:-ca}
	openssl req -newkey rsa:2048 -nodes -keyout "$file.key" -subj "/O=$3/CN=$2" -out "$file.csr" 2>/dev/null
	openssl x509 -req -in "$file.csr" -CA "$ca.crt" -CAkey "$ca.key" -CAcreateserial -days 3650 -out "$file.crt" \
		-extfile <(printf 'extendedKeyUsage=clientAuth,serverAuth\n%s' "${4:+subjectAltName=$4}") 2>/dev/null
	rm "$file.csr"
}

kubeconfig() { # NAME, which is that of a certificate too; the keys are inside, so that the file can be copied
	local part
	part() { base64 --wrap=0 "$D/pki/$1"; }
	cat >"$D/$1.conf" <<-Y
		apiVersion: v1
		kind: Config
		clusters: [{name: $NAME, cluster: {server: "https://$NET.1:6443", certificate-authority-data: $(part ca.crt)}}]
		users: [{name: $1, user: {client-certificate-data: $(part "$1.crt"), client-key-data: $(part "$1.key")}}]
		contexts: [{name: $NAME, context: {cluster: $NAME, user: $1}}]
		current-context: $NAME
	Y
	chmod 600 "$D/$1.conf"
}

make_certificates() {
	authority ca
	authority front-proxy-ca
	certificate apiserver kube-apiserver kubernetes \
		"DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,IP:$NET.1,IP:127.0.0.1,IP:10.96.0.1"
	certificate kubelet-client apiserver-kubelet-client system:masters
	CA=front-proxy-ca certificate front-proxy-client front-proxy-client front
	certificate admin admin system:masters
	certificate controller-manager system:kube-controller-manager system
	certificate scheduler system:kube-scheduler system
	certificate proxy system:kube-proxy system
	# What CoreDNS and the like may do is not what is tested here.
	certificate dns dns system:masters
	local name
	for name in admin controller-manager scheduler proxy dns; do kubeconfig $name; done
	openssl genrsa -out "$D/pki/sa.key" 2048 2>/dev/null
	openssl rsa -in "$D/pki/sa.key" -pubout -out "$D/pki/sa.pub" 2>/dev/null
}

start_control_plane() {
	local run=(ip netns exec "$NAME-control" "$PROGRAMS/testcluster") pki=$D/pki
	spawn registry ip netns exec "$NAME-control" python3 "$here/images.py" serve "$D/images" 5000
	make_certificates
	# Only writes; benches count them. KUBEVIRT_RS_AUDIT=Request shows what was in them.
	cat >"$D/audit.yaml" <<-Y
		apiVersion: audit.k8s.io/v1
		kind: Policy
		omitStages: [RequestReceived]
		rules:
		  - {level: None, verbs: [get, list, watch]}
		  - {level: ${KUBEVIRT_RS_AUDIT:-Metadata}}
	Y
	spawn etcd "${run[@]}" etcd --data-dir "$D/etcd" --unsafe-no-fsync --log-level warn \
		--listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380
	# Webhooks and aggregated APIs are reached by their pods' addresses, since no kube-proxy serves this namespace.
	spawn apiserver "${run[@]}" kube-apiserver --etcd-servers http://127.0.0.1:2379 --advertise-address "$NET.1" --secure-port 6443 \
		--service-cluster-ip-range 10.96.0.0/16 --allow-privileged --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction \
		--enable-aggregator-routing=true --client-ca-file "$pki/ca.crt" --tls-cert-file "$pki/apiserver.crt" --tls-private-key-file "$pki/apiserver.key" \
		--kubelet-client-certificate "$pki/kubelet-client.crt" --kubelet-client-key "$pki/kubelet-client.key" \
		--kubelet-preferred-address-types InternalIP --service-account-issuer https://kubernetes.default.svc \
		--service-account-key-file "$pki/sa.pub" --service-account-signing-key-file "$pki/sa.key" \
		--requestheader-client-ca-file "$pki/front-proxy-ca.crt" --requestheader-allowed-names front-proxy-client \
		--requestheader-extra-headers-prefix X-Remote-Extra- --requestheader-group-headers X-Remote-Group \
		--requestheader-username-headers X-Remote-User \
		--proxy-client-cert-file "$pki/front-proxy-client.crt" --proxy-client-key-file "$pki/front-proxy-client.key" \
		--audit-policy-file "$D/audit.yaml" --audit-log-path "$D/log/audit.log" --audit-log-maxsize 100 --audit-log-maxbackup 2
	wait_for 60 "the API server is ready" kubectl get --raw /readyz
	spawn controller-manager "${run[@]}" kube-controller-manager --kubeconfig "$D/controller-manager.conf" \
		--authentication-kubeconfig "$D/controller-manager.conf" --authorization-kubeconfig "$D/controller-manager.conf" \
		--service-account-private-key-file "$pki/sa.key" --root-ca-file "$pki/ca.crt" --use-service-account-credentials \
		--cluster-signing-cert-file "$pki/ca.crt" --cluster-signing-key-file "$pki/ca.key" --leader-elect=false --node-monitor-grace-period 20s
	spawn scheduler "${run[@]}" kube-scheduler --kubeconfig "$D/scheduler.conf" --leader-elect=false \
		--authentication-kubeconfig "$D/scheduler.conf" --authorization-kubeconfig "$D/scheduler.conf"
	start_dns
}

# CoreDNS runs beside the API server; its Service has the address that kubelets give to pods.
start_dns() {
	cat >"$D/Corefile" <<-Y
		.:53 {
		    errors
		    ready :8181
		    kubernetes cluster.local in-addr.arpa {
		        kubeconfig $D/dns.conf
		        pods insecure
		    }
		    cache 5
		    loadbalance
		}
	Y
	spawn dns ip netns exec "$NAME-control" "$DNS/dns" -conf "$D/Corefile"
	kubectl apply --filename - >/dev/null <<-Y
		apiVersion: v1
		kind: Service
		metadata: {name: kube-dns, namespace: kube-system, labels: {k8s-app: kube-dns}}
		spec:
		  clusterIP: 10.96.0.10
		  ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}]
		---
		apiVersion: discovery.k8s.io/v1
		kind: EndpointSlice
		metadata: {name: kube-dns, namespace: kube-system, labels: {kubernetes.io/service-name: kube-dns}}
		addressType: IPv4
		ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}]
		endpoints: [{addresses: [$NET.1], conditions: {ready: true}}]
	Y
}
