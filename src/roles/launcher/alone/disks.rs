//! Where the images of a machine's volumes come from when no cluster brings them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kubevirt_rs::api::v1::Volume;
use kubevirt_rs::domain::facts::{Paths, VolumeFacts};
use kubevirt_rs::storage::{self, ACCOUNT, Files, Image, ImageFormat, Images, TOKEN_TYPE};

use super::machine::Machine;
use super::report::Report;
use super::shares::{Content, Share};
use crate::images::{self, ImageError};
use crate::linux::files;
use crate::roles::launcher::Refusal;
use crate::roles::launcher::args::{Args, Pair};

/// The files of a service account are no larger, all together.
const LARGEST_ACCOUNT: u64 = 1 << 20;

/// Where a volume's disk comes from.
#[derive(Debug)]
enum Source {
    /// A container image on this machine, and the path in it.
    Container { reference: String, path: PathBuf, wanted: Option<String> },
    /// A disk on this machine, as it is.
    Disk(PathBuf),
}

/// The disks of the volumes that nothing here makes, by the position of the volume.
pub(super) struct Sources {
    volumes: BTreeMap<usize, Source>,
    kernel: Option<Source>,
    /// What the guest shares as file systems.
    pub(super) shares: Vec<Share>,
}

/// The images that are there now.
pub(super) struct Ready {
    pub(super) images: Images,
    pub(super) facts: BTreeMap<String, VolumeFacts>,
}

impl Sources {
    /// Matches the machine's volumes with what the arguments name, and finds the files of those that only a pod has. All
    /// faults are told at once.
    pub(super) fn find(machine: &mut Machine, args: &Args) -> Result<Self, Refusal> {
        let mut finder = Finder { machine, args, faults: Vec::new(), used: Vec::new(), files: BTreeMap::new() };
        let devices = &machine.vmi.spec.domain.devices;
        let mut volumes = BTreeMap::new();
        for (i, volume) in machine.vmi.spec.volumes.iter().enumerate() {
            finder.of_a_pod(i, volume);
            if devices.disks.iter().any(|d| d.name == volume.name)
                && let Some(source) = finder.volume(i, volume)
            {
                volumes.insert(i, source);
            }
        }
        let kernel = finder.kernel();
        let mut sources = machine.sources.clone();
        sources.volumes.append(&mut finder.files);
        let shares = finder.shares(&sources);
        let unused = args.images.iter().chain(&args.volumes).find(|pair| !finder.used.contains(&pair.name.as_str()));
        if !finder.faults.is_empty() {
            finder.faults.dedup();
            return Err(Refusal::host(finder.faults));
        }
        if let Some(pair) = unused {
            return Err(Refusal::usage(format!(
                "{}={}: the machine has no volume, claim or container image of that name",
                pair.name,
                pair.path.display()
            )));
        }
        machine.sources = sources;
        Ok(Self { volumes, kernel, shares })
    }

    /// Unpacks what must be unpacked.
    pub(super) fn unpack(&self, machine: &Machine, paths: &Paths, report: &Report) -> Result<Ready, Refusal> {
        let mut ready = Ready { images: Images::new(), facts: BTreeMap::new() };
        for (i, source) in &self.volumes {
            let Some(volume) = machine.vmi.spec.volumes.get(*i) else { continue };
            let image = match source {
                Source::Container { reference, path, wanted } => {
                    report.unpack(reference);
                    let image = container(path, wanted.as_deref(), Path::new(&paths.container_disk(*i)), report);
                    report.clear();
                    image.map_err(|e| Refusal::host(vec![machine.at(&format!("spec.volumes[{i}].containerDisk"), &e.to_string())]))?
                }
                Source::Disk(path) => Image { path: text(path)?, format: ImageFormat::Raw },
            };
            let size = images::virtual_size(Path::new(&image.path)).ok();
            let facts = VolumeFacts {
                block: fs::metadata(&image.path).is_ok_and(|m| std::os::unix::fs::FileTypeExt::is_block_device(&m.file_type())),
                path: Some(image.path.clone()),
                format: Some(image.format.as_str().to_owned()),
                virtual_size: size,
                ..VolumeFacts::default()
            };
            ready.facts.insert(volume.name.clone(), facts);
            ready.images.insert(volume.name.clone(), image);
        }
        self.unpack_kernel(machine, paths, report)?;
        Ok(ready)
    }

    fn unpack_kernel(&self, machine: &Machine, paths: &Paths, report: &Report) -> Result<(), Refusal> {
        let container_of = |m: &Machine| m.vmi.spec.domain.firmware.as_ref()?.kernel_boot.as_ref()?.container.clone();
        let (Some(Source::Container { reference, path, .. }), Some(container)) = (&self.kernel, container_of(machine)) else {
            return Ok(());
        };
        for (field, wanted) in [("kernelPath", &container.kernel_path), ("initrdPath", &container.initrd_path)] {
            if wanted.is_empty() {
                continue;
            }
            report.unpack(reference);
            let target = PathBuf::from(paths.kernel_boot(wanted));
            let result = self::container(path, Some(wanted), &target, report).and_then(|image| {
                // a file in a folder is used where it lies; the domain looks for it in its own place
                if Path::new(&image.path) == target {
                    Ok(())
                } else {
                    fs::copy(&image.path, &target).map(drop).map_err(|error| ImageError::Write { path: target.clone(), error })
                }
            });
            report.clear();
            result.map_err(|e| {
                Refusal::host(vec![machine.at(&format!("spec.domain.firmware.kernelBoot.container.{field}"), &e.to_string())])
            })?;
        }
        Ok(())
    }

