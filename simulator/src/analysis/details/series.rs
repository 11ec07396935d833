//! Counts over time, by interval.

use std::borrow::Cow;

use guest_abi::{Counter, Hub, Node, StrandId};
use serde::{Deserialize, Serialize};

use crate::json;
use crate::memory::Usage;
use crate::memory::geometry::LINE_SHIFT;

/// The maximum number of points. If the intervals are short or there are many counters, the maximum is lower, but never below `MIN_POINTS`.
const MAX_POINTS: usize = 256;
const MIN_POINTS: usize = 32;

/// The intended maximum number of counter values in all points together. With many counters, there can be more values, but never more than
/// twice this number.
const NUMBERS: usize = 1 << 14;

const STEP: u64 = 512;

/// An interval with at least this many references is long. At most `MIN_POINTS` short intervals are kept, because the guest makes
/// hundreds of hypercalls at each point.
const LONG_INTERVAL: u64 = 1 << 15;

/// Counts in successive time intervals.
///
/// All intervals except the last have the same number of references, which is 512 at first. When there are 32 intervals, each
/// pair of neighbours is merged into one. Intervals of at least 32,768 references are merged only when there are 256 intervals.
/// The limit of 256 intervals is lower if there are more than 64 counters, but never lower than 32.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Series {
    /// The number of references that had been replayed at the end of each interval. The first interval starts at 0.
    pub references: Vec<u64>,
    /// The cycles that the programs had taken at the end of each interval.
    pub cycles: Vec<u64>,
    /// The machine's clock at the end of each interval. Hypercalls also advance this clock, and the times of events come from
    /// it.
    pub clock: Vec<u64>,
    /// The number of times that the guest read its counters for this series.
    pub reads: Reads,
    /// The number of hypercalls over time, for each guest.
    pub hypercalls: Vec<GuestSeries>,
    /// The counts over time of each counter that has an event.
    pub counters: Vec<CounterSeries>,
    /// The use of each of the machine's enabled DRAM channels.
    pub channels: Vec<ChannelSeries>,
    pub links: Vec<LinkSeries>,
}

/// A guest's counter reads that are made only for a [`Series`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Reads {
    /// The number of times that the guest read all of its counters.
    pub samples: u64,
    pub calls: u64,
}

/// A guest's hypercalls in each interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct GuestSeries {
    pub guest: String,
    pub calls: Vec<u64>,
}

/// Identifies a counter by its unit, its register, and its number within the unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct CounterName {
    /// The class of the counter's event, in the form that [`Selection::parse`](crate::replay::Selection::parse) accepts.
    pub class: Cow<'static, str>,
    /// The name of the counter's PMU or strand.
    pub unit: String,
    /// The name of the counter's register.
    pub name: Cow<'static, str>,
    /// The counter's number within its unit, which has two counters.
    #[serde(with = "json")]
    pub counter: Counter,
    pub event: Cow<'static, str>,
    /// The node, if the counter belongs to a DRAM channel or a strand; otherwise `None`.
    #[serde(default, with = "json")]
    pub node: Option<Node>,
    /// The hub, if the counter belongs to a hub; otherwise `None`.
    #[serde(default, with = "json")]
    pub hub: Option<Hub>,
    /// The strand, if the counter belongs to a strand; otherwise `None`.
    #[serde(default, with = "json")]
    pub strand: Option<StrandId>,
}

/// A counter's measured and true counts in each interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct CounterSeries {
    #[serde(flatten)]
    pub name: CounterName,
    /// The counts that the guest measured.
    pub measured: Vec<u64>,
    /// The true counts, which the simulator records independently of the counters.
    pub truth: Vec<u64>,
}

/// How much a channel or a link was used in each interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UseSeries {
    /// How many cycles the channel or link was busy with the lines of each interval. For a link, this is the sum over both directions.
    pub busy: Vec<u64>,
    /// The number of bytes transferred in each interval. A channel reads and writes these bytes. A link's node receives and sends them.
    pub bytes: Vec<u64>,
}

/// How much a DRAM channel was used in each interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ChannelSeries {
    pub node: usize,
    /// The channel's number within its node.
    pub mcu: usize,
    #[serde(flatten)]
    pub used: UseSeries,
}

/// How much a link was used in each interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct LinkSeries {
    pub hub: usize,
    pub node: usize,
    #[serde(flatten)]
    pub used: UseSeries,
}

