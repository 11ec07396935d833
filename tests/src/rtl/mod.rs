//! A model of the T2's performance counters as Sun's own RTL has them (OpenSPARC T2 2.1.3), for comparison with the models
//! of `platform`: those of a core's strands, and those of a DRAM channel.
//!
//! It is plain and slow, goes clock by clock, and shares no code, table or type with the crates under test. What the
//! registers mean is in [`strand`] and [`dram`]; the MASK bit of each event is in [`event`].
//!
//! # How to compare
//! For each [`Configuration`] and many seeds, make a [`Sequence`], give each of its steps to a [`Core`] with the sequence's
//! options and to eight strands of the other model, and compare the [`Answer`]s. To find a
//! difference at the step that makes it, read %pcr, %pic and %softint of each strand after each step too: a read changes
//! nothing. For a channel, do the same with [`dram::sequence`] and [`dram::Channel::step`].
//!
//! What to know about a step:
//! - Accesses happen between clocks. One at a level that may not make it answers `Trapped`.
//! - A clock adds at most 1 to a counter of a strand. If the other model counts events instead of clocks, hand it the events
//!   of one clock together. [`event::Event::counted_by`] maps them to SL and MASK.
//! - SL 0 counts the clocks in which none of the 8 strands issues, at the level of the strand that counts. If the other
//!   model does not know the core, hand it the idle clocks.
//! - [`Outcome::request`] and [`Outcome::trap`] are not the taking of a trap: the steps do not depend on them, and %pil,
//!   PSTATE.IE and the level are what the next clock says.
//! - Events of a flushed instruction stand apart in [`StrandClock::flushed`]. A counter whose SL has bit 3 counts them; any
//!   other that selects them requests a trap if it is near its wrap, and neither counts them nor sets OV.
//! - With a phase, only the bounds are known: a PIC lags by at most 8 events, as many are lost when ST, UT, HT or SL change, and
//!   a write of %pic is followed by at most 7 that came before it. Compare bounds, not values.

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

/// What a step causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A clock has passed.
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
    /// Returns a core as it is after reset.
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