    /// What the images will be, as far as it can be told without unpacking.
    pub(super) fn foresee(&self, machine: &Machine) -> BTreeMap<String, VolumeFacts> {
        let facts = |source: &Source| match source {
            Source::Container { .. } => VolumeFacts { format: Some("qcow2".into()), ..VolumeFacts::default() },
            Source::Disk(path) => {
                VolumeFacts { path: path.to_str().map(str::to_owned), format: Some("raw".into()), ..VolumeFacts::default() }
            }
        };
        self.volumes.iter().filter_map(|(i, source)| Some((machine.vmi.spec.volumes.get(*i)?.name.clone(), facts(source)))).collect()
    }
}

fn container(path: &Path, wanted: Option<&str>, target: &Path, report: &Report) -> Result<Image, ImageError> {
    if let Some(folder) = target.parent() {
        crate::linux::files::private_dir(folder).map_err(|error| ImageError::Write { path: folder.to_owned(), error })?;
    }
    images::disk(path, wanted, target, report)
}

fn text(path: &Path) -> Result<String, Refusal> {
    path.to_str().map(str::to_owned).ok_or_else(|| Refusal::usage(format!("{}: the path is no UTF-8; rename it", path.display())))
}

/// The files of a folder for a service account, which are small.
fn small_files(folder: &Path) -> io::Result<Files> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)?.flatten() {
        // Kubernetes' own links among them
        bytes += fs::metadata(entry.path()).map_or(0, |m| if m.is_file() { m.len() } else { 0 });
    }
    if bytes > LARGEST_ACCOUNT {
        return Err(io::Error::other(format!("its files have {bytes} bytes, which is more than any service account has")));
    }
    files::in_folder(folder)
}

struct Finder<'a> {
    machine: &'a Machine,
    args: &'a Args,
    faults: Vec<String>,
    used: Vec<&'a str>,
    /// The files of volumes that only a pod has, by the name of the volume.
    files: BTreeMap<String, Files>,
}

impl<'a> Finder<'a> {
    /// The files that a pod would bring.
    fn of_a_pod(&mut self, i: usize, volume: &Volume) {
        let field = format!("spec.volumes[{i}]");
        let only_in_a_cluster = [("memoryDump", volume.memory_dump.is_some()), ("containerPath", volume.container_path.is_some())];
        if let Some((kind, _)) = only_in_a_cluster.iter().find(|(_, there)| *there) {
            let message = "this needs a cluster; take the volume, and what shows it, away to run the machine alone";
            self.fault(&format!("{field}.{kind}"), message);
        }
        let files = if let Some(api) = &volume.downward_api {
            let files = storage::downward_api(&self.machine.vmi.metadata, api, &format!("{field}.downwardAPI"));
            files.map_err(|e| (e.field, e.message))
        } else if let Some(account) = &volume.service_account {
            let files = self.account(&account.service_account_name, &volume.name);
            files.map_err(|message| (format!("{field}.serviceAccount.serviceAccountName"), message))
        } else {
            return;
        };
        match files {
            Ok(files) => drop(self.files.insert(volume.name.clone(), files)),
            Err((field, message)) => self.fault(&field, &message),
        }
    }

    /// What a pod of that service account has: its token, and by whom and where it is taken.
    fn account(&mut self, account: &str, volume: &str) -> Result<Files, String> {
        if let Some(pair) = self.pair(&self.args.volumes, [account, volume]) {
            let shown = || format!("--volume {}={}", pair.name, pair.path.display());
            let files = small_files(&pair.path).map_err(|e| format!("{}: {e}; name a folder with the file token", shown()))?;
            return if files.is_empty() { Err(format!("{}: there is no file in the folder", shown())) } else { Ok(files) };
        }
        self.machine.sources.tokens.get(account).cloned().ok_or_else(|| {
            format!(
                "nothing here holds the token of the service account {account:?}; add --volume {account}=FOLDER with the files that a pod has \
                 (token, ca.crt, namespace), or --file with a Secret of type {TOKEN_TYPE} whose annotation {ACCOUNT} is {account:?}"
            )
        })
    }

    /// The folders that the guest shares.
    fn shares(&mut self, sources: &storage::Sources) -> Vec<Share> {
        // what is not there was told already
        if !self.faults.is_empty() {
            return Vec::new();
        }
        let shares = match storage::shares(&self.machine.vmi, sources) {
            Ok(shares) => shares,
            Err(e) => {
                self.fault(&e.field, &e.message);
                return Vec::new();
            }
        };
        shares.into_iter().filter_map(|share| self.share(share)).collect()
    }

