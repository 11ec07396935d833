//! The guests: which of them run, end or restart, and what the image does for them.

use core::marker::PhantomData;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::SeqCst, fence};

use crate::services::{ConsoleInput, Image, Memory, Platform};
use guest_abi::{HvError, Registers, StrandId};
use hv_core::sync::OwnedLock;
use hv_core::{CallError, Caller, ConsoleOutput, Embedder, GuestId, Reply};
use platform::Homes;
use platform::memory_map::mailbox;
use platform::sparc64::interrupt;

use super::board::{Board, uart};
use super::clocks;
use super::layout::{GuestLayout, Layout};

/// The interrupts that strands send to each other, by number.
pub(super) const CROSS_CALL: u8 = 1;
pub(super) const OPERATOR: u8 = mailbox::VECTOR;
const STATE: u8 = 3;

/// The values of [`GuestState::then`]: what a guest does when all its strands have left it.
const ENDS: u8 = 1;
const RESTARTS: u8 = 2;

struct GuestState {
    runs: AtomicBool,
    /// What the guest does when all its strands have left it: `ENDS` or `RESTARTS`. The value is 0 while the guest neither ends nor
    /// restarts.
    then: AtomicU8,
    /// Held by the strand that completes the guest's end or restart.
    settling: OwnedLock,
}

static GUEST_STATES: [GuestState; GuestId::COUNT] = [const {
    GuestState { runs: AtomicBool::new(false), then: AtomicU8::new(0), settling: OwnedLock::new() }
}; GuestId::COUNT];

/// For each strand: whether its guest has called mach_exit on this strand, and the code of that call.
static EXITS: [(AtomicBool, AtomicU64); StrandId::COUNT] =
    [const { (AtomicBool::new(false), AtomicU64::new(0)) }; StrandId::COUNT];

/// The machine's guests, and whether each of them runs, ends or restarts.
pub struct Guests<B> {
    pub(super) layout: &'static Layout,
    board: PhantomData<fn() -> B>,
}

impl<B> Clone for Guests<B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Guests<B> {}

/// What a guest does when all its strands have left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndAction {
    /// The guest does not restart. `last` is `true` if no other guest runs.
    Ends { last: bool },
    /// The guest restarts at its entry.
    Restarts,
}

impl<B> Guests<B> {
    pub(super) fn new(layout: &'static Layout) -> Self {
        Self { layout, board: PhantomData }
    }

    /// Marks a guest as running.
    pub(super) fn begin(&self, guest: GuestId) {
        GUEST_STATES[guest.index()].runs.store(true, SeqCst);
    }

    /// Marks a guest as ending. Returns `false` if it is ending already.
    pub(super) fn mark_ending(&self, guest: GuestId) -> bool {
        let then = &GUEST_STATES[guest.index()].then;
        then.compare_exchange(0, ENDS, SeqCst, SeqCst).is_ok()
    }

    /// Returns `true` if the guest runs and is not about to end.
    pub(super) fn is_running(&self, guest: GuestId) -> bool {
        let GuestState { runs, then, .. } = &GUEST_STATES[guest.index()];
        runs.load(SeqCst) && then.load(SeqCst) == 0
    }

    /// Makes the guest restart once all its strands have left it, even if the guest is ending or has ended. Returns `false` if the strands
    /// are already leaving.
    pub(super) fn restart(&self, guest: GuestId) -> bool {
        GUEST_STATES[guest.index()].then.swap(RESTARTS, SeqCst) == 0
    }

    /// Completes a guest's end or restart after all its strands have left it. Tells `then` whether the guest ends or restarts. Returns
    /// `false` if neither an end nor a restart is requested, or if another strand holds the lock and completes the request.
    pub(super) fn complete_end(
        &self,
        guest: GuestId,
        on: StrandId,
        then: impl FnOnce(EndAction),
    ) -> bool {
        let life = &GUEST_STATES[guest.index()];
        // Another strand may set `then` after the swap below, while the lock is still taken. The owner of the lock therefore looks for a
        // request once more after it has released the lock. Each further round handles a request that another strand has just made.
        for _ in 0..StrandId::COUNT {
            fence(SeqCst);
            let Some(settling) = life.settling.lock(on, 1) else {
                return false;
            };
            let what = match life.then.swap(0, SeqCst) {
                ENDS => {
                    life.runs.store(false, SeqCst);
                    let last = !GUEST_STATES.iter().any(|life| life.runs.load(SeqCst));
                    Some(EndAction::Ends { last })
                }
                RESTARTS => Some(EndAction::Restarts),
                _ => None,
            };
            if let Some(what) = what {
                then(what);
                return true;
            }
            drop(settling);
            fence(SeqCst);
            if life.then.load(SeqCst) == 0 {
                break;
            }
        }
        false
    }

    /// Frees the locks that a failed strand held, so that another strand can complete a guest's end or restart.
    pub(super) fn abandon(&self, strand: StrandId) {
        for life in &GUEST_STATES {
            life.settling.abandon(strand);
        }
    }

