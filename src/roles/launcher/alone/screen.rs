//! The guest's screen at a TCP address: VNC, handed through to QEMU's socket.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use tokio::net::UnixStream;

use crate::roles::launcher::Refusal;

/// Takes the address.
pub(super) fn bind(address: SocketAddr) -> Result<TcpListener, Refusal> {
    let fault = |e| Refusal::host(vec![format!("--vnc {address}: the address cannot be used ({e}); choose another")]);
    let listener = TcpListener::bind(address).map_err(fault)?;
    listener.set_nonblocking(true).map_err(fault)?;
    Ok(listener)
}

/// Serves the screen until the launcher ends.
pub(super) fn serve(listener: TcpListener, socket: &Path) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let socket = socket.to_owned();
    tokio::spawn(async move {
        while let Ok((mut viewer, _)) = listener.accept().await {
            let socket = socket.clone();
            tokio::spawn(async move {
                match UnixStream::connect(&socket).await {
                    // either side may leave at any time
                    Ok(mut qemu) => drop(tokio::io::copy_bidirectional(&mut viewer, &mut qemu).await),
                    Err(error) => {
                        tracing::warn!(%error, "The guest has no screen to show; does the machine set autoattachGraphicsDevice to false?");
                    }
                }
            });
        }
    });
    Ok(())
}
