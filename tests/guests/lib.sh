# What both guests share: the way to Debian's packages, and the layout of a disk that starts by BIOS
# and by UEFI. Sourced by build.sh; nothing here needs a loop device or a mount of its own.
# shellcheck shell=bash

SUITE=trixie
# Times inside the images are this one, so that the same packages give the same files.
export SOURCE_DATE_EPOCH=1735689600

say() { echo "guests: $*" >&2; }
fail() {
  say "$*"
  exit 1
}

need_root() {
  [ "$(id -u)" = 0 ] || fail "root is needed to unpack Debian packages with their owners; run it with sudo"
}

need_tools() {
  local tool missing=()
  for tool in cpio depmod mcopy mke2fs mkfs.vfat mmdebstrap modprobe python3 qemu-img sfdisk syslinux xz zstd; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  [ ${#missing[@]} = 0 ] || fail "missing: ${missing[*]}; install: apt-get install ${PACKAGES[*]}"
}

# mirror: the address of Debian's archive that this machine's own apt uses.
mirror() {
  local uri
  uri=$(apt-get indextargets --format '$(ORIGIN)/$(LABEL) $(SITE)' | awk '$1 == "Debian/Debian" { print $2; exit }')
  # Without the lists of `apt-get update` apt doesn't know the labels; then the first archive that has
  # this Debian's own suite is it.
  [ -n "$uri" ] || uri=$(apt-get --print-uris update | sed -nE \
    "s#^'(.*)/dists/(stable|$(. /etc/os-release && echo "$VERSION_CODENAME"))/InRelease'.*#\1#p" | head -n 1 || true)
  [ -n "$uri" ] || fail "the apt sources of this machine name no Debian archive; add one to /etc/apt/sources.list.d"
  echo "$uri"
}

# bootstrap VARIANT TARGET PACKAGES [OPTION...]: Debian packages and what they depend on, in TARGET.
bootstrap() {
  local variant=$1 target=$2 packages=$3 archive
  shift 3
  archive=$(mirror)
  say "fetching packages of $SUITE"
  mmdebstrap --mode=root --variant="$variant" --include="$packages" --quiet \
    --aptopt='Acquire::Languages "none"' --aptopt='Acquire::Retries "3"' "$@" \
    "$SUITE" "$target" "deb $archive $SUITE main" >&2
}

# esp_image FILE MIB LABEL KERNEL INITRD CMDLINE PACKAGES_ROOT: the partition that both firmwares start
# from. BIOS goes by syslinux. UEFI goes by Debian's signed shim, systemd-boot (found by the name that
# shim looks for) and kernel, so that it starts with secure boot as well.
esp_image() {
  local file=$1 mib=$2 label=$3 kernel=$4 initrd=$5 cmdline=$6 packages=$7
  local tree=$work/esp
  mkdir -p "$tree/EFI/BOOT" "$tree/loader/entries"
  cp "$kernel" "$tree/vmlinuz"
  cp "$initrd" "$tree/initrd"
  cp "$packages/usr/lib/shim/shimx64.efi.signed" "$tree/EFI/BOOT/BOOTX64.EFI"
  cp "$packages/usr/lib/systemd/boot/efi/systemd-bootx64.efi.signed" "$tree/EFI/BOOT/grubx64.efi"
  printf 'timeout 0\ndefault guest.conf\neditor no\n' >"$tree/loader/loader.conf"
  printf 'title %s\nlinux /vmlinuz\ninitrd /initrd\noptions %s\n' "$label" "$cmdline" >"$tree/loader/entries/guest.conf"
  printf 'DEFAULT guest\nPROMPT 0\nTIMEOUT 0\nLABEL guest\n  LINUX /vmlinuz\n  INITRD /initrd\n  APPEND %s\n' \
    "$cmdline" >"$tree/syslinux.cfg"
  find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

  truncate -s "${mib}M" "$file"
  # -h: syslinux finds its second stage by the partition's place on the disk.
  mkfs.vfat --invariant -n "$label" -h "$ESP_START" "$file" >/dev/null
  mcopy -i "$file" -s -m -Q "$tree"/* ::/
  syslinux --install "$file"
  rm -rf "$tree"
}

# The first partition starts at 1 MiB, in sectors.
ESP_START=2048

# disk_image QCOW2 ESP [ROOT]: a disk with the given partitions, compressed.
disk_image() {
  local qcow2=$1 esp=$2 root=${3:-} raw=$work/disk.raw
  local esp_mib root_mib=0
  esp_mib=$(($(stat -c %s "$esp") >> 20))
  [ -z "$root" ] || root_mib=$(($(stat -c %s "$root") >> 20))
  truncate -s "$((1 + esp_mib + root_mib))M" "$raw"
  {
    echo 'label: dos'
    echo 'label-id: 0x6b767273'
    # Active for the BIOS, of type EFI for UEFI: both start the same partition.
    echo "start=$ESP_START, size=${esp_mib}MiB, type=ef, bootable"
    [ -z "$root" ] || echo "size=${root_mib}MiB, type=83"
  } | sfdisk --quiet "$raw"
  dd if=/usr/lib/SYSLINUX/mbr.bin of="$raw" bs=440 count=1 conv=notrunc status=none
  dd if="$esp" of="$raw" bs=1M seek=1 conv=notrunc,sparse status=none
  [ -z "$root" ] || dd if="$root" of="$raw" bs=1M seek=$((1 + esp_mib)) conv=notrunc,sparse status=none
  say "compressing the disk"
  qemu-img convert -f raw -O qcow2 -c "$raw" "$qcow2"
  rm -f "$raw"
}
