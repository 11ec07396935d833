//! A strand that executes.

use super::compute::{Computed, XCC, compute, shift};
use super::instruction::{Codes, Control, Datum, Instruction, Operand, Place, Register, Space};
use super::registers::Registers;
use super::trap::Trap;
use super::windows::{WindowState, WindowTrap};

/// The memory that a strand uses. Addresses are multiples of the access, and values are as big-endian memory has them.
pub trait Memory {
    /// Returns the instruction at an address.
    ///
    /// # Errors
    /// The trap, where there is none.
    fn fetch(&mut self, address: u64) -> Result<Instruction, Trap>;

    /// Returns the value at an address of a space: `1 << shift` bytes.
    ///
    /// # Errors
    /// The trap, where nothing can be loaded.
    fn load(&mut self, space: u8, address: u64, shift: u8) -> Result<u64, Trap>;

    /// Writes a value, of which the low `1 << shift` bytes count.
    ///
    /// # Errors
    /// The trap, where nothing can be stored.
    fn store(&mut self, space: u8, address: u64, shift: u8, value: u64) -> Result<(), Trap>;

    /// Changes a value in one step, and returns what it was.
    ///
    /// # Errors
    /// The trap, where that cannot be done.
    fn change(
        &mut self,
        space: u8,
        address: u64,
        shift: u8,
        changed: impl FnOnce(u64) -> u64,
    ) -> Result<u64, Trap>;
}

/// The state of a strand that nonprivileged software sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strand {
    /// The integer registers.
    pub registers: Registers,
    /// The address of the instruction that comes next.
    pub pc: u64,
    /// That of the one after it.
    pub npc: u64,
    /// The condition codes: bits 7 to 4 of 64 bits, 3 to 0 of 32 bits; each N, Z, V and C.
    pub ccr: u8,
    /// %y.
    pub y: u32,
    /// %asi.
    pub asi: u8,
    /// The windows that it may use.
    pub windows: WindowState,
}

/// Where execution goes on.
enum Next {
    /// After the instruction.
    After,
    /// At an address, after the delay slot.
    Branch(u64),
    /// After the delay slot, which is not executed; at an address, if there is one.
    Annulled(Option<u64>),
}

/// The space of ordinary loads and stores, and which byte of the number of a space says that its bytes are in little-endian order.
pub const PRIMARY: u8 = 0x80;
const LITTLE: u8 = 0x08;

impl Strand {
    /// Returns a strand that begins at an address; all registers are 0.
    #[must_use]
    pub const fn new(pc: u64) -> Self {
        Self {
            registers: Registers::new(),
            pc,
            npc: pc.wrapping_add(4),
            ccr: 0,
            y: 0,
            asi: 0,
            windows: WindowState::new(),
        }
    }

