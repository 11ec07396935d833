//! The page of the hypervisor's memory by which the operator and the image talk. The first half is that of
//! [`perfctr_service::mailbox`]; in the second the image says how the guests are.

use core::ptr;

use hv_core::GuestId;
use perfctr_service::mailbox::WORDS;
use spin::Mutex;

const MAILBOX: *mut u64 = 0x3fe_0000 as *mut u64;
/// The words with the states of guests, and those with their exit codes.
const STATES: usize = 256;
const CODES: usize = 272;
/// Of so many guests.
const GUESTS: usize = 16;
const POWER: usize = 511;

/// How a guest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Runs = 1,
    Exited = 2,
    Trapped = 3,
    /// Its last strand has died.
    Failed = 4,
}

/// One strand at a time has the operator's half.
static SERVING: Mutex<()> = Mutex::new(());

/// Calls a function with the words of the operator, unless another strand has them.
pub fn with_words(serve: impl FnOnce(&mut [u64; WORDS])) {
    let Some(_serving) = SERVING.try_lock() else {
        return;
    };
    // SAFETY: nothing else of the image is there, and the operator waits until the step is done.
    serve(unsafe { &mut *MAILBOX.cast() });
}

/// Says how a guest is, with the code with which it has ended.
pub fn tell(guest: GuestId, state: State, code: u64) {
    if guest.index() < GUESTS {
        set(CODES + guest.index(), code);
        set(STATES + guest.index(), state as u64);
    }
}

/// Has the machine switched off.
pub fn power_off() {
    set(POWER, 1);
}

fn set(word: usize, value: u64) {
    // SAFETY: nothing else of the image is in the mailbox's second half.
    unsafe { ptr::write_volatile(MAILBOX.add(word), value) };
}
