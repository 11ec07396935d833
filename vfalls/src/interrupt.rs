//! Handles Ctrl-C, SIGTERM, SIGHUP and SIGQUIT. Long-running commands poll a flag, so that they
//! leave no half-written files.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::thread;

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

/// The exit status that shells report for a program that Ctrl-C ended.
pub const EXIT_STATUS: i32 = 130;

const SIGNALS: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// `true` if the signal handler itself ends the process; `false` if a thread cleans up first, and
/// then ends the process.
static EXIT_IN_HANDLER: LazyLock<Arc<AtomicBool>> =
    LazyLock::new(|| Arc::new(AtomicBool::new(true)));
static CAUGHT: AtomicBool = AtomicBool::new(false);
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static BEFORE_END: OnceLock<fn()> = OnceLock::new();
static CLEAN_UP: OnceLock<fn(&mut dyn FnMut())> = OnceLock::new();
static THREAD: OnceLock<Result<(), String>> = OnceLock::new();

/// Makes the signal handler end the process with [`EXIT_STATUS`]. The kernel's default action does
/// not suffice: in a container this program may be process 1, and for process 1 the kernel ignores
/// signals without a handler.
///
/// `clean_up` is called when a thread ends the process early. The function must remove incomplete
/// files, and then call its argument, which ends the process.
pub fn install_handlers(clean_up: fn(&mut dyn FnMut())) -> io::Result<()> {
    let _ = CLEAN_UP.set(clean_up);
    // `signal_hook` installs a handler before it registers the action. A signal that arrives
    // between these steps would be lost, so signals are blocked meanwhile.
    let signals = SIGNALS.map(Signal::try_from).into_iter();
    let before = signals.collect::<Result<SigSet, _>>()?.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    SIGNALS.into_iter().try_for_each(|signal| {
        flag::register_conditional_shutdown(signal, EXIT_STATUS, Arc::clone(&EXIT_IN_HANDLER))
            .map(drop)
    })?;
    Ok(before.thread_set_mask()?)
}

/// Makes an interrupt remove [incomplete files](crate::output) before it ends the process.
pub fn clean_up() -> anyhow::Result<()> {
    let start = || -> io::Result<()> {
        let mut signals = Signals::new(SIGNALS)?;
        // From here on, a thread handles signals.
        EXIT_IN_HANDLER.store(false, Ordering::SeqCst);
        thread::Builder::new().spawn(move || signals.forever().for_each(|_| interrupt())).map(drop)
    };
    let started = THREAD.get_or_init(|| start().map_err(|error| error.to_string()));
    started.clone().map_err(anyhow::Error::msg)
}

fn interrupt() {
    if !CAUGHT.load(Ordering::SeqCst) || INTERRUPTED.swap(true, Ordering::SeqCst) {
        end(|| EXIT_STATUS);
    }
}

/// Removes the [incomplete files](crate::output), and ends the process with the status that `last`
/// returns.
pub(crate) fn end(last: impl Fn() -> i32) {
    let clean_up = CLEAN_UP.get().copied().unwrap_or(|end| end());
    clean_up(&mut || {
        BEFORE_END.get().iter().for_each(|before| before());
        std::process::exit(last())
    });
}

/// Registers a function that this program calls before it ends the process early. Only the first
/// call has an effect.
pub fn before_end(call: fn()) {
    let _ = BEFORE_END.set(call);
}

/// Makes the first interrupt only set a flag, which [`happened`] returns. A second interrupt ends
/// the process immediately.
pub fn catch() -> anyhow::Result<()> {
    CAUGHT.store(true, Ordering::SeqCst);
    clean_up()
}

/// Undoes [`catch`]. The next interrupt then ends the process, as after [`clean_up`]. If an
/// interrupt came before this call, [`happened`] still returns `true`.
pub fn release() {
    CAUGHT.store(false, Ordering::SeqCst);
}

/// Returns `true` if there has been an interrupt since [`catch`].
pub fn happened() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// The error of a command that an interrupt stopped. The process ends with [`EXIT_STATUS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted, nothing was written")]
pub struct Interrupted;
