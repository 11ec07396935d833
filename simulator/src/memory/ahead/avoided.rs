//! The lines of data that a core does not use ahead.

use crate::memory::geometry::L2Line;

/// Lines of data that a core does not load from while it runs ahead, because it has lost them to other cores and had to undo what it had
/// executed since. The core stops before such a load, and executes it in its turn.
#[derive(Clone, Debug)]
pub(in crate::memory) struct AvoidedLines {
    /// The low bits of a line's number select the line's entry.
    entries: [Avoided; ENTRIES],
    /// One bit for each entry, which is set if the entry's line is avoided.
    avoided: u64,
    /// The number of the entry at whose line the core has stopped; [`ENTRIES`] if it has not stopped at such a line.
    stopped: usize,
}

const ENTRIES: usize = u64::BITS as usize;

#[derive(Clone, Copy, Debug)]
struct Avoided {
    line: L2Line,
    /// How often the core will still stop before it uses the line ahead again.
    left: u16,
    /// The value of `left` when the core last lost the line.
    latest: u16,
}

/// The maximum number of times that a core stops at a line before it tries again to use it ahead. To undo what it has executed and to
/// execute it again costs as much as many stops.
const MAX_STOPS: u16 = 1023;

impl Default for AvoidedLines {
    fn default() -> Self {
        let entry = Avoided { line: L2Line::NONE, left: 0, latest: 0 };
        Self { entries: [entry; ENTRIES], avoided: 0, stopped: ENTRIES }
    }
}

impl AvoidedLines {
    #[inline(always)]
    fn entry(line: L2Line) -> usize {
        line.0 as usize % ENTRIES
    }

    /// Returns `true` if the core may not use the line ahead. If so, it has not used the line since [`begin`](Self::begin).
    #[inline(always)]
    pub(super) fn contains(&self, line: L2Line) -> bool {
        let entry = Self::entry(line);
        self.avoided >> entry & 1 == 1 && self.entries[entry].line == line
    }

    /// Notes that the core begins to run ahead.
    #[inline(always)]
    pub(super) fn begin(&mut self) {
        if self.stopped < ENTRIES {
            let entry = &mut self.entries[self.stopped];
            entry.left -= 1;
            self.avoided &= !(u64::from(entry.left == 0) << self.stopped);
            self.stopped = ENTRIES;
        }
    }

    /// Notes that the core stops before it uses an avoided line.
    #[cold]
    pub(super) fn stop_at(&mut self, line: L2Line) {
        self.stopped = Self::entry(line);
    }

    /// Avoids a line that the core has lost. The core must not be running ahead.
    pub(super) fn add(&mut self, line: L2Line) {
        let number = Self::entry(line);
        let entry = &mut self.entries[number];
        let latest = if entry.line == line { entry.latest } else { 0 };
        let left = (2 * latest + 1).min(MAX_STOPS);
        *entry = Avoided { line, left, latest: left };
        self.avoided |= 1 << number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets the core stop before the line until it may use it. Returns how often the core stops.
    fn stops(avoided: &mut AvoidedLines, line: L2Line) -> u32 {
        let mut stops = 0;
        loop {
            avoided.begin();
            if !avoided.contains(line) {
                return stops;
            }
            avoided.stop_at(line);
            stops += 1;
        }
    }

    #[test]
    fn a_line_that_is_lost_again_is_avoided_longer() {
        let (line, other) = (L2Line(100), L2Line(101));
        let mut avoided = AvoidedLines::default();
        assert!(!avoided.contains(line) && !avoided.contains(L2Line::NONE));
        avoided.add(other);
        for expected in [1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 1023] {
            avoided.add(line);
            assert_eq!(stops(&mut avoided, line), expected);
        }
        // The core has not stopped before the other line.
        assert!(avoided.contains(other));
    }

    #[test]
    fn lines_that_share_an_entry_replace_each_other() {
        let (line, same_entry) = (L2Line(100), L2Line(164));
        let mut avoided = AvoidedLines::default();
        avoided.add(line);
        avoided.add(line);
        avoided.add(same_entry);
        assert!(!avoided.contains(line) && avoided.contains(same_entry));
        avoided.add(line);
        assert_eq!(stops(&mut avoided, line), 1);
    }
}
