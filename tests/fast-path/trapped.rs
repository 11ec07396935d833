//! Traps other than hypercalls. The hypervisor saves all registers and calls Rust code. Then the guest continues, the hypervisor continues,
//! or the guest ends.
//!
//! The expected behaviour comes from the documentation of `platform::sparc64`: `FatalTrap` and `SavedRegisters` say which registers are saved, and
//! that the strand continues with the saved values.

use simulator::interpreter::instruction::{ControlRegister, Register};
use simulator::interpreter::{Instruction, Strand, TrapFrame, WindowState, Word};

use super::call::{self, G6, Guest, PC};
use super::scene::Machine;
use super::state::{Symbolic, block};
use super::strands::{
    INS, LOCALS, O2, OUTS, WordPairs, clear_level, compare_in_guest, compare_in_hypervisor,
    copy_g7, eight, level, take,
};

/// The offsets of the saved words: the trap's type, %tpc, %tnpc, %tstate, HTSTATE and level, %canrestore, %g0 to %g7, the locals and ins of
/// each window, then %cansave, %otherwin, %cleanwin and %y.
mod saved {
    pub(super) const TPC: u64 = 0x08;
    pub(super) const TNPC: u64 = 0x10;
    pub(super) const GLOBALS: u64 = 0x38;
    pub(super) const WINDOWS: u64 = 0x78;
    pub(super) const CANSAVE: u64 = 0x478;
    pub(super) const END: u64 = 0x498;
}

/// The trap type of an interrupt from another strand. Its registers are saved in an area of their own.
const INTERRUPT: u16 = 0x60;
/// The size of the stack area that belongs to the interrupted code, in bytes.
const FRAME: u64 = 192;
const WINDOWS: usize = 8;

/// What the Rust trap handler decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The trapped program continues with the registers that it had.
    GoesOn,
    /// The trapped program continues with other registers, at another address.
    GoesOnWithOthers,
    /// The guest takes the trap itself, in its own trap table.
    Reflected,
    /// The guest ends.
    Ends,
}

/// A trap other than a hypercall.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trapped {
    pub(crate) guest: Guest,
    pub(crate) windows: WindowState,
    /// The address of the hypervisor's trapping instruction. `None` if the guest traps.
    pub(crate) at: Option<u64>,
    pub(crate) number: u16,
    pub(crate) decision: Decision,
}

/// %tpc and %tnpc where a program continues after the Rust handler sends it elsewhere. If either value were written to HTSTATE by mistake,
/// the guest would get the hypervisor's privilege.
const ELSEWHERE: [u64; 2] = [PC + 0x464, PC + 0x82c];

impl Trapped {
    /// Executes the trap of a failed device access by the hypervisor. The Rust handler lets the function that made the access continue.
    pub(crate) fn fails<W: Symbolic>(
        &self,
        machine: &mut Machine<'_, W>,
        before: &Strand<W>,
    ) -> WordPairs<W> {
        let trapped = machine.strand.clone();
        machine.run_until_address(machine.image.rust.recover)?;
        let pairs = self.calls_rust(machine, before, &trapped, block::TRAPPED)?;
        let goes_on = machine.strand.registers.get(O2);
        self.rust(machine);
        machine.strand.registers.set(Register::O0, goes_on);
        let failed = machine.image.handlers.access_failed;
        machine.world.put(machine.at(block::TRAPPED + saved::TPC), W::from(failed));
        machine.world.put(machine.at(block::TRAPPED + saved::TNPC), W::from(failed + 4));
        Ok(pairs)
    }

