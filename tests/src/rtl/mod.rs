//! A model of the T2's performance counters as Sun's own RTL has them (OpenSPARC T2 2.1.3), clock by clock, for comparison with the
//! models of `platform`. It shares no code, table or type with the crates under test.
//!
//! Accesses happen between clocks. A clock adds at most 1 to a counter, and SL 0 counts the clocks in which none of the 8 strands issues.
//! A counter whose SL has bit 3 counts the events of a flushed instruction; any other that selects them requests a trap if the counter
//! is near its wrap, and neither counts them nor sets OV. With a phase, PIC lags by at most 8 events, at most 8 are lost when ST, UT,
//! HT or SL change, and at most 7 events from before a write of %pic come after the write.

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
    /// A clock passes, in which the strands do this.
    Clock(Box<[StrandClock; 8]>),
    /// A strand accesses one of its registers.
    Access(Access),
}

#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The strand, 0 to 7.
    pub strand: usize,
    pub level: Level,
    pub register: Register,
    /// The value that it writes, or `None` for a read.
    pub write: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Clock([Outcome; 8]),
    /// A register has been read, and had this value.
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
