//! What libvirt tells of a domain.

use std::os::raw::{c_int, c_void};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::mpsc;
use virt::sys;

use super::LibvirtError;

/// Something that happened to a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Lifecycle(Lifecycle),
    /// The agent inside the guest has come or gone.
    Agent {
        connected: bool,
    },
}

/// A step in a domain's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    Started,
    Suspended,
    Resumed,
    /// The guest has been asked to shut down, or does so by itself.
    ShuttingDown,
    Stopped(Stopped),
    /// The guest's kernel reported a panic.
    Crashed,
    Other,
}

/// How a domain stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// The guest powered off.
    Shutdown,
    /// Somebody destroyed it.
    Destroyed,
    /// The guest crashed.
    Crashed,
    /// QEMU ended with an error.
    Failed,
    /// It moved away, was saved, or the like.
    Other,
}

impl Lifecycle {
    fn from_raw(event: c_int, detail: c_int) -> Self {
        match u32::try_from(event).unwrap_or(u32::MAX) {
            sys::VIR_DOMAIN_EVENT_STARTED => Self::Started,
            sys::VIR_DOMAIN_EVENT_SUSPENDED => Self::Suspended,
            sys::VIR_DOMAIN_EVENT_RESUMED => Self::Resumed,
            sys::VIR_DOMAIN_EVENT_SHUTDOWN => Self::ShuttingDown,
            sys::VIR_DOMAIN_EVENT_CRASHED => Self::Crashed,
            sys::VIR_DOMAIN_EVENT_STOPPED => Self::Stopped(match u32::try_from(detail).unwrap_or(u32::MAX) {
                sys::VIR_DOMAIN_EVENT_STOPPED_SHUTDOWN => Stopped::Shutdown,
                sys::VIR_DOMAIN_EVENT_STOPPED_DESTROYED => Stopped::Destroyed,
                sys::VIR_DOMAIN_EVENT_STOPPED_CRASHED => Stopped::Crashed,
                sys::VIR_DOMAIN_EVENT_STOPPED_FAILED => Stopped::Failed,
                _ => Stopped::Other,
            }),
            _ => Self::Other,
        }
    }
}

/// Starts libvirt's event loop on a thread of its own, once in a process. It must run before a connection is opened.
pub(super) fn start_loop() -> Result<(), LibvirtError> {
    static STARTED: OnceLock<Result<(), LibvirtError>> = OnceLock::new();
    STARTED
        .get_or_init(|| {
            quiet();
            virt::event::event_register_default_impl().map_err(|e| LibvirtError::new("start libvirt's event loop", &e))?;
            let run = || {
                while virt::event::event_run_default_impl().is_ok() {}
                tracing::error!("Libvirt's event loop has ended; nothing that happens to the guest is seen any more");
            };
            let thread = std::thread::Builder::new().name("libvirt-events".to_owned()).stack_size(256 << 10).spawn(run);
            thread.map(drop).map_err(|e| LibvirtError::other("start libvirt's event loop", e.to_string()))
        })
        .clone()
}

/// libvirt prints every error to standard error by itself; here they are returned, and reported once.
fn quiet() {
    unsafe extern "C" fn ignore(_: *mut c_void, _: sys::virErrorPtr) {}
    // SAFETY: the function is there for the life of the program and touches nothing
    unsafe { sys::virSetErrorFunc(std::ptr::null_mut(), Some(ignore)) };
}

/// What the two numbers of an event mean.
type Meaning = fn(c_int, c_int) -> Event;

/// Who listens to what happens in a connection: one at a time, and whoever came last. libvirt takes a callback only once,
/// so it is registered once, and what it calls is exchanged.
#[derive(Clone, Default)]
pub(super) struct Listener(Arc<Mutex<Option<mpsc::UnboundedSender<Event>>>>);

impl Listener {
    /// What happens from now on. The channel ends when the connection does, or when somebody else listens.
    pub(super) fn listen(&self) -> mpsc::UnboundedReceiver<Event> {
        let (sender, receiver) = mpsc::unbounded_channel();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        receiver
    }

    fn tell(&self, event: Event) {
        if let Some(sender) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = sender.send(event);
        }
    }
}

/// Who waits for the events of a kind.
struct Waiter {
    listener: Listener,
    understand: Meaning,
}

/// The kinds of events, each with what its two numbers mean.
const KINDS: [(u32, Meaning); 2] = [
    (sys::VIR_DOMAIN_EVENT_ID_LIFECYCLE, |event, detail| Event::Lifecycle(Lifecycle::from_raw(event, detail))),
    (sys::VIR_DOMAIN_EVENT_ID_AGENT_LIFECYCLE, |state, _| Event::Agent {
        connected: u32::try_from(state) == Ok(sys::VIR_CONNECT_DOMAIN_EVENT_AGENT_LIFECYCLE_STATE_CONNECTED),
    }),
];

/// What libvirt calls for an event that has two numbers.
unsafe extern "C" fn happened(_: sys::virConnectPtr, _: sys::virDomainPtr, first: c_int, second: c_int, opaque: *mut c_void) -> c_int {
    // SAFETY: `opaque` is the waiter that `register_one` handed over, which lives until `release`
    let waiter = unsafe { &*opaque.cast::<Waiter>() };
    waiter.listener.tell((waiter.understand)(first, second));
    0
}

unsafe extern "C" fn release(opaque: *mut c_void) {
    // SAFETY: `opaque` came from `Box::into_raw` in `register_one`, and libvirt calls this once
    drop(unsafe { Box::from_raw(opaque.cast::<Waiter>()) });
}

/// Has a listener told of what happens to every domain of a connection; to be called once for each.
pub(super) fn register(connection: &virt::connect::Connect, listener: &Listener) -> Result<(), virt::error::Error> {
    KINDS.into_iter().try_for_each(|(id, understand)| register_one(connection, id, Waiter { listener: listener.clone(), understand }))
}

fn register_one(connection: &virt::connect::Connect, id: u32, waiter: Waiter) -> Result<(), virt::error::Error> {
    let opaque = Box::into_raw(Box::new(waiter)).cast::<c_void>();
    let callback: unsafe extern "C" fn(sys::virConnectPtr, sys::virDomainPtr, c_int, c_int, *mut c_void) -> c_int = happened;
    // SAFETY: for these events libvirt calls back with exactly the arguments of `happened`; the type of the parameter
    // is that of the event with no arguments, as with every event of this interface
    let generic = unsafe {
        std::mem::transmute::<*const (), unsafe extern "C" fn(sys::virConnectPtr, sys::virDomainPtr, *mut c_void)>(callback as *const ())
    };
    // SAFETY: the connection is open, a null domain means every domain, and `opaque` is freed by `release`
    let result = unsafe {
        sys::virConnectDomainEventRegisterAny(connection.as_ptr(), std::ptr::null_mut(), id as c_int, Some(generic), opaque, Some(release))
    };
    if result < 0 {
        let error = virt::error::Error::last_error();
        // SAFETY: libvirt did not take it
        unsafe { release(opaque) };
        return Err(error);
    }
    Ok(())
}