    fn share(&mut self, storage::Share { name, field, content }: storage::Share) -> Option<Share> {
        let content = match content {
            storage::Content::Files(files) => Content::Files(files),
            storage::Content::Claim(claim) => Content::Folder(self.folder(&field, &claim, &name)?),
        };
        Some(Share { name, field, content })
    }

    /// The folder that stands for a claim which the guest shares.
    fn folder(&mut self, field: &str, claim: &str, volume: &str) -> Option<PathBuf> {
        let Some(pair) = self.pair(&self.args.volumes, [claim, volume]) else {
            self.fault(field, &format!("nothing here holds the claim {claim:?}; add --volume {claim}=FOLDER with the folder to share"));
            return None;
        };
        match fs::canonicalize(&pair.path) {
            Ok(folder) if folder.is_dir() => return Some(folder),
            Ok(_) => self.fault(
                field,
                &format!("{} is no folder, and the guest shares the claim as a file system; name a folder", pair.path.display()),
            ),
            Err(e) => self.fault(field, &format!("--volume {}={}: {e}", pair.name, pair.path.display())),
        }
        None
    }

    fn volume(&mut self, i: usize, volume: &Volume) -> Option<Source> {
        let field = format!("spec.volumes[{i}]");
        if let Some(disk) = &volume.container_disk {
            let wanted = Some(disk.path.clone()).filter(|p| !p.is_empty());
            return self.container(&format!("{field}.containerDisk.image"), &disk.image, &volume.name, wanted);
        }
        let claim = if let Some(claim) = &volume.persistent_volume_claim {
            (&claim.claim_name, format!("{field}.persistentVolumeClaim.claimName"))
        } else if let Some(data) = &volume.data_volume {
            (&data.name, format!("{field}.dataVolume.name"))
        } else if let Some(claim) = volume.ephemeral.as_ref().and_then(|e| e.persistent_volume_claim.as_ref()) {
            (&claim.claim_name, format!("{field}.ephemeral.persistentVolumeClaim.claimName"))
        } else if let Some(host) = &volume.host_disk {
            let there = Path::new(&host.path).exists();
            if !there && host.type_.as_str() != "DiskOrCreate" {
                self.fault(
                    &format!("{field}.hostDisk.path"),
                    &format!("there is no file {}; create it, or set the type DiskOrCreate", host.path),
                );
            }
            return Some(Source::Disk(PathBuf::from(&host.path)));
        } else {
            return None;
        };
        self.claim(&claim.1, claim.0, &volume.name)
    }

    fn kernel(&mut self) -> Option<Source> {
        let container = self.machine.vmi.spec.domain.firmware.as_ref()?.kernel_boot.as_ref()?.container.clone()?;
        self.container("spec.domain.firmware.kernelBoot.container.image", &container.image, "", None)
    }

    fn pair(&mut self, pairs: &'a [Pair], names: [&str; 2]) -> Option<&'a Pair> {
        let pair = names.iter().find_map(|name| pairs.iter().find(|p| p.name == *name))?;
        self.used.push(&pair.name);
        Some(pair)
    }

    fn container(&mut self, field: &str, reference: &str, volume: &str, wanted: Option<String>) -> Option<Source> {
        let Some(pair) = self.pair(&self.args.images, [reference, volume]) else {
            let message = format!(
                "nothing here holds the image {reference:?}; save it (skopeo copy docker://{reference} oci-archive:FILE) and add --image {reference}=FILE"
            );
            self.fault(field, &message);
            return None;
        };
        if let Err(e) = fs::metadata(&pair.path) {
            self.fault(field, &format!("--image {}={}: {e}", pair.name, pair.path.display()));
        }
        Some(Source::Container { reference: reference.to_owned(), path: pair.path.clone(), wanted })
    }

    fn claim(&mut self, field: &str, claim: &str, volume: &str) -> Option<Source> {
        let Some(pair) = self.pair(&self.args.volumes, [claim, volume]) else {
            self.fault(
                field,
                &format!("nothing here holds the claim {claim:?}; add --volume {claim}=PATH with a raw disk image or a block device"),
            );
            return None;
        };
        match images::describe(&pair.path) {
            Ok(Image { format: ImageFormat::Raw, path }) => Some(Source::Disk(path.into())),
            Ok(_) => {
                self.fault(
                    field,
                    &format!(
                        "{} is a qcow2, and a claim is a raw disk; convert it (qemu-img convert -O raw), or use a containerDisk",
                        pair.path.display()
                    ),
                );
                None
            }
            Err(e) => {
                self.fault(field, &format!("--volume {}={}: {e}", pair.name, pair.path.display()));
                None
            }
        }
    }

    fn fault(&mut self, field: &str, message: &str) {
        self.faults.push(self.machine.at(field, message));
    }
}
