//! A strand's random walk through all privilege levels and all trap levels.
//!
//! An instruction is chosen when the strand first reaches its address, and the choice depends on the register values at that time. This
//! lets the strand survive thousands of random instructions, and avoid those that QEMU executes differently.

use simulator::interpreter::instruction::ControlRegister::{
    Ancillary, Hyperprivileged, Privileged,
};
use simulator::interpreter::instruction::{
    ControlRegister, MemoryOperand, Register, Space, Windows,
};
use simulator::interpreter::{Instruction, Level, Strand};
use tests::random::Random;

use crate::program::value;

use super::choice::Choice;
use super::deviations::Deviation;
use super::memory::{BASE, CODE, HTBAS, Memory, TBAS, VALUES};
use super::setup;
use super::state::{PSTATE, State, TL};

/// The %pstate bits that QEMU uses and saves at a trap.
pub(crate) const PSTATES: u64 = IE | PRIV | AM | PEF;
pub(crate) const IE: u64 = 1 << 1;
pub(crate) const PRIV: u64 = 1 << 2;
const AM: u64 = 1 << 3;
pub(crate) const PEF: u64 = 1 << 4;
/// HPSTATE.HPRIV: the strand is in hyperprivileged mode.
pub(crate) const HPRIV: u64 = 1 << 2;

/// The maximum number of times that a walk executes the same instruction.
const REPEATED: u8 = 6;

pub(crate) struct Walk {
    pub(crate) strand: Strand,
    pub(crate) memory: Memory,
    /// The initial memory of the walk, before any instructions are placed in it.
    data: Vec<u8>,
    pub(crate) random: Random,
    /// The planned instructions in reverse order, and the address of the next one.
    plan: Vec<u32>,
    planned: u64,
    /// The start of the memory that has no instructions yet.
    fresh: u64,
    executed: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// The strand executed the instruction with this word.
    Executed(u32),
    /// The strand took the trap with this number, caused by an instruction or an interrupt.
    Trapped(u16),
}

/// The reason why a walk avoids an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Avoided {
    /// QEMU's result differs from the one that the architecture requires.
    Deviation(Deviation),
    /// The architecture leaves the result undefined.
    Undefined,
    /// The instruction would leave the walk's memory, or needs something that one of the two machines lacks.
    Beyond,
}

impl From<Deviation> for Avoided {
    fn from(deviation: Deviation) -> Self {
        Self::Deviation(deviation)
    }
}

