//! Where files and sockets are.

use serde::{Deserialize, Serialize};

/// The name of the image on a claim with a file system.
pub const CLAIM_IMAGE: &str = "disk.img";

/// The directories and files that a domain names. `Default` is the inside of a launcher pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Paths {
    /// Sockets of the guest (serial console and its log, VNC, USB redirection), in a folder named by the VMI's UID.
    pub sockets: String,
    /// File-system claims and host disks, in a folder named by the volume.
    pub claims: String,
    /// Block-device claims, named by the volume.
    pub block_devices: String,
    /// Volumes that are plugged into a running guest.
    pub hotplug: String,
    /// Overlays of containerDisks and ephemeral claims, in a folder named by the volume.
    pub overlays: String,
    /// Images of containerDisks, `disk_N.img` by the position of the volume, and the files of kernel boot.
    pub container_disks: String,
    /// Empty disks.
    pub empty_disks: String,
    /// cloud-init images, in folders named by namespace and VMI.
    pub cloud_init: String,
    /// ISO images of ConfigMaps.
    pub config_maps: String,
    /// ISO images of Secrets.
    pub secrets: String,
    /// ISO images of sysprep answers.
    pub sysprep: String,
    /// ISO images of the downward API.
    pub downward_api: String,
    /// The ISO image of the service account.
    pub service_account: String,
    /// Secrets as files, in a folder named by the volume.
    pub secret_files: String,
    /// The disk of downward metrics.
    pub metrics_disk: String,
    /// The socket of downward metrics.
    pub metrics_socket: String,
    /// Ignition files, in folders named by namespace and VMI.
    pub ignition: String,
    /// The sockets of virtiofsd.
    pub virtiofs: String,
    /// The socket of the persistent-reservation helper.
    pub reservation_helper: String,
    /// UEFI variables.
    pub nvram: String,
    /// The socket of the guest agent's channel; `None` leaves the choice to libvirt.
    pub agent: Option<String>,
    /// The log of passt.
    pub passt_log: String,
    /// The pipe that takes SeaBIOS' messages.
    pub seabios_log: String,
}

impl Default for Paths {
    fn default() -> Self {
        let private = |name: &str| format!("/var/run/kubevirt-private/{name}");
        Self {
            sockets: "/var/run/kubevirt-private".to_owned(),
            claims: private("vmi-disks"),
            block_devices: "/dev".to_owned(),
            hotplug: "/var/run/kubevirt/hotplug-disks".to_owned(),
            overlays: "/var/run/kubevirt-ephemeral-disks/disk-data".to_owned(),
            container_disks: "/var/run/kubevirt/container-disks".to_owned(),
            empty_disks: "/var/run/libvirt/empty-disks".to_owned(),
            cloud_init: "/var/run/libvirt/cloud-init-dir".to_owned(),
            config_maps: private("config-map-disks"),
            secrets: private("secret-disks"),
            sysprep: private("sysprep-disks"),
            downward_api: private("downwardapi-disks"),
            service_account: private("service-account-disk/service-account.iso"),
            secret_files: private("secret"),
            metrics_disk: private("downwardapi-disks/vhostmd0"),
            metrics_socket: private("downwardmetrics-channel/downwardmetrics.sock"),
            ignition: "/var/run/libvirt/ignition-dir".to_owned(),
            virtiofs: "/var/run/kubevirt/virtiofs-containers".to_owned(),
            reservation_helper: "/var/run/kubevirt/daemons/pr/pr-helper.sock".to_owned(),
            nvram: private("libvirt/qemu/nvram"),
            agent: None,
            passt_log: "/var/run/kubevirt/passt.log".to_owned(),
            seabios_log: private("QEMUSeaBiosDebugPipe"),
        }
    }
}

impl Paths {
    /// The paths of a launcher that keeps everything under one directory of its own.
    pub fn under(directory: &str) -> Self {
        let own = |name: &str| format!("{directory}/{name}");
        Self {
            sockets: own("sockets"),
            claims: own("claims"),
            block_devices: own("block-devices"),
            hotplug: own("hotplug"),
            overlays: own("overlays"),
            container_disks: own("container-disks"),
            empty_disks: own("empty-disks"),
            cloud_init: own("cloud-init"),
            config_maps: own("config-maps"),
            secrets: own("secrets"),
            sysprep: own("sysprep"),
            downward_api: own("downward-api"),
            service_account: own("service-account.iso"),
            secret_files: own("secret-files"),
            metrics_disk: own("metrics-disk"),
            metrics_socket: own("metrics.sock"),
            ignition: own("ignition"),
            virtiofs: own("virtiofs"),
            reservation_helper: own("pr-helper.sock"),
            nvram: own("nvram"),
            agent: Some(own("agent.sock")),
            passt_log: own("passt.log"),
            seabios_log: own("seabios.pipe"),
        }
    }

    /// The socket of the first serial port.
    pub fn serial(&self, uid: &str) -> String {
        format!("{}/{uid}/virt-serial0", self.sockets)
    }

