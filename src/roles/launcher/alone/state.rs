//! What of a guest outlives it beside its disks: UEFI variables, and what its TPM holds. In a cluster a claim keeps it;
//! here the folder that `--state` names does.
//!
//! ```text
//! FOLDER/NAMESPACE_NAME/lock                 held while the guest runs
//!                      /nvram/NAME_VARS.fd   the UEFI variables
//!                      /tpm/tpm2/            what swtpm keeps
//! ```

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use kubevirt_rs::pod::persistence::{has_persistent_efi, has_persistent_tpm};

use super::machine::Machine;
use crate::linux::files;
use crate::roles::launcher::Refusal;
use crate::roles::launcher::args::Args;

/// The folder of one machine.
pub(super) struct State {
    folder: PathBuf,
    variables: bool,
    tpm: bool,
    /// Two guests with the same variables and the same TPM would spoil both.
    _lock: File,
}

/// The fields that want something kept.
fn wanted(machine: &Machine) -> Vec<&'static str> {
    let spec = &machine.vmi.spec;
    let fields = [
        (has_persistent_efi(spec), "spec.domain.firmware.bootloader.efi.persistent"),
        (has_persistent_tpm(spec), "spec.domain.devices.tpm.persistent"),
    ];
    fields.into_iter().filter_map(|(there, field)| there.then_some(field)).collect()
}

/// Opens the folder that the arguments name. Without one, says what will be thrown away.
pub(super) fn open(machine: &Machine, args: &Args) -> Result<Option<State>, Refusal> {
    let fields = wanted(machine);
    let Some(base) = &args.state else {
        for field in fields {
            eprintln!("{}", machine.at(field, "warning: without --state FOLDER it is thrown away when the guest ends"));
        }
        return Ok(None);
    };
    if fields.is_empty() {
        return Err(Refusal::usage(format!(
            "--state {}: the machine keeps nothing beside its disks; set spec.domain.firmware.bootloader.efi.persistent or spec.domain.devices.tpm.persistent, or leave the argument out",
            base.display()
        )));
    }
    let name = format!("{}_{}", machine.vmi.metadata.namespace.as_deref().unwrap_or("default"), machine.name());
    let fault =
        |path: &Path, e: io::Error| Refusal::host(vec![format!("--state: {} cannot be used: {e}; name another folder", path.display())]);
    let folder = base.join(&name);
    files::private_dir(&folder).map_err(|e| fault(&folder, e))?;
    // libvirt and swtpm work in folders of their own
    let folder = fs::canonicalize(&folder).map_err(|e| fault(&folder, e))?;
    for part in ["nvram", "tpm"] {
        let part = folder.join(part);
        files::private_dir(&part).map_err(|e| fault(&part, e))?;
    }
    let path = folder.join("lock");
    let lock = File::create(&path).map_err(|e| fault(&path, e))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(Refusal::host(vec![format!(
                "--state {}: a guest {name} runs with this state already; end it, or name another folder",
                base.display()
            )]));
        }
        Err(TryLockError::Error(e)) => return Err(fault(&path, e)),
    }
    Ok(Some(State { folder, variables: has_persistent_efi(&machine.vmi.spec), tpm: has_persistent_tpm(&machine.vmi.spec), _lock: lock }))
}

impl State {
    /// The folder of the UEFI variables, if they are kept.
    pub(super) fn variables(&self) -> Option<String> {
        self.variables.then(|| self.folder.join("nvram").to_string_lossy().into_owned())
    }

    /// Lets libvirt, whose settings are below `config`, find the TPM of the guest with this UUID here.
    pub(super) fn lend_tpm(&self, config: &Path, uuid: &str) -> io::Result<()> {
        if !self.tpm {
            return Ok(());
        }
        let place = config.join("libvirt/qemu/swtpm");
        files::private_dir(&place)?;
        // the UUID may be another at every start
        symlink(self.folder.join("tpm"), place.join(uuid))
    }
}