    /// Executes an instruction.
    ///
    /// # Errors
    /// It traps: nothing has changed but the window, which is the handler's.
    pub fn step(&mut self, memory: &mut impl Memory) -> Result<(), Trap> {
        let instruction = memory.fetch(self.pc)?;
        let (pc, npc) = match self.execute(instruction, memory)? {
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
        memory: &mut impl Memory,
    ) -> Result<Next, Trap> {
        match instruction {
            Instruction::Compute {
                operation,
                cc,
                rd,
                rs1,
                operand,
            } => {
                let (a, b) = self.operands(rs1, operand);
                let Computed { value, codes, y } = compute(operation, a, b, self.y, self.ccr)?;
                self.registers.set(rd, value);
                self.y = y;
                if cc {
                    self.ccr = codes;
                }
            }
            Instruction::Load { datum, rd, place } => {
                let value = self.load(place, datum, memory)?;
                self.registers.set(rd, value);
            }
            Instruction::Store { datum, rd, place } => {
                let value = self.registers.get(rd);
                self.store(place, datum.shift, value, memory)?;
            }
            Instruction::Branch {
                condition,
                codes,
                annul,
                displacement,
            } => {
                let taken = condition.holds(self.codes(codes));
                return Ok(self.branch(taken, annul, condition.is_always(), displacement));
            }
            Instruction::BranchOnRegister {
                condition,
                annul,
                rs1,
                displacement,
            } => {
                let taken = condition.holds(self.registers.get(rs1));
                return Ok(self.branch(taken, annul, false, displacement));
            }
            Instruction::Sethi { rd, value } => self.registers.set(rd, value.into()),
            Instruction::Shift {
                shift: which,
                extended,
                rd,
                rs1,
                operand,
            } => {
                let (value, count) = self.operands(rs1, operand);
                (self.registers).set(rd, shift(which, extended, value, count));
            }
            Instruction::Move {
                condition,
                codes,
                rd,
                operand,
            } => {
                if condition.holds(self.codes(codes)) {
                    self.registers.set(rd, self.operand(operand));
                }
            }
            Instruction::MoveOnRegister {
                condition,
                rd,
                rs1,
                operand,
            } => {
                if condition.holds(self.registers.get(rs1)) {
                    self.registers.set(rd, self.operand(operand));
                }
            }
            Instruction::Call { displacement } => {
                self.registers.set(Register::O7, self.pc);
                return Ok(Next::Branch(self.relative(displacement)));
            }
            Instruction::Jmpl { rd, rs1, operand } => {
                let target = aligned(self.address(rs1, operand), 2)?;
                self.registers.set(rd, self.pc);
                return Ok(Next::Branch(target));
            }
            Instruction::Return { rs1, operand } => {
                let target = self.address(rs1, operand);
                self.restored()?;
                // The window is back, unless the address is wrong.
                return match aligned(target, 2) {
                    Ok(target) => Ok(Next::Branch(target)),
                    Err(trap) => {
                        let _ = self.windows.save();
                        (self.registers).set_window(self.registers.window() + 1);
                        Err(trap)
                    }
                };
            }
            Instruction::Save { rd, rs1, operand } => {
                let value = self.address(rs1, operand);
                let saved = self.windows.save();
                self.unless(saved)?;
                (self.registers).set_window(self.registers.window() + 1);
                self.registers.set(rd, value);
            }
            Instruction::Restore { rd, rs1, operand } => {
                let value = self.address(rs1, operand);
                self.restored()?;
                self.registers.set(rd, value);
            }
            Instruction::Flushw => self.unless(self.windows.flush())?,
            Instruction::Trap {
                condition,
                codes,
                rs1,
                operand,
            } => {
                if condition.holds(self.codes(codes)) {
                    return Err(Trap::software(self.address(rs1, operand) & 0x7f));
                }
            }
            Instruction::LoadTwin { rd, place } => {
                let value = self.load_twin(rd, place, memory)?;
                self.registers.set(rd, value >> 32);
                self.registers.set(rd.odd(), value & 0xffff_ffff);
            }
            Instruction::StoreTwin { rd, place } => self.store_twin(rd, place, memory)?,
            Instruction::Ldstub { rd, place } => self.change(rd, place, 0, memory, |_| 0xff)?,
            Instruction::Swap { rd, place } => {
                let value = self.registers.get(rd);
                self.change(rd, place, 2, memory, |_| value)?;
            }
            Instruction::Cas {
                extended,
                rd,
                rs2,
                place,
            } => {
                let (shift, mask) = if extended {
                    (3, u64::MAX)
                } else {
                    (2, 0xffff_ffff)
                };
                let (expected, new) = (self.registers.get(rs2) & mask, self.registers.get(rd));
                let changed = |old| if old == expected { new } else { old };
                self.change(rd, place, shift, memory, changed)?;
            }
            Instruction::Prefetch | Instruction::Flush | Instruction::Membar { .. } => {}
            Instruction::Read { rd, control } => {
                let value = self.read(control)?;
                self.registers.set(rd, value);
            }
            Instruction::Write {
                control,
                rs1,
                operand,
            } => {
                let (a, b) = self.operands(rs1, operand);
                self.write(control, a ^ b)?;
            }
            Instruction::Windows(_) | Instruction::Done | Instruction::Retry => {
                return Err(Trap::PRIVILEGED_OPCODE);
            }
            Instruction::FloatingPoint => return Err(Trap::FP_DISABLED),
            Instruction::Illegal => return Err(Trap::ILLEGAL_INSTRUCTION),
        }
        Ok(Next::After)
    }

    #[inline(always)]
    fn operand(&self, operand: Operand) -> u64 {
        let register = self.registers.get(operand.register);
        register.wrapping_add_signed(operand.immediate.into())
    }

    #[inline(always)]
    fn operands(&self, rs1: Register, operand: Operand) -> (u64, u64) {
        (self.registers.get(rs1), self.operand(operand))
    }

    #[inline(always)]
    fn address(&self, rs1: Register, operand: Operand) -> u64 {
        let (a, b) = self.operands(rs1, operand);
        a.wrapping_add(b)
    }

    #[inline(always)]
    const fn codes(&self, codes: Codes) -> u8 {
        match codes {
            Codes::Icc => self.ccr,
            Codes::Xcc => self.ccr >> XCC,
        }
    }

    const fn relative(&self, displacement: i32) -> u64 {
        self.pc.wrapping_add_signed(displacement as i64)
    }

    /// The delay slot of a branch that is taken is executed, unless the branch is always taken and annuls; that of one that is not
    /// taken is, unless it annuls.
    #[inline(always)]
    fn branch(&self, taken: bool, annul: bool, always: bool, displacement: i32) -> Next {
        match (taken, annul) {
            (true, true) if always => Next::Annulled(Some(self.relative(displacement))),
            (true, _) => Next::Branch(self.relative(displacement)),
            (false, true) => Next::Annulled(None),
            (false, false) => Next::After,
        }
    }

    /// Goes back to the window before.
    fn restored(&mut self) -> Result<(), Trap> {
        let restored = self.windows.restore();
        self.unless(restored)?;
        self.registers
            .set_window(self.registers.window() + super::registers::WINDOWS - 1);
        Ok(())
    }

    /// Goes to the window of the handler, if there is a trap.
    fn unless(&mut self, changed: Result<(), WindowTrap>) -> Result<(), Trap> {
        changed.map_err(|WindowTrap { trap, distance }| {
            let window = self.registers.window() + usize::from(distance);
            self.registers.set_window(window);
            trap
        })
    }

    /// Returns the space and address of an access.
    #[inline(always)]
    fn place(&self, place: Place, shift: u8) -> Result<(u8, u64), Trap> {
        let space = match place.space {
            Space::Primary => PRIMARY,
            Space::Number(space) => space,
            Space::Asi => self.asi,
        };
        let address = aligned(self.address(place.rs1, place.operand), shift)?;
        if space & 0x80 == 0 {
            return Err(Trap::PRIVILEGED_ACTION);
        }
        Ok((space, address))
    }

    #[inline(always)]
    fn load(&self, place: Place, datum: Datum, memory: &mut impl Memory) -> Result<u64, Trap> {
        let (space, address) = self.place(place, datum.shift)?;
        let value = memory.load(space & !LITTLE, address, datum.shift)?;
        let value = ordered(space, datum.shift, value);
        let unused = 64 - (8 << datum.shift);
        Ok(if datum.signed {
            ((value << unused).cast_signed() >> unused).cast_unsigned()
        } else {
            value
        })
    }

    #[inline(always)]
    fn store(
        &self,
        place: Place,
        shift: u8,
        value: u64,
        memory: &mut impl Memory,
    ) -> Result<(), Trap> {
        let (space, address) = self.place(place, shift)?;
        let value = ordered(space, shift, value);
        memory.store(space & !LITTLE, address, shift, value)
    }

    /// Loads two words, of which each is in the order of the space.
    fn load_twin(&self, rd: Register, place: Place, memory: &mut impl Memory) -> Result<u64, Trap> {
        let (space, address) = self.twin(rd, place)?;
        let value = memory.load(space & !LITTLE, address, 3)?;
        let word = |value| ordered(space, 2, value & 0xffff_ffff);
        Ok((word(value >> 32) << 32) | word(value))
    }

    fn store_twin(&self, rd: Register, place: Place, memory: &mut impl Memory) -> Result<(), Trap> {
        let (space, address) = self.twin(rd, place)?;
        let word = |register| ordered(space, 2, self.registers.get(register) & 0xffff_ffff);
        memory.store(
            space & !LITTLE,
            address,
            3,
            (word(rd) << 32) | word(rd.odd()),
        )
    }

    fn twin(&self, rd: Register, place: Place) -> Result<(u8, u64), Trap> {
        if !rd.is_even() {
            return Err(Trap::ILLEGAL_INSTRUCTION);
        }
        self.place(place, 3)
    }

    /// Changes a value in memory in one step, and loads what it was.
    fn change(
        &mut self,
        rd: Register,
        place: Place,
        shift: u8,
        memory: &mut impl Memory,
        changed: impl FnOnce(u64) -> u64,
    ) -> Result<(), Trap> {
        let (space, address) = self.place(place, shift)?;
        let old = memory.change(space & !LITTLE, address, shift, |old| {
            ordered(space, shift, changed(ordered(space, shift, old)))
        })?;
        self.registers.set(rd, ordered(space, shift, old));
        Ok(())
    }

    fn read(&self, control: Control) -> Result<u64, Trap> {
        match control {
            Control::Ancillary(0) => Ok(self.y.into()),
            Control::Ancillary(2) => Ok(self.ccr.into()),
            Control::Ancillary(3) => Ok(self.asi.into()),
            Control::Ancillary(5) => Ok(self.pc),
            _ => Err(refused(control)),
        }
    }

    fn write(&mut self, control: Control, value: u64) -> Result<(), Trap> {
        match control {
            Control::Ancillary(0) => self.y = value as u32,
            Control::Ancillary(2) => self.ccr = value as u8,
            Control::Ancillary(3) => self.asi = value as u8,
            _ => return Err(refused(control)),
        }
        Ok(())
    }
}

/// Returns the trap of an access to a register that nonprivileged software does not have.
const fn refused(control: Control) -> Trap {
    match control {
        Control::Privileged(_) => Trap::PRIVILEGED_OPCODE,
        Control::Ancillary(_) | Control::Hyperprivileged(_) => Trap::ILLEGAL_INSTRUCTION,
    }
}

/// Returns the address, which has to be a multiple of `1 << shift`.
#[inline(always)]
const fn aligned(address: u64, shift: u8) -> Result<u64, Trap> {
    if address & ((1 << shift) - 1) == 0 {
        Ok(address)
    } else {
        Err(Trap::MEM_ADDRESS_NOT_ALIGNED)
    }
}

/// Returns a value of `1 << shift` bytes in the order of a space.
#[inline(always)]
const fn ordered(space: u8, shift: u8, value: u64) -> u64 {
    if space & LITTLE == 0 {
        value
    } else {
        value.swap_bytes() >> (64 - (8 << shift))
    }
}
