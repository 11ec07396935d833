//! Virtual CPUs: which strands execute guest code, and how they begin and end it.

use guest_abi::{HvError, StrandId};
use hv_core::sync::{AtomicU32, AtomicU64, Ordering};

/// The state of a virtual CPU (sun4v specification, "CPU services").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuState {
    /// It executes nothing.
    Stopped = 1,
    /// It executes the guest.
    Running = 2,
    /// It has failed.
    Error = 3,
}

/// Where a strand begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The real address of the first instruction.
    pub pc: u64,
    /// The trap table's, for %tba.
    pub rtba: u64,
    /// For %o0.
    pub argument: u64,
}

/// What an interrupted strand does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Enters the guest.
    Start(Start),
    /// Leaves the guest, and waits for the next interrupt.
    Stop,
}

/// The states of the words.
const STOPPED: u32 = 0;
/// A strand writes where this one starts.
const RESERVED: u32 = 1;
/// Where it starts is written. It has not been there yet.
const STARTING: u32 = 2;
const RUNNING: u32 = 3;
/// It has been told to leave the guest.
const STOPPING: u32 = 4;
const ERROR: u32 = 5;

/// More changes than all strands together make that were in a call when their guest ended.
const CHANGES: usize = 2 * StrandId::COUNT;

#[derive(Debug)]
struct Cpu {
    state: AtomicU32,
    pc: AtomicU64,
    rtba: AtomicU64,
    argument: AtomicU64,
}

/// The virtual CPUs of all guests, by strand. All are stopped at first.
///
/// Exchanges of states are sequentially consistent: a strand that has been reserved sees that its guest has ended, or the strand
/// that ends the guest sees that it has been reserved.
#[derive(Debug)]
pub struct Cpus([Cpu; StrandId::COUNT]);

impl Default for Cpus {
    fn default() -> Self {
        Self(core::array::from_fn(|_| Cpu {
            state: AtomicU32::new(STOPPED),
            pc: AtomicU64::new(0),
            rtba: AtomicU64::new(0),
            argument: AtomicU64::new(0),
        }))
    }
}

impl Cpus {
    fn cpu(&self, strand: StrandId) -> &Cpu {
        // A strand's number is below the length.
        &self.0[strand.index()]
    }

    fn exchange(&self, strand: StrandId, from: u32, to: u32) -> bool {
        let state = &self.cpu(strand).state;
        let exchanged = state.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst);
        exchanged.is_ok()
    }

    /// Has a stopped strand start. The caller interrupts it then.
    ///
    /// # Errors
    /// EINVAL if it is not stopped.
    pub fn start(&self, strand: StrandId, start: Start) -> Result<(), HvError> {
        self.start_unless(strand, start, || false)
    }

    /// As [`start`](Self::start), but EWOULDBLOCK, and the strand stays stopped, if its guest has `ended` once the strand is reserved.
    #[inline(always)]
    pub(crate) fn start_unless(
        &self,
        strand: StrandId,
        start: Start,
        ended: impl FnOnce() -> bool,
    ) -> Result<(), HvError> {
        if !self.exchange(strand, STOPPED, RESERVED) {
            return Err(HvError::Invalid);
        }
        let to = if ended() {
            STOPPED
        } else {
            let cpu = self.cpu(strand);
            cpu.pc.store(start.pc, Ordering::Relaxed);
            cpu.rtba.store(start.rtba, Ordering::Relaxed);
            cpu.argument.store(start.argument, Ordering::Relaxed);
            STARTING
        };
        // The guest may have been ended meanwhile: then it is stopped again.
        if self.exchange(strand, RESERVED, to) && to == STARTING {
            Ok(())
        } else {
            Err(HvError::WouldBlock)
        }
    }

    /// Returns what a strand that was interrupted has to do, and takes it as done: `None` if nothing. Called on that strand, when it
    /// is not in a call of its guest.
    pub fn take(&self, strand: StrandId) -> Option<Command> {
        let cpu = self.cpu(strand);
        if self.exchange(strand, STOPPING, STOPPED) {
            return Some(Command::Stop);
        }
        self.exchange(strand, STARTING, RUNNING).then(|| {
            Command::Start(Start {
                pc: cpu.pc.load(Ordering::Relaxed),
                rtba: cpu.rtba.load(Ordering::Relaxed),
                argument: cpu.argument.load(Ordering::Relaxed),
            })
        })
    }

    /// Returns the state of a strand, as guests see it: one that starts is still stopped, and one that stops still runs.
    pub fn state(&self, strand: StrandId) -> CpuState {
        match self.cpu(strand).state.load(Ordering::SeqCst) {
            STOPPED | RESERVED | STARTING => CpuState::Stopped,
            RUNNING | STOPPING => CpuState::Running,
            _ => CpuState::Error,
        }
    }

    /// Tells a strand to stop. The caller interrupts it then.
    ///
    /// # Errors
    /// EINVAL if it is stopped or has failed, EWOULDBLOCK if it starts or stops at this moment.
    pub(crate) fn ask_to_stop(&self, strand: StrandId) -> Result<(), HvError> {
        let state = &self.cpu(strand).state;
        let found = state.compare_exchange(RUNNING, STOPPING, Ordering::SeqCst, Ordering::SeqCst);
        match found {
            Ok(_) => Ok(()),
            Err(STOPPED | ERROR) => Err(HvError::Invalid),
            Err(_) => Err(HvError::WouldBlock),
        }
    }

    /// A strand that has been told to stop goes on instead. Returns `false` if it has stopped.
    pub(crate) fn take_back(&self, strand: StrandId) -> bool {
        self.exchange(strand, STOPPING, RUNNING)
    }

    /// Returns `true` if a strand has been told to stop and has not.
    pub(crate) fn is_stopping(&self, strand: StrandId) -> bool {
        self.cpu(strand).state.load(Ordering::SeqCst) == STOPPING
    }

    /// The strand's guest has ended: it stops. Returns `true` if the strand is to be interrupted for that.
    pub(crate) fn end(&self, strand: StrandId) -> bool {
        // Other strands may change the state meanwhile, but only as often as they were in calls already.
        for _ in 0..CHANGES {
            let (from, to) = match self.cpu(strand).state.load(Ordering::SeqCst) {
                STOPPED | ERROR => return false,
                STOPPING => return true,
                RUNNING => (RUNNING, STOPPING),
                other => (other, STOPPED),
            };
            if self.exchange(strand, from, to) {
                return to == STOPPING;
            }
        }
        true
    }

    /// The strand has left the guest: it is stopped.
    pub(crate) fn left(&self, strand: StrandId) {
        self.cpu(strand).state.store(STOPPED, Ordering::SeqCst);
    }

    /// The strand has failed: it executes nothing any more, and is not waited for.
    pub fn failed(&self, strand: StrandId) {
        self.cpu(strand).state.store(ERROR, Ordering::SeqCst);
    }
}
