//! An R10000's translation lookaside buffer (R10000 Microprocessor User's Manual, section 16.3), and how software fills it.

/// The number of entries, each of which translates a pair of pages.
const ENTRIES: usize = 64;

/// The binary logarithm of a page pair's size. A page has 16 KB, as in 64-bit IRIX. The hardware allows 4 KB to 16 MB.
const PAIR_SHIFT: u32 = 15;

/// The binary logarithm of a page table entry's size. An entry describes a pair of pages.
const TABLE_ENTRY_SHIFT: u32 = 4;

/// The page table's address, above the addresses of programs.
const TABLE: u64 = 0xc000_0000_0000_0000;

/// The translation lookaside buffer. There is only one address space, so entries have no address space identifier. No entry is wired.
#[derive(Clone, Debug)]
pub(super) struct Tlb {
    pairs: Box<[Option<u64>; ENTRIES]>,
    /// The index of the most recently used entry, which is tried first.
    last: usize,
    /// The Random register, which selects the entry that the next write replaces.
    random: usize,
}

impl Tlb {
    pub(super) fn new() -> Self {
        Self { pairs: Box::new([None; ENTRIES]), last: 0, random: ENTRIES - 1 }
    }

    /// Returns the first address that a reference touches but the TLB does not translate; `None` if the TLB translates all of the
    /// reference's addresses.
    pub(super) fn missing(&mut self, address: u64, size: u16) -> Option<u64> {
        let last = address.saturating_add(u64::from(size).saturating_sub(1));
        // A reference is shorter than a page, so it touches only the pages of its first and last bytes.
        [address, last].into_iter().find(|end| !self.translates(*end))
    }

    fn translates(&mut self, address: u64) -> bool {
        let pair = Some(address >> PAIR_SHIFT);
        if self.pairs[self.last] == pair {
            return true;
        }
        let found = self.pairs.iter().position(|entry| *entry == pair);
        self.last = found.unwrap_or(self.last);
        found.is_some()
    }

    /// Decrements the Random register, as the hardware does in each cycle in which an instruction graduates.
    pub(super) fn graduate(&mut self) {
        self.random = self.random.checked_sub(1).unwrap_or(ENTRIES - 1);
    }

    /// Replaces the entry that Random selects with a translation of the page pair at `address`.
    pub(super) fn write_random(&mut self, address: u64) {
        self.pairs[self.random] = Some(address >> PAIR_SHIFT);
    }

    /// Returns the address of the page table entry for `address`.
    pub(super) fn table_entry(address: u64) -> u64 {
        TABLE | (address >> PAIR_SHIFT) << TABLE_ENTRY_SHIFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_translates_a_pair_of_pages() {
        let mut tlb = Tlb::new();
        assert_eq!(tlb.missing(0x1_0000, 8), Some(0x1_0000));
        tlb.write_random(0x1_0000);
        assert_eq!(tlb.missing(0x1_0000, 8), None);
        assert_eq!(tlb.missing(0x1_7ff8, 8), None);
        assert_eq!(tlb.missing(0x1_7ffc, 8), Some(0x1_8003), "the next pair");
        assert_eq!(tlb.missing(0x0_fffc, 8), Some(0x0_fffc), "the pair before");
    }

    #[test]
    fn random_goes_through_all_entries() {
        let mut tlb = Tlb::new();
        let address = |pair: u64| pair << 15;
        for pair in 0..64 {
            tlb.write_random(address(pair));
            tlb.graduate();
        }
        for pair in 0..64 {
            assert_eq!(tlb.missing(address(pair), 1), None, "{pair}");
        }
        // Random has wrapped to 63.
        tlb.write_random(address(64));
        assert_eq!(tlb.missing(address(0), 1), Some(0));
        assert_eq!(tlb.missing(address(64), 1), None);
    }

    /// An entry has 16 bytes, so one pair of page table pages covers 64 MB.
    #[test]
    fn the_page_table() {
        let mut tlb = Tlb::new();
        tlb.write_random(Tlb::table_entry(0));
        assert_eq!(tlb.missing(Tlb::table_entry(0x3ff_ffff), 8), None);
        assert!(tlb.missing(Tlb::table_entry(0x400_0000), 8).is_some());
    }
}
