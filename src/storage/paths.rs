//! Where the files of a machine lie: KubeVirt's places, below a root.

/// The places of a machine's files. In a launcher pod the root is empty; alone on a machine it is a private folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// What stands before every path, without a slash at its end.
    pub root: String,
}

impl Paths {
    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.root)
    }

    /// The image of a containerDisk, by the number of its volume.
    pub fn container_disk(&self, index: usize) -> String {
        self.at(&format!("/var/run/kubevirt/container-disks/disk_{index}.img"))
    }

    /// Where overlays lie.
    pub fn ephemeral_base(&self) -> String {
        self.at("/var/run/kubevirt-ephemeral-disks/disk-data")
    }

    /// The overlay over a volume that the guest may not change.
    pub fn overlay(&self, volume: &str) -> String {
        format!("{}/{volume}/disk.qcow2", self.ephemeral_base())
    }

    /// The file of a claim.
    pub fn claim(&self, volume: &str) -> String {
        self.at(&format!("/var/run/kubevirt-private/vmi-disks/{volume}/disk.img"))
    }

    /// An empty disk.
    pub fn empty_disk(&self, volume: &str) -> String {
        self.at(&format!("/var/run/libvirt/empty-disks/{volume}.qcow2"))
    }

    /// The cloud-init disk; `config_drive` tells the two kinds apart.
    pub fn cloud_init(&self, namespace: &str, name: &str, config_drive: bool) -> String {
        let file = if config_drive { "configdrive.iso" } else { "noCloud.iso" };
        self.at(&format!("/var/run/kubevirt-ephemeral-disks/cloud-init-data/{namespace}/{name}/{file}"))
    }

    /// The disk of a ConfigMap.
    pub fn config_map(&self, volume: &str) -> String {
        self.at(&format!("/var/run/kubevirt-private/config-map-disks/{volume}.iso"))
    }

    /// The disk of a Secret.
    pub fn secret(&self, volume: &str) -> String {
        self.at(&format!("/var/run/kubevirt-private/secret-disks/{volume}.iso"))
    }

    /// The disk of a downward API volume.
    pub fn downward_api(&self, volume: &str) -> String {
        self.at(&format!("/var/run/kubevirt-private/downwardapi-disks/{volume}.iso"))
    }

    /// The disk of the service account.
    pub fn service_account(&self) -> String {
        self.at("/var/run/kubevirt-private/service-account-disk/service-account.iso")
    }

    /// The disk of a sysprep volume.
    pub fn sysprep(&self, volume: &str) -> String {
        self.at(&format!("/var/run/kubevirt-private/sysprep-disks/{volume}.iso"))
    }

    /// The folder of the sockets that belong to one machine.
    pub fn private(&self, uid: &str) -> String {
        self.at(&format!("/var/run/kubevirt-private/{uid}"))
    }
}
