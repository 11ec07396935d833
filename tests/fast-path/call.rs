//! Executes a call of trap 0x80 from the instruction that traps to the guest's next instruction, or to the slow path. Then compares the
//! effects of the call with the expected effects.

use std::rc::Rc;

use simulator::interpreter::instruction::{ControlRegister, Operand, Register};
use simulator::interpreter::registers::WINDOWS;
use simulator::interpreter::{
    At, CounterRegister, Environment, Exception, Instruction, Level, Strand, Trap, Word,
};

use super::contract::{self, End, Expected};
use super::image::Image;
use super::state::{State, Symbolic};
use super::strands::{compare_effects, compare_strands};
use super::world::{Effect, World};

/// The parts of a guest's state that no fast-path instruction reads: window, globals, trap level and %pstate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guest {
    pub(crate) window: usize,
    pub(crate) global: usize,
    pub(crate) level: u64,
    pub(crate) pstate: u64,
}

impl Guest {
    /// A guest kernel at trap level 0, with interrupts enabled.
    pub(crate) const KERNEL: Self = Self { window: 3, global: 0, level: 0, pstate: 0x16 };

    /// Returns guests in each window, with each set of globals, at both trap levels from which guests make calls, and with each of these
    /// %pstate bits both set and clear: IE, AM, PEF, TLE, CLE and TCT.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        const PRIVILEGED: u64 = 1 << 2;
        let bits = [1_u64 << 1, 1 << 3, 1 << 4, 1 << 8, 1 << 9, 1 << 12];
        (0..24).map(move |number| {
            let set = bits.iter().enumerate().filter(|(bit, _)| (number * 11) >> bit & 1 != 0);
            Self {
                window: number % 8,
                global: number / 8,
                level: (number / 4 % 2) as u64,
                pstate: set.fold(PRIVILEGED, |all, (_, bit)| all | bit),
            }
        })
    }
}

/// The address of the guest's trap instruction.
pub(crate) const PC: u64 = 0x8000_1000;
/// The maximum length of a call, in instructions.
const MAX_INSTRUCTIONS: usize = 200;

/// The hypervisor's %pstate (PRIV and PEF), and the set of globals that its assembly code uses.
const PSTATE: i16 = 0x14;
const GLOBALS: i16 = 3;

pub(crate) const G1: Register = Register::new(1);
pub(crate) const G2: Register = Register::new(2);
pub(crate) const G5: Register = Register::new(5);
pub(crate) const G6: Register = Register::new(6);
pub(crate) const O1: Register = Register::new(9);
pub(crate) const O5: Register = Register::new(13);

/// An environment that supplies only one instruction.
pub(crate) struct SingleInstruction(pub(crate) Instruction);

impl<W: Word> Environment<W> for SingleInstruction {
    fn fetch(&mut self, _: u64, _: Level) -> Result<Instruction, Trap> {
        Ok(self.0)
    }

    fn load(&mut self, _: At<W>, _: u8) -> Result<W, Trap> {
        unreachable!()
    }

    fn store(&mut self, _: At<W>, _: u8, _: W) -> Result<(), Trap> {
        unreachable!()
    }

    fn read(&mut self, _: CounterRegister, _: Level) -> Result<W, Trap> {
        unreachable!()
    }

    fn write(&mut self, _: CounterRegister, _: W, _: Level) -> Result<(), Trap> {
        unreachable!()
    }
}

pub(crate) fn execute<W: Word>(strand: &mut Strand<W>, instruction: Instruction) {
    strand.execute_next(&mut SingleInstruction(instruction)).unwrap();
}

/// Writes a number to a control register.
pub(crate) fn write<W: Word>(strand: &mut Strand<W>, control: ControlRegister, value: i16) {
    let operand = Operand { register: Register::G0, immediate: value };
    let at = (strand.pc, strand.npc);
    execute(strand, Instruction::Write { control, rs1: Register::G0, operand });
    (strand.pc, strand.npc) = at;
}

/// Writes a word to a control register.
pub(crate) fn write_word<W: Word>(strand: &mut Strand<W>, control: ControlRegister, word: W) {
    let (at, kept) = ((strand.pc, strand.npc), strand.registers.get(G1));
    strand.registers.set(G1, word);
    let operand = Operand { register: Register::G0, immediate: 0 };
    execute(strand, Instruction::Write { control, rs1: G1, operand });
    strand.registers.set(G1, kept);
    (strand.pc, strand.npc) = at;
}

/// Sets %pstate and %gl, as the hypervisor's first instructions do after a trap.
pub(crate) fn enter_hypervisor<W: Word>(strand: &mut Strand<W>) {
    write(strand, ControlRegister::Privileged(6), PSTATE);
    write(strand, ControlRegister::Privileged(16), GLOBALS);
}

