//! The guest's control of its machine and of who it is, for the sweep, and of its counters, for sampling; in no image
//! that is shipped.

use core::arch::asm;
use core::cell::{Cell, UnsafeCell};
use core::hint::black_box;
use core::mem::MaybeUninit;
use core::ops::ControlFlow::{self, Break, Continue};

use guest_abi::{Hub, HvError, Registers, StrandId, Trap};
use hv_core::{After, Caller, Hypervisor};
use perfctr_service::{PerfCounterService, policy};
use platform::models::Devices;
use platform::sparc64::{End, TrapHandler};
use spin::Mutex;
use sweep::control::{Control, FUNCTION};
use sweep::counters::Counters;
use sweep::modelled::{Modelled, Service, caller};
use sweep::{Configuration, System};

use crate::Handler;
use crate::console::Escaped;

/// A place for a value that is replaced while the image runs.
struct Room<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: the image runs on one strand.
unsafe impl<T> Sync for Room<T> {}

impl<T> Room<T> {
    const fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// Replaces the value. The one before is not dropped.
    ///
    /// # Safety
    /// Nobody uses what an earlier call returned any more.
    unsafe fn put(&'static self, value: T) -> &'static T {
        // SAFETY: the caller promises that this is the only reference.
        unsafe { (*self.0.get()).write(value) }
    }
}

/// The machine that the guest has switched on.
#[derive(Clone, Copy)]
struct Running {
    hypervisor: &'static Hypervisor<(Service<'static>,), Escaped>,
    configuration: Configuration,
    busy: [bool; Hub::ALL.len()],
}

/// A value that is kept from trap to trap.
struct Kept<T>(Cell<Option<T>>);

// SAFETY: the image runs on one strand.
unsafe impl<T> Sync for Kept<T> {}

static DEVICES: Room<Devices> = Room::new();
static HYPERVISOR: Room<Hypervisor<(Service<'static>,), Escaped>> = Room::new();
static RUNNING: Kept<Running> = Kept(Cell::new(None));
static CALLER: Kept<(&Hypervisor<(Service<'static>,), Escaped>, Caller)> = Kept(Cell::new(None));

/// The strand of an image whose guest may switch other machines on. It has no fast path, because leaf functions would serve the
/// strand that the image began with.
struct Controlled(&'static Handler);

static CONTROLLED: Mutex<Option<Controlled>> = Mutex::new(None);

platform::sun4v_image!(Controlled);

impl TrapHandler for Controlled {
    type Context = ();

    fn start() -> (&'static Self, u64) {
        let (handler, entry) = Handler::start();
        (crate::keep(&CONTROLLED, Self(handler)), entry)
    }

    fn context(&self) -> &() {
        &()
    }

    /// Serves changes of the machine, and all traps once the guest has switched a machine on and said which strand it is. The
    /// strand that the image began with serves all other traps.
    fn trap(&self, trap: Trap, registers: &mut Registers) -> ControlFlow<u64> {
        if trap == Trap::Fast && registers.o5 == FUNCTION {
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
            return Continue(());
        }
        let Some((hypervisor, caller)) = CALLER.0.get() else {
            return self.0.trap(trap, registers);
        };
        let strand = hypervisor.strand(caller);
        match trap {
            Trap::Fast => strand.fast_trap(registers),
            Trap::Core => {
                if let After::Exit(code) = strand.core_trap(registers) {
                    return Break(code);
                }
            }
        }
        Continue(())
    }

    fn ended(end: End) -> ! {
        Handler::ended(end)
    }
}

/// Serves a control call. Returns its value in %o1, if it has one. A call that fails changes nothing.
fn apply(control: Control) -> Result<Option<u64>, HvError> {
    match control {
        Control::PowerOn(configuration) => power_on(configuration)?,
        Control::Caller(strand) => be(strand),
        Control::Recurse(depth) => return Ok(Some(recurse(depth))),
        Control::Counters(counters) => return Ok(apply_to_counters(counters)),
        Control::State => return Ok(RUNNING.0.get().map(|running| modelled(running).state())),
        Control::Change(change) => {
            if let Some(running) = RUNNING.0.get() {
                let mut machine = modelled(running);
                machine.change(change);
                let busy = machine.busy;
                RUNNING.0.set(Some(Running { busy, ..running }));
            }
        }
    }
    Ok(None)
}

fn modelled(running: Running) -> Modelled<'static, Escaped> {
    Modelled {
        hypervisor: running.hypervisor,
        configuration: running.configuration,
        busy: running.busy,
    }
}

fn power_on(configuration: Configuration) -> Result<(), HvError> {
    let Configuration { machine, guests } = configuration;
    policy::check(machine, &guests).map_err(|_| HvError::Invalid)?;
    CALLER.0.set(None);
    RUNNING.0.set(None);
    // SAFETY: what was there is used by the two that have just been emptied, and by the trap that has ended.
    let devices = unsafe { DEVICES.put(Devices::new(machine)) };
    devices.start_caches();
    if let Ok(service) = PerfCounterService::new(machine, (devices, devices), &guests) {
        // SAFETY: as above.
        let hypervisor = unsafe { HYPERVISOR.put(Hypervisor::new((service,), Escaped)) };
        RUNNING.0.set(Some(Running {
            hypervisor,
            configuration,
            busy: [false; Hub::ALL.len()],
        }));
    }
    Ok(())
}

fn be(strand: StrandId) {
    let running = RUNNING.0.get();
    CALLER.0.set(
        running.and_then(|running| {
            Some((running.hypervisor, caller(&running.configuration, strand)?))
        }),
    );
}

/// Changes the counters of the strand that calls. Events that leave an overflow trap pending raise it: the processor takes
/// it as soon as it is the guest's again, and the guest's PSTATE.IE and PIL let it.
fn apply_to_counters(counters: Counters) -> Option<u64> {
    let (hypervisor, caller) = CALLER.0.get()?;
    let devices = hypervisor.services().0.bus();
    let mut unit = devices.strand_unit(caller.strand);
    let value = counters.apply(&mut unit);
    if matches!(counters, Counters::Happens(..)) && unit.trap_requested() {
        raise_overflow_trap();
    }
    value
}

/// Bit 15 of %softint: interrupt_level_15, trap type 0x4f, by which the processor says that a counter has overflowed. The
/// guest clears it.
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
