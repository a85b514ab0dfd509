//! Whether this machine can run guests by itself.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::libc;

/// Whether guests can run on the processor itself; if not, why, as the end of a sentence.
pub(crate) fn usable() -> Result<(), String> {
    let device = OpenOptions::new().read(true).write(true).custom_flags(libc::O_CLOEXEC).open("/dev/kvm").map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => "this machine has no /dev/kvm".to_owned(),
        std::io::ErrorKind::PermissionDenied => "/dev/kvm may not be opened; add this user to the group kvm".to_owned(),
        _ => format!("/dev/kvm cannot be opened: {e}"),
    })?;
    match call(device.as_fd(), KVM_GET_API_VERSION, 0) {
        Ok(KVM_API_VERSION) => {}
        Ok(other) => return Err(format!("/dev/kvm speaks version {other} of its interface, not {KVM_API_VERSION}")),
        Err(e) => return Err(format!("/dev/kvm does not answer: {e}")),
    }
    // a virtual machine is made to be sure: under some hypervisors the device is there but makes none
    let machine = call(device.as_fd(), KVM_CREATE_VM, 0).map_err(|e| format!("/dev/kvm makes no virtual machine: {e}"))?;
    // SAFETY: the call has just returned this descriptor, which nobody else owns
    drop(unsafe { File::from_raw_fd(machine) });
    if cfg!(target_arch = "x86_64") && !has_basic_features(device.as_fd()) {
        return Err("/dev/kvm offers guests less than an x86-64 processor has (no SSE3 or CMPXCHG16B), on which they hang".to_owned());
    }
    Ok(())
}

/// What KVM can do for guests that believe to be on Hyper-V; nothing if there is no KVM.
pub(crate) fn hyperv() -> Vec<String> {
    let Ok(device) = OpenOptions::new().read(true).write(true).custom_flags(libc::O_CLOEXEC).open("/dev/kvm") else {
        return Vec::new();
    };
    let extension = |number: u32| call(device.as_fd(), KVM_CHECK_EXTENSION, number.into()).is_ok_and(|answer| answer > 0);
    kubevirt_rs::node::hyperv::present(extension, &registers(device.as_fd()))
}

/// `struct kvm_msr_list` with room for its indices.
#[repr(C)]
struct RegisterList {
    count: u32,
    indices: [u32; REGISTERS],
}

const REGISTERS: usize = 1024;

/// The model-specific registers that KVM offers.
fn registers(device: BorrowedFd<'_>) -> Vec<u32> {
    let mut list = Box::new(RegisterList { count: REGISTERS as u32, indices: [0; REGISTERS] });
    // SAFETY: the kernel writes at most `count` indices, for which there is room
    if unsafe { libc::ioctl(device.as_raw_fd(), KVM_GET_MSR_INDEX_LIST, std::ptr::from_mut(list.as_mut())) } == -1 {
        return Vec::new();
    }
    let count = usize::try_from(list.count).unwrap_or(0).min(REGISTERS);
    list.indices.iter().take(count).copied().collect()
}

const KVM_API_VERSION: i32 = 12;
const KVM_CHECK_EXTENSION: libc::c_ulong = 0xae03;
const KVM_GET_MSR_INDEX_LIST: libc::c_ulong = 0xc004_ae02;
const KVM_GET_API_VERSION: libc::c_ulong = 0xae00;
const KVM_CREATE_VM: libc::c_ulong = 0xae01;
const KVM_GET_SUPPORTED_CPUID: libc::c_ulong = 0xc008_ae05;

fn call(device: BorrowedFd<'_>, request: libc::c_ulong, argument: libc::c_ulong) -> std::io::Result<i32> {
    // SAFETY: these requests take a plain number, and touch no memory of ours
    match unsafe { libc::ioctl(device.as_raw_fd(), request, argument) } {
        -1 => Err(std::io::Error::last_os_error()),
        n => Ok(n),
    }
}

/// `struct kvm_cpuid_entry2`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct CpuidEntry {
    function: u32,
    index: u32,
    flags: u32,
    eax: u32,
    ebx: u32,
    ecx: u32,
    edx: u32,
    padding: [u32; 3],
}

const ENTRIES: usize = 256;

/// `struct kvm_cpuid2` with room for its entries.
#[repr(C)]
struct Cpuid {
    count: u32,
    padding: u32,
    entries: [CpuidEntry; ENTRIES],
}

/// Whether the processor that guests get has what every 64-bit kernel is built for.
fn has_basic_features(device: BorrowedFd<'_>) -> bool {
    const SSE3: u32 = 1;
    const CX16: u32 = 1 << 13;
    let mut cpuid = Box::new(Cpuid { count: ENTRIES as u32, padding: 0, entries: [CpuidEntry::default(); ENTRIES] });
    // SAFETY: the kernel writes at most `count` entries, for which there is room
    let result = unsafe { libc::ioctl(device.as_raw_fd(), KVM_GET_SUPPORTED_CPUID, std::ptr::from_mut(cpuid.as_mut())) };
    if result == -1 {
        return true; // not known to lack anything
    }
    let count = usize::try_from(cpuid.count).unwrap_or(0).min(ENTRIES);
    cpuid.entries[..count].iter().find(|e| e.function == 1).is_none_or(|e| e.ecx & (SSE3 | CX16) == SSE3 | CX16)
}