/// Returns a strand that executes the guest's trap instruction next.
pub(crate) fn guest(image: &Image, guest: Guest) -> Strand {
    use ControlRegister::{Hyperprivileged, Privileged};
    let mut strand = Strand::reset(PC);
    let state = (guest.global as u64) << 40 | guest.pstate << 8 | guest.window as u64;
    for (control, value) in [
        (Hyperprivileged(5), image.table),
        (Privileged(7), guest.level + 1),
        (Privileged(0), PC),
        (Privileged(1), PC + 4),
        (Privileged(2), state),
        (Hyperprivileged(1), 0),
    ] {
        write_word(&mut strand, control, value);
    }
    execute(&mut strand, Instruction::Retry);
    strand
}

/// Returns the name of a guest register: `w0l0` is %l0 of the current window, `w1l0` is %l0 of the next window, and so on.
fn name(kind: char, set: usize, number: usize) -> &'static str {
    thread_local! {
        static NAMES: [Vec<&'static str>; 3] = ['l', 'i', 'g'].map(|kind| {
            let all = (0..8).flat_map(|set| (0..8).map(move |number| (set, number)));
            all.map(|(set, number)| &*format!("w{set}{kind}{number}").leak()).collect()
        });
    }
    let kind = "lig".find(kind).unwrap();
    NAMES.with(|names| names[kind][8 * set + number])
}

/// Returns the strand with the call's arguments in %o0, %o1 and %o5, and with words from `any` in all other registers.
pub(crate) fn filled<W: Symbolic>(
    strand: &Strand,
    state: &State<W>,
    mut any: impl FnMut(&'static str, u64) -> W,
) -> Strand<W> {
    let mut strand = strand.lifted();
    let (window, global) = (strand.registers.window(), strand.registers.global());
    for set in 0..WINDOWS {
        strand.registers.set_window(window + set);
        for number in 0..8 {
            let register = |first: usize| Register::new((first + number) as u32);
            strand.registers.set(register(16), any(name('l', set, number), 0));
            strand.registers.set(register(24), any(name('i', set, number), 0));
        }
    }
    strand.registers.set_window(window);
    for set in 0..4 {
        strand.registers.set_global(set);
        for number in 1..8 {
            let word = any(name('g', set, number), 0);
            strand.registers.set(Register::new(number as u32), word);
        }
    }
    strand.registers.set_global(global);
    for (register, word) in [(Register::O0, state.id), (O1, state.value), (O5, state.function)] {
        strand.registers.set(register, word);
    }
    strand.ccr = any("ccr", !0xff).byte();
    strand.asi = any("asi", !0xff).byte();
    strand.y = any("y", !0xffff_ffff).half();
    strand
}

/// Copies the hypervisor's globals, which no guest can read.
pub(crate) fn copy_hidden<W: Word>(to: &mut Strand<W>, from: &Strand<W>) {
    let (mut from, global) = (from.registers.clone(), to.registers.global());
    from.set_global(usize::from(GLOBALS.unsigned_abs()));
    to.registers.set_global(from.global());
    for register in (1..8).map(Register::new) {
        to.registers.set(register, from.get(register));
    }
    to.registers.set_global(global);
}

/// Returns the registers of all windows and all global sets.
pub(crate) fn all_registers<W: Word>(strand: &Strand<W>) -> Vec<W> {
    let mut registers = strand.registers.clone();
    let seen = |set| {
        registers.set_window(set);
        registers.set_global(set);
        (0..32).map(|number| registers.get(Register::new(number))).collect::<Vec<_>>()
    };
    (0..WINDOWS).flat_map(seen).collect()
}

/// A call before its first instruction.
#[derive(Debug)]
pub(crate) struct Call<W: Word> {
    pub(crate) state: Rc<State<W>>,
    begins: EntryPoint,
    before: Strand<W>,
}

/// Where the execution begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryPoint {
    /// The execution begins at the guest's trap instruction.
    Trap,
    /// The execution begins in the fast path, after a device fault.
    Fault,
    /// The execution begins in the fast path, after a fault while the strand holds the lock of an L2 control.
    FaultWithLock,
}

/// How the execution of a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExecutionEnd {
    Returned,
    Slow,
    /// The fast path traps, does not end, or continues at an unexpected address.
    Wrong(Option<Trap>),
}

/// The result of an executed call.
#[derive(Debug)]
pub(crate) struct ExecutedCall<W: Word> {
    pub(crate) ended: ExecutionEnd,
    strand: Strand<W>,
    pub(crate) effects: Vec<Effect<W>>,
    /// The addresses of the executed instructions, each with the number of conditions decided before the instruction.
    pub(crate) executed: Vec<(u64, usize)>,
}

