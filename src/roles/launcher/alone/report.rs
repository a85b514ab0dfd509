//! What the launcher tells while it works: to a person, or as JSON.

use std::cell::{Cell, RefCell};
use std::io::{IsTerminal, Write, stderr, stdout};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::images::Progress;
use crate::roles::launcher::args::Output;

/// How often a number on the terminal changes.
const REFRESH: Duration = Duration::from_millis(100);

/// Tells what happens.
pub(super) struct Report {
    output: Output,
    /// Standard error is a terminal, on which a line may be written over.
    terminal: bool,
    /// The line that stands there without an end.
    open: Cell<bool>,
    last: Cell<Option<Instant>>,
    unpacking: RefCell<String>,
}

impl Report {
    pub(super) fn new(output: Output) -> Self {
        Self { output, terminal: stderr().is_terminal(), open: Cell::new(false), last: Cell::new(None), unpacking: RefCell::default() }
    }

    /// An event: a sentence for people, a name and fields for programs.
    pub(super) fn event(&self, name: &str, fields: Value, sentence: &str) {
        match self.output {
            Output::Json => {
                let mut event = json!({"time": jiff::Timestamp::now().to_string(), "event": name});
                if let (Some(event), Value::Object(fields)) = (event.as_object_mut(), fields) {
                    event.extend(fields);
                }
                let mut out = stdout().lock();
                let _ = writeln!(out, "{event}").and_then(|()| out.flush());
            }
            Output::Text => self.line(sentence),
        }
    }

    /// A sentence that only people need.
    pub(super) fn line(&self, sentence: &str) {
        if self.output == Output::Text {
            let mut err = stderr().lock();
            // the terminal may be in raw mode, where a line must be begun at the left
            let clear = if self.terminal { "\r\x1b[K" } else { "" };
            let end = if self.terminal { "\r\n" } else { "\n" };
            let _ = write!(err, "{clear}{sentence}{end}");
            self.open.set(false);
        }
    }

    /// What takes a moment: on a terminal it is written over by what comes next.
    pub(super) fn passing(&self, sentence: &str) {
        if self.output == Output::Text && self.terminal {
            let mut err = stderr().lock();
            let _ = write!(err, "\r\x1b[K{sentence}…").and_then(|()| err.flush());
            self.open.set(true);
        } else {
            self.line(sentence);
        }
    }

    /// Takes a passing line away.
    pub(super) fn clear(&self) {
        if self.open.take() {
            let _ = write!(stderr().lock(), "\r\x1b[K");
        }
    }

    /// Names what the numbers of [`Progress`] are about.
    pub(super) fn unpack(&self, name: &str) {
        name.clone_into(&mut self.unpacking.borrow_mut());
        self.last.set(None);
        self.passing(&format!("Unpacking {name}"));
    }
}

impl Progress for Report {
    fn at(&self, done: u64, total: u64) {
        let due = self.last.get().is_none_or(|last| last.elapsed() >= REFRESH);
        if self.terminal && due && total > 0 {
            self.last.set(Some(Instant::now()));
            self.passing(&format!("Unpacking {} {} %", self.unpacking.borrow(), done.saturating_mul(100) / total));
        }
    }
}
