//! An R10000's branch prediction (R10000 Microprocessor User's Manual, sections 1.3 and 14.19).

/// The number of entries. Bits 11:3 of a branch's address select an entry.
const ENTRIES: usize = 512;

/// An entry's highest state. The states are 0 strongly not taken, 1 not taken, 2 taken and 3 strongly taken.
const STRONGLY_TAKEN: u8 = 3;

/// The branch prediction table, with a two-bit counter for each of 512 pairs of instructions.
#[derive(Clone, Debug)]
pub(super) struct Branches {
    entries: Box<[u8; ENTRIES]>,
}

impl Branches {
    /// Returns the initial table, which predicts every branch as strongly not taken.
    pub(super) fn new() -> Self {
        Self { entries: Box::new([0; ENTRIES]) }
    }

    /// Returns whether the conditional branch at this address is predicted to be taken.
    pub(super) fn predict(&self, address: u64) -> bool {
        self.entries[entry(address)] > STRONGLY_TAKEN / 2
    }

    /// Updates the entry of the conditional branch at this address with the branch's outcome.
    pub(super) fn resolve(&mut self, address: u64, taken: bool) {
        let state = &mut self.entries[entry(address)];
        *state = match taken {
            true => (*state + 1).min(STRONGLY_TAKEN),
            false => state.saturating_sub(1),
        };
    }
}

fn entry(address: u64) -> usize {
    (address >> 3) as usize % ENTRIES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_bits_for_each_entry() {
        let mut branches = Branches::new();
        let mut predicted = |taken: bool| {
            let predicted = branches.predict(0x1000);
            branches.resolve(0x1000, taken);
            predicted
        };
        let outcomes = [true, true, true, true, false, true, false, false, false];
        let expected = [false, false, true, true, true, true, true, true, false];
        assert_eq!(outcomes.map(&mut predicted), expected);
    }

    #[test]
    fn bits_11_to_3_select_an_entry() {
        let mut branches = Branches::new();
        for _ in 0..2 {
            branches.resolve(0x1238, true);
        }
        for same in [0x1238, 0x123f, 0x2238, 0x238] {
            assert!(branches.predict(same), "{same:#x}");
        }
        for other in [0x1237, 0x1240, 0x1a38, 0x1638] {
            assert!(!branches.predict(other), "{other:#x}");
        }
    }
}
