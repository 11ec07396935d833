//! Generates random sequences of a core's clocks and register accesses.

use super::{
    Access, Step,
    event::{Event, Instruction},
    strand::{Level, Options, Register, StrandClock},
};
use crate::random::Random;
use std::array;

/// The values from which a sequence draws %pcr. OV, PRIV, ST, UT, HT and bits 61:32 are always
/// random. TOE and HOLDOV are 0 unless a variant names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Configuration {
    /// SL 2 to 7, each with a single MASK bit that has a name (which excludes the TLB misses of SL 3).
    NamedEvents,
    /// SL 2 to 7 with any MASK.
    SeveralMaskBits,
    /// Like `NamedEvents`, but %pcr may have TOE. The sequence's skid is random.
    TrapOnOverflow,
    /// Like `NamedEvents`, but values written to %pcr may have HOLDOV.
    HoldOverflow,
    /// SL 0xb with any MASK.
    FlushedMisses,
    /// SL 0 to 15 with any MASK.
    AllSelects,
    /// SL 0 to 15 with any MASK, TOE and HOLDOV. The sequence's skid is random.
    Everything,
}

use Configuration::*;

impl Configuration {
    #[rustfmt::skip]
    pub const ALL: [Self; 7] = [
        NamedEvents, SeveralMaskBits, TrapOnOverflow, HoldOverflow, FlushedMisses, AllSelects, Everything,
    ];
}

/// For each SL, the MASK bits that select an event. SL 0 ignores MASK.
const BITS: [u8; 8] = [0, 0, 0xff, 0x3f, 0x3c, 0x3f, 0x3f, 0x3f];

#[derive(Clone, Debug)]
pub struct Sequence {
    /// The core's options. A new sequence has no phase, so PIC is updated without delay. A caller can set a phase to delay the updates.
    pub options: Options,
    pub steps: Vec<Step>,
}

impl Sequence {
    /// Returns a random sequence. The same arguments always return the same sequence.
    ///
    /// Of every 8 steps, 6 are clocks of the whole core, and 2 access one strand's register, mostly to write %pcr or %pic. Most values
    /// written to a counter are at most 20 counts below its wrap. In one clock out of four, no strand issues an instruction. A strand keeps
    /// its level, %pil and PSTATE.IE for 16 clocks on average. One instruction out of four is flushed, with the SL 3 events in its clock.
    /// Events of SL 4 to 7 are never flushed.
    pub fn new(configuration: Configuration, seed: u64, length: usize) -> Self {
        let random = &mut Random(seed);
        let skid = match configuration {
            TrapOnOverflow | Everything => random.below(16) as u8,
            _ => 0,
        };
        let mut strands: [StrandClock; 8] = array::from_fn(|_| state(random));
        let steps = (0..length)
            .map(|_| match random.below(8) {
                0 | 1 => Step::Access(access(random, configuration)),
                _ => {
                    let core_is_idle = random.below(4) == 0;
                    for strand in &mut strands {
                        if random.below(16) == 0 {
                            *strand = state(random);
                        }
                        happen(random, strand, core_is_idle);
                    }
                    Step::Clock(Box::new(strands.clone()))
                }
            })
            .collect();
        Self { options: Options { skid, phase: None }, steps }
    }
}

fn state(random: &mut Random) -> StrandClock {
    StrandClock {
        level: random.one_of(&[Level::User, Level::Privileged, Level::Hyperprivileged]),
        pil: random.one_of(&[0, 14, 15]),
        interrupts: random.below(4) != 0,
        events: Vec::new(),
        flushed: Vec::new(),
    }
}

fn happen(random: &mut Random, strand: &mut StrandClock, core_is_idle: bool) {
    let mut of_pipeline = Vec::new();
    let issues = !core_is_idle && random.below(4) != 0;
    if issues {
        of_pipeline.push(Event::Issues(random.one_of(&Instruction::ALL)));
    }
    for _ in 0..random.below(4) {
        of_pipeline.push(match random.below(8) {
            0 => Event::AtomicMissesL2,
            _ => Event::Other(3, bit_of(random, BITS[3])),
        });
    }
    strand.events = Vec::new();
    for _ in 0..random.below(6) {
        let sl = 4 + random.below(4);
        strand.events.push(Event::Other(sl as u8, bit_of(random, BITS[sl])));
    }
    strand.flushed = Vec::new();
    let flushed = issues && random.below(4) == 0;
    if flushed { &mut strand.flushed } else { &mut strand.events }.extend(of_pipeline);
}

/// Returns one of the bits in `mask`, chosen at random.
fn bit_of(random: &mut Random, mask: u8) -> u8 {
    let bits: Vec<u8> = (0..8).map(|bit| 1 << bit).filter(|bit| mask & bit != 0).collect();
    random.one_of(&bits)
}

fn access(random: &mut Random, configuration: Configuration) -> Access {
    use Register::{Pcr, Pic, Softint};
    let register = random.one_of(&[Pcr, Pcr, Pic, Pic, Pic, Softint]);
    let level = match register {
        Pic => random.one_of(&[Level::User, Level::Privileged, Level::Hyperprivileged]),
        Pcr | Softint => random.one_of(&[Level::Privileged, Level::Hyperprivileged]),
    };
    let value = match register {
        Pcr => pcr(random, configuration),
        Pic => near_wrap(random) << 32 | near_wrap(random),
        Softint => random.one_of(&[0, 0x8000]),
    };
    let write = (random.below(3) != 0).then_some(value);
    Access { strand: random.below(8), level, register, write }
}

fn pcr(random: &mut Random, configuration: Configuration) -> u64 {
    let [zero, one] = array::from_fn(|_| select(random, configuration));
    // OV1, OV0, HT, UT, ST, PRIV, and bits without a function.
    let free = 0x3fff_ffff_8004_000f;
    let toe = if matches!(configuration, TrapOnOverflow | Everything) { 3 << 4 } else { 0 };
    let holdov = if matches!(configuration, HoldOverflow | Everything) { 3 << 62 } else { 0 };
    one << 19 | zero << 6 | random.next_u64() & (free | toe | holdov)
}

/// Returns a random value of `SL << 8 | MASK`.
fn select(random: &mut Random, configuration: Configuration) -> u64 {
    let sl = match configuration {
        FlushedMisses => 0xb,
        AllSelects | Everything => random.below(16) as u8,
        _ => 2 + random.below(6) as u8,
    };
    let mask = match configuration {
        NamedEvents | TrapOnOverflow | HoldOverflow => {
            bit_of(random, if sl == 3 { 0x33 } else { BITS[usize::from(sl)] })
        }
        _ => random.next_u64() as u8,
    };
    u64::from(sl) << 8 | u64::from(mask)
}

fn near_wrap(random: &mut Random) -> u64 {
    match random.below(8) {
        0 => random.next_u64() & 0xffff_ffff,
        _ => 0xffff_ffff - random.below(20) as u64,
    }
}
