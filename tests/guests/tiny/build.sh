# Makes the guest `tiny`: Debian's kernel, and an initramfs of busybox, dropbear and the guest agent that
# is the whole root file system. Sourced by ../build.sh, which sets $work and $here.
# shellcheck shell=bash

CMDLINE='console=tty0 console=ttyS0,115200 quiet loglevel=3 mitigations=off random.trust_cpu=on memhp_default_state=online'
# Of these packages single files are taken. The general kernel is as small and quick as the cloud one
# and drives USB, e1000, 9p and other devices that a virtual machine can be given.
TINY_PACKAGES=busybox-static,dropbear-bin,linux-image-amd64,openssh-sftp-server,qemu-guest-agent,shim-signed,systemd-boot-efi-amd64-signed
PROGRAMS=(usr/sbin/qemu-ga usr/sbin/dropbear usr/bin/dropbearkey usr/lib/openssh/sftp-server)

packages=$work/packages
root=$work/root
bootstrap extract "$packages" "$TINY_PACKAGES"
kernel_version=$(basename "$packages"/usr/lib/modules/*)

# copy_program PATH: a program and the shared libraries that its loader asks for.
copy_program() {
  local library libraries=$packages/usr/lib/x86_64-linux-gnu
  install -D -m 755 "$packages/$1" "$root/$1"
  "$packages/usr/lib64/ld-linux-x86-64.so.2" --inhibit-cache --library-path "$libraries" --list "$packages/$1" |
    awk '$2 == "=>" && $3 ~ /^\// { print $1 }' | while IFS= read -r library; do
    case $library in
    /lib64/*) install -D -m 755 "$packages/usr$library" "$root/usr$library" ;;
    *) install -D -m 644 "$libraries/$library" "$root/usr/lib/x86_64-linux-gnu/$library" ;;
    esac
  done
}

# copy_modules: the drivers of the list with all that they stand on, unpacked, as that loads quicker.
copy_modules() {
  local names path target
  depmod -b "$packages" "$kernel_version"
  names=$(sed 's/#.*//' "$here/tiny/modules")
  # A driver that is built into the kernel shows as `builtin`; one that is in neither is an error here.
  # shellcheck disable=SC2086
  modprobe --all --show-depends --dirname "$packages" --set-version "$kernel_version" $names |
    awk '$1 == "insmod" { print $2 }' | sort -u | while IFS= read -r path; do
    target=$root/usr/lib/modules/$kernel_version/${path#*"/$kernel_version/"}
    mkdir -p "${target%/*}"
    xz -dc "$path" >"${target%.xz}"
  done
  cp "$packages/usr/lib/modules/$kernel_version"/modules.{builtin,builtin.modinfo,order} \
    "$root/usr/lib/modules/$kernel_version/"
  depmod -b "$root" "$kernel_version"
}

say "laying the root file system of tiny"
mkdir -p "$root"/{dev,proc,sys,mnt,root,run,tmp,usr/bin,usr/lib,usr/lib64,var/log,www,etc/dropbear}
chmod 700 "$root/root"
chmod 1777 "$root/tmp"
for link in bin lib lib64; do ln -s "usr/$link" "$root/$link"; done
ln -s usr/bin "$root/sbin"
ln -s bin "$root/usr/sbin"
ln -s ../run "$root/var/run"
[ -e "$packages/lib" ] || ln -s usr/lib "$packages/lib"

install -m 755 "$packages/usr/bin/busybox" "$root/usr/bin/busybox"
for applet in $("$root/usr/bin/busybox" --list); do
  [ "$applet" = busybox ] || ln -s busybox "$root/usr/bin/$applet"
done
for program in "${PROGRAMS[@]}"; do copy_program "$program"; done
ln -s openssh/sftp-server "$root/usr/lib/sftp-server"
copy_modules
# Our own files come last: some take the place of a busybox applet.
cp -R --remove-destination "$here/tiny/root/." "$root/"
for stop in halt reboot shutdown; do ln -sfn poweroff "$root/usr/bin/$stop"; done
# The password of root where no cloud-init disk sets one. The salt is fixed, as the password is known.
hash=$("$root/usr/bin/busybox" mkpasswd -m sha512 -S kubevirtrs kubevirt)
printf 'root:%s:20000:0:99999:7:::\n' "$hash" >"$root/etc/shadow"
chmod 600 "$root/etc/shadow"
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

say "packing the initramfs"
(cd "$root" && find . | LC_ALL=C sort | cpio -o -H newc -R 0:0 --reproducible --quiet) | zstd -q -19 -T0 >"$work/out/initrd"
cp "$packages/boot/vmlinuz-$kernel_version" "$work/out/vmlinuz"
chmod 644 "$work/out/vmlinuz"
printf '%s\n' "$CMDLINE" >"$work/out/cmdline"

size=$(du -cm --apparent-size "$work/out/vmlinuz" "$work/out/initrd" | awk 'END { print $1 }')
esp_image "$work/esp.img" "$((size + 6))" TINY "$work/out/vmlinuz" "$work/out/initrd" "$CMDLINE" "$packages"
disk_image "$work/out/tiny.qcow2" "$work/esp.img"
