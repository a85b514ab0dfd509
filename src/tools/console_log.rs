//! Prints a file that grows: what the guest writes to its serial console, for `kubectl logs`.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);
const PIECE: usize = 64 << 10;

/// The arguments of `console-log`, which is `virt-tail` too.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The file; it may come later, be replaced, or be emptied
    #[arg(long, value_name = "FILE")]
    logfile: PathBuf,
}

/// A file that is followed.
#[derive(Default)]
struct Followed {
    file: Option<File>,
    /// Which file it is: one of the same name may take its place.
    identity: Option<(u64, u64)>,
    at: u64,
}

impl Followed {
    /// Copies what is new; only whole lines are, unless there is no end of a line in a long piece.
    fn copy(&mut self, path: &Path, output: &mut impl io::Write) -> io::Result<()> {
        use std::os::unix::fs::MetadataExt as _;
        let found = match std::fs::metadata(path) {
            Ok(found) => found,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                // The next one is read from its beginning, even if it gets the same inode.
                *self = Self::default();
                return Ok(());
            }
            Err(e) => return Err(e),
        };
        let identity = (found.dev(), found.ino());
        if self.identity != Some(identity) {
            *self = Self { file: Some(File::open(path)?), identity: Some(identity), at: 0 };
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        if found.len() < self.at {
            self.at = 0;
        }
        let mut piece = vec![0; PIECE];
        loop {
            file.seek(SeekFrom::Start(self.at))?;
            let n = file.read(&mut piece)?;
            let read = piece.get(..n).unwrap_or_default();
            let whole = read.iter().rposition(|byte| *byte == b'\n').map(|end| end + 1);
            let length = whole.unwrap_or(if n == PIECE { n } else { 0 });
            let Some(lines @ [_, ..]) = read.get(..length) else { return Ok(()) };
            output.write_all(lines)?;
            output.flush()?;
            self.at += length as u64;
        }
    }
}

/// Prints it until it is told to end.
pub(super) fn run(args: &Args) -> ExitCode {
    match runtime::Builder::new_current_thread().enable_all().build().and_then(|runtime| runtime.block_on(follow(&args.logfile))) {
        // whoever read it is gone
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("kubevirt-rs: Failed to print {}: {e}", args.logfile.display());
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

async fn follow(path: &Path) -> io::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut followed = Followed::default();
    loop {
        followed.copy(path, &mut io::stdout().lock())?;
        tokio::select! {
            () = sleep(LOOK_EVERY) => {}
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        }
    }
    // what was written last
    followed.copy(path, &mut io::stdout().lock())?;
    io::stdout().flush()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_followed_through_all_that_happens_to_it() {
        let path = std::env::temp_dir().join(format!("kubevirt-rs-follow-{}", std::process::id()));
        let mut followed = Followed::default();
        let mut next = |content: Option<&[u8]>| {
            if let Some(content) = content {
                fs::write(&path, content).unwrap();
            }
            let mut output = Vec::new();
            followed.copy(&path, &mut output).unwrap();
            String::from_utf8(output).unwrap()
        };
        assert_eq!(next(None), "");
        assert_eq!(next(Some(b"one\ntw")), "one\n");
        assert_eq!(next(Some(b"one\ntwo\nthree\n")), "two\nthree\n");
        // emptied, and written anew
        assert_eq!(next(Some(b"four\n")), "four\n");
        fs::remove_file(&path).unwrap();
        assert_eq!(next(None), "");
        assert_eq!(next(Some(b"a longer file than before\n")), "a longer file than before\n");
        fs::remove_file(&path).unwrap();
        assert_eq!(next(None), "");
        // a line that is longer than what is read at once
        let long = vec![b'x'; PIECE + 1];
        assert_eq!(next(Some(&long)).len(), PIECE);
        fs::remove_file(&path).unwrap();
    }
}