impl Series {
    /// Adds the counters of another series from the same replay. Each interval of this series must consist of whole intervals of
    /// the other series.
    pub(crate) fn add_counters(&mut self, other: &Self) {
        let sums = |counts: &[u64]| {
            let mut counts = other.references.iter().zip(counts).peekable();
            let interval = |end: &u64| {
                let mut sum = 0;
                while let Some((_, count)) = counts.next_if(|(until, _)| *until <= end) {
                    sum += count;
                }
                sum
            };
            self.references.iter().map(interval).collect::<Vec<u64>>()
        };
        let counters = other.counters.iter().map(|counter| CounterSeries {
            name: counter.name.clone(),
            measured: sums(&counter.measured),
            truth: sums(&counter.truth),
        });
        let counters: Vec<_> = counters.collect();
        self.counters.extend(counters);
    }
}

/// Counts from the start of the replay up to one point in time.
#[derive(Clone, Debug)]
pub(crate) struct SeriesPoint {
    pub(crate) references: u64,
    pub(crate) cycles: u64,
    pub(crate) clock: u64,
    /// The number of each guest's hypercalls.
    pub(crate) calls: Vec<u64>,
    /// Each counter's measured count and true count.
    pub(crate) counters: Vec<[u64; 2]>,
    pub(crate) usage: Usage,
}

pub(super) struct Points {
    guests: Vec<String>,
    counters: Vec<CounterName>,
    reads: Reads,
    points: Vec<SeriesPoint>,
    most: usize,
    step: u64,
}

impl Points {
    /// Returns an empty list of points. If the total number of references is known, the intervals have their final length from
    /// the start, so fewer points are taken.
    pub(super) fn new(
        guests: Vec<String>,
        counters: Vec<CounterName>,
        references: Option<u64>,
    ) -> Self {
        // Half of the points are dropped when the limit is reached, so the limit must be even.
        let most = (NUMBERS / counters.len().max(1)).clamp(MIN_POINTS, MAX_POINTS) & !1;
        let (reads, points) = (Reads::default(), Vec::new());
        let mut new = Self { guests, counters, reads, points, most, step: STEP };
        while references.is_some_and(|all| all.div_ceil(new.step) >= new.limit() as u64) {
            new.step *= 2;
        }
        new
    }

    /// Returns the number of points at which intervals are merged.
    fn limit(&self) -> usize {
        if self.step < LONG_INTERVAL { MIN_POINTS } else { self.most }
    }

    /// Returns the number of references after which the next point is due.
    pub(super) fn due(&self) -> u64 {
        let last = self.points.last().map_or(0, |last| last.references);
        (last / self.step + 1) * self.step
    }

    /// Records that the guest has made `calls` hypercalls only to read its counters for the next point.
    pub(super) fn note_read(&mut self, calls: u64) {
        self.reads.samples += 1;
        self.reads.calls += calls;
    }

    /// Adds a point. If the previous point has the same number of references, the new point
    /// replaces it.
    pub(super) fn add(&mut self, point: SeriesPoint) {
        self.points.retain(|earlier| earlier.references < point.references);
        self.points.push(point);
        if self.points.len() == self.limit() {
            let mut number = 0;
            self.points.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.step *= 2;
        }
    }