    /// Removes and returns the code that the guest passed to mach_exit on a strand; `None` if this strand has not called mach_exit.
    pub(super) fn take_exit_code(&self, strand: StrandId) -> Option<u64> {
        let (exited, code) = &EXITS[strand.index()];
        exited.swap(false, SeqCst).then(|| code.load(SeqCst))
    }

    fn guest(&self, guest: GuestId) -> Option<&GuestLayout> {
        self.layout.guest(guest)
    }

    /// Returns a pointer to the word at a guest's real address; `None` if the word is outside the guest's memory.
    fn word_pointer(&self, guest: GuestId, real: u64) -> Option<*mut u64> {
        let physical = self.guest(guest)?.memory.physical(real, 8)?;
        Some(physical as *mut u64)
    }
}

impl<B: Board> Embedder for Guests<B> {
    const FAST_FUNCTIONS: Option<&'static [u64]> = B::FAST_FUNCTIONS;
    const CORE_FUNCTIONS: Option<&'static [u64]> = B::CORE_FUNCTIONS;

    fn fast(
        &self,
        caller: Caller,
        function: u64,
        registers: &Registers,
    ) -> Result<Reply, CallError> {
        B::fast(caller, function, registers)
    }

    fn core(
        &self,
        caller: Caller,
        function: u64,
        registers: &Registers,
    ) -> Result<Reply, CallError> {
        B::core(caller, function, registers)
    }

    fn software_trap(
        &self,
        caller: Caller,
        number: u8,
        registers: &Registers,
    ) -> Result<Reply, CallError> {
        B::software_trap(caller, number, registers)
    }

    fn console(&self, caller: Caller, output: ConsoleOutput) -> Result<(), HvError> {
        let console = uart::<B>(caller.guest);
        match output {
            ConsoleOutput::Byte(byte) if !self.layout.has_description => console.put_escaped(byte),
            ConsoleOutput::Byte(byte) => console.put(byte),
            // The simulated machine's UART carries only bytes, so a break is ignored.
            ConsoleOutput::Break => Ok(()),
        }
    }
}

impl<B: Board> Image for Guests<B> {
    fn strand(&self, guest: GuestId, cpu: u64) -> Option<StrandId> {
        let cpu = usize::try_from(cpu).ok()?;
        self.guest(guest)?.config.strands.iter().nth(cpu)
    }

    fn cpu(&self, caller: Caller) -> u64 {
        let strands = self.guest(caller.guest).map(|guest| guest.config.strands);
        let mut strands = strands.iter().flat_map(|strands| strands.iter());
        strands.position(|strand| strand == caller.strand).unwrap_or(0) as u64
    }

    fn memory(&self, guest: GuestId) -> Memory {
        let memory = self.guest(guest).map(|guest| guest.memory);
        Memory {
            base: memory.map_or(0, |memory| memory.real),
            size: memory.map_or(0, |memory| memory.bytes),
            physical: memory.map_or(0, |memory| memory.physical),
        }
    }

    fn load(&self, guest: GuestId, real: u64) -> u64 {
        // SAFETY: `word_pointer` returns pointers to the guest's memory only.
        let word = self.word_pointer(guest, real).map(|place| unsafe { place.read_volatile() });
        word.unwrap_or(0)
    }

    fn store(&self, guest: GuestId, real: u64, value: u64) {
        if let Some(place) = self.word_pointer(guest, real) {
            // SAFETY: the pointer is to the guest's memory, which holds nothing that the hypervisor relies on.
            unsafe { place.write_volatile(value) };
        }
    }

    fn notify(&self, strand: StrandId) {
        interrupt::send(strand, STATE);
    }

    fn suspend(&self, _: Caller) {
        interrupt::halt();
    }

    fn exited(&self, caller: Caller, code: u64) {
        let (exited, word) = &EXITS[caller.strand.index()];
        word.store(code, SeqCst);
        exited.store(true, SeqCst);
    }

    fn console_input(&self, caller: Caller) -> Option<ConsoleInput> {
        uart::<B>(caller.guest).get().map(ConsoleInput::Byte)
    }

    fn time_of_day(&self, caller: Caller) -> Result<u64, HvError> {
        self.layout.days.seconds(caller.guest, clocks::time(self.layout, caller.strand)?)
    }

    fn set_time_of_day(&self, caller: Caller, seconds: u64) -> Result<(), HvError> {
        self.layout.days.set(caller.guest, seconds, clocks::time(self.layout, caller.strand)?)
    }

    fn platform(&self) -> Platform {
        let model = self.layout.machine.model();
        Platform {
            name: model.platform_name(),
            banner: model.banner(),
            stick_frequency: self.layout.frequency,
            clock_frequency: self.layout.frequency,
            homes: Homes::new(self.layout.machine),
        }
    }
}
