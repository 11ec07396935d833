//! A strand, and how its instructions execute.

use super::compute::{Computed, XCC, compute, shift};
use super::control::{Control, TrapFrame, pstate};
use super::environment::Environment;
use super::instruction::{Codes, Instruction, Operand, Register};
use super::registers::{Registers, WINDOWS};
use super::trap::{Level, Trap};
use super::windows::{Exception, WindowState};
use super::word::Word;

/// The state of a strand that has trapped at its highest trap level and stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorState {
    /// The trap that the strand could not take.
    pub trap: Trap,
    /// The address of the instruction that trapped.
    pub pc: u64,
}

/// A strand's state: the registers that its instructions read and write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Strand<W: Word = u64> {
    /// The integer registers, in all windows and all sets of globals.
    pub registers: Registers<W>,
    /// The address of the next instruction.
    pub pc: u64,
    /// The address of the instruction after the next.
    pub npc: u64,
    /// %ccr. Bits 7:4 are N, Z, V and C for 64 bits, and bits 3:0 are the same codes for 32 bits.
    pub ccr: W::Byte,
    /// %y: the high word of a 64-bit product or dividend.
    pub y: W::Half,
    /// %asi: the address space for instructions that use [`Space::Asi`](super::instruction::Space::Asi).
    pub asi: W::Byte,
    /// %cansave, %canrestore, %otherwin, %cleanwin and %wstate.
    pub windows: WindowState,
    /// The privileged and hyperprivileged registers.
    pub control: Control<W>,
}

/// Where the strand continues after an instruction.
enum Next {
    /// The strand continues at the instruction after this one.
    After,
    /// The strand continues at this address, after the delay slot has executed.
    Branch(u64),
    /// The strand continues at this address without executing the delay slot. `None` means that it continues after the delay slot.
    Annulled(Option<u64>),
    /// The strand executes the instruction at the first address, and continues at the second.
    At(u64, u64),
}

impl Strand {
    /// Returns a strand that executes nonprivileged software from `pc`, with all registers 0.
    pub fn user(pc: u64) -> Self {
        Self::new(pc, Control::user())
    }

    /// Returns the registers that the strand's guest can see. All other registers are 0: those that only the hypervisor sees, and the
    /// trap registers of higher trap levels.
    #[must_use]
    pub fn seen_by_guest(&self) -> Self {
        let mut seen = self.clone();
        seen.registers.hide_from_guest();
        seen.control.hide_from_guest();
        seen
    }

    /// Returns a strand after power-on, at its highest trap level.
    pub fn reset(pc: u64) -> Self {
        let mut strand = Self::new(pc, Control::reset());
        let (_, global) = strand.control.max_levels();
        strand.registers.set_global(global);
        strand
    }

    fn new(pc: u64, control: Control) -> Self {
        Self {
            registers: Registers::default(),
            pc,
            npc: pc.wrapping_add(4),
            ccr: 0,
            y: 0,
            asi: 0,
            windows: WindowState::new(),
            control,
        }
    }

    /// Converts the strand to another kind of word. The values stay the same.
    #[must_use]
    pub fn lifted<W: Word>(&self) -> Strand<W> {
        Strand {
            registers: self.registers.lifted(),
            pc: self.pc,
            npc: self.npc,
            ccr: W::from(self.ccr.into()).byte(),
            y: W::from(self.y.into()).half(),
            asi: W::from(self.asi.into()).byte(),
            windows: self.windows,
            control: self.control.lifted(),
        }
    }
}

impl<W: Word> Strand<W> {
    /// Executes one instruction or takes one trap, which may be an interrupt or an instruction's trap.
    ///
    /// # Errors
    /// The strand cannot take the trap, because it is at its highest trap level.
    #[inline(always)]
    pub fn step(&mut self, environment: &mut impl Environment<W>) -> Result<(), ErrorState> {
        let executed = match self.interrupt() {
            None => self.execute_next(environment),
            Some(interrupt) => Err(interrupt.into()),
        };
        match executed {
            Ok(()) => Ok(()),
            Err(exception) => self.take(exception),
        }
    }

    /// Returns the value that a trap saves in %tstate: %gl, %ccr, %asi, %pstate and %cwp.
    pub fn state(&self) -> W {
        let known = ((self.registers.global() as u64) << 40)
            | (u64::from(self.control.pstate) << 8)
            | self.registers.window() as u64;
        W::from(known)
            | (W::from_byte(self.ccr) << W::from(32))
            | (W::from_byte(self.asi) << W::from(24))
    }

    /// Takes a trap.
    ///
    /// # Errors
    /// The strand cannot take the trap, because it is at its highest trap level.
    pub fn take(&mut self, Exception { trap, distance }: Exception) -> Result<(), ErrorState> {
        let global = self.registers.global();
        let window = self.registers.window();
        let frame = TrapFrame {
            pc: self.pc,
            npc: self.npc,
            state: self.state(),
            number: trap.number(),
            hpstate: 0,
        };
        let Some((handler, greatest)) = self.control.enter(trap, frame) else {
            return Err(ErrorState { trap, pc: self.pc });
        };
        self.registers.set_global((global + 1).min(greatest));
        self.registers.set_window(window + usize::from(distance));
        (self.pc, self.npc) = (handler, handler.wrapping_add(4));
        Ok(())
    }

