//! The serial console: the guest's socket, and the terminal or pipe on this side.

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::linux::terminal::{Modes, Raw};

/// Ctrl-].
const ESCAPE: u8 = 0x1d;
/// How long what the guest printed last may take to reach our output.
const DRAIN: Duration = Duration::from_millis(500);

/// A console that is attached. Dropping it puts the terminal right.
pub(super) struct Attached {
    /// Ends when the person leaves by the escape key.
    left: mpsc::Receiver<()>,
    raw: Option<Raw>,
    output: JoinHandle<()>,
}

impl Attached {
    /// Waits until the person wants to leave. Cancellation safe.
    pub(super) async fn left(&mut self) {
        if self.left.recv().await.is_none() {
            // nobody sits there who could leave
            std::future::pending::<()>().await;
        }
    }

    /// Waits until what the guest printed last has reached our output, but not for long.
    pub(super) async fn drained(&mut self) {
        let _ = timeout(DRAIN, &mut self.output).await;
    }

    /// Gives the terminal back.
    pub(super) fn release(&mut self) {
        self.raw = None;
    }

    /// Whether a person sits at the terminal.
    pub(super) fn interactive(&self) -> bool {
        self.raw.is_some()
    }
}

/// Attaches the console behind `socket` to standard output, and standard input to it if `typed`.
pub(super) async fn attach(socket: &Path, typed: bool) -> io::Result<Attached> {
    let (mut from_guest, mut to_guest) = connect(socket).await?.into_split();
    let modes = if typed { Modes::save() } else { None };
    let raw = modes.as_ref().map(Modes::raw).transpose().map_err(io::Error::from)?;
    let escapes = raw.is_some();
    let (leave, left) = mpsc::channel(1);

    let output = tokio::spawn(async move {
        let mut buffer = [0; 4096];
        while let Ok(n) = from_guest.read(&mut buffer).await {
            if n == 0 {
                break;
            }
            let mut out = io::stdout().lock();
            // whoever read our output may be gone; the guest runs on
            let _ = out.write_all(&buffer[..n]).and_then(|()| out.flush());
        }
    });
    if typed {
        let (keys, mut typed) = mpsc::channel::<Vec<u8>>(16);
        // a read of standard input cannot be cancelled, so it has a thread that ends with the process
        std::thread::Builder::new().name("console-input".to_owned()).stack_size(128 << 10).spawn(move || read_keys(&keys))?;
        tokio::spawn(async move {
            while let Some(mut keys) = typed.recv().await {
                let escape = if escapes { keys.iter().position(|k| *k == ESCAPE) } else { None };
                keys.truncate(escape.unwrap_or(keys.len()));
                if to_guest.write_all(&keys).await.is_err() {
                    return;
                }
                if escape.is_some() {
                    let _ = leave.send(()).await;
                    return;
                }
            }
            // the end of the input is not the end of the guest: the connection stays open
            std::future::pending::<()>().await;
        });
    }
    Ok(Attached { left, raw, output })
}

fn read_keys(keys: &mpsc::Sender<Vec<u8>>) {
    let mut buffer = [0; 1024];
    loop {
        match io::stdin().lock().read(&mut buffer) {
            Ok(n) if n > 0 => {
                if keys.blocking_send(buffer[..n].to_vec()).is_err() {
                    return;
                }
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            _ => return,
        }
    }
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
