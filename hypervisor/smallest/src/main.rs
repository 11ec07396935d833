//! A small sun4v hypervisor. It has two guests, each with a strand and a console. It serves the performance counters, and adds a hypercall.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use core::ops::ControlFlow;
use core::panic::PanicInfo;

use guest_abi::{HvError, Registers, ServedFunctions, StrandId, Trap};
use hv_core::{CallError, Caller, ConsoleOutput, Embedder, GuestId, Hypervisor, Reply, Strand};
use perfctr_service::{Grant, GuestConfig, PerfCounterContext, PerfCounterService};
use platform::memory_map::{PARTITION, REAL};
use platform::sparc64::{
    End, Entry, Mmio, Partition, StrandRegs, TrapHandler, Uart, cannot_start, interrupt, panicked,
};
use platform::{Machine, Model, PhysicalAddress};
use spin::{Mutex, MutexGuard};

/// This hypervisor's own hypercall, a function of trap 0x80. It returns the calling guest's number.
const WHO_AM_I: u64 = 0x300;
/// The strand and the rights of each guest. Guest n has strand n.
const GUESTS: [(StrandId, Grant); 2] =
    [(StrandId::new(0).unwrap(), Grant::ALL), (StrandId::new(1).unwrap(), Grant::STRAND)];
/// The size of a guest's memory in bytes: the default of `vfalls boot`.
const MEMORY: u64 = 128 << 20;

type Board = (Mmio, StrandRegs);
type Services = (PerfCounterService<Board>,);

// SAFETY: this is a hypervisor with the MMU off. The service uses only device registers, each on the strand that owns it. It
// interrupts no strand, because the rights never change.
const BOARD: Board = unsafe { (Mmio::new(), StrandRegs::new(|_| {})) };
static HYPERVISOR: Hypervisor<Services, Image> =
    Hypervisor::new((PerfCounterService::new(BOARD),), Image);
static HANDLERS: [Mutex<Option<Handler>>; 2] = [const { Mutex::new(None) }; 2];

struct Image;

impl Embedder for Image {
    const FAST_FUNCTIONS: Option<&'static [u64]> = Some(&[WHO_AM_I]);
    const CORE_FUNCTIONS: Option<&'static [u64]> = Some(&[]);

    fn fast(&self, caller: Caller, _: u64, _: &Registers) -> Result<Reply, CallError> {
        Ok(Reply::Value(caller.guest.number().into()))
    }

    fn console(&self, caller: Caller, output: ConsoleOutput) -> Result<(), HvError> {
        match output {
            ConsoleOutput::Byte(byte) => Uart::for_guest(caller.guest.number()).put_escaped(byte),
            ConsoleOutput::Break => Ok(()),
        }
    }
}

/// A strand of the hypervisor, with the guest that it executes.
struct Handler(Strand<'static, Services, Image>);

perfctr_service::sun4v_image!(Handler, strands: 2);

/// Configures the counter service for the machine and the guests, and starts strand 1. Strand 0 calls this function.
fn prepare() {
    let guests =
        GUESTS.map(|(strand, grant)| GuestConfig::new([strand].into_iter().collect(), grant));
    let machine = Machine::new(Model::Batoka, 1).unwrap_or_else(|why| cannot_start(&why));
    HYPERVISOR.services().0.configure(machine, &guests).unwrap_or_else(|why| cannot_start(&why));
    interrupt::start_strand(GUESTS[1].0);
}

impl TrapHandler for Handler {
    type Context = PerfCounterContext<'static, Board>;

    fn start(strand: StrandId) -> &'static Self {
        let number = strand.index();
        let Some((guest, place)) = GuestId::new(number).zip(HANDLERS.get(number)) else {
            cannot_start(&"no guest has this strand")
        };
        if number == 0 {
            prepare();
        }
        let strand = HYPERVISOR.strand(Caller { guest, strand });
        let strand = strand.unwrap_or_else(|why| cannot_start(&why));
        // The lock is never released, so the handler is never dropped. A `spin::Once` would do the same, but its code contains a panic.
        MutexGuard::leak(place.lock()).insert(Handler(strand))
    }

    fn enter(&'static self) -> Entry {
        Entry::first(REAL)
    }

    fn partition(&self) -> Partition {
        let id = self.0.caller().guest.number();
        Partition { real: REAL, physical: PARTITION + u64::from(id) * MEMORY, bytes: MEMORY, id }
    }

    fn context(&self) -> &Self::Context {
        &self.0.contexts().0
    }

    fn served(&self) -> ServedFunctions<'static> {
        self.0.served()
    }

    fn core_fast(&self, function: u64, arguments: [u64; 3]) -> Option<[u64; 3]> {
        self.0.core_fast(function, arguments)
    }

    fn trap(&self, trap: Trap, registers: &mut Registers) -> ControlFlow<u64> {
        self.0.serve(trap, registers)
    }

    /// Takes a unit out of service if a store to it fails after the call has ended.
    fn faulted_late(&self, address: Option<PhysicalAddress>) {
        let (service, strand) = (&HYPERVISOR.services().0, self.0.caller().strand);
        let _ = address.and_then(|address| service.faulted_late(strand, address));
    }

    /// Prints to the guest's console how the guest has ended. The strand then waits forever.
    fn ended(handler: Option<&'static Self>, end: End) -> Entry {
        let guest = handler.map_or(0, |own| own.0.caller().guest.number());
        Uart::for_guest(guest).ended(end)
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    panicked::<Handler>(info)
}