    /// Executes one instruction without taking interrupts. If the instruction traps, the strand is unchanged.
    ///
    /// # Errors
    /// The instruction traps.
    #[inline(always)]
    pub fn execute_next(&mut self, environment: &mut impl Environment<W>) -> Result<(), Exception> {
        let pc = self.effective(self.pc);
        let instruction = environment.fetch(pc, self.control.level())?;
        let (pc, npc) = match self.execute(instruction, environment)? {
            Next::At(pc, npc) => (pc, npc),
            Next::After => (self.npc, self.npc.wrapping_add(4)),
            Next::Branch(target) => (self.npc, target),
            Next::Annulled(target) => {
                let pc = target.unwrap_or_else(|| self.npc.wrapping_add(4));
                (pc, pc.wrapping_add(4))
            }
        };
        (self.pc, self.npc) = (pc, npc);
        Ok(())
    }

    #[inline(always)]
    fn execute(
        &mut self,
        instruction: Instruction,
        environment: &mut impl Environment<W>,
    ) -> Result<Next, Exception> {
        match instruction {
            Instruction::Compute { operation, cc, rd, rs1, operand } => {
                let (a, b) = self.operands(rs1, operand);
                let Computed { value, codes, y } = compute(operation, a, b, self.y, self.ccr)?;
                self.registers.set(rd, value);
                self.y = y;
                if cc {
                    self.ccr = codes;
                }
            }
            Instruction::Load { datum, rd, place } => {
                let value = self.load(place, datum, environment)?;
                self.registers.set(rd, value);
            }
            Instruction::Store { datum, rd, place } => {
                let value = self.registers.get(rd);
                self.store(place, datum.shift, value, environment)?;
            }
            Instruction::Branch { condition, codes, annul, displacement } => {
                let taken = condition.holds(self.codes(codes));
                return Ok(self.branch(taken, annul, condition.is_always(), displacement));
            }
            Instruction::BranchOnRegister { condition, annul, rs1, displacement } => {
                let taken = condition.holds(self.registers.get(rs1));
                return Ok(self.branch(taken, annul, false, displacement));
            }
            Instruction::Sethi { rd, value } => self.registers.set(rd, W::from(value.into())),
            Instruction::Shift { shift: which, extended, rd, rs1, operand } => {
                let (value, count) = self.operands(rs1, operand);
                (self.registers).set(rd, shift(which, extended, value, count));
            }
            Instruction::Move { condition, codes, rd, operand } => {
                if condition.holds(self.codes(codes)) {
                    self.registers.set(rd, self.operand(operand));
                }
            }
            Instruction::MoveOnRegister { condition, rd, rs1, operand } => {
                if condition.holds(self.registers.get(rs1)) {
                    self.registers.set(rd, self.operand(operand));
                }
            }
            Instruction::Call { displacement } => {
                self.registers.set(Register::O7, W::from(self.pc));
                return Ok(Next::Branch(self.relative(displacement)));
            }
            Instruction::Jmpl { rd, rs1, operand } => {
                let target = aligned(self.address(rs1, operand), 2)?.known()?;
                self.registers.set(rd, W::from(self.pc));
                return Ok(Next::Branch(target));
            }
            Instruction::Return { rs1, operand } => {
                let mut windows = self.windows;
                windows.restore()?;
                let target = aligned(self.address(rs1, operand), 2)?.known()?;
                self.windows = windows;
                (self.registers).set_window(self.registers.window() + WINDOWS - 1);
                return Ok(Next::Branch(target));
            }
            Instruction::Save { rd, rs1, operand } => {
                let value = self.address(rs1, operand);
                self.windows.save()?;
                (self.registers).set_window(self.registers.window() + 1);
                self.registers.set(rd, value);
            }
            Instruction::Restore { rd, rs1, operand } => {
                let value = self.address(rs1, operand);
                self.windows.restore()?;
                (self.registers).set_window(self.registers.window() + WINDOWS - 1);
                self.registers.set(rd, value);
            }
            Instruction::Flushw => self.windows.flush()?,
            Instruction::Trap { condition, codes, rs1, operand } => {
                if condition.holds(self.codes(codes)) {
                    let numbers = match self.control.level() {
                        Level::User => 0x7f,
                        _ => 0xff,
                    };
                    let number = self.address(rs1, operand) & W::from(numbers);
                    return Err(Trap::software(number.known()?).into());
                }
            }
            Instruction::LoadTwin { rd, place } => {
                let [even, odd] = self.load_twin(rd, place, environment)?;
                self.registers.set(rd, even);
                self.registers.set(rd.odd(), odd);
            }
            Instruction::StoreTwin { rd, place } => self.store_twin(rd, place, environment)?,
            Instruction::Ldstub { rd, place } => {
                self.change(rd, place, 0, environment, |_| W::from(0xff))?
            }
            Instruction::Swap { rd, place } => {
                let value = self.registers.get(rd);
                self.change(rd, place, 2, environment, |_| value)?;
            }
            Instruction::Cas { extended, rd, rs2, place } => {
                let (shift, mask) = if extended { (3, u64::MAX) } else { (2, 0xffff_ffff) };
                let expected = self.registers.get(rs2) & W::from(mask);
                let new = self.registers.get(rd);
                let changed = |old: W| if (old ^ expected).is_zero() { new } else { old };
                self.change(rd, place, shift, environment, changed)?;
            }
            Instruction::Membar { mask } => environment.membar(mask)?,
            Instruction::Prefetch | Instruction::Flush => {}
            Instruction::Read { rd, control } => {
                let value = self.read(control, environment)?;
                self.registers.set(rd, value);
            }
            Instruction::Write { control, rs1, operand } => {
                let (a, b) = self.operands(rs1, operand);
                self.write(control, a ^ b, environment)?;
            }
            Instruction::Windows(change) => {
                self.privileged()?;
                self.windows.change(change);
            }
            Instruction::Done => {
                let TrapFrame { npc, .. } = self.leave()?;
                return Ok(Next::At(npc, npc.wrapping_add(4)));
            }
            Instruction::Retry => {
                let TrapFrame { pc, npc, .. } = self.leave()?;
                return Ok(Next::At(pc, npc));
            }
            Instruction::FloatingPoint => return Err(Trap::FP_DISABLED.into()),
            Instruction::Illegal => return Err(Trap::ILLEGAL_INSTRUCTION.into()),
        }
        Ok(Next::After)
    }

