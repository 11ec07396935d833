//! A sun4v hypervisor: one strand, one guest, the performance counter service. For QEMU's niagara machine.
//!
//! Two words at the end of its memory say which machine it runs on and where the guest begins: see [`parameters`].
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

mod board;
mod console;
#[cfg(feature = "control")]
mod control;
mod kept;
#[cfg(feature = "faults")]
mod late;
#[cfg(feature = "leaks")]
mod leaks;
#[cfg(feature = "memory")]
mod memory;
mod parameters;
mod recorder;
#[cfg(any(feature = "models", feature = "control"))]
mod room;

use core::fmt::Write;
use core::hint::spin_loop;
use core::ops::ControlFlow::{self, Break, Continue};
use core::panic::PanicInfo;

use guest_abi::{Registers, Served, StrandId, Trap};
use hv_core::{After, Caller, GuestId, Hypervisor, Strand};
#[cfg(feature = "faults")]
use perfctr_service::Unit;
use perfctr_service::{Grant, GuestConfig, PerfCounterContext, PerfCounterService};
use platform::PhysicalAddress;
use platform::sparc64::{End, Entry, TrapHandler, panicked};
use spin::{Mutex, MutexGuard};

use board::{Board, Registers as StrandRegisters};
use console::{Console, Escaped};
use recorder::Recorder;

type Environment = (Board, StrandRegisters, Recorder);
type Service = PerfCounterService<Environment>;

static HYPERVISOR: Mutex<Option<Hypervisor<(Service,), Escaped, Recorder>>> = Mutex::new(None);
static HANDLER: Mutex<Option<Handler>> = Mutex::new(None);

/// The strand that the guest runs on.
struct Handler {
    strand: Strand<'static, (Service,), Escaped, Recorder>,
    service: &'static Service,
}

#[cfg(not(feature = "control"))]
perfctr_service::sun4v_image!(Handler, claims: [0x84, 0xfe]);

impl TrapHandler for Handler {
    type Context = PerfCounterContext<'static, Environment>;

    fn start(strand: StrandId) -> (&'static Self, Entry) {
        let parameters = parameters::read();
        let Some(guest) = GuestId::new(0) else {
            ended(console::NOT_STARTED)
        };
        let guests = [GuestConfig {
            strands: [strand].into_iter().collect(),
            grant: Grant::ALL,
            compatible: false,
        }];
        let (bus, registers) = board::new(parameters.machine);
        let recorder = recorder::recorder();
        let service =
            PerfCounterService::new(parameters.machine, (bus, registers, recorder), &guests);
        let service = match service {
            Ok(service) => service,
            Err(error) => {
                // There is no other place to report to.
                let _ = writeln!(Console, "hypervisor: {error}");
                ended(console::NOT_STARTED)
            }
        };
        let hypervisor = keep(
            &HYPERVISOR,
            Hypervisor::with_trace((service,), Escaped, recorder),
        );
        let (service,) = hypervisor.services();
        let strand = hypervisor.strand(Caller { guest, strand });
        #[cfg(feature = "faults")]
        // SAFETY: the guest has not begun, and its strand is 0.
        unsafe {
            board::bend_table(&strand.contexts().0);
        }
        let handler = Handler { strand, service };
        (keep(&HANDLER, handler), Entry::first(parameters.entry))
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
        #[cfg(feature = "leaks")]
        leaks::leave_a_mark();
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

    fn software_trap(&self, number: u8, registers: &mut Registers) {
        #[cfg(feature = "faults")]
        if number == 0xfe {
            recorder::recorder().set_on(registers.o0 != 0);
        }
        #[cfg(feature = "faults")]
        if number == 0x84 {
            for unit in Unit::all() {
                // Those that the machine does not have stay out.
                let _ = self
                    .service
                    .return_to_service(self.strand.caller().strand, unit);
            }
            late::prepare(registers);
        }
        self.strand.software_trap(number, registers);
    }

    #[cfg(feature = "faults")]
    fn faulted_store(&self, _: u64) -> Option<PhysicalAddress> {
        late::reported()
    }

    fn faulted_late(&self, address: PhysicalAddress) -> bool {
        #[cfg(feature = "faults")]
        if address == late::TRAPS {
            late::trap();
        }
        let strand = self.strand.caller().strand;
        self.service.faulted_late(strand, address).is_some()
    }

    fn ended(_: Option<&'static Self>, end: End) -> Entry {
        // If the console does not work, there is no other place to report to.
        let code = match end {
            End::Exit(code) => code,
            End::Trap(trap) => {
                let whose = match trap.is_in_hypervisor() {
                    true => "hypervisor",
                    false => "guest",
                };
                let _ = write!(Console, "{whose}: {trap}");
                console::TRAPPED
            }
            End::Interrupted => console::INTERRUPTED,
            End::Panic(line) => {
                let _ = writeln!(Console, "hypervisor: panic in line {line}");
                console::PANICKED
            }
        };
        ended(code)
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    panicked::<Handler>(info)
}

/// Stores a value that is never dropped. The lock is never released, so that a place is used once. (`spin::Once` can panic,
/// and this image has no panic machinery.)
fn keep<T>(place: &'static Mutex<Option<T>>, value: T) -> &'static T {
    MutexGuard::leak(place.lock()).insert(value)
}

/// Reports to the program that runs the machine that the guest has ended, and waits.
fn ended(code: u64) -> ! {
    console::end(code);
    loop {
        spin_loop();
    }
}
