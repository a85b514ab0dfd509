//! The devices of a node that its pods can ask for.

use crate::api::names;

/// How many pods can have a device at a time. The device itself knows no limit; Kubernetes wants one.
pub const COUNT: usize = 1000;

/// A device that any number of pods can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Its name.
    pub name: &'static str,
    /// Where it is, on the node and in the pod.
    pub path: &'static str,
    /// Whether opening it once makes the kernel load what is behind it.
    pub wake: bool,
}

/// What a pod may do with a device: read and write.
pub const PERMISSIONS: &str = "rw";

/// The devices of every node.
pub const POOLS: [Pool; 3] = [
    Pool { name: "kvm", path: "/dev/kvm", wake: false },
    Pool { name: "tun", path: "/dev/net/tun", wake: true },
    Pool { name: "vhost-net", path: "/dev/vhost-net", wake: true },
];

impl Pool {
    /// The name of the resource that pods ask for.
    pub fn resource(&self) -> String {
        format!("{}/{}", names::DEVICE_PREFIX, self.name)
    }

    /// The file name of the plugin's socket.
    pub fn socket(&self) -> String {
        format!("kubevirt-{}.sock", self.name)
    }

    /// The names of the single devices.
    pub fn ids(&self) -> impl Iterator<Item = String> + '_ {
        (0..COUNT).map(|number| format!("{}{number}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_named_as_pods_ask_for_it() {
        assert_eq!(
            POOLS.map(|pool| pool.resource()),
            ["devices.kubevirt.io/kvm", "devices.kubevirt.io/tun", "devices.kubevirt.io/vhost-net"]
        );
        assert_eq!((POOLS[0].ids().count(), POOLS[1].ids().last().as_deref()), (1000, Some("tun999")));
        assert_eq!(POOLS[2].socket(), "kubevirt-vhost-net.sock");
    }
}
