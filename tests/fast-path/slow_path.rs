//! The slow path: from its first instruction to the call into Rust, the further windows that the Rust code needs, and the way from the Rust
//! code's return to the guest's next instruction. Also trap 0xff, which a leaf function may serve before the slow path.
//!
//! The expected behaviour comes from the documentation of `platform::sparc64`. The Rust code gets the guest's %o0 to %o5 in the strand's
//! block, and up to five windows. The guest gets these six registers as the Rust code leaves them, and everything else unchanged. The
//! exception is the first two windows: if they were free, their registers may be 0.

use simulator::interpreter::instruction::{ControlRegister, Operand, Register};
use simulator::interpreter::{Instruction, Strand, WindowState};

use super::call::{self, G5, G6, Guest, SingleInstruction};
use super::contract;
use super::scene::Machine;
use super::state::{Symbolic, block};
use super::strands::{
    self, FAST, LOCALS, O3, OUTS, WordPairs, compare_in_guest, compare_in_hypervisor, copy_g7,
    eight, level, take,
};

/// The number of windows that the slow path frees for Rust code, and the number that Rust code may use.
const FREED: u8 = 2;
const ALL: u8 = 5;

/// CORE_TRAP, and the reason that the slow path gets for its calls. The leaf function returns this reason in %o0 if it does not serve a
/// call.
const CORE: u16 = 0x1ff;
const CORE_REASON: u64 = 0xff;
const EBADTRAP: u64 = 7;

/// How a call gets to the slow path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The fast path, or the entry of a claimed trap, hands the call over to the slow path.
    General,
    /// The call came through trap 0xff.
    Core,
}

/// A call that takes the slow path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlowPath {
    pub(crate) entry: Entry,
    pub(crate) guest: Guest,
    pub(crate) windows: WindowState,
    /// The number of windows that the Rust code needs.
    pub(crate) needed: u8,
}

impl SlowPath {
    /// Returns calls in all states of the guest's windows, for Rust code that needs this number of windows.
    pub(crate) fn all(entry: Entry, needed: u8) -> impl Iterator<Item = Self> {
        (0..8).flat_map(move |window| {
            windows().map(move |windows| {
                // Guests make calls from both of these trap levels.
                let level = u64::from(windows.clean & 1);
                let guest = Guest { window, level, ..Guest::KERNEL };
                Self { entry, guest, windows, needed }
            })
        })
    }

    pub(crate) fn play<W: Symbolic>(&self, machine: &mut Machine<'_, W>) -> WordPairs<W> {
        let before = machine.guest(self.guest, self.windows);
        machine.strand = before.clone();
        let mut pairs = Vec::new();
        let reason = match self.entry {
            Entry::General => {
                take(&mut machine.strand, FAST);
                call::enter_hypervisor(&mut machine.strand);
                let general = machine.image.general;
                (machine.strand.pc, machine.strand.npc) = (general, general + 4);
                machine.strand.registers.set(G5, machine.any("reason", 0));
                machine.strand.registers.set(G6, machine.state().block);
                machine.any("reason", 0)
            }
            Entry::Core => {
                if self.core(machine, &before, &mut pairs)? {
                    return Ok(pairs);
                }
                W::from(CORE_REASON)
            }
        };
        self.calls_rust(machine, &before, reason, &mut pairs)?;
        let is_enough = self.rust(machine, &mut pairs)?;
        if is_enough {
            self.returns(machine, &before, &mut pairs)?;
        }
        Ok(pairs)
    }

