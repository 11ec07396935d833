//! The guest's control of its machine and of who it is, for the sweep, and of its counters, for sampling; in no image
//! that is shipped. The guest calls it by software trap 0xfe.

#[cfg(feature = "models")]
use core::arch::asm;
use core::hint::black_box;
use core::ops::ControlFlow::{self, Break, Continue};

use guest_abi::{Hub, HvError, Registers, StrandId, Trap};
use hv_core::{After, Hypervisor, Strand};
use perfctr_service::{PerfCounterService, policy};
use platform::sparc64::{End, TrapHandler, start_entry};
use spin::Mutex;
use sweep::control::{Control, FUNCTION, TRAP};
use sweep::counters::Counters;
use sweep::modelled::{Modelled, caller};
use sweep::{Configuration, System};

use crate::console::Escaped;
use crate::kept::Kept;
use crate::recorder::{self, Recorder};
use crate::room::Room;
use crate::{Environment, Handler, Service, board};

type Machine = Hypervisor<(Service,), Escaped, Recorder>;

/// The machine that the guest has switched on.
#[derive(Clone, Copy)]
struct Running {
    hypervisor: &'static Machine,
    configuration: Configuration,
    busy: [bool; Hub::ALL.len()],
}

static HYPERVISOR: Room<Machine> = Room::new();
static RUNNING: Kept<Running> = Kept::new();
static STRAND: Room<Strand<'static, (Service,), Escaped, Recorder>> = Room::new();
/// The strand that the guest has said it is.
static CALLER: Kept<&Strand<'static, (Service,), Escaped, Recorder>> = Kept::new();

/// The strand of an image whose guest may switch other machines on.
struct Controlled(&'static Handler);

static CONTROLLED: Mutex<Option<Controlled>> = Mutex::new(None);
static STARTED: Kept<&Controlled> = Kept::new();

// On models every call takes the slow path.
#[cfg(feature = "models")]
platform::sun4v_image!(Controlled, claims: [0x84, 0xfe]);
#[cfg(not(feature = "models"))]
perfctr_service::sun4v_image!(Controlled, claims: [0x84, 0xfe]);

impl TrapHandler for Controlled {
    #[cfg(feature = "models")]
    type Context = ();
    #[cfg(not(feature = "models"))]
    type Context = <Handler as TrapHandler>::Context;

    fn start() -> (&'static Self, u64) {
        if let Some(controlled) = STARTED.get() {
            return (controlled, 0);
        }
        let (handler, entry) = Handler::start();
        let controlled = crate::keep(&CONTROLLED, Self(handler));
        STARTED.set(Some(controlled));
        (controlled, entry)
    }

    #[cfg(feature = "models")]
    fn context(&self) -> &() {
        &()
    }

    #[cfg(not(feature = "models"))]
    fn context(&self) -> &Self::Context {
        match CALLER.get() {
            Some(strand) => &strand.contexts().0,
            None => self.0.context(),
        }
    }

    /// Serves all traps once the guest has switched a machine on and said which strand it is. The strand that the image began with
    /// serves all others.
    fn trap(&self, trap: Trap, registers: &mut Registers) -> ControlFlow<u64> {
        let Some(strand) = CALLER.get() else {
            return self.0.trap(trap, registers);
        };
        match trap {
            Trap::Fast => {
                SLOW.set(Some(slow_calls() + 1));
                strand.fast_trap(registers);
            }
            Trap::Core => {
                if let After::Exit(code) = strand.core_trap(registers) {
                    return Break(code);
                }
            }
        }
        Continue(())
    }

    fn software_trap(&self, number: u8, registers: &mut Registers) {
        if number != TRAP || registers.o5 != FUNCTION {
            return self.0.software_trap(number, registers);
        }
        let applied = match Control::from_registers(registers) {
            Some(control) => apply(control),
            None => Err(HvError::Invalid),
        };
        registers.o0 = match applied {
            Ok(value) => {
                registers.o1 = value.unwrap_or(registers.o1);
                0
            }
            Err(error) => error.number(),
        };
    }

    fn ended(end: End) -> ! {
        Handler::ended(end)
    }
}

/// How many traps 0x80 of the machines that the guest has switched on have come to Rust.
static SLOW: Kept<u64> = Kept::new();

fn slow_calls() -> u64 {
    SLOW.get().unwrap_or(0)
}

/// Serves a control call. Returns its value in %o1, if it has one. A call that fails changes nothing.
fn apply(control: Control) -> Result<Option<u64>, HvError> {
    match control {
        Control::PowerOn(configuration) => power_on(configuration)?,
        Control::Caller(strand) => be(strand),
        Control::Recurse(depth) => return Ok(Some(recurse(depth))),
        Control::Counters(counters) => return Ok(apply_to_counters(counters)),
        Control::State => return Ok(RUNNING.get().map(|running| modelled(running).state())),
        Control::Counts => return Ok(RUNNING.get().map(|running| modelled(running).counts())),
        Control::SlowCalls => return Ok(Some(slow_calls())),
        Control::Change(change) => {
            if let Some(running) = RUNNING.get() {
                let mut machine = modelled(running);
                machine.change(change);
                let busy = machine.busy;
                RUNNING.set(Some(Running { busy, ..running }));
            }
        }
    }
    Ok(None)
}

fn modelled(running: Running) -> Modelled<'static, Escaped, Environment, Recorder> {
    Modelled {
        hypervisor: running.hypervisor,
        configuration: running.configuration,
        busy: running.busy,
    }
}

