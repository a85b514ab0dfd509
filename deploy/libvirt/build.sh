#!/bin/bash
# Builds the libvirt client as static libraries, which no distribution ships, and prints the prefix that holds them.
#
#   P=$(deploy/libvirt/build.sh)       some 8 minutes on two cores the first time, at once afterwards
#   . deploy/libvirt/env.sh            then Cargo finds it
#
# gnutls, libxml2, glib and libvirt are built from Debian's source tarballs, because Debian's archives either are missing or need libraries
# that have no archive (p11-kit, libmount) or are huge (ICU). The rest is Debian's own .a files. Of libvirt only the remote and the test driver
# are built: the drivers that run guests stay in the daemon.
#
# KUBEVIRT_RS_CACHE     where results are kept (default: ~/.cache/kubevirt-rs)
# KUBEVIRT_RS_SOURCES   a folder that already holds the files of sources.txt, for a machine without a network
# KUBEVIRT_RS_MIRROR    the Debian archive to fetch them from (default: those that apt uses here)
set -euo pipefail
exec 3>&1 1>&2   # stdout is for the prefix alone

here=$(cd "$(dirname "$0")" && pwd)
prefix=$("$here/prefix.sh")
[ ! -d "$prefix" ] || { echo "$prefix" >&3; exit; }

# A known PATH: neither pyenv's Python nor someone's newer libtool shall have a say in the result.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
unset PKG_CONFIG_PATH PKG_CONFIG_LIBDIR PYTHONPATH CC CFLAGS CPPFLAGS LDFLAGS DESTDIR MAKEFLAGS

say() { echo "libvirt: $*"; }
die() { say "$*"; exit 1; }

"$here/../setup.sh" libvirt
prefix=$("$here/prefix.sh")   # again: the compiler, which is part of the name, may have come only now
cache=$(dirname "$prefix")
mkdir -p "$cache"
exec 9>"$cache/libvirt.lock"
flock --nonblock 9 || { say "another build is under way, waiting for it"; flock 9; }
[ ! -d "$prefix" ] || { echo "$prefix" >&3; exit; }

rm -rf "$cache"/libvirt-build.*   # what a failed or killed run left; none runs now, for the lock is ours
work=$(mktemp -d "$cache/libvirt-build.XXXXXX")
stage=$work/stage    # where the libraries are installed while building
result=$work/result  # what will be renamed to $prefix
lib=/usr/lib/$(gcc -print-multiarch)
jobs=$(nproc)
mkdir -p "$stage" "$result/lib" "$result/pc" "$work/src"
cd "$work"

# Runs a function as a step with a log of its own.
step() {
	local name=$1 started=$SECONDS status
	shift
	say "$name ..."
	set +e
	(set -e; "$@") >"$work/$name.log" 2>&1 9>&- </dev/null
	status=$?
	set -e
	if [ $status != 0 ]; then
		tail -n 40 "$work/$name.log"
		die "$name failed; the whole log is $work/$name.log"
	fi
	say "$name done in $((SECONDS - started)) s"
}

# The roots of the Debian archives that this machine's apt uses, from either style of its source lists.
archives() {
	local uri
	if [ -n "${KUBEVIRT_RS_MIRROR:-}" ]; then
		echo "$KUBEVIRT_RS_MIRROR"
		return
	fi
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sort -u | while read -r uri; do
		case $uri in
		# A file of mirrors, as in Debian's cloud images; apt-helper cannot fetch through it.
		mirror+file:*) grep -oE '^[a-z]+://[^[:space:]]+' "${uri#mirror+file:}" || true ;;
		*) echo "$uri" ;;
		esac
	done
}

matches() { echo "$1  $2" | sha256sum --check --status; }

fetch() {
	local sum path file archive
	archives >archives
	while read -r sum path; do
		case $sum in '#'* | '') continue ;; esac
		file=src/${path##*/}
		if [ -n "${KUBEVIRT_RS_SOURCES:-}" ] && [ -f "$KUBEVIRT_RS_SOURCES/${path##*/}" ]; then
			cp "$KUBEVIRT_RS_SOURCES/${path##*/}" "$file"
		else
			# apt's own downloader: there on every Debian, and it knows the machine's proxies.
			while read -r archive; do
				/usr/lib/apt/apt-helper -o APT::Sandbox::User=root -o Acquire::Retries=3 download-file "${archive%/}/$path" "$file" &&
					matches "$sum" "$file" && break
				rm -f "$file"
			done <archives
		fi
		[ -f "$file" ] || { echo "no archive of this machine's apt has $path"; return 1; }
		matches "$sum" "$file" || { echo "$file has another SHA-256 than sources.txt says"; return 1; }
	done <"$here/sources.txt"
	dpkg-deb --extract src/meson_*.deb meson
	# Beside its modules the script finds them by itself, also when ninja calls it.
	mv meson/usr/bin/meson meson/usr/lib/python3/dist-packages/meson.py
}

meson() { /usr/bin/python3 "$work/meson/usr/lib/python3/dist-packages/meson.py" "$@"; }