    /// Executes a call of trap 0xff until Rust code serves it on the slow path. Returns `true` if the call ends before that.
    fn core<W: Symbolic>(
        &self,
        machine: &mut Machine<'_, W>,
        before: &Strand<W>,
        pairs: &mut Vec<(W, W)>,
    ) -> Result<bool, String> {
        let state = machine.state();
        let answer = |machine: &mut Machine<'_, W>, pairs: &mut Vec<(W, W)>, outs: [W; 3]| {
            machine.run_until_guest()?;
            let mut expected = before.clone();
            take(&mut expected, CORE);
            call::execute(&mut expected, Instruction::Done);
            for (register, word) in (OUTS..).zip(outs) {
                expected.registers.set(Register::new(register), word);
            }
            call::copy_hidden(&mut expected, &machine.strand);
            pairs.extend(compare_in_guest(&machine.strand, &expected)?);
            machine.only_stores(&[[block::SAVED, block::SAVED_END]], 0)
        };
        take(&mut machine.strand, CORE);
        let [_, value, third, ..] = eight(before, OUTS);
        if contract::entry_of(&state, state.served_core).is_zero() {
            // The image does not serve the function.
            answer(machine, pairs, [W::from(EBADTRAP), value, third])?;
            return Ok(true);
        }
        // The leaf function gets the guest's registers, except that %o3 holds the address of the handler.
        let entered = machine.strand.clone();
        machine.run_until_address(machine.image.rust.core)?;
        let mut expected = entered;
        call::enter_hypervisor(&mut expected);
        expected.registers.set(O3, machine.block_word(block::HANDLER));
        call::copy_hidden(&mut expected, &machine.strand);
        (expected.pc, expected.npc) = (machine.strand.pc, machine.strand.npc);
        let returns = machine.strand.registers.get(Register::O7);
        expected.registers.set(Register::O7, returns);
        expected.ccr = machine.strand.ccr;
        pairs.extend(compare_in_hypervisor(&machine.strand, &expected)?);
        let hidden = [machine.strand.registers.get(G6), state.block];
        pairs.push(hidden.into());
        machine.only_stores(&[[block::SAVED, block::SAVED_END]], 1)?;
        // The leaf function changes what any function may change, but neither the windows nor %y.
        let y = machine.strand.y;
        machine.clobber_registers("leaf_g");
        machine.strand.y = y;
        let left = machine.eight("leaf_o");
        let stack = machine.strand.registers.get(Register::SP);
        machine.set_eight(OUTS, left);
        machine.strand.registers.set(Register::SP, stack);
        let returns = returns.known().map_err(|trap| format!("{trap:?}"))? + 8;
        (machine.strand.pc, machine.strand.npc) = (returns, returns + 4);
        if !(left[0] ^ W::from(CORE_REASON)).is_zero() {
            answer(machine, pairs, [left[0], left[1], left[2]])?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Executes until the slow path calls the Rust code.
    fn calls_rust<W: Symbolic>(
        &self,
        machine: &mut Machine<'_, W>,
        before: &Strand<W>,
        reason: W,
        pairs: &mut Vec<(W, W)>,
    ) -> Result<(), String> {
        machine.run_until_address(machine.image.rust.trap)?;
        let called = eight(&machine.strand, OUTS);
        let arguments = [machine.state().block, reason, machine.block_word(block::STACK)];
        pairs.extend([called[0], called[1], called[6]].into_iter().zip(arguments));
        pairs.extend(machine.block_pairs(block::SAVED, &eight(before, OUTS)[..6]));
        let windows = [block::WINDOWS, block::WINDOWS + 128 * u64::from(FREED)];
        machine.only_stores(&[[block::SAVED, block::SAVED_END], windows], 1)?;
        // Everything else is as at the trap, except the window counts and what Rust code may change.
        let mut expected = before.clone();
        take(&mut expected, if self.entry == Entry::Core { CORE } else { FAST });
        call::enter_hypervisor(&mut expected);
        expected.windows = WindowState {
            can_save: FREED,
            can_restore: 0,
            other: 6 - FREED,
            clean: 7,
            ..self.windows
        };
        strands::set_eight(&mut expected, OUTS, called);
        call::copy_hidden(&mut expected, &machine.strand);
        (expected.pc, expected.npc) = (machine.strand.pc, machine.strand.npc);
        expected.ccr = machine.strand.ccr;
        pairs.extend(compare_in_hypervisor(&machine.strand, &expected)?);
        pairs.push((machine.strand.registers.get(G6), machine.state().block));
        Ok(())
    }

    /// The Rust code enters the windows that it needs, fills them with its values, and returns. Returns `false` if the Rust code needs more
    /// windows than there are.
    fn rust<W: Symbolic>(
        &self,
        machine: &mut Machine<'_, W>,
        pairs: &mut Vec<(W, W)>,
    ) -> Result<bool, String> {
        let save = Instruction::Save {
            rd: Register::G0,
            rs1: Register::G0,
            operand: Operand { register: Register::G0, immediate: 0 },
        };
        let (at, returns) = (machine.image.rust.trap, machine.strand.registers.get(Register::O7));
        for window in 0..self.needed {
            machine.clobber_registers("rust_g");
            (machine.strand.pc, machine.strand.npc) = (at, at + 4);
            let before = machine.strand.clone();
            if let Err(exception) = machine.strand.execute_next(&mut SingleInstruction(save)) {
                let trapped = level(&before) + 1;
                machine.strand.take(exception).map_err(|error| format!("{error:?}"))?;
                let mut expected = machine.strand.clone();
                if window == ALL {
                    machine.run_until_address(machine.image.handlers.trapped)?;
                    call::write(&mut expected, GL, 3);
                    copy_g7(&mut expected, &machine.strand);
                    (expected.pc, expected.npc) = (machine.strand.pc, machine.strand.npc);
                    // The handler may change %ccr, because %tstate holds the Rust code's condition codes.
                    expected.ccr = machine.strand.ccr;
                    pairs.extend(compare_in_hypervisor(&machine.strand, &expected)?);
                    machine.only_stores(&[], 0)?;
                    return Ok(false);
                }
                machine.run_until(|strand| level(strand) < trapped)?;
                call::execute(&mut expected, Instruction::Retry);
                expected.windows.can_save += 1;
                expected.windows.other -= 1;
                copy_g7(&mut expected, &machine.strand);
                pairs.extend(compare_in_hypervisor(&machine.strand, &expected)?);
                // Each window has its own save area.
                let place = block::WINDOWS + 128 * u64::from(window);
                machine.only_stores(&[[place, place + 128]], 0)?;
                machine
                    .strand
                    .execute_next(&mut SingleInstruction(save))
                    .map_err(|error| format!("{error:?}"))?;
            } else if window >= FREED {
                return Err(format!("Rust has window {window}"));
            }
            let kinds = RUST[usize::from(window)];
            machine.set_eight(LOCALS, machine.eight(kinds[0]));
            machine.set_eight(OUTS, machine.eight(kinds[1]));
        }
        let restore = Instruction::Restore {
            rd: Register::G0,
            rs1: Register::G0,
            operand: Operand { register: Register::G0, immediate: 0 },
        };
        for _ in 0..self.needed {
            let restored = machine.strand.execute_next(&mut SingleInstruction(restore));
            restored.map_err(|error| format!("{error:?}"))?;
        }
        machine.clobber_registers("rust_g");
        let mut outs = machine.eight("rust_o");
        outs[6] = machine.strand.registers.get(Register::SP);
        machine.set_eight(OUTS, outs);
        for (offset, word) in (block::SAVED..).step_by(8).zip(&machine.eight("answer")[..6]) {
            machine.world.put(machine.at(offset), *word);
        }
        let returns = returns.known().map_err(|trap| format!("{trap:?}"))? + 8;
        (machine.strand.pc, machine.strand.npc) = (returns, returns + 4);
        Ok(true)
    }

    /// Executes until the guest's next instruction.
    fn returns<W: Symbolic>(
        &self,
        machine: &mut Machine<'_, W>,
        before: &Strand<W>,
        pairs: &mut Vec<(W, W)>,
    ) -> Result<(), String> {
        machine.run_until_guest()?;
        machine.only_stores(&[], 0)?;
        let mut expected = before.clone();
        take(&mut expected, if self.entry == Entry::Core { CORE } else { FAST });
        // A spill leaves values of Rust code at the level above. If the guest can select that level, the hypervisor clears it.
        if self.needed > FREED && level(&expected) == 1 {
            strands::clear_level(&mut expected, 2);
        }
        call::execute(&mut expected, Instruction::Done);
        let mut outs = eight(before, OUTS);
        outs[..6].copy_from_slice(&machine.eight("answer")[..6]);
        strands::set_eight(&mut expected, OUTS, outs);
        // Windows that were free hold no values of Rust code, because the guest may enter them without a trap.
        if self.windows.can_save >= FREED {
            for window in 1..=usize::from(FREED) {
                expected.registers.set_window(self.guest.window + window);
                strands::set_eight(&mut expected, LOCALS, [W::from(0); 8]);
                strands::set_eight(&mut expected, OUTS, [W::from(0); 8]);
            }
            expected.registers.set_window(self.guest.window);
        }
        call::copy_hidden(&mut expected, &machine.strand);
        pairs.extend(compare_in_guest(&machine.strand, &expected)?);
        Ok(())
    }
}

const GL: ControlRegister = ControlRegister::Privileged(16);

/// The names of the locals and outs that the Rust code leaves in each of its windows.
const RUST: [[&str; 2]; 6] = [
    ["rust_0l", "rust_0o"],
    ["rust_1l", "rust_1o"],
    ["rust_2l", "rust_2o"],
    ["rust_3l", "rust_3o"],
    ["rust_4l", "rust_4o"],
    ["rust_5l", "rust_5o"],
];

/// Returns all states of a guest's windows. In rotation, they use the eight spill traps for windows of another address space.
pub(crate) fn windows() -> impl Iterator<Item = WindowState> {
    let states = (0..=6).flat_map(|can_save| {
        (0..=6 - can_save).flat_map(move |can_restore| {
            (can_restore..=7).map(move |clean| (can_save, can_restore, clean))
        })
    });
    states.zip(0..).map(|((can_save, can_restore, clean), number)| {
        let other = 6 - can_save - can_restore;
        WindowState { can_save, can_restore, other, clean, state: number % 8 * 8 + 5 }
    })
}
