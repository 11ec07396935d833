//! Assembly functions that Rust code calls, the entry to the guest, and the spills and fills of the hypervisor's windows.

use simulator::interpreter::instruction::{ControlRegister, Operand, Register};
use simulator::interpreter::{Instruction, Strand, TrapFrame, WindowState};

use super::call::{self, G6, Guest, O1, SingleInstruction};
use super::scene::Machine;
use super::state::{DEVICE, Symbolic, part};
use super::strands::{
    self, INS, LOCALS, O2, OUTS, STORE_ERROR, WordPairs, compare_effects, compare_in_guest,
    compare_in_hypervisor, copy_g7, eight, level, take,
};
use super::table;
use super::trapped::{self, Decision, Trapped};
use super::world::{Effect, register, register_at};

/// The trap type of a failed access (data_access_error).
const ACCESS_ERROR: u16 = 0x32;
/// The status that a device access function returns for a failed access. It returns 0 otherwise.
const FAILED: u64 = 1;
/// The stack bias of %sp, and the address of a stack. No structure in memory is below the stack's address.
const BIAS: u64 = 2047;
const STACK: u64 = 0x19_ef7f_bff0;

const NONE: Operand = Operand { register: Register::G0, immediate: 0 };

/// How a device access ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessOutcome {
    Succeeds,
    /// The instruction at this address traps.
    Traps(u64),
    /// A report says that the store for which the function waits has failed.
    Reported,
}

/// An execution of an assembly function, or of a trap that calls no Rust code.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Function {
    /// Rust code calls one of the device access functions, given by its index.
    Access(usize, AccessOutcome, Guest),
    /// Rust code drops all its frames and calls a function on the empty stack.
    Abandon(Guest),
    /// Rust code calls a function that may use all windows.
    AllWindows(Guest, WindowState),
    /// Rust code needs a window that holds the registers of another hypervisor function.
    Spill(Guest),
    /// Rust code returns to a function whose registers have been spilled.
    Fill(Guest),
    /// The strand enters its guest, for the first time or again.
    Enter(Guest, WindowState),
    /// A spill or fill trap while globals other than the hypervisor's are in use. The windows therefore cannot be the hypervisor's.
    NoSpill(u16, usize),
    /// A real address of the guest has no entry in the TLB, for instruction fetches (0) or data (1).
    Miss(usize, Guest),
    /// One of the software traps 0x81 to 0xfe.
    Software(u16, Guest),
    /// Any trap that goes to the handler at this address.
    Goes(u16, u64, Guest),
}

impl Function {
    pub(crate) fn play<W: Symbolic>(&self, machine: &mut Machine<'_, W>) -> WordPairs<W> {
        match *self {
            Self::Access(number, ends, guest) => access(machine, number, ends, guest),
            Self::Abandon(guest) => abandon(machine, guest),
            Self::AllWindows(guest, windows) => all_windows(machine, guest, windows),
            Self::Spill(guest) => spill(machine, guest),
            Self::Fill(guest) => fill(machine, guest),
            Self::Enter(guest, windows) => enter(machine, guest, windows),
            Self::NoSpill(number, global) => table::no_spill(machine, number, global),
            Self::Miss(number, guest) => table::miss(machine, number, guest),
            Self::Software(number, guest) => table::software(machine, number, guest),
            Self::Goes(number, to, guest) => table::goes(machine, number, to, guest),
        }
    }
}

/// Returns the state of the windows while Rust code executes.
pub(crate) fn rust_windows() -> WindowState {
    WindowState { can_save: 1, can_restore: 1, other: 4, clean: 7, state: 0o25 }
}

/// Returns the strand at the call from Rust code to an assembly function, and the address to which the function returns.
fn called<W: Symbolic>(
    machine: &Machine<'_, W>,
    guest: Guest,
    windows: WindowState,
    function: u64,
) -> (Strand<W>, u64) {
    let mut strand = machine.hypervisor(guest, windows, function);
    let from = machine.image.rust.trap + 0x10;
    strand.registers.set(Register::O7, W::from(from));
    (strand, from + 8)
}

