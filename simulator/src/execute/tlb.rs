//! Translates real addresses with the entries that the hypervisor has loaded (OpenSPARC T2 Programmer's Reference Manual, chapter 12).
//!
//! Guests run with their own translation switched off, so their addresses are real. A store of an entry for virtual addresses has no
//! effect.

/// Each TLB's tag access register: its ASI and its address.
pub(super) const INSTRUCTION_TAG: (u8, u64) = (0x50, 0x30);
pub(super) const DATA_TAG: (u8, u64) = (0x58, 0x30);
/// The register that holds the latest data fault's address.
pub(super) const DATA_FAULT: (u8, u64) = (0x58, 0x20);

/// A core's TLBs, which all strands of the core share.
#[derive(Clone, Debug)]
pub(super) struct CoreTlbs {
    pub(super) instructions: Tlb,
    pub(super) data: Tlb,
}

impl CoreTlbs {
    pub(super) fn new() -> Self {
        Self { instructions: Tlb::new(64), data: Tlb::new(128) }
    }
}

/// Translates a range of real addresses in one partition. The range has `mask + 1` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    partition: u8,
    base: u64,
    mask: u64,
    physical: u64,
    pub(super) writable: bool,
}

/// The bit in a data-in or demap register's address that selects real addresses.
const REAL: u64 = 1 << 9;

/// A physical address's 40 bits.
const PHYSICAL: u64 = (1 << 40) - 1;

impl Entry {
    /// Returns the entry that a store to the data-in register at `at` loads. `tag` is the tag access register, and `tte` is a translation
    /// table entry in sun4v's format. Returns `None` if the entry is invalid, is for virtual addresses, or has an unknown size.
    pub(super) fn new(partition: u8, at: u64, tag: u64, tte: u64) -> Option<Self> {
        // The sizes are 8 KB, 64 KB, 4 MB and 256 MB.
        let shift = match tte & 0xf {
            0 => 13,
            1 => 16,
            3 => 22,
            5 => 28,
            _ => return None,
        };
        if tte >> 63 == 0 || at & REAL == 0 {
            return None;
        }
        let mask = (1 << shift) - 1;
        Some(Self {
            partition,
            base: tag & !mask,
            mask,
            physical: tte & PHYSICAL & !mask,
            writable: tte & 1 << 6 != 0,
        })
    }

    fn matches(&self, partition: u8, real: u64) -> bool {
        self.partition == partition && real & !self.mask == self.base
    }

    pub(super) const fn translated(&self, real: u64) -> u64 {
        self.physical | real & self.mask
    }
}

/// A TLB's entries. When the TLB is full, a new entry replaces the oldest.
#[derive(Clone, Debug)]
pub(super) struct Tlb {
    entries: Vec<Entry>,
    oldest: usize,
    capacity: usize,
}

impl Tlb {
    fn new(capacity: usize) -> Self {
        Self { entries: Vec::with_capacity(capacity), oldest: 0, capacity }
    }

    pub(super) fn find(&self, partition: u8, real: u64) -> Option<&Entry> {
        let mut entries = self.entries.iter();
        entries.find(|entry| entry.matches(partition, real))
    }

    /// Inserts an entry and removes the entries that overlap it.
    pub(super) fn insert(&mut self, entry: Entry) {
        self.remove(|other| {
            let mask = other.mask | entry.mask;
            other.partition == entry.partition && other.base & !mask == entry.base & !mask
        });
        if self.entries.len() < self.capacity {
            self.entries.push(entry);
        } else {
            self.entries[self.oldest] = entry;
            self.oldest = (self.oldest + 1) % self.capacity;
        }
    }

    /// Removes the entries that a store to the demap register at `at` selects.
    pub(super) fn demap(&mut self, partition: u8, at: u64) {
        match (at >> 6 & 3, at & REAL != 0) {
            (0, true) => self.remove(|entry| entry.matches(partition, at & !0x1fff)),
            (2, _) | (3, true) => self.remove(|entry| entry.partition == partition),
            // A demap of virtual addresses does nothing, because the TLB has no entries for them.
            _ => {}
        }
    }

    fn remove(&mut self, removed: impl Fn(&Entry) -> bool) {
        // `insert` appends while there is room, so the oldest entry must be the first.
        if self.entries.len() == self.capacity {
            self.entries.rotate_left(self.oldest);
            self.oldest = 0;
        }
        self.entries.retain(|entry| !removed(entry));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an entry of partition 1 whose physical addresses begin at `physical`. Sizes have the encoding of a translation table entry:
    /// 0 is 8 KB, 3 is 4 MB.
    fn entry(real: u64, size: u64, physical: u64) -> Entry {
        Entry::new(1, REAL, real, 1 << 63 | physical | size).unwrap()
    }

    fn found(tlb: &Tlb, real: u64) -> Option<u64> {
        tlb.find(1, real).map(|entry| entry.translated(real))
    }

    #[test]
    fn an_entry_replaces_those_that_it_overlaps() {
        let mut tlb = Tlb::new(8);
        tlb.insert(entry(0x40_2000, 0, 0x10_0000));
        tlb.insert(entry(0x80_0000, 0, 0x20_0000));
        tlb.insert(Entry { partition: 2, ..entry(0x40_2000, 0, 0x30_0000) });
        // This entry is larger than the first entry.
        tlb.insert(entry(0x40_0000, 3, 0x8000_0000));
        assert_eq!(found(&tlb, 0x40_2010), Some(0x8000_2010));
        assert_eq!(found(&tlb, 0x80_0010), Some(0x20_0010));
        assert_eq!(tlb.find(2, 0x40_2010).unwrap().translated(0x40_2010), 0x30_0010);
        // This entry is smaller than the last entry.
        tlb.insert(entry(0x40_4000, 0, 0x50_0000));
        assert_eq!(found(&tlb, 0x40_4010), Some(0x50_0010));
        assert_eq!(found(&tlb, 0x40_2010), None);
    }
}