fn power_on(configuration: Configuration) -> Result<(), HvError> {
    let Configuration { machine, guests } = configuration;
    policy::check(machine, &guests).map_err(|_| HvError::Invalid)?;
    CALLER.set(None);
    RUNNING.set(None);
    renew_context();
    let recorder = recorder::recorder();
    let (bus, registers) = board::new(machine);
    if let Ok(service) = PerfCounterService::new(machine, (bus, registers, recorder), &guests) {
        let hypervisor = Hypervisor::with_trace((service,), Escaped, recorder);
        // SAFETY: what was there is used by the two that have just been emptied, and by the trap that has ended.
        let hypervisor = unsafe { HYPERVISOR.put(hypervisor) };
        RUNNING.set(Some(Running {
            hypervisor,
            configuration,
            busy: [false; Hub::ALL.len()],
        }));
    }
    Ok(())
}

fn be(strand: StrandId) {
    CALLER.set(None);
    if let Some(running) = RUNNING.get()
        && let Some(caller) = caller(&running.configuration, strand)
    {
        // SAFETY: what was there was used by the one that has just been emptied, and by the fast path, whose context is renewed.
        CALLER.set(Some(unsafe {
            STRAND.put(running.hypervisor.strand(caller))
        }));
        board::become_strand(strand);
    }
    renew_context();
}

/// Gives the fast path the context of the strand that the guest is.
fn renew_context() {
    // SAFETY: this is the block of this strand.
    unsafe { start_entry::<Controlled>(&SUN4V_BLOCK) };
}

/// Changes the counters of the strand that calls. Events that leave an overflow trap pending raise it: the processor takes
/// it as soon as it is the guest's again, and the guest's PSTATE.IE and PIL let it.
#[cfg(feature = "models")]
fn apply_to_counters(counters: Counters) -> Option<u64> {
    let running = RUNNING.get()?;
    let devices = running.hypervisor.services().0.bus();
    let mut unit = devices.strand_unit(CALLER.get()?.caller().strand);
    let value = counters.apply(&mut unit);
    if matches!(counters, Counters::Happens(..)) && unit.trap_requested() {
        raise_overflow_trap();
    }
    value
}

/// There are no models of them.
#[cfg(not(feature = "models"))]
fn apply_to_counters(_: Counters) -> Option<u64> {
    None
}

/// Bit 15 of %softint: interrupt_level_15, trap type 0x4f, by which the processor says that a counter has overflowed. The
/// guest clears it.
#[cfg(feature = "models")]
fn raise_overflow_trap() {
    // SAFETY: sets this bit and does nothing else. The hypervisor itself takes no such interrupts.
    unsafe {
        asm!("wr {bit}, 0, %asr20", bit = in(reg) 1_u64 << 15, options(nostack, preserves_flags));
    }
}

/// Needs one register window more than a call of one level less.
#[inline(never)]
fn recurse(depth: u64) -> u64 {
    match black_box(depth) {
        0 => 0,
        depth => black_box(recurse(depth - 1)) + 1,
    }
}
