//! Counts over time.

use std::borrow::Cow;

use guest_abi::{Counter, Hub, Node, StrandId};
use serde::{Deserialize, Serialize};

use crate::json;
use crate::memory::Usage;
use crate::memory::geometry::LINE_SHIFT;

/// The maximum number of points. Short intervals and many counters lower the maximum, but not below `LEAST`.
const MOST: usize = 256;
const LEAST: usize = 32;

/// The approximate maximum number of counter values in all points together. The points never hold more than twice this number.
const NUMBERS: usize = 1 << 14;

const STEP: u64 = 512;

/// Intervals with fewer references are short. At most `LEAST` short intervals are kept, because the guest makes hundreds of
/// hypercalls at each point.
const LONG: u64 = 1 << 14;

/// Counts in successive intervals of time.
///
/// All intervals except the last have the same number of references, at first 512. When there are 32 intervals, each pair is
/// merged into one. Intervals of at least 16,384 references are merged only when there are 256. (If there are more than 64
/// counters, the limit is lower, but at least 32.)
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Series {
    /// The number of references replayed by the end of each interval. The first interval begins at 0.
    pub references: Vec<u64>,
    /// The cycles that the programs had taken by the end of each interval.
    pub cycles: Vec<u64>,
    /// The machine's clock at the end of each interval. Hypercalls also advance the clock. The times of events
    /// are from this clock.
    pub clock: Vec<u64>,
    /// How often the guest read its counters for this series.
    pub reads: Reads,
    /// The hypercalls of each guest.
    pub hypercalls: Vec<GuestSeries>,
    /// The counters that have an event.
    pub counters: Vec<CounterSeries>,
    /// The enabled DRAM channels of the machine.
    pub channels: Vec<ChannelSeries>,
    pub links: Vec<LinkSeries>,
}

/// The guest's extra reads of its counters for a [`Series`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Reads {
    /// The number of times that the guest read all of its counters.
    pub samples: u64,
    pub calls: u64,
}

/// The hypercalls of a guest in each interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct GuestSeries {
    pub guest: String,
    pub calls: Vec<u64>,
}

/// Identifies a counter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct CounterName {
    /// The class of the counter's event, as [`Selection::parse`](crate::replay::Selection::parse) accepts
    /// it.
    pub class: Cow<'static, str>,
    /// The name of the counter's PMU, or of its strand.
    pub unit: String,
    /// The name of the counter's register.
    pub name: Cow<'static, str>,
    /// Which of the unit's two counters this is.
    #[serde(with = "json")]
    pub counter: Counter,
    pub event: Cow<'static, str>,
    /// The node, if the counter belongs to a DRAM channel or a strand.
    #[serde(default, with = "json")]
    pub node: Option<Node>,
    /// The hub, if the counter belongs to a hub.
    #[serde(default, with = "json")]
    pub hub: Option<Hub>,
    /// The strand, if the counter belongs to a strand.
    #[serde(default, with = "json")]
    pub strand: Option<StrandId>,
}

/// The counts of a counter in each interval.
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

/// The use of a channel or a link in each interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UseSeries {
    /// The number of cycles for which the channel or link was busy with the lines of each interval. A link's two directions are
    /// added up.
    pub busy: Vec<u64>,
    /// The number of bytes that the channel read and wrote, or that the link's node received and sent.
    pub bytes: Vec<u64>,
}

/// The use of a DRAM channel in each interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ChannelSeries {
    pub node: usize,
    /// The number of the channel within its node.
    pub mcu: usize,
    #[serde(flatten)]
    pub used: UseSeries,
}

/// The use of a link in each interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct LinkSeries {
    pub hub: usize,
    pub node: usize,
    #[serde(flatten)]
    pub used: UseSeries,
}

/// Cumulative counts at a point in time.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) references: u64,
    pub(crate) cycles: u64,
    pub(crate) clock: u64,
    /// The number of hypercalls of each guest.
    pub(crate) calls: Vec<u64>,
    /// For each counter, the measured count and the true count.
    pub(crate) counters: Vec<[u64; 2]>,
    pub(crate) usage: Usage,
}

pub(super) struct Points {
    guests: Vec<String>,
    counters: Vec<CounterName>,
    reads: Reads,
    points: Vec<Point>,
    most: usize,
    step: u64,
}

impl Points {
    pub(super) fn new(guests: Vec<String>, counters: Vec<CounterName>) -> Self {
        // The limit is even, because half of the points are dropped when it is reached.
        let most = (NUMBERS / counters.len().max(1)).clamp(LEAST, MOST) & !1;
        Self { guests, counters, reads: Reads::default(), points: Vec::new(), most, step: STEP }
    }

    /// Returns the number of references at which the next point is due.
    pub(super) fn due(&self) -> u64 {
        let last = self.points.last().map_or(0, |last| last.references);
        (last / self.step + 1) * self.step
    }

    /// Records that the guest made `calls` hypercalls only to read its counters for the next point.
    pub(super) fn note_read(&mut self, calls: u64) {
        self.reads.samples += 1;
        self.reads.calls += calls;
    }

    /// Adds the latest point. Replaces the previous point if both have the same number of references.
    pub(super) fn add(&mut self, point: Point) {
        self.points.retain(|earlier| earlier.references < point.references);
        self.points.push(point);
        let most = if self.step < LONG { LEAST } else { self.most };
        if self.points.len() == most {
            let mut number = 0;
            self.points.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.step *= 2;
        }
    }

    /// Returns the counts between the points.
    pub(super) fn series(&self) -> Series {
        let each = |part: &dyn Fn(&Point) -> u64| -> Vec<u64> {
            let mut before = 0;
            let since = |now| now - std::mem::replace(&mut before, now);
            self.points.iter().map(part).map(since).collect()
        };
        let all = |part: fn(&Point) -> u64| self.points.iter().map(part).collect();
        // `part` returns the busy cycles and the number of lines.
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

    fn points(counters: usize, references: u64) -> Points {
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
        let mut points = Points::new(Vec::new(), (0..counters).map(name).collect());
        loop {
            let due = points.due().min(references);
            points.add(Point {
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

    #[test]
    fn intervals_double_when_there_are_many() {
        let series = points(1, 3_000).series();
        assert_eq!(series.references, [512, 1024, 1536, 2048, 2560, 3000]);
        assert_eq!(series.cycles[5], 9_000);
        assert_eq!(series.counters[0].measured, [1024, 1024, 1024, 1024, 1024, 880]);
        assert_eq!(series.counters[0].truth, [512, 512, 512, 512, 512, 440]);
        // 31 intervals of 512 references become 16 of 1,024.
        assert_eq!(points(1, 31 * 512).series().references.len(), 31);
        assert_eq!(points(1, 32 * 512).series().counters[0].truth, [1024; 16]);
        // 255 intervals of 16,384 references become 128 of 32,768.
        let long = points(1, 255 << 14).series();
        assert_eq!(long.counters[0].truth, [1 << 14; 255]);
        let long = points(1, 256 << 14).series();
        assert_eq!(long.counters[0].truth, [1 << 15; 128]);
        for (references, few) in
            [(50_000, 16..32), (500_000, 16..32), (1_000_003, 32..256), (77_777_777, 128..256)]
        {
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
