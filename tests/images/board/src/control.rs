//! Serves a test guest's control calls, which it makes with software trap 0xfe. No shipped image serves them. In the sweep, where the host
//! and the image answer the same calls, the guest uses them to control its machine and its strand. In the sampling check, the guest uses
//! them to control its counters.

#[cfg(feature = "models")]
use core::arch::asm;
use core::hint::black_box;
use core::ptr;

use conform::control::{Control, FUNCTION, TRAP};
use conform::counters::Counters;
use conform::modelled::{Modelled, caller};
use conform::{Configuration, System};
#[cfg(feature = "memory")]
use guest_abi::trap::VFALLS_GET_PERFREG;
use guest_abi::{Hub, HvError, PerfReg, Registers, StrandId, Trap};
use hypervisor::Guests;
use hypervisor::{
    BoardHypervisor, GuestLayout, Handler, Layout, Services, TimesOfDay, assemble, configure,
};
use perfctr_service::{GuestConfig, policy};
use platform::sparc64::{Partition, start_entry};

use crate::static_cell::StaticCell;
use crate::static_slot::StaticSlot;
use crate::tracer::{SharedTracer, TRACER};
use crate::{Board, SUN4V_BLOCKS, Tested, board};

type Machine = BoardHypervisor<Board>;

/// The machine that the guest has switched on.
#[derive(Clone, Copy)]
struct Running {
    hypervisor: &'static Machine,
    configuration: Configuration,
    busy: [bool; Hub::ALL.len()],
}

static HYPERVISOR: StaticSlot<Machine> = StaticSlot::new();
static RUNNING: StaticCell<Running> = StaticCell::new();
static LAYOUT: StaticSlot<Layout> = StaticSlot::new();
static STRAND: StaticSlot<Tested> = StaticSlot::new();
/// The strand on which the image started.
static FIRST: StaticCell<&Tested> = StaticCell::new();
/// The strand that the guest has named as its own.
static CALLER: StaticCell<&Tested> = StaticCell::new();

/// Returns the strand that the guest calls from, or `None` before the image has started.
pub fn strand() -> Option<&'static Tested> {
    CALLER.get().or(FIRST.get())
}

pub fn begin(first: &'static Tested) {
    FIRST.set(Some(first));
}

/// Counts a call that takes the slow path, that is, one that reaches Rust code.
pub fn called(trap: Trap) {
    if trap == Trap::Fast {
        SLOW.set(Some(slow_calls() + 1));
    }
}

/// Serves a software trap if it is a control call.
pub fn serve(number: u8, registers: &mut Registers) -> bool {
    if number != TRAP || registers.o5 != FUNCTION {
        return false;
    }
    let control = ptr::with_exposed_provenance::<Control>(registers.o0 as usize);
    // SAFETY: the guest has put a control at this address. The hypervisor reaches the memory because the MMU is off.
    registers.o0 = match apply(unsafe { control.read() }) {
        Ok(value) => {
            registers.o1 = value.unwrap_or(registers.o1);
            0
        }
        Err(error) => error.number(),
    };
    true
}

/// The number of calls by trap 0x80 that have reached Rust code.
static SLOW: StaticCell<u64> = StaticCell::new();

fn slow_calls() -> u64 {
    SLOW.get().unwrap_or(0)
}

