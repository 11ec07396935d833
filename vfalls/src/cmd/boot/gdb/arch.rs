//! gdb's layout of the SPARC V9 registers.

use std::num::NonZeroUsize;

use gdbstub::arch::{Arch, RegId, Registers};
use simulator::interpreter::Strand;
use simulator::interpreter::instruction::Register;

#[derive(Debug)]
pub(crate) enum SparcV9 {}

impl Arch for SparcV9 {
    type Usize = u64;
    type Registers = SparcRegisters;
    type BreakpointKind = usize;
    type RegId = SparcRegister;

    fn target_description_xml() -> Option<&'static str> {
        Some("<target version=\"1.0\"><architecture>sparc:v9</architecture></target>")
    }
}

/// The registers in gdb's order, 64 bits each: %g0-%g7, %o0-%o7, %l0-%l7, %i0-%i7, the floating-point registers (as 0), %pc, %npc, the
/// state (%ccr, %asi, %pstate and %cwp, as in %tstate), %fsr, %fprs and %y.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SparcRegisters {
    integer: [u64; 32],
    pc: u64,
    npc: u64,
    state: u64,
    y: u64,
}

/// The size of %f0 to %f62, in bytes.
const FLOAT: usize = 32 * 4 + 16 * 8;

impl SparcRegisters {
    pub(super) fn from_strand(strand: &Strand) -> Self {
        let numbers: [u32; 32] = std::array::from_fn(|number| number as u32);
        Self {
            integer: numbers.map(|number| strand.registers.get(Register::new(number))),
            pc: strand.pc,
            npc: strand.npc,
            state: strand.state(),
            y: strand.y.into(),
        }
    }

    /// Writes the registers, except the state, to a strand.
    pub(super) fn write_to(&self, strand: &mut Strand) {
        for (number, value) in (0..).zip(self.integer) {
            strand.registers.set(Register::new(number), value);
        }
        (strand.pc, strand.npc) = (self.pc, self.npc);
        strand.y = self.y as u32;
    }
}

impl Registers for SparcRegisters {
    type ProgramCounter = u64;

    fn pc(&self) -> u64 {
        self.pc
    }

    fn gdb_serialize(&self, mut write_byte: impl FnMut(Option<u8>)) {
        let mut write = |value: u64| {
            for byte in value.to_be_bytes() {
                write_byte(Some(byte));
            }
        };
        self.integer.into_iter().for_each(&mut write);
        (0..FLOAT / 8).for_each(|_| write(0));
        // %fsr and %fprs.
        [self.pc, self.npc, self.state, 0, 0, self.y].into_iter().for_each(write);
    }

    fn gdb_deserialize(&mut self, bytes: &[u8]) -> Result<(), ()> {
        let (words, _) = bytes.as_chunks();
        let words: Vec<u64> = words.iter().map(|word| u64::from_be_bytes(*word)).collect();
        let [integer @ .., pc, npc, state, _, _, y] = &*words else {
            return Err(());
        };
        self.integer = *integer.first_chunk().ok_or(())?;
        (self.pc, self.npc, self.state, self.y) = (*pc, *npc, *state, *y);
        Ok(())
    }
}

/// No single register: gdb reads and writes all registers together.
#[derive(Debug)]
pub(crate) enum SparcRegister {}

impl RegId for SparcRegister {
    fn from_raw_id(_: usize) -> Option<(Self, Option<NonZeroUsize>)> {
        None
    }
}
