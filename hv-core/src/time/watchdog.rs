//! Is the chosen source right?

use guest_abi::StrandId;
use guest_abi::clock::ClockSource;

use super::Timekeeper;
use super::sample::{Observer, Problem, Roles, Sample};

/// Compares the chosen source of a [`Timekeeper`] with another one, the reference, every now and then.
///
/// The chosen source is read between two reads of the reference. So what the reference says of the time between two checks
/// is known up to the time that these reads took: the least, and the most. What the chosen source says must lie between the
/// two, but for a tolerance. If the two reads of the reference lie far apart, nothing is said of the chosen source: that it was
/// the reference that was slow shows by two reads of it with nothing between them.
///
/// If the two differ, a third source, the judge, decides which is bad, if there is one and it can tell. Else it is the chosen
/// one, as soon as it is seen that the reference goes on.
///
/// A bad source is put out of use. Nothing is corrected.
///
/// Called on one strand after the other, it finds counters of strands that are apart.
#[derive(Debug)]
pub struct Watchdog {
    limits: Limits,
    last: Option<Sample>,
    still: Still,
}

/// Checks in a row that found a difference, and a reference that did not go on.
#[derive(Clone, Copy, Debug, Default)]
struct Still {
    checks: u32,
    /// What it showed.
    reference: Option<u64>,
}

/// What a watchdog tolerates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// By how many parts of a million two sources may go apart.
    pub tolerance: u32,
    /// How far apart two reads of the reference may be at most, in nanoseconds, to say anything.
    pub bracket: u64,
    /// How often it is tried at most to get them as near as that.
    pub tries: u32,
}

impl Default for Limits {
    /// 500 parts of a million (crystals are good for 100), 50 us, 3 tries.
    fn default() -> Self {
        Self {
            tolerance: 500,
            bracket: 50_000,
            tries: 3,
        }
    }
}

/// How often the reference is found standing still until it is bad.
const STILL: u32 = 16;

/// What is wrong with a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It shows more time than has passed.
    Fast,
    /// It shows less time than has passed.
    Slow,
    /// It stands still.
    Stopped,
    /// It has gone back.
    Backwards,
    /// It cannot be read.
    Unreadable,
}

impl core::fmt::Display for Fault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Fast => "too fast",
            Self::Slow => "too slow",
            Self::Stopped => "stands still",
            Self::Backwards => "went back",
            Self::Unreadable => "cannot be read",
        })
    }
}

/// Why a check says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// It takes too long to read the reference.
    SlowReference,
    /// Something came between the reads each time.
    Disturbed,
    /// The two differ, but the reference was not seen to go on: it is too early for it, or it has stopped.
    ReferenceStill,
    /// The source that is bad cannot be put out of use now: there is no other, or it is being done.
    CannotDemote,
}

/// What a check has found. Sources are known by their place in the list of candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// There is nothing to compare with yet.
    Begun,
    /// The chosen source is right.
    Agrees,
    /// Nothing can be said, and nothing was done. The next check compares with the one before this.
    Skipped(Skipped),
    /// There is no other source.
    NoReference,
    /// The reference was bad, and is out of use.
    BadReference {
        /// The reference.
        source: usize,
        /// What is wrong with it.
        fault: Fault,
    },
    /// The chosen source was bad, and is out of use.
    Demoted {
        /// The source.
        source: usize,
        /// What is wrong with it.
        fault: Fault,
        /// The source that is chosen now.
        chosen: usize,
    },
}

impl Watchdog {
    /// A watchdog that has seen nothing.
    pub const fn new(limits: Limits) -> Self {
        Self {
            limits,
            last: None,
            still: Still {
                checks: 0,
                reference: None,
            },
        }
    }

    /// Checks the chosen source, on the strand that executes the call, and puts a bad one out of use.
    pub fn check<S: ClockSource, const N: usize>(
        &mut self,
        keeper: &Timekeeper<S, N>,
        strand: StrandId,
    ) -> Finding {
        let Some(roles) = Roles::of(keeper) else {
            self.start_over();
            return Finding::NoReference;
        };
        if self.last.is_some_and(|last| last.roles != roles) {
            self.start_over();
        }
        let observer = Observer::new(keeper, strand, roles, self.limits);
        let (source, fault) = match self.look(&observer) {
            Ok(finding) => return finding,
            Err(Problem::Skip(skipped)) => return Finding::Skipped(skipped),
            Err(Problem::Bad(source, fault)) => (source, fault),
        };
        // A source that has stopped has not kept the time. The reference has.
        let at_least = match &self.last {
            Some(last) if source == roles.chosen => observer.time_by_reference(last),
            _ => 0,
        };
        let Ok(chosen) = keeper.demote(source, strand, at_least) else {
            return Finding::Skipped(Skipped::CannotDemote);
        };
        self.start_over();
        if source == roles.chosen {
            Finding::Demoted {
                source,
                fault,
                chosen,
            }
        } else {
            Finding::BadReference { source, fault }
        }
    }

    /// Takes a sample and compares it with the one before.
    fn look<S: ClockSource, const N: usize>(
        &mut self,
        observer: &Observer<'_, S, N>,
    ) -> Result<Finding, Problem> {
        let sample = observer.sample()?;
        let finding = match &self.last {
            None => Finding::Begun,
            Some(last) => match observer.compare(last, &sample) {
                Ok(()) => Finding::Agrees,
                Err(Problem::Bad(source, _))
                    if source == sample.roles.chosen
                        && !sample.reference_goes(self.still.reference) =>
                {
                    self.still.reference = Some(sample.reference_end());
                    self.still.checks = self.still.checks.saturating_add(1);
                    return Err(match self.still.checks {
                        STILL.. => Problem::Bad(sample.roles.reference, Fault::Stopped),
                        _ => Problem::Skip(Skipped::ReferenceStill),
                    });
                }
                Err(problem) => return Err(problem),
            },
        };
        self.last = Some(sample);
        self.still = Still::default();
        Ok(finding)
    }

    fn start_over(&mut self) {
        self.last = None;
        self.still = Still::default();
    }
}
