//! Models a DRAM channel's two counters.

use crate::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// Bits 7:4 select the event of counter 0, bits 3:0 the event of counter 1. The other bits read as 0.
    Pcr,
    /// Bits 62:32 are counter 0, and bit 63 is its overflow flag. Bits 30:0 are counter 1, and bit 31 is its overflow flag.
    Pic,
}

#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A clock passes. Item n of the array is added to each counter whose select is n. Each item is below 2^31. Selects 8 to 15 count
    /// nothing. The items say how many of these events occurred:
    ///
    /// - 0: reads
    /// - 1: writes
    /// - 2: reads and writes
    /// - 3: stalls because a bank is busy
    /// - 4: reads in the queue
    /// - 5: writes in the queue
    /// - 6: reads and writes in the queue
    /// - 7: reads that were picked for issue but held back by a write in the queue
    Clock([u32; 8]),
    Read(Register),
    Write(Register, u64),
}

/// One channel. Initially, all bits are 0.
#[derive(Clone, Debug, Default)]
pub struct Channel {
    counters: [Counter; 2],
}

#[derive(Clone, Debug, Default)]
struct Counter {
    select: u8,
    count: u32,
    overflowed: bool,
}

impl Channel {
    pub fn step(&mut self, step: &Step) -> Option<u64> {
        let [zero, one] = &mut self.counters;
        match *step {
            Step::Clock(amounts) => {
                for counter in [zero, one] {
                    let amount = amounts.get(usize::from(counter.select)).unwrap_or(&0);
                    let sum = counter.count + amount;
                    counter.count = sum & 0x7fff_ffff;
                    counter.overflowed |= sum > 0x7fff_ffff;
                }
                return None;
            }
            Step::Read(Register::Pcr) => return Some(u64::from(zero.select << 4 | one.select)),
            Step::Read(Register::Pic) => return Some(zero.read() << 32 | one.read()),
            Step::Write(Register::Pcr, value) => {
                zero.select = (value >> 4 & 0xf) as u8;
                one.select = (value & 0xf) as u8;
            }
            Step::Write(Register::Pic, value) => {
                zero.write((value >> 32) as u32);
                one.write(value as u32);
            }
        }
        None
    }
}

impl Counter {
    fn read(&self) -> u64 {
        u64::from(self.overflowed) << 31 | u64::from(self.count)
    }

    fn write(&mut self, value: u32) {
        self.overflowed = value >> 31 != 0;
        self.count = value & 0x7fff_ffff;
    }
}

/// Returns a random sequence. The same seed and length always return the same sequence.
///
/// Of every 8 steps, 5 are clocks, which add 0 to 8 to each select. The other steps write the PCR, write the PIC, or read one of the two. A
/// written PCR has arbitrary selects, and random bits above them. Most written counters are at most 20 counts below their wrap, with or
/// without the flag.
pub fn sequence(seed: u64, length: usize) -> Vec<Step> {
    let random = &mut Random(seed);
    (0..length)
        .map(|_| match random.below(8) {
            0 => Step::Write(Register::Pcr, random.next_u64()),
            1 => Step::Write(Register::Pic, near_wrap(random) << 32 | near_wrap(random)),
            2 => Step::Read(random.one_of(&[Register::Pcr, Register::Pic])),
            _ => Step::Clock([0; 8].map(|_: u32| random.below(9) as u32)),
        })
        .collect()
}

fn near_wrap(random: &mut Random) -> u64 {
    let flag = random.next_u64() & 0x8000_0000;
    match random.below(4) {
        0 => random.next_u64() & 0xffff_ffff,
        _ => flag | (0x7fff_ffff - random.below(20) as u64),
    }
}
