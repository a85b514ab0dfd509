//! The terminal that a person sits at.

use std::io::{IsTerminal, stdin};
use std::os::fd::AsFd;

use nix::sys::termios::{self, SetArg, Termios};

/// The modes of the terminal on standard input, to be restored.
#[derive(Clone)]
pub(crate) struct Modes(Termios);

impl Modes {
    /// The present modes, if standard input is a terminal.
    pub(crate) fn save() -> Option<Self> {
        stdin().is_terminal().then(|| termios::tcgetattr(stdin().as_fd()).ok().map(Modes)).flatten()
    }

    /// Puts them back.
    pub(crate) fn restore(&self) {
        let _ = termios::tcsetattr(stdin().as_fd(), SetArg::TCSADRAIN, &self.0);
    }

    /// Hands every key to the reader as it is, until the guard is dropped.
    pub(crate) fn raw(&self) -> nix::Result<Raw> {
        let mut raw = self.0.clone();
        termios::cfmakeraw(&mut raw);
        // what the program itself prints still begins at the left
        raw.output_flags |= termios::OutputFlags::OPOST | termios::OutputFlags::ONLCR;
        termios::tcsetattr(stdin().as_fd(), SetArg::TCSADRAIN, &raw)?;
        Ok(Raw(self.clone()))
    }
}

/// The terminal in raw mode.
pub(crate) struct Raw(Modes);

impl Drop for Raw {
    fn drop(&mut self) {
        self.0.restore();
    }
}