fn access<W: Symbolic>(
    machine: &mut Machine<'_, W>,
    number: usize,
    ends: AccessOutcome,
    guest: Guest,
) -> WordPairs<W> {
    let function = machine.image.handlers.accesses[number];
    let (mut before, returns) = called(machine, guest, rust_windows(), function);
    // The functions are in this order: eight-byte load and store, four-byte load and store, and halt.
    let shift = if number < 2 { 3 } else { 2 };
    let aligned = u64::MAX << 40 | ((1 << shift) - 1);
    let address = machine.any("accessed", aligned) | W::from(DEVICE);
    before.registers.set(Register::O0, address);
    let value = before.registers.get(O1);
    machine.strand = before.clone();
    let mut pairs = Vec::new();
    match ends {
        AccessOutcome::Succeeds => {}
        AccessOutcome::Traps(at) => {
            machine.run_until_address(at)?;
            drop(machine.effects());
            let interrupted = machine.strand.clone();
            take(&mut machine.strand, ACCESS_ERROR);
            let trapped = Trapped {
                guest,
                windows: rust_windows(),
                at: Some(at),
                number: ACCESS_ERROR,
                decision: Decision::GoesOn,
            };
            pairs = trapped.fails(machine, &interrupted)?;
        }
        AccessOutcome::Reported => {
            machine.run_until_address(machine.image.handlers.store_wait)?;
            drop(machine.effects());
            let entry = 5;
            let (space, buffer, _) = register::STORE_BUFFER;
            let place = register_at(space, W::from(buffer | entry << 3));
            machine.world.put(place, address);
            let (space, dfesr, _) = register::DFESR;
            machine.world.put(register_at(space, W::from(dfesr)), W::from(1 << 60 | entry << 55));
            take(&mut machine.strand, STORE_ERROR);
        }
    }
    machine.run_until_address(returns)?;
    let mut expected = before;
    (expected.pc, expected.npc) = (returns, returns + 4);
    let status = if ends == AccessOutcome::Succeeds { 0 } else { FAILED };
    expected.registers.set(Register::O0, W::from(status));
    if ends == AccessOutcome::Succeeds {
        let low = if shift == 3 { value } else { value & W::from(0xffff_ffff) };
        let effects = match number {
            0 | 2 => {
                let cell = machine.world.word(address & !W::from(7));
                let loaded = part(cell, address, shift);
                expected.registers.set(O1, loaded);
                vec![Effect::Load { address, shift }]
            }
            1 | 3 => {
                vec![Effect::Store { address, shift, value: low }, Effect::Membar(0x40)]
            }
            _ => vec![Effect::Halt(W::from(0))],
        };
        pairs.extend(compare_effects(&machine.effects(), &effects)?);
    } else {
        // The access trapped, so the hypervisor must have cleared the trap registers of the level above. The Rust caller may find any value
        // in the caller-saved registers.
        let (_, above) = machine.strand.control.frames();
        if above.first() != Some(&TrapFrame::default()) {
            return Err(format!("left: {:?}", above.first()));
        }
        let mut outs = eight(&machine.strand, OUTS);
        outs[6..].copy_from_slice(&eight(&expected, OUTS)[6..]);
        outs[0] = W::from(FAILED);
        strands::set_eight(&mut expected, OUTS, outs);
    }
    call::copy_hidden(&mut expected, &machine.strand);
    expected.ccr = if ends == AccessOutcome::Succeeds { expected.ccr } else { machine.strand.ccr };
    pairs.extend(compare_in_hypervisor(&machine.strand, &expected)?);
    pairs.push((machine.strand.registers.get(G6), machine.state().block));
    Ok(pairs)
}

fn abandon<W: Symbolic>(machine: &mut Machine<'_, W>, guest: Guest) -> WordPairs<W> {
    let function = machine.image.handlers.abandon;
    let (mut before, _) = called(machine, guest, rust_windows(), function);
    let to = machine.image.rust.fatal;
    before.registers.set(Register::O0, W::from(to));
    let argument = before.registers.get(O1);
    let at_level = level(&before);
    machine.strand = before;
    let mut pairs = Vec::new();
    trapped::starts_over(machine, to, argument, at_level, &mut pairs)?;
    Ok(pairs)
}

