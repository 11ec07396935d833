//! The trap table, and traps that call no Rust code: TLB misses and software traps.

use simulator::interpreter::instruction::{ControlRegister, Register};
use simulator::interpreter::{Instruction, Strand, Word};

use super::call::{self, G5, G6, Guest};
use super::functions::rust_windows;
use super::scene::Machine;
use super::state::{Symbolic, block};
use super::strands::{self, WordPairs, compare_in_guest, compare_in_hypervisor, copy_g7, take};
use super::world::{Effect, register, register_at};

const EBADTRAP: u64 = 7;

pub(crate) fn no_spill<W: Symbolic>(
    machine: &mut Machine<'_, W>,
    number: u16,
    global: usize,
) -> WordPairs<W> {
    let mut before = machine.hypervisor(Guest::KERNEL, rust_windows(), machine.image.rust.trap);
    call::write(&mut before, ControlRegister::Privileged(16), global as i16);
    goes_to(machine, before, number, machine.image.handlers.trapped)
}

/// Returns 1 if `a` is less than `b`, as unsigned numbers; otherwise 0.
fn less<W: Word>(a: W, b: W) -> W {
    ((!a & b) | ((!a | b) & a.minus(b))) >> W::from(63)
}

pub(crate) fn miss<W: Symbolic>(
    machine: &mut Machine<'_, W>,
    number: usize,
    guest: Guest,
) -> WordPairs<W> {
    let before = machine.guest(guest, rust_windows());
    machine.strand = before.clone();
    let trap = 0x3e + number as u16;
    let (space, place, _) = register::MISSED[number];
    let address = machine.any("missed", 0);
    machine.world.put(register_at(space, W::from(place)), address);
    take(&mut machine.strand, trap);
    let bound = |number: u64| machine.block_word(block::BOUNDS + 8 * number);
    let [real, bytes, page, entry] = [0, 1, 2, 3].map(bound);
    let offset = address.minus(real);
    let trapped = machine.image.handlers.trapped;
    let mut expected = before;
    take(&mut expected, trap);
    if less(offset, bytes).is_zero() {
        // The address is outside the guest's memory.
        machine.run_until_address(trapped)?;
        call::enter_hypervisor(&mut expected);
        call::copy_hidden(&mut expected, &machine.strand);
        expected.ccr = machine.strand.ccr;
        (expected.pc, expected.npc) = (machine.strand.pc, machine.strand.npc);
        drop(machine.effects());
        return compare_in_hypervisor(&machine.strand, &expected);
    }
    machine.run_until_guest()?;
    call::execute(&mut expected, Instruction::Retry);
    call::copy_hidden(&mut expected, &machine.strand);
    let mut pairs = compare_in_guest(&machine.strand, &expected)?;
    let (written, at, _) = register::ENTRY[number];
    let effects = machine.effects();
    let [
        Effect::Register { value: None, .. },
        Effect::Register { space, address, value: Some(value) },
    ] = effects[..]
    else {
        return Err(format!("{effects:?}"));
    };
    if space != written {
        return Err(format!("{effects:?}"));
    }
    pairs.push((address, W::from(at)));
    pairs.push((value, (offset & !page).plus(entry)));
    Ok(pairs)
}

pub(crate) fn software<W: Symbolic>(
    machine: &mut Machine<'_, W>,
    number: u16,
    guest: Guest,
) -> WordPairs<W> {
    let before = machine.guest(guest, rust_windows());
    machine.strand = before.clone();
    let trap = 0x100 + number;
    take(&mut machine.strand, trap);
    let mut expected = before;
    take(&mut expected, trap);
    if machine.image.claims(number) {
        let general = machine.image.general;
        machine.run_until_address(general)?;
        call::enter_hypervisor(&mut expected);
        (expected.pc, expected.npc) = (general, general + 4);
        let found = [G5, G6].map(|register| machine.strand.registers.get(register));
        call::copy_hidden(&mut expected, &machine.strand);
        let mut pairs = compare_in_hypervisor(&machine.strand, &expected)?;
        pairs.extend([(found[0], W::from(number.into())), (found[1], machine.state().block)]);
        return Ok(pairs);
    }
    machine.run_until_guest()?;
    call::execute(&mut expected, Instruction::Done);
    expected.registers.set(Register::O0, W::from(EBADTRAP));
    call::copy_hidden(&mut expected, &machine.strand);
    let pairs = compare_in_guest(&machine.strand, &expected)?;
    machine.only_stores(&[], 0)?;
    Ok(pairs)
}

pub(crate) fn goes<W: Symbolic>(
    machine: &mut Machine<'_, W>,
    number: u16,
    to: u64,
    guest: Guest,
) -> WordPairs<W> {
    let before = machine.guest(guest, rust_windows());
    goes_to(machine, before, number, to)
}

/// Executes a trap until the strand reaches a handler. Checks that nothing else has changed by then.
fn goes_to<W: Symbolic>(
    machine: &mut Machine<'_, W>,
    before: Strand<W>,
    number: u16,
    to: u64,
) -> WordPairs<W> {
    machine.strand = before;
    take(&mut machine.strand, number);
    let mut expected = machine.strand.clone();
    machine.run_until_address(to)?;
    (expected.pc, expected.npc) = (to, to + 4);
    if machine.strand.registers.global() != expected.registers.global() {
        call::write(&mut expected, ControlRegister::Privileged(16), 3);
    }
    // A handler may change the hypervisor's %g7, and the %g7 of the global set that is current in the handler.
    copy_g7(&mut expected, &machine.strand);
    expected.registers.set(strands::G7, machine.strand.registers.get(strands::G7));
    // The handler may change %ccr, because %tstate holds the condition codes.
    expected.ccr = machine.strand.ccr;
    machine.only_stores(&[], 0)?;
    compare_in_hypervisor(&machine.strand, &expected)
}
