//! The files that a guest's disks are, made as planned.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kubevirt_rs::storage::Build;

use crate::linux::children::Children;
use crate::linux::files;

/// Why a file could not be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum MakeError {
    #[error("Failed to make the disk {path}: {error}")]
    Write { path: String, error: io::Error },
    #[error("Failed to run {}: {error}", program.display())]
    Run { program: PathBuf, error: io::Error },
    #[error("Failed to make the disk {path}: {words}")]
    Image { path: String, words: String },
}

/// Makes the files of a plan; what stands in the place of one of them is replaced, but for the user's own disks.
pub(super) async fn all(builds: Vec<Build>, qemu_img: &Path, children: &Children) -> Result<(), MakeError> {
    for build in builds {
        match build {
            Build::Iso { path, content } | Build::Metrics { path, content } => written(&path, files::replace(Path::new(&path), &content))?,
            Build::Host { path, bytes } => written(&path, host_disk(&path, bytes))?,
            Build::Overlay { path, backing } => {
                let options = ["-F", backing.format.as_str(), "-b", &backing.path, &path];
                image(&path, &options, qemu_img, children).await?;
            }
            Build::Empty { path, bytes } => image(&path, &[&path, &bytes.to_string()], qemu_img, children).await?,
        }
    }
    Ok(())
}

fn written(path: &str, result: io::Result<()>) -> Result<(), MakeError> {
    result.map_err(|error| MakeError::Write { path: path.to_owned(), error })
}

fn host_disk(path: &str, bytes: u64) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => file.set_len(bytes),
        // what is there already belongs to the user
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(e),
    }
}

/// A qcow2, made by `qemu-img`.
async fn image(path: &str, options: &[&str], qemu_img: &Path, children: &Children) -> Result<(), MakeError> {
    written(path, Path::new(path).parent().map_or(Ok(()), files::private_dir))?;
    let cannot_run = |error| MakeError::Run { program: qemu_img.to_owned(), error };
    let (reader, writer) = io::pipe().map_err(cannot_run)?;
    let mut command = Command::new(qemu_img);
    command.args(["create", "-q", "-f", "qcow2"]).args(options);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer);
    let mut child = children.spawn(&mut command).map_err(cannot_run)?;
    // ours is the last end of the pipe then, besides the child's
    drop(command);
    if child.wait().await.map_err(cannot_run)?.success() {
        return Ok(());
    }
    let mut words = String::new();
    let _ = reader.take(4096).read_to_string(&mut words);
    Err(MakeError::Image { path: path.to_owned(), words: words.trim().to_owned() })
}