fn all_windows<W: Symbolic>(
    machine: &mut Machine<'_, W>,
    guest: Guest,
    windows: WindowState,
) -> WordPairs<W> {
    /// The most stack that the function may use, in bytes.
    const LARGEST: u64 = 0x800;
    let function = machine.image.handlers.with_all_windows;
    let (mut before, returns) = called(machine, guest, windows, function);
    before.registers.set(Register::SP, W::from(STACK - BIAS));
    let to = machine.image.rust.fatal;
    before.registers.set(Register::O0, W::from(to));
    let argument = before.registers.get(O1);
    machine.strand = before.clone();
    machine.run_until_address(to)?;
    let free = WindowState { can_save: 6, can_restore: 0, other: 0, clean: 7, ..windows };
    if machine.strand.windows != free {
        return Err(format!("{:?}", machine.strand.windows));
    }
    let called = eight(&machine.strand, OUTS);
    let bottom = called[6].known().map_err(|trap| format!("{trap:?}"))? + BIAS;
    // Like every caller, this function leaves its callee 176 bytes above %sp.
    if !(STACK - LARGEST..=STACK - 176).contains(&bottom) || !bottom.is_multiple_of(16) {
        return Err(format!("stack: {bottom:#x}"));
    }
    let mut pairs = vec![(called[0], argument)];
    for effect in machine.effects() {
        let Effect::Store { address, shift: 3, .. } = effect else {
            return Err(format!("{effect:?}"));
        };
        let at = address.known().map_err(|trap| format!("{trap:?}"))?;
        if !(bottom + 176..STACK).contains(&at) {
            return Err(format!("{effect:?}"));
        }
    }
    // The called function uses all windows, and a spill leaves values at the trap level above. The function keeps its caller's window and
    // %sp.
    let kept = [eight(&machine.strand, LOCALS), eight(&machine.strand, INS)];
    trapped::fill_all_windows(machine);
    machine.set_eight(LOCALS, kept[0]);
    machine.set_eight(INS, kept[1]);
    machine.clobber_registers("rust_g");
    let mut outs = machine.eight("rust_o");
    outs[6] = called[6];
    machine.set_eight(OUTS, outs);
    let back = called[7].known().map_err(|trap| format!("{trap:?}"))? + 8;
    (machine.strand.pc, machine.strand.npc) = (back, back + 4);
    let before_spill = machine.strand.clone();
    take(&mut machine.strand, STORE_ERROR);
    call::execute(&mut machine.strand, Instruction::Retry);
    machine.strand.registers = before_spill.registers;
    machine.run_until_address(returns)?;
    machine.only_stores(&[], 0)?;
    let (_, above) = machine.strand.control.frames();
    if level(&machine.strand) == 1 && above.first() != Some(&TrapFrame::default()) {
        return Err(format!("left: {:?}", above.first()));
    }
    let mut expected = before.clone();
    (expected.pc, expected.npc) = (returns, returns + 4);
    let mut outs = eight(&machine.strand, OUTS);
    outs[6] = W::from(STACK - BIAS);
    strands::set_eight(&mut expected, OUTS, outs);
    call::copy_hidden(&mut expected, &machine.strand);
    (expected.ccr, expected.y) = (machine.strand.ccr, machine.strand.y);
    pairs.extend(compare_in_hypervisor(&machine.strand, &expected)?);
    pairs.push((machine.strand.registers.get(G6), machine.state().block));
    Ok(pairs)
}

fn spill<W: Symbolic>(machine: &mut Machine<'_, W>, guest: Guest) -> WordPairs<W> {
    let windows = WindowState { can_save: 0, can_restore: 6, other: 0, clean: 7, state: 0 };
    let mut before = machine.hypervisor(guest, windows, machine.image.rust.trap);
    // The first window that the hypervisor entered is spilled to that window's own stack.
    let window = before.registers.window();
    before.registers.set_window(window + 2);
    before.registers.set(Register::SP, W::from(STACK - BIAS));
    let words = [eight(&before, LOCALS), eight(&before, INS)].concat();
    before.registers.set_window(window);
    let save = Instruction::Save { rd: Register::G0, rs1: Register::G0, operand: NONE };
    let mut expected = window_trap(machine, before, save)?;
    (expected.windows.can_save, expected.windows.can_restore) = (1, 5);
    let mut pairs = compare_in_hypervisor(&machine.strand, &expected)?;
    for effect in machine.effects() {
        let Effect::Store { address, shift: 3, .. } = effect else {
            return Err(format!("{effect:?}"));
        };
        if !address.known().is_ok_and(|at| (STACK..STACK + 128).contains(&at)) {
            return Err(format!("{effect:?}"));
        }
    }
    let stored = |number: u64| machine.world.word(W::from(STACK + 8 * number));
    pairs.extend((0..).map(stored).zip(words));
    Ok(pairs)
}

