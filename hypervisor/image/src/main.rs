//! The [`hypervisor`] as a bootable image for up to 256 strands, on the simulator's machine and on real devices.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

mod events;

use core::panic::PanicInfo;

use events::SharedTracer;
use guest_abi::StrandId;
use hypervisor::{Board, Handler, HasStorage, HypervisorStorage};
use platform::Machine;
use platform::interfaces::Interface;
use platform::memory_map::{LOG, MAILBOX};
use platform::sparc64::{Mmio, StrandRegs, panicked};

/// This image's `Board`: the registers of the processor and its devices.
struct Devices;

static STORAGE: HypervisorStorage<Devices> = HypervisorStorage::new();

impl Board for Devices {
    type Environment = (Mmio, StrandRegs, SharedTracer);

    fn environment(_: Machine) -> Self::Environment {
        // SAFETY: this is a hypervisor with the MMU off. The service uses only device registers, each on the strand that owns it.
        let (bus, registers) = unsafe { (Mmio::new(), StrandRegs::new(hypervisor::cross_call)) };
        (bus, registers, &events::TRACER)
    }

    fn begin(strand: StrandId) {
        events::begin(strand);
    }
}

impl HasStorage for Devices {
    fn storage() -> &'static HypervisorStorage<Self> {
        &STORAGE
    }
}

perfctr_service::sun4v_image!(Handler<Devices>, strands: 256);
platform::sun4v_note!(Interface::Mailbox, const MAILBOX);
platform::sun4v_note!(Interface::Log, const LOG);
platform::sun4v_note!(Interface::Events, sym events::TRACER);

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    panicked::<Handler<Devices>>(info)
}
