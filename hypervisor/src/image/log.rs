//! The image's logger, which writes to the [hypervisor's console](platform::memory_map::LOG).
//!
//! A machine without a description has no such console. On such a machine, this logger's messages are lost. The operator finds failures in
//! the records of the mailbox.

use core::fmt;
use core::ptr;
use core::sync::atomic::{
    AtomicPtr,
    Ordering::{Acquire, Release},
};

use guest_abi::StrandId;
use hv_core::GuestId;
use log::{Level, LevelFilter, Metadata, Record};
use platform::memory_map::mailbox::DROPPED_MESSAGES;
use platform::sparc64::{Uart, interrupt, with_all_windows};
use spin::Mutex;

use super::board::{Board, log_uart};
use super::clocks;
use super::layout::Layout;
use super::mailbox;
use crate::logger::{Logger, Message, Output, Time, Unlock};

static OPERATOR_LOG: Logger<Option<Uart>> = Logger::new(None);

/// The layout, once strand 0 has read it.
static LAYOUT: AtomicPtr<Layout> = AtomicPtr::new(ptr::null_mut());

/// The logger that this image installs in the crate `log`.
struct Facade;

impl log::Log for Facade {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    /// Writes a message. The counter service's messages count against the hypervisor's limit. All other messages count against the limit of
    /// the strand's guest.
    fn log(&self, record: &Record<'_>) {
        with_all_windows(|| {
            let source = match record.target() {
                perfctr_service::LOG_TARGET => None,
                _ => interrupt::current_strand()
                    .and_then(|strand| Some(known_layout()?.guest_of(strand)?.0)),
            };
            send(source, record.level(), *record.args(), || {});
        });
    }

    fn flush(&self) {}
}

/// Opens the console, and makes this logger the logger of the crate `log`. Strand 0 calls this function first.
pub(super) fn begin<B: Board>() {
    if let Some(on) = interrupt::current_strand() {
        OPERATOR_LOG.open(on, log_uart::<B>());
    }
    // `set_logger` fails if the image has already set another logger. The other logger then stays.
    let _ = log::set_logger(&Facade);
    log::set_max_level(LevelFilter::Info);
}

/// Tells the logger the guests' names and strands.
pub(super) fn know(layout: &'static Layout) {
    LAYOUT.store(ptr::from_ref(layout).cast_mut(), Release);
}

fn known_layout() -> Option<&'static Layout> {
    // SAFETY: the pointer is null, or comes from a reference that is valid forever.
    unsafe { LAYOUT.load(Acquire).as_ref() }
}

/// Writes a message from the hypervisor itself, which no guest has caused.
pub(super) fn message(level: Level, text: fmt::Arguments<'_>) {
    report(None, level, text, || {});
}

/// Calls the function `record`, and writes the message `text`. Does neither if `source` has caused too many messages.
#[cold]
#[inline(never)]
pub(super) fn report(
    source: Option<GuestId>,
    level: Level,
    text: fmt::Arguments<'_>,
    record: impl FnOnce(),
) {
    with_all_windows(|| send(source, level, text, record));
}

fn send(source: Option<GuestId>, level: Level, text: fmt::Arguments<'_>, record: impl FnOnce()) {
    let (ticks, frequency) = clocks::timestamp(known_layout());
    let time = Time { ticks, frequency };
    if !OPERATOR_LOG.admits(source, time) {
        mailbox::count(DROPPED_MESSAGES);
        return;
    }
    record();
    let Some(on) = interrupt::current_strand() else { return };
    for _ in 0..OPERATOR_LOG.write(on, Message { source, level, text, time }) {
        mailbox::count(DROPPED_MESSAGES);
    }
}

/// Releases the parts of the logger that `strand` was using when it failed or died.
pub(super) fn abandon(strand: StrandId) {
    OPERATOR_LOG.abandon(strand, &ForceUnlock);
}

struct ForceUnlock;

impl Unlock for ForceUnlock {
    fn unlock<T>(&self, mutex: &Mutex<T>) {
        // SAFETY: the strand that may have locked the mutex does not continue, and no other strand can lock it before this call.
        unsafe { mutex.force_unlock() };
    }
}

impl Output for Option<Uart> {
    fn put(&mut self, byte: u8) -> bool {
        self.is_none_or(|console| console.put(byte).is_ok())
    }
}
