//! Lists the events that a strand's counters can count.

/// The kinds of instructions that the events of SL 2 distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Instruction {
    BranchNotTaken, BranchTaken, FguArithmetic, Load, Prefetch, RdAsr, Rdpr, Store, WrAsr, Wrpr,
    /// The instruction that software uses to mark its progress (Instr_sw).
    Software,
    Atomic, Other,
}

use Instruction::*;

impl Instruction {
    #[rustfmt::skip]
    pub const ALL: [Self; 13] = [
        BranchNotTaken, BranchTaken, FguArithmetic, Load, Prefetch, RdAsr, Rdpr, Store, WrAsr, Wrpr, Software, Atomic, Other,
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Issues(Instruction),
    /// An atomic misses in the L2 cache. Neither L2_dmiss_ld (0x320) nor any other event counts it.
    AtomicMissesL2,
    /// Any other event: its SL (3 to 7) and its single MASK bit.
    Other(u8, u8),
}

impl Event {
    /// Returns the SL (without bit 3) and the MASK bits that count the event.
    pub fn counted_by(self) -> (u8, u8) {
        match self {
            Self::Issues(instruction) => {
                let mask = match instruction {
                    BranchNotTaken => 0x01,
                    BranchTaken => 0x01 | 0x02,
                    FguArithmetic => 0x04,
                    Load | Prefetch | RdAsr | Rdpr => 0x08,
                    Store | WrAsr | Wrpr => 0x10,
                    Software => 0x20,
                    Other => 0x40,
                    Atomic => 0x80 | 0x10 | 0x08,
                };
                (2, mask)
            }
            Self::AtomicMissesL2 => (3, 0),
            Self::Other(sl, mask) => (sl, mask),
        }
    }
}