fn fill<W: Symbolic>(machine: &mut Machine<'_, W>, guest: Guest) -> WordPairs<W> {
    let windows = WindowState { can_save: 6, can_restore: 0, other: 0, clean: 7, state: 0 };
    let mut before = machine.hypervisor(guest, windows, machine.image.rust.trap);
    // A function's %fp is its caller's %sp.
    before.registers.set(Register::new(INS + 6), W::from(STACK - BIAS));
    let words: Vec<W> = (0..16).map(|number| machine.any_of("stored", number)).collect();
    for (at, word) in (STACK..).step_by(8).zip(&words) {
        machine.world.put(W::from(at), *word);
    }
    let restore = Instruction::Restore { rd: Register::G0, rs1: Register::G0, operand: NONE };
    let mut expected = window_trap(machine, before, restore)?;
    (expected.windows.can_save, expected.windows.can_restore) = (5, 1);
    let window = expected.registers.window();
    expected.registers.set_window(window + 7);
    for (register, word) in (LOCALS..).zip(words) {
        expected.registers.set(Register::new(register), word);
    }
    expected.registers.set_window(window);
    machine.only_stores(&[], 0)?;
    compare_in_hypervisor(&machine.strand, &expected)
}

/// Executes a window trap until the handler returns to the instruction that trapped. Returns the expected strand at that point, except for
/// the window counts.
fn window_trap<W: Symbolic>(
    machine: &mut Machine<'_, W>,
    before: Strand<W>,
    instruction: Instruction,
) -> Result<Strand<W>, String> {
    machine.strand = before;
    let Err(exception) = machine.strand.execute_next(&mut SingleInstruction(instruction)) else {
        return Err("no trap".to_owned());
    };
    machine.strand.take(exception).map_err(|error| format!("{error:?}"))?;
    let mut expected = machine.strand.clone();
    let trapped = level(&expected);
    machine.run_until(|strand| level(strand) < trapped)?;
    call::execute(&mut expected, Instruction::Retry);
    copy_g7(&mut expected, &machine.strand);
    Ok(expected)
}

fn enter<W: Symbolic>(
    machine: &mut Machine<'_, W>,
    guest: Guest,
    windows: WindowState,
) -> WordPairs<W> {
    use ControlRegister::{Hyperprivileged, Privileged};
    /// The guest's first address, and its trap table.
    const BEGINS: u64 = 0x8000_4000;
    const TABLE: u64 = 0x8000_8000;
    let at = machine.image.handlers.enter.start;
    let (mut before, _) = called(machine, guest, windows, at);
    before.registers.set(Register::O0, W::from(BEGINS));
    before.registers.set(O2, W::from(TABLE));
    let argument = before.registers.get(O1);
    machine.strand = before;
    machine.run_until_guest()?;
    // All the guest's registers are 0, except %o0 and %o1. Interrupts are blocked, and no timer is set.
    let mut expected = Strand::reset(BEGINS).lifted();
    call::write_word(&mut expected, Hyperprivileged(5), W::from(machine.image.table));
    call::write_word(&mut expected, Privileged(5), W::from(TABLE));
    call::write(&mut expected, Privileged(8), 15);
    call::copy_hidden(&mut expected, &machine.strand);
    for (control, value) in
        [(Privileged(16), 0), (Privileged(6), 0x14), (Privileged(7), 0), (Hyperprivileged(0), 0)]
    {
        call::write(&mut expected, control, value);
    }
    expected.registers.set(Register::O0, argument);
    expected.registers.set(O1, W::from(BEGINS));
    let pairs = compare_in_guest(&machine.strand, &expected)?;
    let mut cleared = Vec::new();
    for effect in machine.effects() {
        match effect {
            Effect::Register { space, address, value: Some(value) }
                if space == register::OF_GUEST.0 && value == W::from(0) =>
            {
                cleared.push(address);
            }
            _ => return Err(format!("{effect:?}")),
        }
    }
    // On some machines, the other two scratchpad registers belong to the hypervisor.
    let scratchpad = [0x00, 0x08, 0x10, 0x18, 0x30, 0x38];
    let is_cleared = |address: u64| cleared.contains(&W::from(address));
    match cleared.len() == scratchpad.len() && scratchpad.into_iter().all(is_cleared) {
        true => Ok(pairs),
        false => Err(format!("cleared: {cleared:?}")),
    }
}