    /// Restores the state that the current trap level's trap interrupted.
    fn leave(&mut self) -> Result<TrapFrame<W>, Trap> {
        self.privileged()?;
        let frame = self.control.leave()?;
        let field = |from: u64, mask: u64| frame.state >> W::from(from) & W::from(mask);
        (self.ccr, self.asi) = (field(32, 0xff).byte(), field(24, 0xff).byte());
        let (_, greatest) = self.control.max_levels();
        let global = field(40, 7).known()? as usize;
        self.registers.set_global(global.min(greatest));
        self.registers.set_window(field(0, 0x1f).known()? as usize);
        Ok(frame)
    }

    fn privileged(&self) -> Result<(), Trap> {
        match self.control.level() {
            Level::User => Err(Trap::PRIVILEGED_OPCODE),
            _ => Ok(()),
        }
    }

    /// Returns `address`, or only its low 32 bits if PSTATE.AM is set.
    #[inline(always)]
    pub(super) fn effective<A: Word>(&self, address: A) -> A {
        let all = self.control.pstate & pstate::AM == 0;
        if all { address } else { address.low() }
    }

    #[inline(always)]
    fn operand(&self, operand: Operand) -> W {
        let register = self.registers.get(operand.register);
        register.plus(W::from(i64::from(operand.immediate).cast_unsigned()))
    }

    #[inline(always)]
    fn operands(&self, rs1: Register, operand: Operand) -> (W, W) {
        (self.registers.get(rs1), self.operand(operand))
    }

    #[inline(always)]
    pub(super) fn address(&self, rs1: Register, operand: Operand) -> W {
        let (a, b) = self.operands(rs1, operand);
        a.plus(b)
    }

    #[inline(always)]
    fn codes(&self, codes: Codes) -> W {
        let ccr = W::from_byte(self.ccr);
        match codes {
            Codes::Icc => ccr,
            Codes::Xcc => ccr >> W::from(XCC.into()),
        }
    }

    const fn relative(&self, displacement: i32) -> u64 {
        self.pc.wrapping_add_signed(displacement as i64)
    }

    /// Returns where the strand continues after a branch. With `annul`, the delay slot is skipped if the branch is not taken. With `annul`
    /// and `always`, it is skipped even if the branch is taken; `always` marks the kinds of branch that are always taken.
    #[inline(always)]
    fn branch(&self, taken: bool, annul: bool, always: bool, displacement: i32) -> Next {
        match (taken, annul) {
            (true, true) if always => Next::Annulled(Some(self.relative(displacement))),
            (true, _) => Next::Branch(self.relative(displacement)),
            (false, true) => Next::Annulled(None),
            (false, false) => Next::After,
        }
    }
}

/// Returns the address if it is a multiple of `1 << shift`; otherwise returns the trap mem_address_not_aligned.
#[inline(always)]
pub(super) fn aligned<W: Word>(address: W, shift: u8) -> Result<W, Trap> {
    let low = address & W::from((1 << shift) - 1);
    if low.is_zero() { Ok(address) } else { Err(Trap::MEM_ADDRESS_NOT_ALIGNED) }
}
