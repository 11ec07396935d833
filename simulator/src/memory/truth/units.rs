//! Records the events at the DRAM channels and the hubs, and checks that each event happens at the unit to which its line belongs.

use std::fmt;

use guest_abi::{Hub, Mcu, Node};
use perfctr_service::Unit;
use platform::Machine;

use super::HubRecord;
use super::owners::{LineUnits, UnitsByLine};
use crate::counts::counts;
use crate::memory::geometry::L2Line;
use crate::memory::pages::Pages;
use crate::memory::traffic::Transaction;

/// A DRAM channel's events. The fields that count cycles are sums of the times that lines spend in the queue and in transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::memory) struct ChannelRecord {
    pub(super) lines_read: u64,
    pub(super) lines_written: u64,
    pub(super) held_back: u64,
    pub(super) cycles_to_read: u64,
    pub(super) cycles_to_write: u64,
}

counts! {
    ChannelRecord { lines_read, lines_written, held_back, cycles_to_read, cycles_to_write }
    UnitRecords { channels, hubs } { machine, line_units, stray }
}

/// The events of all channels and hubs. Each event is counted for its line's [owner](UnitsByLine).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::memory) struct UnitRecords {
    pub(super) machine: Machine,
    line_units: UnitsByLine,
    pub(super) channels: [[ChannelRecord; Mcu::ALL.len()]; Node::ALL.len()],
    pub(super) hubs: [HubRecord; Hub::ALL.len()],
    stray: Option<Stray>,
}

/// Where a request for a line can arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Location {
    Unit(Unit),
    Bank(Node, usize),
    Strand(usize),
    Link(Hub, usize),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit(unit) => fmt::Display::fmt(unit, f),
            Self::Bank(node, bank) => write!(f, "bank {bank} of {}", Unit::L2(*node)),
            Self::Strand(strand) => write!(f, "strand {strand}"),
            Self::Link(hub, node) => write!(f, "link {} of node {node}", hub.index()),
        }
    }
}

/// The first event that happened at the wrong unit or strand. Such an event shows that the simulator contradicts itself, so none of
/// the run's counts are reliable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the simulator is wrong: {what} was at {at}, {}", match is_present {
    true => "where it does not belong",
    false => "which the machine does not have",
})]
pub struct Stray {
    what: StrayItem,
    at: Location,
    is_present: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StrayItem {
    Line(u64),
    Thread(usize),
    /// The number of lines that have passed through a link, in both directions together. The number is wrong for at least one
    /// direction.
    Lines(u64),
}

impl fmt::Display for StrayItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(f, "line {number:#x}"),
            Self::Thread(thread) => write!(f, "thread {thread}"),
            Self::Lines(lines) => write!(f, "a wrong number of lines ({lines})"),
        }
    }
}

impl Stray {
    /// Returns the error for a thread that executes on `strand` although it was placed on another strand.
    pub(crate) fn thread(thread: usize, strand: usize) -> Self {
        Self { what: StrayItem::Thread(thread), at: Location::Strand(strand), is_present: true }
    }
}

impl UnitRecords {
    pub(super) fn new(machine: &Machine, line: u64, pages: Pages) -> Self {
        Self {
            machine: *machine,
            line_units: UnitsByLine::new(machine, line, pages),
            channels: Default::default(),
            hubs: Default::default(),
            stray: None,
        }
    }

    /// Returns `true` if the machine has this hub, and a node at this port.
    pub(super) fn has_port(&self, hub: Hub, port: Node) -> bool {
        Unit::Hub(hub).is_in(self.machine) && self.machine.has_node(port)
    }

    pub(in crate::memory) fn stray(&self) -> Option<Stray> {
        self.stray
    }

    #[cold]
    fn record_stray(&mut self, line: L2Line, at: Location) {
        let is_present = match at {
            Location::Unit(unit) => unit.is_in(self.machine),
            Location::Bank(node, _) => Unit::L2(node).is_in(self.machine),
            Location::Strand(_) | Location::Link(..) => true,
        };
        let stray = Stray { what: StrayItem::Line(line.0), at, is_present };
        self.stray.get_or_insert(stray);
    }

