//! A clock-by-clock model of the T2's performance counters, as in Sun's RTL (OpenSPARC T2 2.1.3). Tests compare it with the models in
//! `platform`. It shares no code, table or type with the crates under test.
//!
//! - Accesses happen between clocks. A clock adds at most 1 to a counter. SL 0 counts the clocks in which none of the 8 strands issues an
//!   instruction.
//! - If SL has bit 3 set, a counter counts the events of flushed instructions. Otherwise, these events are not counted and do not set OV.
//!   They then request a trap only if the counter has TOE, selects them, and is near its wrap.
//! - With a [phase](Options::phase), PIC lags by at most 8 events. A change of ST, UT, HT or SL loses at most 8 events. At most 7 events
//!   that happened before a write of %pic are added after it.

pub mod dram;
pub mod event;
mod sequence;
pub mod strand;

#[cfg(test)]
mod tests;

pub use sequence::{Configuration, Sequence};
pub use strand::{Level, Options, Outcome, Register, Strand, StrandClock, Trapped};

use std::array;

#[derive(Clone, Debug)]
pub enum Step {
    /// A clock passes. The array has one entry for each strand.
    Clock(Box<[StrandClock; 8]>),
    /// A strand accesses one of its registers.
    Access(Access),
}

#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The strand's number within its core, 0 to 7.
    pub strand: usize,
    pub level: Level,
    pub register: Register,
    /// The value to write, or `None` for a read.
    pub write: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Clock([Outcome; 8]),
    /// A read of a register returned this value.
    Read(u64),
    Written,
    Trapped,
}

#[derive(Clone, Debug)]
pub struct Core {
    pub strands: [Strand; 8],
}

impl Core {
    pub fn new(options: Options) -> Self {
        Self { strands: array::from_fn(|_| Strand::new(options)) }
    }

    pub fn step(&mut self, step: &Step) -> Answer {
        match step {
            Step::Clock(inputs) => {
                let idle = !inputs.iter().any(StrandClock::issues);
                Answer::Clock(array::from_fn(|n| self.strands[n].clock(&inputs[n], idle)))
            }
            Step::Access(access) => {
                let strand = &mut self.strands[access.strand];
                let answer = match access.write {
                    None => strand.read(access.register, access.level).map(Answer::Read),
                    Some(value) => {
                        strand.write(access.register, access.level, value).map(|()| Answer::Written)
                    }
                };
                answer.unwrap_or(Answer::Trapped)
            }
        }
    }
}
