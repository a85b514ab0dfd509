//! `/usr/bin/container-disk`: what runs in the container of a containerDisk.
//!
//! The image of such a container holds a disk, and maybe nothing else: no shell, no C library. This program comes into
//! it by a volume, so it needs nothing but the kernel, and is so small that a copy for each pod costs nothing.
//!
//! | arguments | what it does |
//! | --- | --- |
//! | `--copy-path PATH` | listens at `PATH.sock` until it is told to end, or until the socket is removed |
//! | `--no-op` | ends at once: its container was only there to make the image be pulled |
//! | `--install PATH` | copies itself to `PATH`, for the containers above |
//!
//! The node's handler connects to the socket, asks the kernel which process listens there (`SO_PEERCRED`), and finds
//! the files of the container by that process' root.

#![no_std]
#![no_main]
#![no_builtins]

mod memory;
mod system;

use system::{Error, Fd, Seconds, Signal};

/// The longest address of a socket, its final zero included.
const LONGEST_ADDRESS: usize = 108;
const SUFFIX: &[u8] = b".sock";
/// How often it looks whether its socket is still there.
const LOOK_EVERY: Seconds = Seconds(1);

/// Where a step failed.
enum Failure {
    /// The arguments are none of those above.
    Arguments,
    /// The path does not fit into an address.
    Path,
    /// The kernel refused a step.
    Step(&'static str, Error),
}

/// What [`system`] starts. `arguments` are those after the program's name, each with its final zero.
fn main(mut arguments: system::Arguments) -> i32 {
    let result = match (arguments.next(), arguments.next()) {
        (Some(b"--no-op\0"), _) => Ok(()),
        (Some(b"--copy-path\0" | b"-c\0"), Some(path)) => hold(path),
        (Some(b"--install\0"), Some(path)) => install(path),
        _ => Err(Failure::Arguments),
    };
    match result {
        Ok(()) => 0,
        Err(failure) => {
            say(&failure);
            1
        }
    }
}

fn say(failure: &Failure) {
    let words: [&[u8]; 2] = match failure {
        Failure::Arguments => [b"write --copy-path PATH, --no-op or --install PATH", b""],
        Failure::Path => [b"the path is too long for a socket; it may have 102 characters", b""],
        Failure::Step(step, _) => [b"failed to ", step.as_bytes()],
    };
    let error = Fd::STANDARD_ERROR;
    let mut number = [0; 12];
    let number = match failure {
        Failure::Step(_, Error(code)) => decimal(*code, &mut number),
        _ => &[],
    };
    let parts: [&[u8]; 5] = [b"container-disk: ", words[0], words[1], if number.is_empty() { b"" } else { b": error " }, number];
    for part in parts {
        // there is nobody else to tell
        let _ = error.write_all(part);
    }
    let _ = error.write_all(b"\n");
}

fn decimal(number: i32, room: &mut [u8; 12]) -> &[u8] {
    let mut rest = number.unsigned_abs();
    let mut at = room.len();
    while let Some(digit) = at.checked_sub(1).and_then(|i| room.get_mut(i)) {
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        at -= 1;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    room.get(at..).unwrap_or_default()
}

fn step<T>(name: &'static str, result: Result<T, Error>) -> Result<T, Failure> {
    result.map_err(|error| Failure::Step(name, error))
}

/// Listens at the path until it is told to end, or until the socket is removed.
fn hold(path: &[u8]) -> Result<(), Failure> {
    let mut address = [0; LONGEST_ADDRESS];
    let bare = path.strip_suffix(b"\0").unwrap_or(path);
    let length = bare.len() + SUFFIX.len();
    if bare.is_empty() || length >= address.len() {
        return Err(Failure::Path);
    }
    let places = address.iter_mut();
    for (place, byte) in places.zip(bare.iter().chain(SUFFIX)) {
        *place = *byte;
    }
    // a folder that is there already is as good
    let _ = parent(&address).map(|folder| system::make_folder(&folder));

    // as process 1 of its container it is sent only what it waits for
    let signals = [Signal::TERMINATE, Signal::INTERRUPT];
    step("wait for signals", system::block(&signals))?;
    let socket = step("make a socket", system::unix_socket())?;
    // left behind by a container that was killed
    let _ = system::remove(&address);
    step("bind the socket", socket.bind(&address))?;
    step("listen", socket.listen())?;
    loop {
        if system::wait_for(&signals, LOOK_EVERY) {
            let _ = system::remove(&address);
            return Ok(());
        }
        if !system::exists(&address) {
            return Ok(());
        }
        // whoever connected has seen all there is to see
        while socket.drop_connection() {}
    }
}

/// The folder of a path, with a final zero.
fn parent(path: &[u8; LONGEST_ADDRESS]) -> Option<[u8; LONGEST_ADDRESS]> {
    let slash = path.iter().rposition(|byte| *byte == b'/').filter(|at| *at > 0)?;
    let mut folder = *path;
    folder.get_mut(slash..)?.fill(0);
    Some(folder)
}

/// Copies this program.
fn install(path: &[u8]) -> Result<(), Failure> {
    let from = step("open itself", Fd::open_itself())?;
    // a file that runs cannot be written to, but another can take its place
    let _ = system::remove(path);
    let to = step("create the copy", Fd::create_program(path))?;
    let mut buffer = [0; 4096];
    loop {
        let read = step("read itself", from.read(&mut buffer))?;
        match buffer.get(..read) {
            Some([]) | None => return Ok(()),
            Some(bytes) => step("write the copy", to.write_all(bytes))?,
        }
    }
}