    /// Returns the units that a line belongs to.
    #[inline(always)]
    pub(in crate::memory) fn line_units(&self, line: L2Line) -> LineUnits {
        self.line_units.get(line)
    }

    /// Records a miss: a core asked its node's bank for a line. `core` is the core's number in the machine. Returns the units that
    /// the line belongs to.
    #[inline(always)]
    pub(in crate::memory) fn missed(
        &mut self,
        line: L2Line,
        core: usize,
        node: Node,
        bank: usize,
    ) -> LineUnits {
        self.line_units.missed(line, core);
        let line_units = self.line_units.get(line);
        if usize::from(line_units.bank) != bank || core / 8 != node.index() {
            self.record_stray(line, Location::Bank(node, bank));
        }
        line_units
    }

    /// Returns the record of the channel to which a line belongs. If the line has arrived at another channel, `at`, records it as
    /// stray.
    #[inline(always)]
    fn channel(
        &mut self,
        line: L2Line,
        line_units: LineUnits,
        at: (Node, Mcu),
    ) -> &mut ChannelRecord {
        let (node, mcu) = line_units.channel;
        if (node, mcu) != at {
            self.record_stray(line, Location::Unit(Unit::Mcu(at.0, at.1)));
        }
        &mut self.channels[node.index()][mcu.index()]
    }

    /// Records that a channel has read a line with these units. `cycles` is the time that the line spent in the channel's queue
    /// and in transfer.
    #[inline(always)]
    pub(in crate::memory) fn read(
        &mut self,
        line: L2Line,
        line_units: LineUnits,
        at: (Node, Mcu),
        cycles: u64,
        held: bool,
    ) {
        let channel = self.channel(line, line_units, at);
        channel.lines_read += 1;
        channel.cycles_to_read += cycles;
        channel.held_back += u64::from(held);
    }

    /// Records that a channel has written a line. The arguments are those of [`read`](Self::read).
    #[inline(always)]
    pub(in crate::memory) fn written(
        &mut self,
        line: L2Line,
        line_units: LineUnits,
        at: (Node, Mcu),
        cycles: u64,
    ) {
        let channel = self.channel(line, line_units, at);
        channel.lines_written += 1;
        channel.cycles_to_write += cycles;
    }

    /// Records a request. `at` is the hub that the request has passed through or, on a machine without hubs, the link. `counted` is
    /// `true` if one of the hub's counters has counted the request.
    #[inline(always)]
    pub(in crate::memory) fn passed(
        &mut self,
        line: L2Line,
        line_units: LineUnits,
        at: Hub,
        transaction: &Transaction,
        counted: bool,
    ) {
        let hub = line_units.hub;
        if hub != at || counted && !Unit::Hub(hub).is_in(self.machine) {
            self.record_stray_request(line, at, transaction.requester, counted);
        }
        self.hubs[hub.index()].record(transaction);
    }

    #[cold]
    #[inline(never)]
    fn record_stray_request(&mut self, line: L2Line, at: Hub, requester: Node, counted: bool) {
        let at = match counted || !self.machine.hubs().is_empty() {
            true => Location::Unit(Unit::Hub(at)),
            false => Location::Link(at, requester.index()),
        };
        self.record_stray(line, at);
    }

    /// Checks, for each link between a node and a hub, that the number of lines that passed over it agrees with the recorded
    /// requests. `passed` returns the number of lines that have entered the node over the link, and the number that have left the
    /// node.
    pub(in crate::memory) fn check_links(&mut self, passed: impl Fn(Hub, usize) -> [u64; 2]) {
        for hub in Hub::ALL {
            for node in 0..self.machine.nodes() {
                let [into, out] = self.hubs[hub.index()].moved(node);
                let [entered, left] = passed(*hub, node);
                if [entered, left] != [into, out] {
                    let what = StrayItem::Lines(entered + left);
                    let at = Location::Link(*hub, node);
                    self.stray.get_or_insert(Stray { what, at, is_present: true });
                }
            }
        }
    }
}
