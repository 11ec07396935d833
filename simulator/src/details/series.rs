//! Counts over time.

use serde::{Deserialize, Serialize};

use crate::memory::Usage;
use crate::memory::geometry::LINE_SHIFT;

/// How many points there are at most, and if intervals are short or there are many counters.
const MOST: usize = 256;
const LEAST: usize = 32;

/// So many numbers of counters are kept at most, or twice as many.
const NUMBERS: usize = 1 << 14;

/// The references from one point to the next, at first.
const STEP: u64 = 512;

/// Shorter intervals are few, because the guest makes hundreds of hypercalls at each point.
const LONG: u64 = 1 << 14;

/// Counts over time: what happened in each of a number of intervals.
///
/// The intervals have equally many references, but for the last. A simulation begins with intervals of 512 references; whenever
/// there are 32, each two become one, and from intervals of 16,384 references on whenever there are 256. (There are fewer, at least
/// 32, if there are more than 64 counters.)
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Series {
    /// The references of the programs until the end of each interval. The first begins with 0.
    pub references: Vec<u64>,
    /// The cycles of the programs until the end of each interval.
    pub cycles: Vec<u64>,
    /// The machine's clock then, which advances by hypercalls, too. The times of events are of this clock.
    pub clock: Vec<u64>,
    /// What the guest did for this alone.
    pub reads: Reads,
    /// The hypercalls of each guest.
    pub hypercalls: Vec<GuestSeries>,
    /// The counters that have an event.
    pub counters: Vec<CounterSeries>,
    /// The DRAM channels that the machine has.
    pub channels: Vec<ChannelSeries>,
    /// The links of the nodes.
    pub links: Vec<LinkSeries>,
}

/// How the guest read its counters for counts over time, beyond what it does without details.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reads {
    /// How often it read all of them.
    pub samples: u64,
    /// The hypercalls that it made for that.
    pub calls: u64,
}

/// The hypercalls of a guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GuestSeries {
    /// Its name.
    pub guest: String,
    /// How many it made in each interval.
    pub calls: Vec<u64>,
}

/// Which counter it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CounterName {
    /// The class of its event, as [`Selection::parse`](crate::simulation::Selection::parse) takes it.
    pub class: &'static str,
    /// The name of its unit.
    pub unit: String,
    /// The name of its register.
    pub name: &'static str,
    /// 0 or 1.
    pub counter: usize,
    /// The name of its event.
    pub event: &'static str,
    /// The number of its node, if it is of a DRAM channel or a strand.
    pub node: Option<usize>,
    /// The number of its hub, if it is of one.
    pub hub: Option<usize>,
    /// The number of its strand, if it is of one.
    pub strand: Option<usize>,
}

/// A counter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CounterSeries {
    /// Which counter it is.
    #[serde(flatten)]
    pub name: CounterName,
    /// What the guest read, in each interval.
    pub measured: Vec<u64>,
    /// What happened.
    pub truth: Vec<u64>,
}

/// A DRAM channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChannelSeries {
    /// The number of its node.
    pub node: usize,
    /// Its number in the node.
    pub mcu: usize,
    /// The cycles for which it was busy with the lines of each interval.
    pub busy: Vec<u64>,
    /// The bytes that it read and wrote.
    pub bytes: Vec<u64>,
}

/// A link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinkSeries {
    /// The number of its hub.
    pub hub: usize,
    /// The number of its node.
    pub node: usize,
    /// The cycles for which both directions were busy with the lines of each interval, together.
    pub busy: Vec<u64>,
    /// The bytes that came to the node and left it.
    pub bytes: Vec<u64>,
}

/// Everything from the begin to a point in time.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) references: u64,
    pub(crate) cycles: u64,
    pub(crate) clock: u64,
    /// The hypercalls of each guest.
    pub(crate) calls: Vec<u64>,
    /// What was measured and what happened, by counter.
    pub(crate) counters: Vec<[u64; 2]>,
    pub(crate) usage: Usage,
}

