//! What the image holds: our one program under the names that KubeVirt's image gives to several, so that probes, hooks
//! and annotations that name them go on working. It looks at the name that it is called by.

/// The program.
pub const PROGRAM: &str = "/usr/bin/kubevirt-rs";
/// Holds the image of a container disk, or brings the program that does (`--install PATH`).
pub const CONTAINER_DISK: &str = "/usr/bin/container-disk";
/// Prints a growing file.
pub const TAIL: &str = "/usr/bin/virt-tail";
/// Asks the guest's agent; probes are made of it.
pub const PROBE: &str = "virt-probe";
/// Shares a directory with a guest.
pub const VIRTIOFSD: &str = "/usr/libexec/virtiofsd";