impl Walk {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let mut memory = Memory::new();
        for at in (VALUES..HTBAS[0]).step_by(8) {
            memory.put(at, &value(&mut random).to_be_bytes());
        }
        let mut walk = Self {
            strand: Strand::reset(BASE),
            data: memory.bytes.clone(),
            memory,
            random,
            plan: Vec::new(),
            planned: 0,
            fresh: CODE.start,
            executed: vec![0; (CODE.end - BASE) as usize / 4],
        };
        let words = setup::words(&mut walk);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        walk.memory.put(BASE, &bytes);
        // Both machines execute the same setup, which ends at the start of the walk.
        while walk.strand.pc != walk.begin() {
            let stepped = walk.strand.step(&mut walk.memory);
            stepped.expect("the set-up does not trap");
        }
        walk
    }

    /// Returns the memory before the walk.
    pub(crate) fn image(&self) -> Vec<u8> {
        let mut image = self.memory.bytes.clone();
        let data = (VALUES - BASE) as usize..(HTBAS[0] - BASE) as usize;
        image[data.clone()].copy_from_slice(&self.data[data]);
        image
    }

    /// Returns the first address of the walk, after the setup.
    pub(crate) fn begin(&self) -> u64 {
        CODE.start
    }

    /// Returns the address of unused memory with room for 64 instructions.
    pub(crate) fn fresh(&mut self) -> u64 {
        self.fresh += 0x100;
        self.fresh
    }

    pub(crate) fn state(&mut self) -> State {
        State::read(&mut self.strand, &mut self.memory)
    }

    /// Returns a control register's value, or `None` if the register does not exist at this trap level.
    pub(crate) fn control(&mut self, control: ControlRegister) -> Option<u64> {
        self.strand.control_register(control, &mut self.memory)
    }

    pub(crate) fn level(&mut self) -> Level {
        self.state().level()
    }

    /// Executes an instruction or takes a trap. Returns `None` if the walk ends.
    pub(crate) fn step(&mut self) -> Option<Step> {
        let pc = self.strand.pc;
        let places = [pc, self.strand.npc].map(|at| (HTBAS[0]..CODE.end - 0x1000).contains(&at));
        if places.contains(&false) || self.fresh + 0x1000 > CODE.end {
            return None;
        }
        let executed = &mut self.executed[(pc - BASE) as usize / 4];
        *executed += 1;
        if *executed > REPEATED {
            return None;
        }
        if self.memory.word(pc) == 0 {
            let word = self.choose(pc);
            self.memory.put(pc, &word.to_be_bytes());
        } else if self.avoided(self.memory.word(pc)).is_some() {
            return None;
        }
        let word = self.memory.word(pc);
        let before = self.control(TL);
        let handled = self.control(Privileged(3)).unwrap_or(0);
        self.strand.step(&mut self.memory).ok()?;
        let vectors = HTBAS.iter().chain(&TBAS);
        let in_table =
            vectors.clone().any(|table| (*table..table + 0x8000).contains(&self.strand.pc));
        let raised = self.control(TL) == before.map(|tl| tl + 1);
        Some(if raised && in_table && self.strand.pc.is_multiple_of(32) {
            let number = self.control(Privileged(3)).expect("a trap level");
            // Avoids Deviation::NestedInterrupt.
            if (0x41..0x50).contains(&number) && (number + 1..0x50).contains(&handled) {
                return None;
            }
            Step::Trapped(number as u16)
        } else {
            Step::Executed(word)
        })
    }

    fn choose(&mut self, pc: u64) -> u32 {
        let mut word = 0;
        if self.planned == pc && self.strand.npc == pc + 4 && !pc.is_multiple_of(32) {
            word = self.plan.pop().unwrap_or(0);
        }
        let delayed = self.strand.npc != pc + 4;
        while word == 0 || self.avoided(word).is_some() {
            self.plan = Choice { walk: self, pc, delayed }.plan();
            self.plan.reverse();
            word = self.plan.pop().expect("an instruction");
        }
        self.planned = pc + 4;
        word
    }

    /// Returns why the walk avoids an instruction, or `None` if it does not.
    fn avoided(&mut self, word: u32) -> Option<Avoided> {
        let windows = self.strand.windows;
        let tl = self.control(TL).unwrap_or(0);
        let level = self.level();
        let get = |walk: &Self, register: Register| walk.strand.registers.get(register);
        let if_so = |so: bool, why| so.then_some(why);
        match Instruction::decode(word) {
            // CANSAVE, CANRESTORE and OTHERWIN must add up to 6.
            Instruction::Save { .. } => {
                if_so(windows.can_save > 0 && windows.can_restore == 7, Avoided::Undefined)
            }
            Instruction::Restore { .. } | Instruction::Return { .. } => {
                if_so(windows.can_restore > 0 && windows.can_save == 7, Avoided::Undefined)
            }
            Instruction::Flushw => if_so(windows.can_save == 7, Avoided::Undefined),
            Instruction::Windows(change) if level > Level::User => {
                let other = windows.other;
                let other_or = |most| if other == 0 { most } else { other };
                match change {
                    Windows::Saved => if_so(
                        windows.can_save == 7 || other_or(windows.can_restore) == 0,
                        Avoided::Undefined,
                    ),
                    Windows::Restored => if_so(
                        windows.can_restore == 7 || other_or(windows.can_save) == 0,
                        Avoided::Undefined,
                    ),
                    _ => Some(Deviation::WindowInstructions.into()),
                }
            }
            Instruction::Done | Instruction::Retry if level > Level::User => {
                let (Some(state), Some(hpstate), Some(pc), Some(npc)) = (
                    self.control(Privileged(2)),
                    self.control(Hyperprivileged(1)),
                    self.control(Privileged(0)),
                    self.control(Privileged(1)),
                ) else {
                    return Some(Deviation::DoneAtLevelZero.into());
                };
                let most = if hpstate & HPRIV == 0 { 2 } else { 3 };
                let places = [pc, npc].map(|at| (BASE..CODE.end).contains(&at));
                if tl == 6 {
                    Some(Deviation::RedState.into())
                } else if state >> 40 > most {
                    Some(Deviation::GlobalLevel.into())
                } else {
                    if_so(places.contains(&false), Avoided::Beyond)
                }
            }
            Instruction::Read { control, .. } => match control {
                Ancillary(22 | 23 | 25) => {
                    if_so(level == Level::User, Deviation::AncillaryReads.into())
                }
                Privileged(2) if tl == 6 => if_so(level > Level::User, Deviation::RedState.into()),
                Privileged(0..=3) => {
                    if_so(tl == 0 && level > Level::User, Deviation::NoTrapStack.into())
                }
                _ => None,
            },
            Instruction::Write { control, rs1, operand } => {
                let second =
                    get(self, operand.register).wrapping_add_signed(operand.immediate.into());
                let value = get(self, rs1) ^ second;
                if level == Level::User && matches!(control, Ancillary(20..=23 | 25)) {
                    return Some(Deviation::AncillaryWrites.into());
                }
                let allowed = match control {
                    Privileged(_) | Ancillary(20..=23 | 25) => Level::Privileged,
                    Hyperprivileged(_) => Level::Hyperprivileged,
                    Ancillary(_) => Level::User,
                };
                if level < allowed {
                    return None;
                }
                self.unwritten(control, value)
            }
            Instruction::Trap { rs1, operand, .. } => if_so(
                rs1 != Register::G0 && operand.register != Register::G0,
                Deviation::TrapNumber.into(),
            ),
            Instruction::Load { place, .. }
            | Instruction::Store { place, .. }
            | Instruction::LoadTwin { place, .. }
            | Instruction::StoreTwin { place, .. }
            | Instruction::Ldstub { place, .. }
            | Instruction::Swap { place, .. }
            | Instruction::Cas { place, .. } => if_so(!self.reaches(place), Avoided::Beyond),
            // A simulated strand has no floating-point unit.
            Instruction::FloatingPoint => if_so(
                self.control(PSTATE).unwrap_or(0) & PEF != 0
                    && self.control(Ancillary(6)).unwrap_or(0) & 4 != 0,
                Avoided::Beyond,
            ),
            _ => None,
        }
    }

    /// Returns whether an access reaches the memory for random instructions, with an ASI that the niagara machine has while the MMU is off.
    fn reaches(&mut self, place: MemoryOperand) -> bool {
        let level = self.level();
        let get = |register| self.strand.registers.get(register);
        let second =
            get(place.operand.register).wrapping_add_signed(place.operand.immediate.into());
        let address = get(place.rs1).wrapping_add(second);
        let space = match place.space {
            Space::Primary => 0x80,
            Space::Number(space) => space,
            Space::Asi => self.strand.asi,
        };
        match space {
            0x80 | 0x88 => (VALUES..HTBAS[0] - 8).contains(&address),
            0x14 | 0x1c if level > Level::User => (VALUES..HTBAS[0] - 8).contains(&address),
            // A guest has six scratchpad registers.
            0x20 if level > Level::User => matches!(address, 0 | 8 | 0x10 | 0x18 | 0x30 | 0x38),
            0x4f if level == Level::Hyperprivileged => address < 0x40,
            _ => false,
        }
    }

    /// Returns why the walk avoids a write to a control register, or `None` if it does not.
    fn unwritten(&mut self, control: ControlRegister, value: u64) -> Option<Avoided> {
        let hyperprivileged = self.level() == Level::Hyperprivileged;
        let no_trap = self.control(TL) == Some(0);
        let beyond = |bits: u64, deviation: Deviation| (value & !bits != 0).then_some(deviation);
        let over = |most: u64, deviation: Deviation| (value > most).then_some(deviation);
        let if_so = |so: bool| so.then_some(Avoided::Beyond);
        let deviation = match control {
            Ancillary(20..=22) => beyond(0x1_ffff, Deviation::SoftintBits),
            Ancillary(6) => beyond(7, Deviation::FprsBits),
            Privileged(0..=3) if no_trap => Some(Deviation::NoTrapStack),
            Privileged(0 | 1) => beyond(!3, Deviation::TrapPcBits),
            Privileged(2) => beyond(
                7 << 40 | 0xff << 32 | 0xff << 24 | PSTATES << 8 | 7,
                Deviation::TrapStateBits,
            )
            .or((value >> 40 > if hyperprivileged { 3 } else { 2 })
                .then_some(Deviation::GlobalLevel)),
            Privileged(3) => beyond(0x1ff, Deviation::TrapTypeBits),
            Privileged(6) => beyond(PSTATES, Deviation::PstateBits),
            Privileged(7) => over(if hyperprivileged { 6 } else { 2 }, Deviation::TrapLevel),
            Privileged(8) => beyond(15, Deviation::PilBits),
            Privileged(9..=13) => beyond(7, Deviation::WindowBits),
            Privileged(14) => beyond(0x3f, Deviation::WstateBits),
            Privileged(16) => over(if hyperprivileged { 3 } else { 2 }, Deviation::GlobalLevel),
            Hyperprivileged(0) => {
                let waits = self.control(PSTATE).unwrap_or(0) & IE != 0;
                (value == 0 && waits).then_some(Deviation::PendingInterrupt)
            }
            _ => None,
        };
        deviation.map(Avoided::from).or_else(|| match control {
            // QEMU's timers follow the host's time.
            Ancillary(23 | 25) | Hyperprivileged(31) => if_so(value >> 63 == 0),
            Privileged(0 | 1) => if_so(!(BASE..CODE.end).contains(&value)),
            Privileged(5) => if_so(!TBAS.contains(&value)),
            Hyperprivileged(5) => if_so(!HTBAS.contains(&value)),
            Hyperprivileged(0) => if_so(value & !HPRIV != 0),
            Hyperprivileged(3) => if_so(value != 0),
            _ => None,
        })
    }
}
