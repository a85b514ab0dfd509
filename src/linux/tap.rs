//! Tap devices that stay when nobody has them open.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd as _;

use nix::errno::Errno;
use nix::libc;

/// `struct ifreq`, as far as tap devices go.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    flags: libc::c_short,
    rest: [u8; 22],
}

/// Makes a tap device in the network namespace of this thread, for a user and group of that number. How it is opened
/// later must agree in whether it has more than one queue.
pub(crate) fn make(name: &str, owner: u32, multiple_queues: bool) -> io::Result<()> {
    let mut request = Request { name: [0; libc::IFNAMSIZ], flags: 0, rest: [0; 22] };
    let room = request.name.get_mut(..name.len()).filter(|room| room.len() < libc::IFNAMSIZ);
    room.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the name of a link has at most 15 bytes"))?
        .copy_from_slice(name.as_bytes());
    let queues = if multiple_queues { libc::IFF_MULTI_QUEUE } else { 0 };
    request.flags = libc::c_short::try_from(libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR | queues).map_err(io::Error::other)?;
    let device = OpenOptions::new().read(true).write(true).open("/dev/net/tun")?;
    let number = device.as_raw_fd();
    let owner = libc::c_ulong::from(owner);
    // SAFETY: the request is as large as the kernel reads and writes, and lives through the call
    Errno::result(unsafe { libc::ioctl(number, libc::TUNSETIFF as libc::Ioctl, &raw mut request) })?;
    // SAFETY: these take a plain number
    Errno::result(unsafe { libc::ioctl(number, libc::TUNSETOWNER as libc::Ioctl, owner) })?;
    // SAFETY: as above
    Errno::result(unsafe { libc::ioctl(number, libc::TUNSETGROUP as libc::Ioctl, owner) })?;
    // SAFETY: as above
    Errno::result(unsafe { libc::ioctl(number, libc::TUNSETPERSIST as libc::Ioctl, 1 as libc::c_ulong) })?;
    Ok(())
}
