# Makes the guest `debian`: Debian with systemd and the real cloud-init, on a disk with a root partition.
# Sourced by ../build.sh, which sets $work and $here.
# shellcheck shell=bash

# 0x6b767273 is the disk's id, see disk_image; the root is its second partition.
CMDLINE='root=PARTUUID=6b767273-02 rw console=tty0 console=ttyS0,115200 quiet loglevel=3 mitigations=off random.trust_cpu=on fsck.mode=skip apparmor=0 selinux=0 audit=0 systemd.show_status=false'
ROOT_MIB=1500
# The cloud kernel, as in Debian's own images for virtual machines.
DEBIAN_PACKAGES=(
  linux-image-cloud-amd64 initramfs-tools zstd shim-signed systemd-boot-efi-amd64-signed
  systemd-sysv systemd-resolved dbus udev kmod util-linux login passwd sudo
  cloud-init cloud-guest-utils qemu-guest-agent openssh-server
  iproute2 iputils-ping curl procps less e2fsprogs ca-certificates
)
# What takes time at every boot and gives a test nothing.
MASKED=(
  apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service
  fstrim.timer systemd-tmpfiles-clean.timer systemd-binfmt.service systemd-firstboot.service
  systemd-pcrphase.service systemd-pcrphase-sysinit.service systemd-pcrmachine.service
  systemd-tpm2-setup.service systemd-tpm2-setup-early.service systemd-update-utmp.service
  systemd-pstore.service systemd-boot-random-seed.service systemd-boot-update.service
  systemd-network-generator.service keyboard-setup.service console-setup.service
  modprobe@configfs.service modprobe@drm.service modprobe@fuse.service sys-kernel-config.mount
  sys-fs-fuse-connections.mount dev-hugepages.mount systemd-random-seed.service
  dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount
  cloud-init-hotplugd.socket ssh.socket sshd-keygen.service
)

root=$work/root
packages=$(IFS=,; echo "${DEBIAN_PACKAGES[*]}")

# SOURCE_DATE_EPOCH would turn Python's compiled modules into the kind that is checked by a hash of the
# source at each import, which is slow.
(
  unset SOURCE_DATE_EPOCH
  # Our files go in before the packages are set up, so that the initrd is made once and as they say.
  bootstrap minbase "$root" "$packages" \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
    --dpkgopt='force-confold' \
    --essential-hook="cp -R '$here/debian/root/.' \"\$1/\"" \
    --customize-hook='chroot "$1" systemctl --quiet enable systemd-networkd systemd-networkd-wait-online systemd-resolved ssh' \
    --customize-hook="chroot \"\$1\" systemctl --quiet mask ${MASKED[*]}" \
    --customize-hook='echo root:kubevirt | chroot "$1" chpasswd'
)

say "laying the disk of debian"
kernel=$(echo "$root"/boot/vmlinuz-*)
cp "$kernel" "$work/out/vmlinuz"
cp "$root"/boot/initrd.img-* "$work/out/initrd"
chmod 644 "$work/out/vmlinuz" "$work/out/initrd"
printf '%s\n' "$CMDLINE" >"$work/out/cmdline"
size=$(du -cm --apparent-size "$work/out/vmlinuz" "$work/out/initrd" | awk 'END { print $1 }')
esp_image "$work/esp.img" "$((size + 6))" DEBIAN "$work/out/vmlinuz" "$work/out/initrd" "$CMDLINE" "$root"

# The firmware reads kernel and initrd from the first partition; here they would only take space.
rm -rf "$root"/boot/{vmlinuz,initrd.img}-* "$root"/usr/lib/shim "$root"/usr/lib/systemd/boot/efi \
  "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin "$root"/var/log/*.log "$root"/etc/ssh/ssh_host_*
# Every machine gets an id of its own; an empty file, unlike none, is no first boot with its questions.
: >"$root/etc/machine-id"
echo debian >"$root/etc/hostname"
rm -f "$root/var/lib/dbus/machine-id"
ln -sf ../run/systemd/resolve/stub-resolv.conf "$root/etc/resolv.conf"
# Nothing is to be rebuilt because /usr looks newer than what was made from it.
touch "$root/etc/.updated" "$root/var/.updated"

truncate -s "${ROOT_MIB}M" "$work/root.img"
mke2fs -q -t ext4 -L root -m 0 -d "$root" "$work/root.img"
disk_image "$work/out/debian.qcow2" "$work/esp.img" "$work/root.img"
