# To be sourced, by bash or by sh from inside the checkout: lets Cargo find the static libvirt client that build.sh left in the cache.
# Without it nothing is set, and Cargo links against the system's libvirt-dev as usual.
kubevirt_rs_here=
if [ -n "${BASH_SOURCE:-}" ]; then
	kubevirt_rs_here=$(dirname "$BASH_SOURCE")
else
	# A plain sh does not tell a sourced file its own name: look for it from here upwards.
	kubevirt_rs_top=$PWD
	while [ -n "$kubevirt_rs_top" ] && [ ! -f "$kubevirt_rs_top/deploy/libvirt/prefix.sh" ]; do
		kubevirt_rs_top=${kubevirt_rs_top%/*}
	done
	kubevirt_rs_here=$kubevirt_rs_top/deploy/libvirt
	unset kubevirt_rs_top
fi
if [ -f "$kubevirt_rs_here/prefix.sh" ]; then
	kubevirt_rs_prefix=$(sh "$kubevirt_rs_here/prefix.sh" 2>/dev/null) || kubevirt_rs_prefix=
	if [ -n "$kubevirt_rs_prefix" ] && [ -d "$kubevirt_rs_prefix/pc" ]; then
		case ":${PKG_CONFIG_PATH:-}:" in
		*":$kubevirt_rs_prefix/pc:"*) ;;
		*) PKG_CONFIG_PATH=$kubevirt_rs_prefix/pc${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH} ;;
		esac
		PKG_CONFIG_ALL_STATIC=1
		export PKG_CONFIG_PATH PKG_CONFIG_ALL_STATIC
	fi
	unset kubevirt_rs_prefix
fi
unset kubevirt_rs_here
