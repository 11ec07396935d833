//! The guest's control of its machine and of who it is, for the sweep, and of its counters, for sampling; in no image
//! that is shipped. The guest calls it by software trap 0xfe.

#[cfg(feature = "models")]
use core::arch::asm;
use core::hint::black_box;
use core::ops::ControlFlow;
use core::ptr;

#[cfg(not(feature = "models"))]
use guest_abi::Served;
#[cfg(feature = "memory")]
use guest_abi::trap::VFALLS_GET_PERFREG;
use guest_abi::{Hub, HvError, PerfReg, Registers, StrandId, Trap};
use hv_core::Hypervisor;
use perfctr_service::{PerfCounterService, policy};
use platform::sparc64::{End, Entry, TrapHandler, start_entry};
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
static STRAND: Room<Controlled> = Room::new();
/// The strand that the image began with.
static FIRST: Kept<&Controlled> = Kept::new();
/// The strand that the guest has said it is.
static CALLER: Kept<&Controlled> = Kept::new();

/// The strand of an image whose guest may switch other machines on. Its code is that of the strand itself.
#[repr(transparent)]
struct Controlled(Handler);

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

    fn start(number: StrandId) -> (&'static Self, Entry) {
        if let Some(strand) = CALLER.get().or(FIRST.get()) {
            return (strand, Entry::first(0));
        }
        let (handler, entry) = Handler::start(number);
        // SAFETY: the two types have the same layout.
        let first = unsafe { &*ptr::from_ref(handler).cast() };
        FIRST.set(Some(first));
        (first, entry)
    }

    #[cfg(feature = "models")]
    fn context(&self) -> &() {
        &()
    }

    #[cfg(not(feature = "models"))]
    fn context(&self) -> &Self::Context {
        self.0.context()
    }

    #[cfg(not(feature = "models"))]
    fn served(&self) -> Served<'static> {
        self.0.served()
    }

    #[cfg(not(feature = "models"))]
    fn core_fast(&self, function: u64, arguments: [u64; 3]) -> Option<[u64; 3]> {
        self.0.core_fast(function, arguments)
    }

    fn trap(&self, trap: Trap, registers: &mut Registers) -> ControlFlow<u64> {
        if trap == Trap::Fast {
            SLOW.set(Some(slow_calls() + 1));
        }
        self.0.trap(trap, registers)
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

    fn ended(_: Option<&'static Self>, end: End) -> Entry {
        Handler::ended(None, end)
    }
}

/// How many traps 0x80 have come to Rust.
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
        Control::Hold(register, strand) => hold(register, strand),
        Control::Died(strand) => {
            if let Some(running) = RUNNING.get() {
                let service = &running.hypervisor.services().0;
                if let Some(on) = CALLER.get() {
                    service.strand_died(on.0.strand.caller().strand, strand);
                }
            }
        }
        Control::Trace(on) => {
            recorder::recorder().set_on(on);
            if let Some(running) = RUNNING.get() {
                running.hypervisor.services().0.trace_turned();
            }
        }
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
        let handler = Handler {
            strand: running.hypervisor.strand(caller),
            service: &running.hypervisor.services().0,
        };
        // SAFETY: what was there was used by the one that has just been emptied, and by the fast path, whose context is renewed.
        CALLER.set(Some(unsafe { STRAND.put(Controlled(handler)) }));
        board::become_strand(strand);
    }
    renew_context();
}

/// What the hypervisor was in the middle of an access.
#[cfg(feature = "memory")]
static HOLDING: Room<Machine> = Room::new();

/// Lets a strand make a call, and returns to the middle of its access: the strand never ends it.
#[cfg(feature = "memory")]
fn hold(register: PerfReg, strand: StrandId) {
    let Some(running) = RUNNING.get() else { return };
    let Some(caller) = caller(&running.configuration, strand) else {
        return;
    };
    board::with_accesses(
        // SAFETY: nobody uses this copy.
        || unsafe { HOLDING.copy(&HYPERVISOR) },
        || {
            let mut registers = Registers::call(VFALLS_GET_PERFREG, [register.id(), 0, 0, 0, 0]);
            running.hypervisor.strand(caller).fast_trap(&mut registers);
        },
    );
    // SAFETY: the bytes are those of this hypervisor, and this strand, the only one, is in no method of it.
    unsafe { HYPERVISOR.copy(&HOLDING) };
}

/// Models have hubs that are busy.
#[cfg(not(feature = "memory"))]
fn hold(_: PerfReg, _: StrandId) {}

/// Gives the fast path the context of the strand that the guest is.
fn renew_context() {
    // SAFETY: this is the block of this strand.
    unsafe { start_entry::<Controlled>(&SUN4V_BLOCKS[0], 0) };
}

/// Changes the counters of the strand that calls. Events that leave an overflow trap pending raise it: the processor takes
/// it as soon as it is the guest's again, and the guest's PSTATE.IE and PIL let it.
#[cfg(feature = "models")]
fn apply_to_counters(counters: Counters) -> Option<u64> {
    let running = RUNNING.get()?;
    let devices = running.hypervisor.services().0.bus();
    let mut unit = devices.strand_unit(CALLER.get()?.0.strand.caller().strand);
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
