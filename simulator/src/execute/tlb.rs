//! Translation of real addresses (OpenSPARC T2 Programmer's Reference Manual, chapter 12): what the hypervisor has loaded.
//!
//! Guests run with their own translation switched off, so that their addresses are real. An entry of virtual addresses is taken
//! and never matches.

/// The entries of instructions, and of data, of a core, for all its strands together.
pub(super) const INSTRUCTIONS: usize = 64;
pub(super) const DATA: usize = 128;

/// A translation: the real addresses of a partition, from `base` on, `mask` + 1 bytes, are the physical ones from `physical` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    partition: u8,
    base: u64,
    mask: u64,
    physical: u64,
    pub(super) writable: bool,
}

/// The address of a load of an entry: it is for real addresses.
const REAL: u64 = 1 << 9;

/// Physical addresses have so many bits.
const PHYSICAL: u64 = (1 << 40) - 1;

impl Entry {
    /// Returns the entry that a store to the data-in register loads: `at` is the address of the store, `tag` the tag access register,
    /// `tte` a translation table entry in the format of sun4v. `None` if it is not valid, of virtual addresses, or of an unknown size.
    pub(super) fn new(partition: u8, at: u64, tag: u64, tte: u64) -> Option<Self> {
        // 8 KB, 64 KB, 4 MB, 256 MB.
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

    /// Returns the physical address of a real one.
    pub(super) const fn translated(&self, real: u64) -> u64 {
        self.physical | real & self.mask
    }
}

/// The entries of a core. The oldest makes room for the newest.
#[derive(Clone, Debug)]
pub(super) struct Tlb {
    entries: Vec<Entry>,
    oldest: usize,
    capacity: usize,
}

impl Tlb {
    pub(super) fn new(capacity: usize) -> Self {
        Self { entries: Vec::with_capacity(capacity), oldest: 0, capacity }
    }

    /// Returns the entry of a real address.
    pub(super) fn find(&self, partition: u8, real: u64) -> Option<&Entry> {
        let mut entries = self.entries.iter();
        entries.find(|entry| entry.matches(partition, real))
    }

    /// Takes an entry in, in the place of those that overlap with it.
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

    /// Takes entries out, by the address of a store to the demap register.
    pub(super) fn demap(&mut self, partition: u8, at: u64) {
        match (at >> 6 & 3, at & REAL != 0) {
            // Demap page.
            (0, true) => self.remove(|entry| entry.matches(partition, at & !0x1fff)),
            // Demap all, and all pages.
            (2, _) | (3, true) => self.remove(|entry| entry.partition == partition),
            // Of virtual addresses.
            _ => {}
        }
    }

    fn remove(&mut self, removed: impl Fn(&Entry) -> bool) {
        let before = self.entries.len();
        // The oldest comes first then.
        if before == self.capacity {
            self.entries.rotate_left(self.oldest);
            self.oldest = 0;
        }
        self.entries.retain(|entry| !removed(entry));
    }
}