    pub(crate) fn play<W: Symbolic>(&self, machine: &mut Machine<'_, W>) -> WordPairs<W> {
        let Self { guest, windows, number, decision, .. } = *self;
        let before = match self.at {
            None => machine.guest(guest, windows),
            Some(at) => machine.hypervisor(guest, windows, at),
        };
        machine.strand = before.clone();
        take(&mut machine.strand, number);
        let trapped = machine.strand.clone();
        let base = if number == INTERRUPT { block::INTERRUPTED } else { block::TRAPPED };
        machine.run_until_address(machine.image.rust.recover)?;
        let mut pairs = self.calls_rust(machine, &before, &trapped, base)?;
        let goes_on = machine.strand.registers.get(O2);
        self.rust(machine);
        let answer = if decision == Decision::Ends { W::from(0) } else { goes_on };
        machine.strand.registers.set(Register::O0, answer);
        let mut expected = before;
        match decision {
            Decision::GoesOn => {}
            Decision::GoesOnWithOthers => self.others(machine, base, &mut expected),
            Decision::Reflected => {
                for (offset, word) in [saved::TPC, saved::TNPC].into_iter().zip(ELSEWHERE) {
                    machine.world.put(machine.at(base + offset), W::from(word));
                }
                reflect(&mut machine.strand, &trapped);
            }
            Decision::Ends => {
                let fatal = machine.image.rust.fatal;
                let argument = machine.state().block;
                starts_over(machine, fatal, argument, 1, &mut pairs)?;
                return Ok(pairs);
            }
        }
        match self.at {
            None => {
                machine.run_until_guest()?;
                take(&mut expected, number);
                match decision {
                    Decision::Reflected => {
                        reflect(&mut expected, &trapped);
                        set_pcs(&mut expected, ELSEWHERE);
                    }
                    Decision::GoesOnWithOthers => set_pcs(&mut expected, ELSEWHERE),
                    _ => {}
                }
                // The hypervisor leaves nothing at the level above for the guest to find.
                if level(&expected) == 1 {
                    clear_level(&mut expected, 2);
                }
                call::execute(&mut expected, Instruction::Retry);
                call::copy_hidden(&mut expected, &machine.strand);
                pairs.extend(compare_in_guest(&machine.strand, &expected)?);
            }
            Some(at) => {
                let [pc, _] = if decision == Decision::GoesOn { [at, 0] } else { ELSEWHERE };
                machine.run_until(|strand| strand.pc == pc && level(strand) < level(&trapped))?;
                (expected.pc, expected.npc) = (pc, pc + 4);
                copy_g7(&mut expected, &machine.strand);
                pairs.extend(compare_in_hypervisor(&machine.strand, &expected)?);
                let (_, above) = machine.strand.control.frames();
                if above.first() != Some(&TrapFrame::default()) {
                    return Err(format!("left: {:?}", above.first()));
                }
            }
        }
        machine.only_stores(&[], 0)?;
        Ok(pairs)
    }

    /// Compares what the Rust handler gets with the registers at the trap.
    fn calls_rust<W: Symbolic>(
        &self,
        machine: &mut Machine<'_, W>,
        before: &Strand<W>,
        trapped: &Strand<W>,
        base: u64,
    ) -> WordPairs<W> {
        let number = |number: u64| W::from(number);
        let frame = trapped.control.frames().0.last().copied().unwrap_or_default();
        let WindowState { can_save, can_restore, other, clean, state } = before.windows;
        let number_of = |windows: u8| number(windows.into());
        let mut pairs = machine.block_pairs(
            base,
            &[
                number(frame.number.into()),
                number(frame.pc),
                number(frame.npc),
                frame.state,
                number(frame.hpstate.into()),
                number(level(trapped) as u64),
                number_of(can_restore),
            ],
        );
        // The hypervisor's %g7 belongs to the report handlers.
        let globals = if self.at.is_some() && machine.reported.is_some() { 7 } else { 8 };
        let globals = &eight(before, 0)[1..globals];
        pairs.extend(machine.block_pairs(base + saved::GLOBALS + 8, globals));
        let mut registers = before.clone();
        for window in 0..WINDOWS {
            registers.registers.set_window(window);
            let words = [eight(&registers, LOCALS), eight(&registers, INS)].concat();
            pairs.extend(machine.block_pairs(base + saved::WINDOWS + 128 * window as u64, &words));
        }
        let last =
            [number_of(can_save), number_of(other), number_of(clean), W::from_half(before.y)];
        pairs.extend(machine.block_pairs(base + saved::CANSAVE, &last));
        machine.only_stores(&[[base, base + saved::END]], 1)?;
        // The Rust handler's arguments, stack pointer and windows.
        let of_fault = |at: u64| {
            let faults = &machine.image.handlers.faults;
            faults.iter().find(|[fault, _]| *fault == at).map_or(0, |[_, goes_on]| *goes_on)
        };
        let goes_on = self.at.map_or(0, of_fault);
        let is_nested = goes_on == machine.image.handlers.access_failed;
        let stack = match is_nested {
            true => before.registers.get(Register::SP).minus(number(FRAME)),
            false => machine.block_word(block::STACK),
        };
        let called = eight(&machine.strand, OUTS);
        let block = machine.state().block;
        pairs.extend([
            (called[0], block),
            (called[1], number(goes_on)),
            (called[2], machine.at(base)),
            (called[6], stack),
            (machine.strand.registers.get(G6), block),
        ]);
        let free = WindowState { can_save: 6, can_restore: 0, other: 0, clean: 7, state };
        let mut expected = trapped.clone();
        call::enter_hypervisor(&mut expected);
        expected.registers = machine.strand.registers.clone();
        (expected.pc, expected.npc) = (machine.strand.pc, machine.strand.npc);
        (expected.windows, expected.ccr) = (free, machine.strand.ccr);
        pairs.extend(compare_in_hypervisor(&machine.strand, &expected)?);
        Ok(pairs)
    }

