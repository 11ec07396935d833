#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use core::hint::spin_loop;
use core::ops::ControlFlow::{self, Break, Continue};
use core::panic::PanicInfo;

use guest_abi::{HvError, Registers, Served, StrandId, Trap};
use hv_core::{After, Caller, ConsoleOutput, Embedder, GuestId, Hypervisor, Strand};
use perfctr_service::{Grant, GuestConfig, PerfCounterContext, PerfCounterService};
use platform::sparc64::{End, Entry, Mmio, StrandRegs, TrapHandler, panicked};
use platform::{Machine, Model, PhysicalAddress};
use spin::{Mutex, MutexGuard};

type Board = (Mmio, StrandRegs);
type Services = (PerfCounterService<Board>,);

// SAFETY: the image runs in hyperprivileged mode with the MMU off, and its one strand accesses only device registers.
const BOARD: Board = unsafe { (Mmio::new(), StrandRegs::new(|_| {})) };
static HYPERVISOR: Hypervisor<Services, Consoles> =
    Hypervisor::new((PerfCounterService::new(BOARD),), Consoles);
static HANDLER: Mutex<Option<Handler>> = Mutex::new(None);

/// The console of the guest. This example does not implement it.
struct Consoles;

impl Embedder for Consoles {
    // The image has no functions other than those of the services.
    const FAST: Option<&'static [u64]> = Some(&[]);
    const CORE: Option<&'static [u64]> = Some(&[]);

    fn console(&self, _: Caller, _: ConsoleOutput) -> Result<(), HvError> {
        Ok(())
    }
}

struct Handler {
    strand: Strand<'static, Services, Consoles>,
    service: &'static PerfCounterService<Board>,
}

perfctr_service::sun4v_image!(Handler);

impl TrapHandler for Handler {
    type Context = PerfCounterContext<'static, Board>;

    fn start(strand: StrandId) -> &'static Self {
        let Some(guest) = GuestId::new(0) else { stop() };
        let Ok(machine) = Machine::new(Model::Batoka, 4) else { stop() };
        let guests = [GuestConfig::new([strand].into_iter().collect(), Grant::ALL)];
        let (service,) = HYPERVISOR.services();
        let Ok(()) = service.configure(machine, &guests) else { stop() };
        let Ok(strand) = HYPERVISOR.strand(Caller { guest, strand }) else { stop() };
        // The lock is never released: the handler stays. (`spin::Once` contains a panic.)
        MutexGuard::leak(HANDLER.lock()).insert(Handler { strand, service })
    }

    /// Enters the guest at the address where the firmware has put it.
    fn enter(&'static self) -> Entry {
        Entry::first(0x8000_0000)
    }

    fn context(&self) -> &Self::Context {
        &self.strand.contexts().0
    }

    fn served(&self) -> Served<'static> {
        self.strand.served()
    }

    fn core_fast(&self, function: u64, arguments: [u64; 3]) -> Option<[u64; 3]> {
        self.strand.core_fast(function, arguments)
    }

    fn trap(&self, trap: Trap, registers: &mut Registers) -> ControlFlow<u64> {
        match trap {
            Trap::Fast => self.strand.fast_trap(registers),
            Trap::Core => {
                if let After::Exit(code) = self.strand.core_slow(registers) {
                    return Break(code);
                }
            }
        }
        Continue(())
    }

    /// Takes a unit out of service if a store to it fails after the call has ended.
    fn faulted_late(&self, address: Option<PhysicalAddress>) {
        let strand = self.strand.caller().strand;
        let _ = address.and_then(|address| self.service.faulted_late(strand, address));
    }

    /// In a real image, this function reports why the strand has ended.
    fn ended(_: Option<&'static Self>, _: End) -> Entry {
        stop()
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    panicked::<Handler>(info)
}

fn stop() -> ! {
    loop {
        spin_loop();
    }
}
