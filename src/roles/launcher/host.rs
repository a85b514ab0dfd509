//! What is installed on this machine, or in this image.

use std::path::{Path, PathBuf};

use kubevirt_rs::domain::facts::{Efi, Firmware};

const FOLDERS: [&str; 4] = ["/usr/bin", "/usr/local/bin", "/usr/libexec", "/usr/sbin"];

/// A program, if it is installed.
pub(super) fn program(name: &str) -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

/// UEFI images: code and variables, where distributions put them. The first pair that is there counts.
const PLAIN: [(&str, &str); 4] = [
    ("/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd"),
    ("/usr/share/OVMF/OVMF_CODE.fd", "/usr/share/OVMF/OVMF_VARS.fd"),
    ("/usr/share/edk2/ovmf/OVMF_CODE.fd", "/usr/share/edk2/ovmf/OVMF_VARS.fd"),
    ("/usr/share/AAVMF/AAVMF_CODE.fd", "/usr/share/AAVMF/AAVMF_VARS.fd"),
];
const SECURE_BOOT: [(&str, &str); 3] = [
    ("/usr/share/OVMF/OVMF_CODE_4M.secboot.fd", "/usr/share/OVMF/OVMF_VARS_4M.ms.fd"),
    ("/usr/share/OVMF/OVMF_CODE.secboot.fd", "/usr/share/OVMF/OVMF_VARS.secboot.fd"),
    ("/usr/share/edk2/ovmf/OVMF_CODE.secboot.fd", "/usr/share/edk2/ovmf/OVMF_VARS.secboot.fd"),
];

/// The UEFI images that are installed.
pub(super) fn firmware() -> Firmware {
    let first = |pairs: &[(&str, &str)]| {
        let there = |(code, vars): &&(&str, &str)| Path::new(code).is_file() && Path::new(vars).is_file();
        pairs.iter().find(there).map(|(code, vars)| Efi { code: (*code).to_owned(), vars: (*vars).to_owned() })
    };
    Firmware { plain: first(&PLAIN), secure_boot: first(&SECURE_BOOT), ..Firmware::default() }
}