    /// The log of the first serial port.
    pub fn serial_log(&self, uid: &str) -> String {
        format!("{}/{uid}/virt-serial0-log", self.sockets)
    }

    /// The socket of the screen.
    pub fn vnc(&self, uid: &str) -> String {
        format!("{}/{uid}/virt-vnc", self.sockets)
    }

    /// The socket of a redirected USB device.
    pub fn usb_redirection(&self, uid: &str, slot: u32) -> String {
        format!("{}/{uid}/virt-usbredir-{slot}", self.sockets)
    }

    /// A claim with a file system.
    pub fn claim_file(&self, volume: &str) -> String {
        format!("{}/{volume}/{CLAIM_IMAGE}", self.claims)
    }

    /// A claim that is a block device.
    pub fn claim_device(&self, volume: &str) -> String {
        format!("{}/{volume}", self.block_devices)
    }

    /// A claim with a file system that is plugged into a running guest.
    pub fn hotplug_file(&self, volume: &str) -> String {
        format!("{}/{volume}.img", self.hotplug)
    }

    /// A claim that is a block device that is plugged into a running guest.
    pub fn hotplug_device(&self, volume: &str) -> String {
        format!("{}/{volume}", self.hotplug)
    }

    /// A host disk; `path` is the VMI's.
    pub fn host_disk(&self, volume: &str, path: &str) -> String {
        format!("{}/{volume}/{}", self.claims, base_name(path))
    }

    /// The overlay of a containerDisk or an ephemeral claim.
    pub fn overlay(&self, volume: &str) -> String {
        format!("{}/{volume}/disk.qcow2", self.overlays)
    }

    /// The image of a containerDisk; `position` is that of the volume in the VMI.
    pub fn container_disk(&self, position: usize) -> String {
        format!("{}/disk_{position}.img", self.container_disks)
    }

    /// A kernel or an initial RAM disk out of a container image; `path` is the VMI's.
    pub fn kernel_boot(&self, path: &str) -> String {
        format!("{}/kernel-boot/{}", self.container_disks, base_name(path))
    }

    /// An empty disk.
    pub fn empty_disk(&self, volume: &str) -> String {
        format!("{}/{volume}.qcow2", self.empty_disks)
    }

    /// A NoCloud image.
    pub fn no_cloud(&self, namespace: &str, name: &str) -> String {
        format!("{}/{namespace}/{name}/noCloud.iso", self.cloud_init)
    }

    /// A ConfigDrive image.
    pub fn config_drive(&self, namespace: &str, name: &str) -> String {
        format!("{}/{namespace}/{name}/configdrive.iso", self.cloud_init)
    }

    /// The image of a ConfigMap.
    pub fn config_map(&self, volume: &str) -> String {
        format!("{}/{volume}.iso", self.config_maps)
    }

    /// The image of a Secret.
    pub fn secret(&self, volume: &str) -> String {
        format!("{}/{volume}.iso", self.secrets)
    }

    /// The image of sysprep answers.
    pub fn sysprep(&self, volume: &str) -> String {
        format!("{}/{volume}.iso", self.sysprep)
    }

    /// The image of the downward API.
    pub fn downward_api(&self, volume: &str) -> String {
        format!("{}/{volume}.iso", self.downward_api)
    }

    /// A file of a Secret.
    pub fn secret_file(&self, volume: &str, file: &str) -> String {
        format!("{}/{volume}/{file}", self.secret_files)
    }

    /// The Ignition file.
    pub fn ignition(&self, namespace: &str, name: &str) -> String {
        format!("{}/{namespace}/{name}/data.ign", self.ignition)
    }

    /// The socket of a shared file system.
    pub fn virtiofs(&self, name: &str) -> String {
        format!("{}/{name}.sock", self.virtiofs)
    }

    /// The UEFI variables of a guest.
    pub fn nvram(&self, name: &str) -> String {
        format!("{}/{name}_VARS.fd", self.nvram)
    }
}

/// The last part of a path; an empty one is `.`, as nothing may escape its folder.
fn base_name(path: &str) -> &str {
    match path.trim_end_matches('/').rsplit('/').next() {
        Some(name) if !name.is_empty() && name != ".." => name,
        _ => ".",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_out_of_a_vmi_cannot_leave_its_folder() {
        let paths = Paths::default();
        for (path, name) in
            [("/data/disk.img", "disk.img"), ("vmlinuz", "vmlinuz"), ("/a/b/", "b"), ("..", "."), ("/", "."), ("", "."), ("/x/..", ".")]
        {
            assert_eq!(paths.host_disk("v", path), format!("/var/run/kubevirt-private/vmi-disks/v/{name}"), "{path}");
            assert_eq!(paths.kernel_boot(path), format!("/var/run/kubevirt/container-disks/kernel-boot/{name}"), "{path}");
        }
    }

    #[test]
    fn a_private_directory_holds_everything() {
        let text = serde_json::to_value(Paths::under("/run/mine")).unwrap();
        for (name, path) in text.as_object().unwrap() {
            assert!(path.as_str().unwrap().starts_with("/run/mine/"), "{name}: {path}");
        }
    }
}
