//! The guests: what the services ask of the image.

use core::marker::PhantomData;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::SeqCst};

use crate::services::{ConsoleInput, Image, Memory, Platform};
use guest_abi::{HvError, Registers, StrandId};
use hv_core::{Caller, ConsoleOutput, Embedder, GuestId, Reply};
use platform::TickRegisters;
use platform::memory_map::escape::DLE;
use platform::memory_map::mailbox;
use platform::sparc64::{StrandRegs, interrupt};

use super::board::Board;
use super::console::Console;
use super::layout::{GuestLayout, Layout};

/// The numbers of interrupts between strands.
pub(super) const CROSS_CALL: u8 = 1;
pub(super) const OPERATOR: u8 = mailbox::VECTOR;
const STATE: u8 = 3;

/// What comes when all strands of a guest have left it.
const ENDS: u8 = 1;
const RESTARTS: u8 = 2;

/// How a guest is.
struct Life {
    runs: AtomicBool,
    /// What comes when all its strands have left it; 0 while nothing does.
    then: AtomicU8,
}

static LIVES: [Life; GuestId::COUNT] =
    [const { Life { runs: AtomicBool::new(false), then: AtomicU8::new(0) } }; GuestId::COUNT];

/// What each strand's guest has passed to mach_exit, and whether it has.
static EXITS: [(AtomicBool, AtomicU64); StrandId::COUNT] =
    [const { (AtomicBool::new(false), AtomicU64::new(0)) }; StrandId::COUNT];

/// The guests of the machine.
pub struct Guests<B> {
    pub(super) layout: &'static Layout,
    registers: StrandRegs,
    board: PhantomData<fn() -> B>,
}

impl<B> Clone for Guests<B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Guests<B> {}

/// What a guest that has no strand left does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// It stays ended; the last of all.
    Ends { last: bool },
    /// It begins again.
    Restarts,
}

impl<B> Guests<B> {
    /// Returns the guests of a layout.
    pub(super) fn new(layout: &'static Layout) -> Self {
        Self {
            layout,
            // SAFETY: this is a hypervisor, which reads %stick only by these.
            registers: unsafe { StrandRegs::new(|_| {}) },
            board: PhantomData,
        }
    }

    /// A guest begins.
    pub(super) fn begin(&self, guest: GuestId) {
        LIVES[guest.index()].runs.store(true, SeqCst);
    }

    /// A guest ends. Returns `false` if it had to end already.
    pub(super) fn leave(&self, guest: GuestId) -> bool {
        let then = &LIVES[guest.index()].then;
        then.compare_exchange(0, ENDS, SeqCst, SeqCst).is_ok()
    }

    /// Returns whether a guest has not ended, and does not at this moment.
    pub(super) fn goes_on(&self, guest: GuestId) -> bool {
        let Life { runs, then } = &LIVES[guest.index()];
        runs.load(SeqCst) && then.load(SeqCst) == 0
    }

    /// A guest ends to begin again, also if it ends at this moment, or has ended. Returns `false` if its strands leave it already.
    pub(super) fn restart(&self, guest: GuestId) -> bool {
        LIVES[guest.index()].then.swap(RESTARTS, SeqCst) == 0
    }

    /// All strands of a guest have left it. Returns what comes then, to one of those that call this; `None` to the others.
    pub(super) fn left(&self, guest: GuestId) -> Option<Then> {
        let life = &LIVES[guest.index()];
        match life.then.swap(0, SeqCst) {
            ENDS => {
                life.runs.store(false, SeqCst);
                let last = !LIVES.iter().any(|life| life.runs.load(SeqCst));
                Some(Then::Ends { last })
            }
            RESTARTS => Some(Then::Restarts),
            _ => None,
        }
    }

    /// Takes the code that a strand's guest has passed to mach_exit.
    pub(super) fn exit(&self, strand: StrandId) -> Option<u64> {
        let (exited, code) = &EXITS[strand.index()];
        exited.swap(false, SeqCst).then(|| code.load(SeqCst))
    }

    fn guest(&self, guest: GuestId) -> Option<&GuestLayout> {
        self.layout.guest(guest)
    }

    /// Returns the place of a word of a guest, which is of its memory.
    fn place(&self, guest: GuestId, real: u64) -> Option<*mut u64> {
        let physical = self.guest(guest)?.memory.physical(real, 8)?;
        Some(physical as *mut u64)
    }
}

impl<B: Board> Embedder for Guests<B> {
    const FAST: Option<&'static [u64]> = B::FAST;
    const CORE: Option<&'static [u64]> = B::CORE;

    fn fast(&self, caller: Caller, function: u64, registers: &Registers) -> Result<Reply, HvError> {
        B::fast(caller, function, registers)
    }

    fn core(&self, caller: Caller, function: u64, registers: &Registers) -> Result<Reply, HvError> {
        B::core(caller, function, registers)
    }

    fn software_trap(
        &self,
        caller: Caller,
        number: u8,
        registers: &Registers,
    ) -> Result<Reply, HvError> {
        B::software_trap(caller, number, registers)
    }

    fn console(&self, caller: Caller, output: ConsoleOutput) -> Result<(), HvError> {
        let console = Console::of::<B>(caller.guest);
        match output {
            ConsoleOutput::Byte(DLE) if !self.layout.described => {
                console.put(DLE)?;
                console.put(DLE)
            }
            ConsoleOutput::Byte(byte) => console.put(byte),
            // The program that runs the machine sees bytes only.
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
        }
    }

    fn load(&self, guest: GuestId, real: u64) -> u64 {
        // SAFETY: memory of the guest.
        let word = self.place(guest, real).map(|place| unsafe { place.read_volatile() });
        word.unwrap_or(0)
    }

    fn store(&self, guest: GuestId, real: u64, value: u64) {
        if let Some(place) = self.place(guest, real) {
            // SAFETY: memory of the guest, in which nothing is that the hypervisor relies on.
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
        Console::of::<B>(caller.guest).get().map(ConsoleInput::Byte)
    }

    /// %stick counts from when the machine was switched on.
    fn time_of_day(&self) -> Result<u64, HvError> {
        const NPT: u64 = 1 << 63;
        let strand = StrandId::new(0).ok_or(HvError::NotSupported)?;
        let ticks = self.registers.stick(strand) & !NPT;
        let seconds = ticks.checked_div(self.layout.frequency);
        Ok(self.layout.time + seconds.ok_or(HvError::NotSupported)?)
    }

    fn platform(&self) -> Platform {
        let (name, banner) = match self.layout.machine.model() {
            platform::Model::Maramba => ("SUNW,T5240", "SPARC Enterprise T5240"),
            platform::Model::Batoka => ("SUNW,T5440", "SPARC Enterprise T5440"),
        };
        Platform {
            name,
            banner,
            stick_frequency: self.layout.frequency,
            clock_frequency: self.layout.frequency,
        }
    }
}