    /// The Rust handler clobbers all registers and returns.
    fn rust<W: Symbolic>(&self, machine: &mut Machine<'_, W>) {
        let returns = machine.strand.registers.get(Register::O7);
        fill_all_windows(machine);
        machine.clobber_registers("rust_g");
        let returns = returns.known().unwrap_or_default() + 8;
        (machine.strand.pc, machine.strand.npc) = (returns, returns + 4);
    }

    /// The Rust handler changes the saved %tpc, %tnpc and windows. The program continues with the new values.
    fn others<W: Symbolic>(
        &self,
        machine: &mut Machine<'_, W>,
        base: u64,
        expected: &mut Strand<W>,
    ) {
        for (offset, word) in [saved::TPC, saved::TNPC].into_iter().zip(ELSEWHERE) {
            machine.world.put(machine.at(base + offset), W::from(word));
        }
        let window = expected.registers.window();
        for (number, kind) in KINDS.iter().enumerate() {
            let words: Vec<W> = (0..16).map(|register| machine.any_of(kind, register)).collect();
            let offset = base + saved::WINDOWS + 128 * number as u64;
            for (at, word) in (offset..).step_by(8).zip(&words) {
                machine.world.put(machine.at(at), *word);
            }
            expected.registers.set_window(number);
            for (register, word) in (0..8).zip(&words) {
                expected.registers.set(Register::new(LOCALS + register), *word);
            }
            for (register, word) in (0..8).zip(&words[8..]) {
                expected.registers.set(Register::new(INS + register), *word);
            }
        }
        expected.registers.set_window(window);
    }
}

const KINDS: [&str; WINDOWS] = ["k0_", "k1_", "k2_", "k3_", "k4_", "k5_", "k6_", "k7_"];

/// Fills all windows with values of Rust code.
pub(crate) fn fill_all_windows<W: Symbolic>(machine: &mut Machine<'_, W>) {
    let window = machine.strand.registers.window();
    for number in 0..WINDOWS {
        machine.strand.registers.set_window(number);
        machine
            .set_eight(LOCALS, std::array::from_fn(|n| machine.any_of("rust_l", 8 * number + n)));
        machine.set_eight(INS, std::array::from_fn(|n| machine.any_of("rust_i", 8 * number + n)));
    }
    machine.strand.registers.set_window(window);
}

/// The Rust handler reflects the trap to the guest. It sets the trap registers of the next trap level. When the strand returns from that
/// level, it enters the guest's handler, with the program's state except %gl and %pstate.
fn reflect<W: Symbolic>(strand: &mut Strand<W>, trapped: &Strand<W>) {
    use ControlRegister::{Hyperprivileged, Privileged};
    /// Sets %gl to 1, and %pstate to the hypervisor's value.
    const STATE: u64 = 1 << 40 | 0x14 << 8;
    let frame = trapped.control.frames().0.last().copied().unwrap_or_default();
    let state = frame.state & W::from(0xffff << 24 | 0x1f) | W::from(STATE);
    call::write(strand, Privileged(7), level(trapped) as i16 + 1);
    call::write_word(strand, Privileged(2), state);
    call::write(strand, Privileged(3), 0);
    call::write(strand, Hyperprivileged(1), 0);
}

fn set_pcs<W: Word>(strand: &mut Strand<W>, pcs: [u64; 2]) {
    for (register, pc) in (0..).zip(pcs) {
        call::write_word(strand, ControlRegister::Privileged(register), W::from(pc));
    }
}

/// Executes until a Rust function begins with an empty stack and free windows, then from the function's return until the guest entry
/// begins.
pub(crate) fn starts_over<W: Symbolic>(
    machine: &mut Machine<'_, W>,
    function: u64,
    argument: W,
    at_level: usize,
    pairs: &mut Vec<(W, W)>,
) -> Result<(), String> {
    machine.run_until_address(function)?;
    let block = machine.state().block;
    let called = eight(&machine.strand, OUTS);
    pairs.extend([
        (called[0], argument),
        (called[6], machine.block_word(block::STACK)),
        (machine.strand.registers.get(G6), block),
    ]);
    let free = WindowState { can_save: 6, can_restore: 0, other: 0, clean: 7, state: 0 };
    let strand = &machine.strand;
    if (strand.windows, level(strand), strand.registers.global()) != (free, at_level, 3) {
        return Err(format!("starts over: {strand:?}"));
    }
    let returns = called[7].known().map_err(|trap| format!("{trap:?}"))? + 8;
    (machine.strand.pc, machine.strand.npc) = (returns, returns + 4);
    machine.run_until_address(machine.image.handlers.enter.start)?;
    machine.only_stores(&[], 0)
}
