//! The image's side of the [mailbox](platform::memory_map::mailbox).

use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use guest_abi::StrandId;
use hv_core::GuestId;
use hv_core::sync::OwnedLock;
use perfctr_service::mailbox::WORDS;
use platform::memory_map::MAILBOX;
use platform::memory_map::mailbox::{CODES, GUESTS, POWER, STATES};

/// Held by the strand that serves the operator.
static SERVING: OwnedLock = OwnedLock::new();

/// Frees the operator's half of the mailbox if `strand`, which has failed, was using it.
pub(super) fn abandon(strand: StrandId) {
    SERVING.abandon(strand);
}

/// Calls a function with the operator's half of the mailbox, unless another strand is using it.
pub(super) fn with_words(strand: StrandId, serve: impl FnOnce(&mut [u64; WORDS])) {
    let Some(_serving) = SERVING.lock(strand, 1) else {
        return;
    };
    // SAFETY: the image keeps nothing else in the mailbox, the lock is held, and the operator waits until the step is done.
    serve(unsafe { &mut *(MAILBOX as *mut [u64; WORDS]) });
}

/// Writes a guest's [state](platform::memory_map::mailbox::state), and the code with which the guest has ended.
pub(super) fn set_guest_state(guest: GuestId, state: u64, code: u64) {
    if guest.index() < GUESTS {
        set(CODES + guest.index(), code);
        set(STATES + guest.index(), state);
    }
}

/// Requests that the machine be switched off.
pub(super) fn power_off() {
    set(POWER, 1);
}

pub(super) fn set(word: usize, value: u64) {
    // SAFETY: the image has nothing else in the mailbox's second half.
    unsafe { ptr::write_volatile((MAILBOX as *mut u64).add(word), value) };
}

/// Adds 1 to a counter that strands share. Returns the previous value.
pub(super) fn count(word: usize) -> u64 {
    // SAFETY: as for `set`. Strands access this word only through this function.
    unsafe { AtomicU64::from_ptr((MAILBOX as *mut u64).add(word)) }.fetch_add(1, Relaxed)
}
