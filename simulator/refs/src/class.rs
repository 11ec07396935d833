//! The instruction classes that counters distinguish.

/// An instruction's class. The discriminant is the class's byte in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// Any instruction that does not belong to another class.
    #[default]
    Other = 0,
    /// An integer multiplication.
    Multiply = 1,
    /// An integer division.
    Divide = 2,
    /// A floating-point instruction that can set the exception bits of the floating-point status register: an addition, comparison,
    /// conversion, multiplication, division or square root.
    FloatingPoint = 3,
    /// An instruction that computes in floating-point or vector registers, but sets no exception bits. Examples are a move between such
    /// registers, a change of sign, and arithmetic on vectors of integers.
    Vector = 4,
    /// An instruction that loads and stores one memory location in one step.
    Atomic = 5,
    /// An instruction that always traps, or that only an operating system may execute.
    System = 6,
    /// A SPARC branch with the annul bit set. Such a branch always annuls its delay slot if it is unconditional, and otherwise only if it
    /// is not taken. An annulled instruction starts at the address where the branch's block ends, and is not part of any recorded
    /// execution.
    Annuls = 7,
    /// A prefetch, or a barrier that orders memory references.
    Prefetch = 8,
}

impl Class {
    const ALL: [Self; 9] = [
        Self::Other,
        Self::Multiply,
        Self::Divide,
        Self::FloatingPoint,
        Self::Vector,
        Self::Atomic,
        Self::System,
        Self::Annuls,
        Self::Prefetch,
    ];

    /// Returns the class that this byte stands for in a file.
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte)).copied()
    }
}