impl<W: Symbolic> Call<W> {
    pub(crate) fn new(
        image: &Image,
        state: &Rc<State<W>>,
        of: Guest,
        begins: EntryPoint,
        any: impl FnMut(&'static str, u64) -> W,
    ) -> Self {
        let before = filled(&guest(image, of), state, any);
        Self { state: Rc::clone(state), begins, before }
    }

    fn trapped(&self) -> Strand<W> {
        let mut strand = self.before.clone();
        strand.take(Exception::from(Trap::software(0x80))).unwrap();
        strand
    }

    /// Returns the strand before its first instruction.
    fn first(&self, image: &Image) -> Strand<W> {
        let mut strand = self.trapped();
        if self.begins != EntryPoint::Trap {
            enter_hypervisor(&mut strand);
            let [fault, with_lock] = image.faulted;
            strand.pc = if self.begins == EntryPoint::Fault { fault } else { with_lock };
            strand.npc = strand.pc + 4;
            strand.registers.set(G6, self.state.block);
            strand.registers.set(G2, self.state.l2);
        }
        strand
    }

    /// Returns `true` if the changed instruction has the same effect as the original one. The call must execute the instruction at the
    /// changed address.
    pub(crate) fn is_unchanged(&self, image: &Image, (at, word): (u64, u32)) -> bool {
        let (mut strand, mut world) = (self.first(image), World::new(image, &self.state));
        while strand.pc != at {
            strand.execute_next(&mut world).unwrap();
        }
        let (mut changed, mut other) = (strand.clone(), world.clone());
        other.change = Some((at, word));
        strand.execute_next(&mut world).is_ok()
            && changed.execute_next(&mut other).is_ok()
            && strand == changed
            && world.has_same_effects(&other)
    }

    /// Executes the call. `change` replaces the instruction at an address by another word.
    pub(crate) fn execute(&self, image: &Image, change: Option<(u64, u32)>) -> ExecutedCall<W> {
        let mut strand = self.first(image);
        let mut world = World::new(image, &self.state);
        world.change = change;
        let mut executed = Vec::new();
        let ended = loop {
            if strand.level() != Level::Hyperprivileged {
                break ExecutionEnd::Returned;
            }
            if strand.pc == image.general {
                break ExecutionEnd::Slow;
            }
            if executed.len() == MAX_INSTRUCTIONS || !image.is_in_call(strand.pc) {
                break ExecutionEnd::Wrong(None);
            }
            executed.push((strand.pc, W::decisions()));
            if let Err(exception) = strand.execute_next(&mut world) {
                break ExecutionEnd::Wrong(Some(exception.trap));
            }
        };
        ExecutedCall { ended, strand, effects: world.effects, executed }
    }

    /// Returns the effects and the result that the contract requires for the call.
    pub(crate) fn contract(&self) -> Expected<W> {
        match self.begins {
            EntryPoint::Trap => contract::served(&self.state),
            begins => contract::faulted(&self.state, begins == EntryPoint::FaultWithLock),
        }
    }

    /// Returns the strand that the contract requires after the call. Registers that the contract leaves open come from `done`.
    fn expected(&self, image: &Image, end: End<W>, done: &Strand<W>) -> Strand<W> {
        let mut strand = self.trapped();
        match end {
            End::Returned(status, value) => {
                execute(&mut strand, Instruction::Done);
                strand.registers.set(Register::O0, status);
                if let Some(value) = value {
                    strand.registers.set(O1, value);
                }
            }
            End::Slow(reason) => {
                enter_hypervisor(&mut strand);
                (strand.pc, strand.npc) = (image.general, image.general + 4);
                strand.registers.set(G5, reason);
                strand.registers.set(G6, self.state.block);
                // %ccr may have any value here, because %tstate holds the guest's %ccr.
                strand.ccr = done.ccr;
            }
        }
        let reads = [strand.registers.get(G5), strand.registers.get(G6)];
        copy_hidden(&mut strand, done);
        if let End::Slow(_) = end {
            strand.registers.set(G5, reads[0]);
            strand.registers.set(G6, reads[1]);
        }
        strand
    }

    /// Compares the effects of a call with the expected effects. Returns pairs of words that must be equal, or a description of a
    /// difference in anything else.
    pub(crate) fn compare(
        &self,
        image: &Image,
        done: &ExecutedCall<W>,
        expected: &Expected<W>,
    ) -> Result<Vec<(W, W)>, String> {
        let ends = match expected.end {
            End::Returned(..) => ExecutionEnd::Returned,
            End::Slow(_) => ExecutionEnd::Slow,
        };
        if done.ended != ends {
            return Err(format!("ends: {:?}, expected {:?}", done.ended, expected.end));
        }
        let mut pairs = compare_effects(&done.effects, &expected.effects)?;
        pairs.extend(compare_strands(
            &done.strand,
            &self.expected(image, expected.end, &done.strand),
        )?);
        pairs.retain(|(a, b)| a != b);
        Ok(pairs)
    }
}
