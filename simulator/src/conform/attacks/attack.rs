//! An attack: a program, the state in which it begins, and the outcome that the architecture requires.

use crate::interpreter::WindowState;
use conform::assembler::{GL, O0, O1, O5, TL, mov, trap, wrpr};

/// The digits of an attack's number that have not been used yet to choose list entries.
pub(super) struct Index(pub(super) usize);

impl Index {
    /// Uses the next digit to choose an entry from a list.
    pub(super) fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        let digit = self.0 % end;
        self.0 /= end;
        digit
    }
}

#[derive(Clone, Debug)]
pub(super) struct Attack {
    pub(super) words: Vec<u32>,
    /// The registers that the attack sets, in the current window and among the globals: the number and value of each.
    pub(super) registers: Vec<(u32, u64)>,
    pub(super) windows: WindowState,
    pub(super) window: usize,
    /// The stack pointer of all windows; `None` if the attack does not set one.
    pub(super) stack: Option<u64>,
    /// The trap level from which the guest must take the required trap.
    pub(super) level: u64,
    pub(super) required: RequiredOutcome,
}

/// The outcome that the architecture requires of an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequiredOutcome {
    /// The program reaches its end without a trap.
    Completes,
    /// The guest takes this trap.
    Trap(u16),
    /// The guest ends, because it cannot take the trap or because it calls exit.
    Death,
    /// The architecture requires no particular outcome.
    Anything,
}

impl Attack {
    pub(super) fn new(words: impl Into<Vec<u32>>, required: RequiredOutcome) -> Self {
        Self {
            words: words.into(),
            registers: Vec::new(),
            windows: WindowState::new(),
            window: 0,
            stack: None,
            level: 0,
            required,
        }
    }

    pub(super) fn with(mut self, registers: impl IntoIterator<Item = (u32, u64)>) -> Self {
        self.registers.extend(registers);
        self
    }

    /// Inserts instructions at the start of the program that set the trap level to `level`.
    pub(super) fn at(mut self, level: u64) -> Self {
        let to = [wrpr(TL, level as u32), wrpr(GL, level as u32)];
        self.words.splice(0..0, to);
        self.level = level;
        self
    }
}

/// Returns calls that set a hub's register. The guest's other strand makes the same calls at the same time, so the hypervisor takes the
/// path that uses the most stack.
pub(super) fn hub() -> Vec<u32> {
    [mov(O0, 18), mov(O1, 0), mov(O5, 0x107), trap(0x80)].repeat(4)
}
