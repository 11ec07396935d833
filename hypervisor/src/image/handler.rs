//! The state with which a strand handles its guest's traps, and the static memory that holds it.

use core::ptr;
use core::sync::atomic::{
    AtomicPtr,
    Ordering::{Acquire, Release},
};

use guest_abi::StrandId;
use hv_core::{Caller, ForeignStrand, Strand};
use perfctr_service::{NamedGuest, PerfCounterService};
use platform::sparc64::{Partition, Uart};
use spin::Mutex;

use super::assemble::{BoardHypervisor, Services, Trace};
use super::board::Board;
use super::guests::Guests;
use super::layout::Layout;
use super::mailbox;
use super::record::ReportingEnvironment;
use crate::services::CpuState;

/// Handles the traps of one of a guest's strands.
pub struct Handler<B: Board> {
    pub(super) strand: Strand<'static, Services<B>, Guests<B>, Trace<B>>,
    pub(super) hypervisor: &'static BoardHypervisor<B>,
    pub(super) memory: Partition,
}

/// A board whose image has static memory for the hypervisor.
pub trait HasStorage: Board {
    /// Returns the memory for the hypervisor, which is a `static` of the image.
    fn storage() -> &'static HypervisorStorage<Self>;
}

/// Static memory for a board's hypervisor.
pub struct HypervisorStorage<B: Board> {
    pub(super) layout: Mutex<Option<Layout>>,
    pub(super) hypervisor: Mutex<Option<BoardHypervisor<B>>>,
    /// Strand 0 sets the pointer before it starts the other strands, which read it.
    ready: AtomicPtr<BoardHypervisor<B>>,
    pub(super) handlers: [Mutex<Option<Handler<B>>>; StrandId::COUNT],
}

impl<B: Board> HypervisorStorage<B> {
    /// Returns memory that does not contain a hypervisor yet.
    #[allow(clippy::new_without_default, reason = "a static needs a constant")]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            layout: Mutex::new(None),
            hypervisor: Mutex::new(None),
            ready: AtomicPtr::new(ptr::null_mut()),
            handlers: [const { Mutex::new(None) }; StrandId::COUNT],
        }
    }

    /// Returns the hypervisor; `None` before strand 0 has prepared it.
    pub(super) fn ready(&self) -> Option<&'static BoardHypervisor<B>> {
        // SAFETY: the pointer is null, or comes from a reference that is valid forever.
        unsafe { self.ready.load(Acquire).as_ref() }
    }

    pub(super) fn set_ready(&self, hypervisor: &'static BoardHypervisor<B>) {
        self.ready.store(ptr::from_ref(hypervisor).cast_mut(), Release);
    }
}

impl<B: Board> Handler<B> {
    /// Returns the handler of a caller's traps. Fails if the strand does not belong to the guest.
    pub fn new(
        hypervisor: &'static BoardHypervisor<B>,
        caller: Caller,
    ) -> Result<Self, ForeignStrand> {
        let layout = hypervisor.embedder().layout;
        let described = layout.guest(caller.guest);
        let memory =
            described.map(|described| layout.partition(described, caller.guest, caller.strand));
        Ok(Self {
            strand: hypervisor.strand(caller)?,
            hypervisor,
            memory: memory.unwrap_or(Partition::NONE),
        })
    }

    /// Returns the guest, and the strand whose traps this handler serves.
    pub fn caller(&self) -> Caller {
        self.strand.caller()
    }

    /// Returns the performance counter service, which all strands share.
    pub fn counters(&self) -> &'static PerfCounterService<ReportingEnvironment<B::Environment>> {
        &self.hypervisor.services().0
    }

    /// Returns the guest's number and name, for messages.
    pub(super) fn named(&self) -> NamedGuest<'static> {
        let guest = self.caller().guest;
        let layout = self.hypervisor.embedder().layout;
        NamedGuest(guest, layout.guest(guest).and_then(|guest| guest.name))
    }

    /// Ends the guest after mach_exit or a fatal trap, or if the hypervisor failed on this strand.
    pub(super) fn guest_ended(&self, state: u64, code: u64) {
        let Caller { guest, strand } = self.strand.caller();
        let guests = self.hypervisor.embedder();
        if guests.mark_ending(guest) {
            mailbox::set_guest_state(guest, state, code);
            if !guests.layout.has_description {
                Uart::for_guest(0).end(code);
            }
        }
        let (_, core, ..) = self.hypervisor.services();
        core.end(guest, strand);
    }
}

pub(super) fn has_failed<B: Board>(hypervisor: &BoardHypervisor<B>, strand: StrandId) -> bool {
    let (_, core, ..) = hypervisor.services();
    core.cpus().state(strand) == CpuState::Error
}
