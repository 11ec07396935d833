//! Virtual CPUs: the strands that execute guest code, and how they enter and leave the guest.

use guest_abi::{HvError, StrandId};
use hv_core::sync::{AtomicU32, AtomicU64, Ordering};

/// The state of a virtual CPU (sun4v specification, "CPU services").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuState {
    /// The strand executes nothing.
    Stopped = 1,
    /// The strand executes the guest.
    Running = 2,
    /// The strand has failed. It executes nothing, and cannot be started.
    Error = 3,
}

/// The address at which a strand starts, and the initial values of its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The real address of the first instruction.
    pub pc: u64,
    /// The real address of the trap table, for %tba.
    pub rtba: u64,
    /// The value of %o0 when the strand starts: the argument that the starting call passes.
    pub argument: u64,
}

/// What an interrupted strand has to do: see [`Cpus::take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrandCommand {
    /// The strand enters the guest.
    Start(Start),
    /// The strand leaves the guest, and waits for the next interrupt.
    Stop,
}

// The values of `Cpu::state`.
const STOPPED: u32 = 0;
/// Another strand is writing the address at which this strand starts.
const RESERVED: u32 = 1;
/// The address is written. The strand has not taken the command yet.
const STARTING: u32 = 2;
const RUNNING: u32 = 3;
/// The strand has been told to leave the guest.
const STOPPING: u32 = 4;
const ERROR: u32 = 5;

/// The maximum number of times that a strand's state can change after its guest has ended. Only calls that the guest's other strands had
/// begun earlier can still change the state.
const CHANGES: usize = 2 * StrandId::COUNT;

#[derive(Debug)]
struct Cpu {
    state: AtomicU32,
    pc: AtomicU64,
    rtba: AtomicU64,
    argument: AtomicU64,
}

/// The virtual CPUs of all guests, indexed by strand. Initially, all are stopped.
///
/// State exchanges are sequentially consistent, so either the strand that reserves a CPU sees that the guest has ended, or the strand that
/// ends the guest sees that the CPU is reserved.
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
        &self.0[strand.index()]
    }

    fn exchange(&self, strand: StrandId, from: u32, to: u32) -> bool {
        let state = &self.cpu(strand).state;
        let exchanged = state.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst);
        exchanged.is_ok()
    }

    /// Tells a stopped strand to start. The caller must then interrupt the strand. Fails with EINVAL if the strand is not
    /// stopped.
    pub fn start(&self, strand: StrandId, start: Start) -> Result<(), HvError> {
        self.start_unless(strand, start, || false)
    }

    /// Like [`start`](Self::start), but calls `ended` after it has reserved the strand. If `ended` returns `true`, the strand stays
    /// stopped, and the call fails with EWOULDBLOCK.
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
        // `end` may have set the state to STOPPED in the meantime.
        if self.exchange(strand, RESERVED, to) && to == STARTING {
            Ok(())
        } else {
            Err(HvError::WouldBlock)
        }
    }

    /// Removes and returns the command of an interrupted strand; `None` if there is none. Call this function on that strand, while the
    /// strand is not handling a hypercall.
    pub fn take(&self, strand: StrandId) -> Option<StrandCommand> {
        let cpu = self.cpu(strand);
        if self.exchange(strand, STOPPING, STOPPED) {
            return Some(StrandCommand::Stop);
        }
        self.exchange(strand, STARTING, RUNNING).then(|| {
            StrandCommand::Start(Start {
                pc: cpu.pc.load(Ordering::Relaxed),
                rtba: cpu.rtba.load(Ordering::Relaxed),
                argument: cpu.argument.load(Ordering::Relaxed),
            })
        })
    }

    /// Returns the state of a strand as guests see it. A guest sees a starting strand as stopped, and a stopping strand as running.
    pub fn state(&self, strand: StrandId) -> CpuState {
        match self.cpu(strand).state.load(Ordering::SeqCst) {
            STOPPED | RESERVED | STARTING => CpuState::Stopped,
            RUNNING | STOPPING => CpuState::Running,
            _ => CpuState::Error,
        }
    }

    /// Tells a strand to stop. The caller must then interrupt the strand. Fails with EINVAL if the strand is stopped or has
    /// failed, and with EWOULDBLOCK if it is starting or stopping.
    pub(crate) fn ask_to_stop(&self, strand: StrandId) -> Result<(), HvError> {
        let state = &self.cpu(strand).state;
        let found = state.compare_exchange(RUNNING, STOPPING, Ordering::SeqCst, Ordering::SeqCst);
        match found {
            Ok(_) => Ok(()),
            Err(STOPPED | ERROR) => Err(HvError::Invalid),
            Err(_) => Err(HvError::WouldBlock),
        }
    }

    /// Withdraws a request to stop. Returns `false` if the strand has already stopped.
    pub(crate) fn cancel_stop(&self, strand: StrandId) -> bool {
        self.exchange(strand, STOPPING, RUNNING)
    }

    /// Returns `true` if a strand has been told to stop and has not stopped yet.
    pub(crate) fn is_stopping(&self, strand: StrandId) -> bool {
        self.cpu(strand).state.load(Ordering::SeqCst) == STOPPING
    }

    /// Stops a strand whose guest has ended. Returns `true` if the caller must interrupt the strand.
    pub(crate) fn end(&self, strand: StrandId) -> bool {
        // Calls that were already in progress may still change the state. No new calls begin.
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

    /// Marks a strand that has left its guest as stopped.
    pub(crate) fn mark_stopped(&self, strand: StrandId) {
        self.cpu(strand).state.store(STOPPED, Ordering::SeqCst);
    }

    /// Marks a strand as failed. The strand no longer executes anything, and no other strand waits for it.
    pub fn mark_failed(&self, strand: StrandId) {
        self.cpu(strand).state.store(ERROR, Ordering::SeqCst);
    }
}
