//! A pod of one's own, on one machine: the namespaces in which the launcher, libvirt and QEMU run without a cluster.
//!
//! ```text
//!   outside (the process that was started)          inside (process 1 of its own PID namespace)
//!   holds the lifeline; forwards signals    ──────▶ the launcher: libvirt, QEMU, the console
//!   waits, puts the terminal right, cleans up       ends the guest when the lifeline breaks, cleans up
//! ```
//!
//! When the inside ends, the kernel ends every process in it. When the outside is killed, the lifeline breaks and the
//! inside stops the guest as it would on a signal, removes the private folder and ends. Root is not needed: the user
//! namespace maps one user, whose files keep their owner outside; inside it is `nobody`, since a libvirtd that sees
//! itself as root would be the machine's own daemon.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use nix::fcntl::OFlag;
use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getegid, geteuid, pipe2};

/// The user and group inside: `nobody` and `nogroup`, which every system has in its tables.
const INSIDE: u32 = 65534;

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SandboxError {
    #[error(
        "User namespaces may not be made here ({0}); allow them with `sysctl user.max_user_namespaces=10000` (Debian: kernel.unprivileged_userns_clone=1, Ubuntu: kernel.apparmor_restrict_unprivileged_userns=0)"
    )]
    Unshare(io::Error),
    #[error("Failed to {what} in the sandbox: {error}")]
    Step { what: &'static str, error: io::Error },
}

fn step<T>(what: &'static str, result: Result<T, impl Into<io::Error>>) -> Result<T, SandboxError> {
    result.map_err(|e| SandboxError::Step { what, error: e.into() })
}

/// On which side of the sandbox's wall this process is now.
pub(crate) enum Side {
    Outside(Outside),
    Inside(Inside),
}

/// The process that was started.
pub(crate) struct Outside {
    child: Pid,
    _lifeline: OwnedFd,
}

/// Process 1 of the sandbox.
pub(crate) struct Inside {
    /// Reads as ended when the outside is gone.
    pub(crate) lifeline: OwnedFd,
    before: SigSet,
}

impl Inside {
    /// Lets signals in, also those that have come since [`enter`]; to be called once they are handled. Process 1 of a PID
    /// namespace loses every signal that it neither handles nor blocks.
    pub(crate) fn let_signals_in(&self) -> io::Result<()> {
        Ok(sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.before), None)?)
    }
}

/// Makes the namespaces and forks. To be called while the process has one thread.
pub(crate) fn enter() -> Result<Side, SandboxError> {
    let (user, group) = (geteuid(), getegid());
    let (lifeline_inside, lifeline_outside) = step("make a pipe", pipe2(OFlag::O_CLOEXEC))?;
    let before = step("block signals", block_forwarded())?;
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID).map_err(|e| SandboxError::Unshare(e.into()))?;
    step("give up setting groups", fs::write("/proc/self/setgroups", "deny"))?;
    step("map the user", fs::write("/proc/self/uid_map", format!("{INSIDE} {user} 1")))?;
    step("map the group", fs::write("/proc/self/gid_map", format!("{INSIDE} {group} 1")))?;
    // SAFETY: this process has one thread, so the child may do anything
    match step("fork", unsafe { fork() })? {
        ForkResult::Parent { child } => {
            drop(lifeline_inside);
            Ok(Side::Outside(Outside { child, _lifeline: lifeline_outside }))
        }
        ForkResult::Child => {
            drop(lifeline_outside);
            furnish()?;
            Ok(Side::Inside(Inside { lifeline: lifeline_inside, before }))
        }
    }
}

/// What process 1 does with the new namespaces before anything else runs in them.
fn furnish() -> Result<(), SandboxError> {
    let none: Option<&str> = None;
    step("keep mounts to itself", mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none))?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    step("mount /proc", mount(Some("proc"), "/proc", Some("proc"), flags, none))?;
    step("give up new privileges", nix::sys::prctl::set_no_new_privs())?;
    step("drop capabilities", super::capabilities::drop_all())
}

const FORWARDED: [Signal; 4] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT];

fn block_forwarded() -> nix::Result<SigSet> {
    let mut set = SigSet::empty();
    for signal in FORWARDED {
        set.add(signal);
    }
    set.add(Signal::SIGCHLD);
    let mut before = SigSet::empty();
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&set), Some(&mut before))?;
    Ok(before)
}

impl Outside {
    /// Forwards signals until the inside has ended; returns its exit code.
    pub(crate) fn wait(&self) -> u8 {
        super::memory::give_back();
        let mut set = SigSet::empty();
        for signal in FORWARDED {
            set.add(signal);
        }
        set.add(Signal::SIGCHLD);
        loop {
            match waitpid(self.child, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(_, code)) => return u8::try_from(code).unwrap_or(u8::MAX),
                Ok(WaitStatus::Signaled(_, signal, _)) => return 128u8.saturating_add(u8::try_from(signal as i32).unwrap_or(0)),
                Ok(_) => {}
                Err(_) => return 1,
            }
            if let Some((signal, from_terminal)) = next_signal(&set) {
                // what a terminal sends goes to the whole group, so the inside has it already
                if signal != Signal::SIGCHLD && !from_terminal {
                    let _ = kill(self.child, signal);
                }
            }
        }
    }
}

fn next_signal(set: &SigSet) -> Option<(Signal, bool)> {
    const SI_KERNEL: i32 = 0x80;
    // SAFETY: all zeroes is a valid siginfo_t
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are valid for the call
    let number = unsafe { libc::sigwaitinfo(set.as_ref(), &raw mut info) };
    let signal = Signal::try_from(number).ok()?;
    Some((signal, info.si_code == SI_KERNEL))
}
