//! Sockets that the standard library does not make.

use std::ffi::OsString;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd as _;

use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};

/// A UDP socket that hears and speaks on one link alone, broadcasts included.
pub(crate) fn udp_on_link(link: &str, port: u16) -> io::Result<UdpSocket> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Inet, SockType::Datagram, flags, None)?;
    // anybody may do this, but once
    setsockopt(&socket, sockopt::BindToDevice, &OsString::from(link))?;
    setsockopt(&socket, sockopt::ReuseAddr, &true)?;
    setsockopt(&socket, sockopt::Broadcast, &true)?;
    let address = libc::sockaddr_in {
        sin_family: libc::sa_family_t::try_from(libc::AF_INET).map_err(io::Error::other)?,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: libc::INADDR_ANY },
        sin_zero: [0; 8],
    };
    let length = libc::socklen_t::try_from(size_of_val(&address)).map_err(io::Error::other)?;
    // SAFETY: the kernel reads an address of the size that is told
    match unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) } {
        0 => Ok(socket.into()),
        _ => Err(io::Error::last_os_error()),
    }
}
