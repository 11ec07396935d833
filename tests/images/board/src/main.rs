//! The hypervisor of `hypervisor/` on test boards, which are features in `Cargo.toml`. All except `unbounded` are for QEMU's niagara
//! machine.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

mod board;
#[cfg(feature = "control")]
mod control;
#[cfg(feature = "control")]
mod static_cell;
#[cfg(feature = "leaks")]
mod leaks;
#[cfg(feature = "memory")]
mod memory;
#[cfg(any(feature = "models", feature = "control"))]
mod static_slot;
mod tracer;

use core::ops::ControlFlow;
use core::panic::PanicInfo;
use core::ptr;

#[cfg(not(all(feature = "control", feature = "models")))]
use guest_abi::ServedFunctions;
use guest_abi::{Registers, StrandId, Trap};
use hv_core::{CallError, Caller, GuestId, Reply};
use hypervisor::{Handler, HasStorage, HypervisorStorage};
use platform::interfaces::Interface;
use platform::memory_map::{CONSOLES, MAILBOX};
use platform::sparc64::{End, Entry, Partition, TrapHandler, panicked};
use platform::{Machine, PhysicalAddress};

use board::{Bus, Registers as StrandRegisters};
use tracer::SharedTracer;

/// The board. Features decide whether it has real devices, models of devices, or words of memory.
struct Board;

static STORAGE: HypervisorStorage<Board> = HypervisorStorage::new();

impl hypervisor::Board for Board {
    type Environment = (Bus, StrandRegisters, SharedTracer);

    // The sweep's image adds no functions of its own, because the sweep on the host has none either.
    const FAST_FUNCTIONS: Option<&'static [u64]> = match cfg!(feature = "control") {
        true => Some(&[]),
        false => Some(&[0x84, 1 << 40 | 0x84]),
    };

    const CORE_FUNCTIONS: Option<&'static [u64]> = match cfg!(feature = "control") {
        true => Some(&[]),
        false => Some(&[0x84]),
    };

    fn environment(machine: Machine) -> Self::Environment {
        let (bus, registers) = board::new(machine);
        (bus, registers, &tracer::TRACER)
    }

    /// QEMU's machine has one console, so all guests share it.
    fn console(_: GuestId) -> u64 {
        CONSOLES
    }

    /// Returns the function number and the sum of %o0 to %o5. CORE calls and software traps get the same answer.
    fn fast(_: Caller, function: u64, registers: &Registers) -> Result<Reply, CallError> {
        let sum = registers.to_array().into_iter().fold(0, u64::wrapping_add);
        Ok(Reply::Values(function, sum))
    }
}

impl HasStorage for Board {
    fn storage() -> &'static HypervisorStorage<Self> {
        &STORAGE
    }
}

/// A hypervisor strand with additions for tests.
#[repr(transparent)]
struct Tested(Handler<Board>);

#[cfg(feature = "unbounded")]
perfctr_service::sun4v_image!(Tested, strands: 256);
// With models, every call of the sweep takes the slow path.
#[cfg(all(feature = "control", feature = "models"))]
platform::sun4v_image!(Tested, strands: 256, claims: [0x84, 0xfe]);
#[cfg(not(any(feature = "unbounded", all(feature = "control", feature = "models"))))]
perfctr_service::sun4v_image!(Tested, strands: 256, claims: [0x84, 0xfe]);

platform::sun4v_note!(Interface::Mailbox, const MAILBOX);

impl TrapHandler for Tested {
    #[cfg(all(feature = "control", feature = "models"))]
    type Context = ();
    #[cfg(not(all(feature = "control", feature = "models")))]
    type Context = <Handler<Board> as TrapHandler>::Context;

    fn start(number: StrandId) -> &'static Self {
        #[cfg(feature = "control")]
        if let Some(strand) = control::strand() {
            return strand;
        }
        let handler = Handler::<Board>::start(number);
        // SAFETY: the two types have the same layout.
        let tested = unsafe { &*ptr::from_ref(handler).cast::<Self>() };
        #[cfg(feature = "faults")]
        // SAFETY: the guest has not started, and its strand is 0.
        unsafe {
            board::bend_table(tested.0.context());
        }
        tested
    }

    fn enter(&'static self) -> Entry {
        #[cfg(feature = "control")]
        if control::strand().is_some() {
            return Entry::first(0);
        }
        let entry = self.0.enter();
        #[cfg(feature = "control")]
        control::begin(self);
        entry
    }

    /// Returns no memory, because QEMU does not translate addresses. With `unbounded`, returns more memory than the guest has.
    fn partition(&self) -> Partition {
        match cfg!(feature = "unbounded") {
            true => Partition { bytes: 1 << 36, ..self.0.partition() },
            false => Partition::NONE,
        }
    }

    #[cfg(all(feature = "control", feature = "models"))]
    fn context(&self) -> &() {
        &()
    }

    #[cfg(not(all(feature = "control", feature = "models")))]
    fn context(&self) -> &Self::Context {
        self.0.context()
    }

    #[cfg(not(all(feature = "control", feature = "models")))]
    fn served(&self) -> ServedFunctions<'static> {
        self.0.served()
    }

    #[cfg(not(all(feature = "control", feature = "models")))]
    fn core_fast(&self, function: u64, arguments: [u64; 3]) -> Option<[u64; 3]> {
        self.0.core_fast(function, arguments)
    }

    fn trap(&self, trap: Trap, registers: &mut Registers) -> ControlFlow<u64> {
        #[cfg(feature = "leaks")]
        leaks::leave_a_mark();
        #[cfg(feature = "control")]
        control::called(trap);
        self.0.trap(trap, registers)
    }

    fn software_trap(&self, number: u8, registers: &mut Registers) {
        #[cfg(feature = "control")]
        if control::serve(number, registers) {
            return;
        }
        #[cfg(feature = "faults")]
        if number == 0xfe {
            tracer::TRACER.set_on(registers.o0 != 0);
        }
        self.0.software_trap(number, registers);
    }

    fn faulted_late(&self, address: Option<PhysicalAddress>) {
        self.0.faulted_late(address);
    }

    fn interrupted(&self) -> ControlFlow<()> {
        self.0.interrupted()
    }

    fn ended(tested: Option<&'static Self>, end: End) -> Entry {
        Handler::ended(tested.map(|tested| &tested.0), end)
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    panicked::<Tested>(info)
}
