//! The serial console for several at once: QEMU's socket takes one, so the launcher is that one.
//!
//! It always reads, or the guest's output would wait. What the guest prints reaches all who look at that time; what each
//! of them types reaches the guest. QEMU itself writes the log, which is emptied when it has grown large: the container
//! that prints it has read it by then, and the pod's disk is not the guest's to fill.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper::body::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::{broadcast, mpsc};

/// How many pieces of output a slow reader may be behind; then it misses some.
const BEHIND: usize = 256;
const PIECE: usize = 4096;
/// How much the log may grow.
const LOG_LIMIT: u64 = 2 << 20;

/// The console, for whoever wants to look and type.
#[derive(Clone)]
pub(super) struct Hub {
    output: broadcast::Sender<Bytes>,
    input: mpsc::Sender<Bytes>,
}

impl Hub {
    /// Connects to QEMU's socket. `log` is the file that QEMU writes.
    pub(super) async fn attach(socket: &Path, log: Option<PathBuf>) -> io::Result<Self> {
        let (mut from_guest, mut to_guest) = connect(socket).await?.into_split();
        let (output, _) = broadcast::channel(BEHIND);
        let (input, mut typed) = mpsc::channel::<Bytes>(16);
        let told = output.clone();
        tokio::spawn(async move {
            let (mut buffer, mut written) = (vec![0; PIECE], 0_u64);
            while let Ok(n @ 1..) = from_guest.read(&mut buffer).await {
                // nobody may look, which is fine
                let _ = told.send(Bytes::copy_from_slice(buffer.get(..n).unwrap_or_default()));
                written += n as u64;
                if written > LOG_LIMIT {
                    written = 0;
                    if let Some(Err(error)) = log.as_deref().map(empty) {
                        tracing::warn!(%error, "The console's log could not be emptied");
                    }
                }
            }
        });
        tokio::spawn(async move {
            while let Some(keys) = typed.recv().await {
                if to_guest.write_all(&keys).await.is_err() {
                    return;
                }
            }
        });
        Ok(Self { output, input })
    }

    /// Connects somebody, until either side ends.
    pub(super) async fn join(self, stream: impl AsyncRead + AsyncWrite) {
        let (mut from_user, mut to_user) = tokio::io::split(stream);
        let mut output = self.output.subscribe();
        // the hub is only lent: without this, a person who looks would keep the console open that he waits to see end
        drop(self.output);
        let show = async {
            loop {
                match output.recv().await {
                    Ok(piece) => to_user.write_all(&piece).await?,
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return to_user.shutdown().await,
                }
            }
        };
        let type_in = async {
            let mut buffer = vec![0; PIECE];
            while let Ok(n @ 1..) = from_user.read(&mut buffer).await {
                let keys = Bytes::copy_from_slice(buffer.get(..n).unwrap_or_default());
                if self.input.send(keys).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            result = show => if let Err(error) = result { tracing::debug!(%error, "Somebody has left the console") },
            () = type_in => {}
        }
    }
}

/// Empties a file that QEMU appends to.
fn empty(log: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).open(log)?.set_len(0)
}

/// QEMU has made the socket when its domain has started; a short wait covers a slow file system.
async fn connect(socket: &Path) -> io::Result<UnixStream> {
    let mut tries = 0;
    loop {
        match UnixStream::connect(socket).await {
            Err(_) if tries < 20 => {
                tries += 1;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixListener;

    use super::*;

    #[tokio::test]
    async fn several_look_at_once_and_all_may_type() {
        let folder = std::env::temp_dir().join(format!("kubevirt-rs-hub-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let socket = folder.join("s");
        let listener = UnixListener::bind(&socket).unwrap();
        let (hub, qemu) = tokio::join!(Hub::attach(&socket, None), listener.accept());
        let (hub, mut qemu) = (hub.unwrap(), qemu.unwrap().0);
        let (one, mut one_end) = tokio::io::duplex(64);
        let (two, mut two_end) = tokio::io::duplex(64);
        let first = tokio::spawn(hub.clone().join(one));
        let second = tokio::spawn(hub.join(two));
        tokio::task::yield_now().await;
        one_end.write_all(b"root\n").await.unwrap();
        let mut five = [0; 5];
        qemu.read_exact(&mut five).await.unwrap();
        assert_eq!(&five, b"root\n");
        two_end.write_all(b"pass\n").await.unwrap();
        qemu.read_exact(&mut five).await.unwrap();
        assert_eq!(&five, b"pass\n");
        qemu.write_all(b"hello").await.unwrap();
        for end in [&mut one_end, &mut two_end] {
            end.read_exact(&mut five).await.unwrap();
            assert_eq!(&five, b"hello");
        }
        // when QEMU ends, so does whoever looks
        drop(qemu);
        assert_eq!(one_end.read(&mut five).await.unwrap(), 0);
        let _ = tokio::join!(first, second);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
