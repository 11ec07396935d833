//! The hypervisor of `hypervisor/` with one defect. Every call takes the slow path, and the defect acts before and after it.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

mod defect;

use core::ops::ControlFlow;
use core::panic::PanicInfo;
use core::ptr;

use guest_abi::{Registers, StrandId, Trap};
use hypervisor::{Board, Handler, HasStorage, HypervisorStorage};
use platform::interfaces::Interface;
use platform::memory_map::{LOG, MAILBOX};
use platform::sparc64::{End, Entry, Mmio, Partition, StrandRegs, TrapHandler, panicked};
use platform::{Machine, PhysicalAddress};

use defect::Defect;

struct Devices;

static STORAGE: HypervisorStorage<Devices> = HypervisorStorage::new();

impl Board for Devices {
    type Environment = (Mmio, StrandRegs);

    fn environment(_: Machine) -> Self::Environment {
        // SAFETY: this is a hypervisor with the MMU off, which accesses only device registers.
        unsafe { (Mmio::new(), StrandRegs::new(hypervisor::cross_call)) }
    }
}

impl HasStorage for Devices {
    fn storage() -> &'static HypervisorStorage<Self> {
        &STORAGE
    }
}

#[repr(transparent)]
struct Defective(Handler<Devices>);

platform::sun4v_image!(Defective, strands: 256);
platform::sun4v_note!(Interface::Mailbox, const MAILBOX);
platform::sun4v_note!(Interface::Log, const LOG);

impl TrapHandler for Defective {
    type Context = ();

    fn start(strand: StrandId) -> &'static Self {
        let handler = Handler::<Devices>::start(strand);
        // SAFETY: the two types have the same layout.
        unsafe { &*ptr::from_ref(handler).cast::<Self>() }
    }

    fn enter(&'static self) -> Entry {
        self.0.enter()
    }

    fn partition(&self) -> Partition {
        self.0.partition()
    }

    fn context(&self) -> &() {
        &()
    }

    fn trap(&self, trap: Trap, registers: &mut Registers) -> ControlFlow<u64> {
        let defect = Defect::of_image();
        let before = *registers;
        if defect.refuses(&self.0, trap, registers) {
            return ControlFlow::Continue(());
        }
        let flow = self.0.trap(trap, registers);
        defect.acts(&self.0, trap, &before, registers);
        flow
    }

    fn software_trap(&self, number: u8, registers: &mut Registers) {
        self.0.software_trap(number, registers);
    }

    fn faulted_late(&self, address: Option<PhysicalAddress>) {
        self.0.faulted_late(address);
    }

    fn interrupted(&self) -> ControlFlow<()> {
        Defect::of_image().in_scrub(&self.0, || self.0.interrupted())
    }

    fn ended(defective: Option<&'static Self>, end: End) -> Entry {
        Handler::ended(defective.map(|defective| &defective.0), end)
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    panicked::<Defective>(info)
}
