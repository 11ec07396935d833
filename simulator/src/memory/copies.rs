//! The directory of an L2 line's L1 copies: a word with one bit for each part of the line in each L1 cache.
//!
//! The word has 4 bits for each core's data cache, then 4 bits for each core's instruction cache. A bit is set when the L1 cache
//! fetches the part, and stays set even if the L1 cache replaces the part.

use super::config::CacheShape;
use super::figures::Figures;
use super::geometry::{L2Line, MAX_PARTS, PARTS};

const PARTS_SHIFT: usize = MAX_PARTS.ilog2() as usize;
const CORES: usize = 8;
const INSTRUCTION: usize = CORES << PARTS_SHIFT;

/// The bits for part 0 in all data caches.
const DATA_PARTS: u64 = 0x1111_1111;
/// The bits for part 0 in all instruction caches.
const INSTRUCTION_PARTS: u64 = DATA_PARTS << INSTRUCTION;

/// A part of an L2 line in an L1 cache. `core` is the core's number in its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copy {
    Data { core: usize, line: u64 },
    Instructions { core: usize, line: u64 },
}

impl Figures {
    /// Returns the L2 line that contains a data cache line.
    #[inline(always)]
    pub(super) fn line_of_data(&self, line: u64) -> L2Line {
        L2Line(line >> self.data_shift())
    }

    /// Returns the L2 line that contains an instruction cache line.
    #[inline(always)]
    pub(super) fn line_of_instructions(&self, line: u64) -> L2Line {
        L2Line(line >> self.instruction_shift())
    }

    /// Returns the binary logarithm of the number of data cache lines in an L2 line.
    fn data_shift(&self) -> u32 {
        self.l2.line_shift - self.l1d.line_shift
    }

    fn instruction_shift(&self) -> u32 {
        self.l2.line_shift - self.l1i.line_shift
    }

    fn data_part(&self, line: u64) -> u64 {
        line & ((1 << self.data_shift()) - 1)
    }

    pub(super) fn data_copy(&self, core: usize, line: u64) -> u64 {
        1 << ((core << PARTS_SHIFT) + self.data_part(line) as usize)
    }

    pub(super) fn instruction_copy(&self, core: usize, line: u64) -> u64 {
        let part = line & ((1 << self.instruction_shift()) - 1);
        1 << (INSTRUCTION + (core << PARTS_SHIFT) + part as usize)
    }

    /// Returns the bits of the copies that become stale when this core stores to a data cache line: all copies of the stored bytes
    /// except the one in the core's own data cache.
    #[inline(always)]
    pub(super) fn stale_after_store(&self, core: usize, line: u64) -> u64 {
        self.stored[self.data_part(line) as usize % PARTS] & !self.data_copy(core, line)
    }

    /// Returns the bits of all copies of stored bytes, indexed by the part of the L2 line that holds these bytes.
    pub(super) const fn stored(l1i: &CacheShape, l1d: &CacheShape) -> [u64; PARTS] {
        let (data, instructions) = (l1d.line_shift, l1i.line_shift);
        let mut stored = [0; PARTS];
        let mut part = 0;
        while part < PARTS {
            // A data cache line is either part of one instruction cache line, or as long as several of them.
            let (first, several) = match data <= instructions {
                true => (part >> (instructions - data), 1),
                false => (part << (data - instructions), (1 << (1 << (data - instructions))) - 1),
            };
            stored[part] = DATA_PARTS << part | (INSTRUCTION_PARTS * several) << first;
            part += 1;
        }
        stored
    }

    /// Returns the copies of a line that `bits` selects.
    #[inline(always)]
    pub(super) fn copies(&self, bits: u64, line: L2Line) -> Copies {
        Copies {
            bits,
            first_data: line.0 << self.data_shift(),
            first_instructions: line.0 << self.instruction_shift(),
        }
    }
}

/// Iterates over copies of one L2 line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copies {
    /// The bits of the copies that the iterator has not returned yet.
    bits: u64,
    first_data: u64,
    first_instructions: u64,
}

impl Iterator for Copies {
    type Item = Copy;

    #[inline(always)]
    fn next(&mut self) -> Option<Copy> {
        let bit = (self.bits != 0).then(|| self.bits.trailing_zeros() as usize)?;
        self.bits &= self.bits - 1;
        let (core, part) = ((bit % INSTRUCTION) >> PARTS_SHIFT, bit as u64 % MAX_PARTS);
        Some(match bit < INSTRUCTION {
            true => Copy::Data { core, line: self.first_data + part },
            false => Copy::Instructions { core, line: self.first_instructions + part },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::config::Config;

    const T2_PLUS: Figures = Figures::new(&Config::T2_PLUS);

    #[test]
    fn copies_become_bits_and_bits_copies() {
        let bits = T2_PLUS.data_copy(0, 400)
            | T2_PLUS.data_copy(7, 403)
            | T2_PLUS.instruction_copy(0, 201)
            | T2_PLUS.instruction_copy(7, 200);
        assert_eq!(bits, 1 | 1 << 31 | 1 << 33 | 1 << 60);
        let copies: Vec<_> = T2_PLUS.copies(bits, L2Line(100)).collect();
        assert_eq!(
            copies,
            [
                Copy::Data { core: 0, line: 400 },
                Copy::Data { core: 7, line: 403 },
                Copy::Instructions { core: 0, line: 201 },
                Copy::Instructions { core: 7, line: 200 },
            ]
        );
    }

    #[test]
    fn a_store_spares_its_own_data_cache_and_other_parts() {
        let stale = T2_PLUS.stale_after_store(2, 402);
        assert_eq!(stale & 0xffff_ffff, 0x4444_4044);
        assert_eq!(stale >> 32, 0x2222_2222);
        assert_eq!(T2_PLUS.stale_after_store(0, 401) >> 32, 0x1111_1111);
    }

    /// A 128-byte L2 line has 2 data cache lines and 4 instruction cache lines, or 4 of each.
    #[test]
    fn lines_of_other_lengths() {
        let figures = |line, data, instructions| {
            let mut config = Config::T2_PLUS;
            (config.l2.line, config.l1d.line, config.l1i.line) = (line, data, instructions);
            Figures::new(&config)
        };
        let wide = figures(128, 64, 32);
        assert_eq!(wide.line_of_data(201), L2Line(100));
        assert_eq!(wide.line_of_instructions(403), L2Line(100));
        let stale = wide.stale_after_store(0, 201);
        assert_eq!(stale & 0xffff_ffff, 0x2222_2220);
        assert_eq!(stale >> 32, 0xcccc_cccc);
        let copies: Vec<_> = wide.copies(stale & 0xf000_00f0, L2Line(100)).collect();
        assert_eq!(copies, [Copy::Data { core: 1, line: 201 }, Copy::Data { core: 7, line: 201 },]);
        let narrow = figures(128, 32, 32);
        let stale = narrow.stale_after_store(7, 403);
        assert_eq!(stale, 0x8888_8888_0888_8888);
    }
}