    /// Returns the differences between successive points.
    pub(super) fn series(&self) -> Series {
        let each = |part: &dyn Fn(&SeriesPoint) -> u64| -> Vec<u64> {
            let mut before = 0;
            let since = |now| now - std::mem::replace(&mut before, now);
            self.points.iter().map(part).map(since).collect()
        };
        let all = |part: fn(&SeriesPoint) -> u64| self.points.iter().map(part).collect();
        // `part` returns the number of busy cycles and the number of transferred lines.
        let used = |part: &dyn Fn(&Usage) -> [u64; 2]| UseSeries {
            busy: each(&|point| part(&point.usage)[0]),
            bytes: each(&|point| part(&point.usage)[1] << LINE_SHIFT),
        };
        let last = self.points.last();
        let guests = self.guests.iter().enumerate().map(|(n, guest)| GuestSeries {
            guest: guest.clone(),
            calls: each(&|point| point.calls[n]),
        });
        let counters = self.counters.iter().enumerate().map(|(n, name)| CounterSeries {
            name: name.clone(),
            measured: each(&|point| point.counters[n][0]),
            truth: each(&|point| point.counters[n][1]),
        });
        let channels = last.iter().flat_map(|last| last.usage.channels.iter()).enumerate();
        let channels = channels.map(|(n, channel)| ChannelSeries {
            node: channel.node,
            mcu: channel.mcu,
            used: used(&|usage| [usage.channels[n].busy, usage.channels[n].lines()]),
        });
        let links = last.iter().flat_map(|last| last.usage.links.iter()).enumerate();
        let links = links.map(|(n, link)| LinkSeries {
            hub: link.hub,
            node: link.node,
            used: used(&|usage| [usage.links[n].busy, usage.links[n].lines()]),
        });
        Series {
            references: all(|point| point.references),
            cycles: all(|point| point.cycles),
            clock: all(|point| point.clock),
            reads: self.reads,
            hypercalls: guests.collect(),
            counters: counters.collect(),
            channels: channels.collect(),
            links: links.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the points for a replay of `references` references. `known` says whether the replay knows this number from the
    /// start.
    fn points_of(counters: usize, references: u64, known: bool) -> Points {
        let name = |number| CounterName {
            class: "pic".into(),
            unit: String::new(),
            name: "%pic".into(),
            counter: Counter::Pic0,
            event: "".into(),
            node: None,
            hub: None,
            strand: StrandId::new(number),
        };
        let names = (0..counters).map(name).collect();
        let mut points = Points::new(Vec::new(), names, known.then_some(references));
        loop {
            let due = points.due().min(references);
            points.add(SeriesPoint {
                references: due,
                cycles: 3 * due,
                clock: 4 * due,
                calls: Vec::new(),
                counters: vec![[2 * due, due]; counters],
                usage: Usage::default(),
            });
            if due == references {
                return points;
            }
        }
    }

    fn points(counters: usize, references: u64) -> Points {
        points_of(counters, references, false)
    }

    #[test]
    fn intervals_have_their_final_length_if_the_number_of_references_is_known() {
        for counters in [1, 128, 5_000] {
            for references in
                [1, 512, 15_871, 15_872, 15_873, 507_904, 1_000_003, 4_177_921, 1 << 25]
            {
                let known = points_of(counters, references, true);
                assert!(known.points.len() < known.limit(), "{references}");
                let grown = points(counters, references);
                assert_eq!(known.series(), grown.series(), "{counters} {references}");
            }
        }
        // The first interval has 512 references if the total number is not known.
        let first = |references| Points::new(Vec::new(), Vec::new(), references).due();
        assert_eq!(
            [first(None), first(Some(1 << 20)), first(Some(1 << 23))],
            [512, 1 << 15, 1 << 16]
        );
    }

    #[test]
    fn intervals_double_when_there_are_many() {
        let series = points(1, 3_000).series();
        assert_eq!(series.references, [512, 1024, 1536, 2048, 2560, 3000]);
        assert_eq!(series.cycles[5], 9_000);
        assert_eq!(series.counters[0].measured, [1024, 1024, 1024, 1024, 1024, 880]);
        assert_eq!(series.counters[0].truth, [512, 512, 512, 512, 512, 440]);
        // After the 32nd interval of 512 references, the intervals are merged into 16 intervals of 1,024 references.
        assert_eq!(points(1, 31 * 512).series().references.len(), 31);
        assert_eq!(points(1, 32 * 512).series().counters[0].truth, [1024; 16]);
        // After the 256th interval of 32,768 references, the intervals are merged into 128 intervals of 65,536 references.
        let long = points(1, 255 << 15).series();
        assert_eq!(long.counters[0].truth, [1 << 15; 255]);
        let long = points(1, 256 << 15).series();
        assert_eq!(long.counters[0].truth, [1 << 16; 128]);
        for (references, few) in [
            (50_000, 16..32),
            (500_000, 16..32),
            (1_000_003, 16..32),
            (2_000_003, 32..256),
            (77_777_777, 128..256),
        ] {
            let series = points(1, references).series();
            assert!(few.contains(&series.references.len()), "{references}");
            assert_eq!(series.counters[0].truth.iter().sum::<u64>(), references);
            assert_eq!(series.references.last(), Some(&references));
            let (last, others) = series.counters[0].truth.split_last().unwrap();
            assert!(others.iter().all(|count| *count == others[0] && last <= count));
        }
    }

    #[test]
    fn many_counters_have_fewer_points() {
        for (counters, most) in [(64, 256), (128, 128), (520, 32), (5_000, 32)] {
            let points = points(counters, 1 << 23).series().references.len();
            assert!((most / 2..most).contains(&points), "{counters}: {points}");
        }
    }
}