# Everything is configured for /usr, so that no path of this build (which others might be able to write to later) ends in the program
# as a place to load modules from. The installed .pc files are then pointed at the staging folder for the next library.
restage() { sed -i -E "s#^(prefix|exec_prefix|libdir|includedir)=/usr#\1=$stage/usr#" "$stage"/usr/lib/pkgconfig/*.pc; }

gnutls() {
	tar xf src/gnutls28_*.tar.xz
	cd gnutls-*/
	./configure --quiet --prefix=/usr --libdir=/usr/lib --sysconfdir=/etc --localstatedir=/var --enable-static --disable-shared --with-pic \
		--with-included-libtasn1 --with-included-unistring --without-p11-kit --without-idn --without-tpm --without-tpm2 \
		--without-zlib --without-brotli --without-zstd --disable-cxx --disable-libdane --disable-nls --disable-openssl-compatibility \
		--disable-doc --disable-gtk-doc --disable-tools --disable-tests --disable-full-test-suite
	make -s -j"$jobs"
	make -s install DESTDIR="$stage"
	restage
}

libxml2() {
	tar xf src/libxml2_*.tar.xz
	cd libxml2-*/
	./configure --quiet --prefix=/usr --libdir=/usr/lib --sysconfdir=/etc --enable-static --disable-shared --with-pic \
		--without-python --without-icu --without-lzma --without-zlib --without-http --without-ftp --without-readline --without-history
	# The tarball's dates would make it run automake, which need not be installed: make every generated file newer than its source.
	touch aclocal.m4 configure
	find . -name Makefile.in -exec touch {} +
	touch config.h.in config.status
	find . -name Makefile -exec touch {} +
	touch config.h stamp-h1
	make -s -j"$jobs" libxml2.la
	make -s install-libLTLIBRARIES install-pkgconfigDATA DESTDIR="$stage"
	make -s -C include install DESTDIR="$stage"
	restage
}

glib() {
	tar xf src/glib2.0_*.tar.xz
	meson setup glib glib-*/ --prefix=/usr --libdir=lib --buildtype=release --wrap-mode=nodownload -Ddefault_library=static \
		-Dlibmount=disabled -Dselinux=disabled -Dnls=disabled -Dintrospection=disabled -Dtests=false -Dman-pages=disabled -Ddocumentation=false \
		-Dsysprof=disabled -Ddtrace=disabled -Dsystemtap=disabled -Dglib_debug=disabled
	ninja -C glib -j"$jobs"
	DESTDIR=$stage meson install -C glib --no-rebuild --quiet
	restage
}

libvirt() {
	tar xf src/libvirt_*.tar.xz
	# Upstream builds shared libraries whatever the option says; let the option decide.
	sed -i -E '/^ *libvirt(_qemu|_lxc|_admin)?_lib = shared_library\(/s/shared_library/library/' libvirt-*/src/meson.build
	# libnl is needed: without it the bridge code does not compile.
	meson setup lv libvirt-*/ --prefix=/usr --libdir=lib --sysconfdir=/etc --localstatedir=/var -Drunstatedir=/run \
		--auto-features=disabled --buildtype=release -Doptimization=2 -Ddefault_library=static \
		-Ddriver_remote=enabled -Ddriver_test=enabled -Dlibnl=enabled -Dno_git=true -Dgit_werror=disabled -Dtests=disabled -Ddocs=disabled
	ninja -C lv -j"$jobs" src/libvirt.a src/libvirt-qemu.a
}

# The libraries that the linker needs, in its order; ours from the stage, the others from Debian.
needs=(xml2 gnutls hogweed nettle gmp tirpc nl-route-3 nl-3 gio-2.0 gmodule-2.0 gobject-2.0 glib-2.0 pcre2-8 ffi z)

collect() {
	local name dir
	cp lv/src/libvirt.a lv/src/libvirt-qemu.a "$result/lib/"
	for name in "${needs[@]}"; do
		for dir in "$stage/usr/lib" "$lib" "/lib/${lib##*/}"; do
			[ ! -f "$dir/lib$name.a" ] || break
		done
		cp "$dir/lib$name.a" "$result/lib/"
	done
	# Meson may write thin archives, which only name their object files; those would be gone with the work folder.
	for name in "$result"/lib/*.a; do
		[ "$(head -c 7 "$name")" != '!<thin>' ] || { echo "$name is a thin archive"; return 1; }
	done
	# Paths relative to the file itself: the folder is renamed into its place, and a cache may be moved.
	cat >"$result/pc/libvirt.pc" <<-PC
		libdir=\${pcfiledir}/../lib
		Name: libvirt
		Description: libvirt client, static
		Version: 11.3.0
		Libs: -L\${libdir} -lvirt
		Libs.private:$(printf ' -l%s' "${needs[@]}")
	PC
	cat >"$result/pc/libvirt-qemu.pc" <<-PC
		libdir=\${pcfiledir}/../lib
		Name: libvirt-qemu
		Description: libvirt-qemu client, static
		Version: 11.3.0
		Requires.private: libvirt
		Libs: -L\${libdir} -lvirt-qemu -lvirt
	PC
}

export CFLAGS="-O2 -fPIC -ffunction-sections -fdata-sections" PKG_CONFIG_PATH=$stage/usr/lib/pkgconfig
for name in fetch gnutls libxml2 glib libvirt collect; do step "$name" "$name"; done
mv --no-target-directory "$result" "$prefix"
cd /
rm -rf "$work"
say "$(du -sh "$prefix" | cut -f1) in $prefix after $SECONDS s"
echo "$prefix" >&3