/// The points until now.
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
        // Half of them are left when they become fewer.
        let most = (NUMBERS / counters.len().max(1)).clamp(LEAST, MOST) & !1;
        Self {
            guests,
            counters,
            reads: Reads::default(),
            points: Vec::new(),
            most,
            step: STEP,
        }
    }

    /// Returns after how many references the next point is wanted.
    pub(super) fn due(&self) -> u64 {
        let last = self.points.last().map_or(0, |last| last.references);
        (last / self.step + 1) * self.step
    }

    /// The guest has read its counters for the next point alone, with so many calls.
    pub(super) fn note_read(&mut self, calls: u64) {
        self.reads.samples += 1;
        self.reads.calls += calls;
    }

    /// Takes in the next point, later than those before it, or the last one again.
    pub(super) fn add(&mut self, point: Point) {
        self.points
            .retain(|earlier| earlier.references < point.references);
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

    /// Returns what happened between the points.
    pub(super) fn series(&self) -> Series {
        let each = |part: &dyn Fn(&Point) -> u64| -> Vec<u64> {
            let mut before = 0;
            let since = |now| now - std::mem::replace(&mut before, now);
            self.points.iter().map(part).map(since).collect()
        };
        let all = |part: fn(&Point) -> u64| self.points.iter().map(part).collect();
        let bytes = |lines: u64| lines << LINE_SHIFT;
        let last = self.points.last();
        let guests = self.guests.iter().enumerate();
        let counters = self.counters.iter().enumerate();
        let channels = last.iter().flat_map(|last| last.usage.channels.iter());
        let links = last.iter().flat_map(|last| last.usage.links.iter());
        Series {
            references: all(|point| point.references),
            cycles: all(|point| point.cycles),
            clock: all(|point| point.clock),
            reads: self.reads,
            hypercalls: guests
                .map(|(n, guest)| GuestSeries {
                    guest: guest.clone(),
                    calls: each(&|point| point.calls[n]),
                })
                .collect(),
            counters: counters
                .map(|(n, name)| CounterSeries {
                    name: name.clone(),
                    measured: each(&|point| point.counters[n][0]),
                    truth: each(&|point| point.counters[n][1]),
                })
                .collect(),
            channels: (channels.enumerate())
                .map(|(n, channel)| ChannelSeries {
                    node: channel.node,
                    mcu: channel.mcu,
                    busy: each(&|point| point.usage.channels[n].busy),
                    bytes: each(&|point| {
                        let channel = &point.usage.channels[n];
                        bytes(channel.reads + channel.writes)
                    }),
                })
                .collect(),
            links: (links.enumerate())
                .map(|(n, link)| LinkSeries {
                    hub: link.hub,
                    node: link.node,
                    busy: each(&|point| point.usage.links[n].busy),
                    bytes: each(&|point| {
                        let link = &point.usage.links[n];
                        bytes(link.into + link.out)
                    }),
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(counters: usize, references: u64) -> Points {
        let name = |number| CounterName {
            class: "pic",
            unit: String::new(),
            name: "%pic",
            counter: 0,
            event: "",
            node: None,
            hub: None,
            strand: Some(number),
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
        assert_eq!(
            series.counters[0].measured,
            [1024, 1024, 1024, 1024, 1024, 880]
        );
        assert_eq!(series.counters[0].truth, [512, 512, 512, 512, 512, 440]);
        // 31 points of 512, and then 16 of 1,024.
        assert_eq!(points(1, 31 * 512).series().references.len(), 31);
        assert_eq!(points(1, 32 * 512).series().counters[0].truth, [1024; 16]);
        // 255 points of 16,384, and then 128 of 32,768.
        let long = points(1, 255 << 14).series();
        assert_eq!(long.counters[0].truth, [1 << 14; 255]);
        let long = points(1, 256 << 14).series();
        assert_eq!(long.counters[0].truth, [1 << 15; 128]);
        for (references, few) in [
            (50_000, 16..32),
            (500_000, 16..32),
            (1_000_003, 32..256),
            (77_777_777, 128..256),
        ] {
            let series = points(1, references).series();
            assert!(few.contains(&series.references.len()), "{references}");
            assert_eq!(series.counters[0].truth.iter().sum::<u64>(), references);
            assert_eq!(series.references.last(), Some(&references));
            let (last, others) = series.counters[0].truth.split_last().unwrap();
            assert!(
                others
                    .iter()
                    .all(|count| *count == others[0] && last <= count)
            );
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