/// Serves a control call. Returns the value for %o1, if the call has one. A call that fails changes nothing.
fn apply(control: Control) -> Result<Option<u64>, HvError> {
    match control {
        Control::PowerOn(configuration) => power_on(configuration)?,
        Control::Caller(strand) => set_caller(strand),
        Control::Recurse(depth) => return Ok(Some(recurse(depth))),
        Control::Counters(counters) => return Ok(apply_to_counters(counters)),
        Control::State => return Ok(RUNNING.get().map(|running| modelled(running).state())),
        Control::Counts => return Ok(RUNNING.get().map(|running| modelled(running).counts())),
        Control::SlowCalls => return Ok(Some(slow_calls())),
        Control::Hold(register, strand) => hold(register, strand),
        Control::Clock => {
            #[cfg(feature = "memory")]
            board::start_clock();
        }
        Control::Died(strand) => {
            if let (Some(running), Some(on)) = (RUNNING.get(), CALLER.get()) {
                running.hypervisor.services().0.strand_died(on.0.caller().strand, strand);
            }
        }
        Control::Trace(on) => {
            TRACER.set_on(on);
            if let Some(running) = RUNNING.get() {
                running.hypervisor.services().0.tracer_switched();
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

fn modelled(running: Running) -> Modelled<'static, Services<Board>, Guests<Board>, SharedTracer> {
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
    let layout = Layout {
        machine,
        guests: guests.iter().map(guest_layout).collect(),
        has_description: false,
        frequency: 0,
        days: TimesOfDay::new(0),
        clocks: 0,
    };
    // SAFETY: only the old hypervisor, which is replaced below, uses the old layout. The old hypervisor does not run between here and its
    // replacement.
    let layout = unsafe { LAYOUT.put(layout) };
    let environment = <Board as hypervisor::Board>::environment(machine);
    // SAFETY: the old hypervisor was used only by `CALLER` and `RUNNING`, which are empty now, and by traps that have ended.
    let hypervisor = unsafe { HYPERVISOR.put(assemble(layout, environment)) };
    if configure(hypervisor, layout).is_ok() {
        RUNNING.set(Some(Running { hypervisor, configuration, busy: [false; Hub::ALL.len()] }));
    }
    Ok(())
}

/// Returns a guest without memory, because QEMU does not translate addresses.
fn guest_layout(config: &GuestConfig) -> GuestLayout {
    GuestLayout { config: *config, memory: Partition::NONE, entry: 0, name: None }
}

fn set_caller(strand: StrandId) {
    CALLER.set(None);
    if let Some(running) = RUNNING.get()
        && let Some(caller) = caller(&running.configuration, strand)
    {
        // `Handler::new` cannot fail, because the configuration has the strand.
        let Ok(handler) = Handler::new(running.hypervisor, caller) else { return };
        // SAFETY: the old strand was used only by `CALLER`, which is empty now, and by the fast path, whose context is renewed.
        CALLER.set(Some(unsafe { STRAND.put(Tested(handler)) }));
        board::become_strand(strand);
    }
    renew_context();
}

/// A copy of the hypervisor that is taken in the middle of an access.
#[cfg(feature = "memory")]
static HOLDING: StaticSlot<Machine> = StaticSlot::new();

/// Leaves a strand's call unfinished. Makes the call, saves the hypervisor's state during the call's access, and restores that state after
/// the call has returned. In that state, the call is still in progress.
#[cfg(feature = "memory")]
fn hold(register: PerfReg, strand: StrandId) {
    let Some(running) = RUNNING.get() else { return };
    let Some(caller) = caller(&running.configuration, strand) else {
        return;
    };
    board::with_accesses(
        // SAFETY: there is no other use of this copy.
        || unsafe { HOLDING.copy(&HYPERVISOR) },
        || {
            let mut registers = Registers::call(VFALLS_GET_PERFREG, [register.id(), 0, 0, 0, 0]);
            if let Ok(strand) = running.hypervisor.strand(caller) {
                strand.fast_trap(&mut registers);
            }
        },
    );
    // SAFETY: the copy is of this hypervisor. The only strand is not executing one of its methods.
    unsafe { HYPERVISOR.copy(&HOLDING) };
}

/// Does nothing. On this board, a hub model can be made busy directly, so no strand has to hold the hub.
#[cfg(not(feature = "memory"))]
fn hold(_: PerfReg, _: StrandId) {}

/// Gives the calling strand's context to the fast path.
fn renew_context() {
    // SAFETY: the block belongs to the only strand.
    unsafe { start_entry::<Tested>(&SUN4V_BLOCKS[0], 0) };
}

/// Changes the calling strand's counters. If events leave an overflow trap pending, the processor takes the trap as soon as the guest has
/// continued, and the guest's PSTATE.IE and PIL permit the trap.
#[cfg(feature = "models")]
fn apply_to_counters(counters: Counters) -> Option<u64> {
    let running = RUNNING.get()?;
    let devices = running.hypervisor.services().0.bus();
    let mut unit = devices.strand_unit(CALLER.get()?.0.caller().strand);
    let value = counters.apply(&mut unit);
    if matches!(counters, Counters::Happens(..)) && unit.trap_requested() {
        raise_overflow_trap();
    }
    value
}

/// Does nothing, because this board has no counter models.
#[cfg(not(feature = "models"))]
fn apply_to_counters(_: Counters) -> Option<u64> {
    None
}

/// Sets bit 15 of %softint (interrupt_level_15, trap type 0x4f), as the processor does on a counter overflow. The guest clears the bit.
#[cfg(feature = "models")]
fn raise_overflow_trap() {
    // SAFETY: sets only this bit. The hypervisor itself takes no interrupts of this kind.
    unsafe {
        asm!("wr {bit}, 0, %asr20", bit = in(reg) 1_u64 << 15, options(nostack, preserves_flags));
    }
}

/// Calls itself `depth` times. Each nested call needs another register window.
#[inline(never)]
fn recurse(depth: u64) -> u64 {
    match black_box(depth) {
        0 => 0,
        depth => black_box(recurse(depth - 1)) + 1,
    }
}
