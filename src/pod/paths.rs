//! Where things lie inside a launcher pod. The launcher, the handler and hook sidecars rely on them.

/// What only the launcher may see: QEMU's and libvirt's state, the VMI's secrets.
pub const PRIVATE: &str = "/var/run/kubevirt-private";
/// What the launcher shares with the node's handler.
pub const SHARE: &str = "/var/run/kubevirt";
/// The sockets by which the handler speaks to the launcher.
pub const SOCKETS: &str = "/var/run/kubevirt/sockets";
/// Container disks, mounted by the handler.
pub const CONTAINER_DISKS: &str = "/var/run/kubevirt/container-disks";
/// Volumes that come and go while the guest runs, mounted by the handler.
pub const HOTPLUG_DISKS: &str = "/var/run/kubevirt/hotplug-disks";
/// The sockets of virtiofs daemons.
pub const VIRTIOFS: &str = "/var/run/kubevirt/virtiofs-containers";
/// What is written to disks that nobody keeps.
pub const EPHEMERAL_DISKS: &str = "/var/run/kubevirt-ephemeral-disks";
/// Where the container of a container disk shows its image.
pub const CONTAINER_DISK_DATA: &str = "/var/run/kubevirt-ephemeral-disks/container-disk-data";
/// Container disks as image volumes.
pub const IMAGE_VOLUMES: &str = "/var/run/kubevirt-image-volume";
/// The kernel and initrd of a kernel boot, as an image volume.
pub const KERNEL_BOOT: &str = "/var/run/kubevirt-kernel-boot";
/// The program of the containers that hold a container disk, as an image volume.
pub const CONTAINER_DISK_PROGRAM: &str = "/container-disk-binary";
/// libvirt's sockets.
pub const LIBVIRT: &str = "/var/run/libvirt";
/// The sockets of hook sidecars.
pub const HOOKS: &str = "/var/run/kubevirt-hooks";
/// The sockets of plugins.
pub const PLUGINS: &str = "/var/run/kubevirt-plugin";
/// Huge pages.
pub const HUGE_PAGES: &str = "/dev/hugepages";
/// Where libvirt wants its huge pages.
pub const LIBVIRT_HUGE_PAGES: &str = "/dev/hugepages/libvirt/qemu";
/// What the pod's networks say of their devices.
pub const POD_INFO: &str = "/etc/podinfo";
/// The token of the pod's service account.
pub const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount/";
/// The disk with downward metrics.
pub const DOWNWARD_METRICS: &str = "/var/run/kubevirt-private/downwardmetric-disk";
/// The mark that a migration of the machine's state has come to its end.
pub const STATE_META: &str = "/run/kubevirt-private/backend-storage-meta";

/// Where a Secret is mounted.
pub fn secret(volume: &str) -> String {
    format!("{PRIVATE}/secret/{volume}")
}

/// Where a ConfigMap is mounted.
pub fn config_map(volume: &str) -> String {
    format!("{PRIVATE}/config-map/{volume}")
}

/// Where the files of a downward API volume are.
pub fn downward_api(volume: &str) -> String {
    format!("{PRIVATE}/downwardapi/{volume}")
}

/// Where the answer files of a sysprep volume are.
pub fn sysprep(volume: &str) -> String {
    format!("{PRIVATE}/sysprep/{volume}")
}

/// Where a claim or a directory of the host is mounted.
pub fn disk(volume: &str) -> String {
    format!("{PRIVATE}/vmi-disks/{volume}")
}

/// The socket of the daemon that shares a volume.
pub fn virtiofs_socket(volume: &str) -> String {
    format!("{VIRTIOFS}/{volume}.sock")
}

/// The file that the guest's first serial port is logged to.
pub fn serial_log(uid: &str) -> String {
    format!("{PRIVATE}/{uid}/virt-serial0-log")
}

/// Where libvirt and swtpm keep what outlives the pod. Not root, they keep it below their own home.
pub(super) struct StatePaths {
    pub(super) tpm: &'static str,
    pub(super) tpm_ca: &'static str,
    pub(super) nvram: &'static str,
    pub(super) changed_blocks: &'static str,
}

/// The paths of a launcher that is root or is not.
pub(super) fn state(non_root: bool) -> StatePaths {
    if non_root {
        StatePaths {
            tpm: "/var/run/kubevirt-private/libvirt/qemu/swtpm",
            tpm_ca: "/var/run/kubevirt-private/var/lib/swtpm-localca",
            nvram: "/var/run/kubevirt-private/libvirt/qemu/nvram",
            changed_blocks: "/var/run/kubevirt-private/libvirt/qemu/cbt",
        }
    } else {
        StatePaths {
            tpm: "/var/lib/libvirt/swtpm",
            tpm_ca: "/var/lib/swtpm-localca",
            nvram: "/var/lib/libvirt/qemu/nvram",
            changed_blocks: "/var/lib/libvirt/qemu/cbt",
        }
    }
}
