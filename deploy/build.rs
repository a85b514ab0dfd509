//! What Cargo does before it compiles: the definitions that are embedded lose the space that only people need, and the
//! linker is told to pack the program's relocations, which takes two megabytes from it and from what its start reads, and
//! to keep functions that are the same only once, which takes another.

use std::path::Path;
use std::{env, fs, io};

const DEFINITIONS: &str = "src/schema/generated";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={DEFINITIONS}");
    println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("Cargo sets OUT_DIR"))?;
    for entry in fs::read_dir(DEFINITIONS)? {
        let file = entry?.path();
        // a text in JSON has no line breaks of its own
        let text: String = fs::read_to_string(&file)?.lines().map(str::trim_start).collect();
        fs::write(Path::new(&out).join(file.file_name().unwrap_or_default()), text)?;
    }
    Ok(())
}
