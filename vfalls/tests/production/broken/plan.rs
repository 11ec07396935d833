//! The plan of a run: what the strands and the operator do, which units fail, and when they fail.

use std::array;

use guest_abi::{Hub, Mcu, Node, PerfReg};
use perfctr_service::Unit;
use simulator::execute::StoreLatency;
use tests::random::Random;

use super::super::lists::{Entry, GET, SET};
use super::strand;

/// The strands' numbers: three strands of the first guest, which initially has the rights, and one of its neighbour.
pub(super) const STRANDS: [usize; 4] = [0, 1, 64, 8];

/// Failures begin within this number of cycles after the start of a run. A failed unit works again within this time, or never.
pub(super) const FAULT_WINDOW: u64 = 2000;

const GROUP: u64 = 0x205;
const L2: u64 = 1;

/// What happens between the two stages of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum BetweenStages {
    /// The operator changes nothing, and only asks for the hypervisor's state.
    #[default]
    Look,
    /// The operator gives the rights to the neighbour.
    Transfer,
    /// The operator resets the first guest.
    Reset,
    /// The first guest exits, and then the operator resets it.
    Exit,
    /// The failed units are repaired, and the operator returns them to service.
    Return,
}

/// A unit that fails for some time. Times are in cycles from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) unit: Unit,
    pub(super) from: u64,
    pub(super) until: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// Each strand's list for the first stage, then each strand's list for the second stage.
    pub(super) lists: [[Vec<Entry>; STRANDS.len()]; 2],
    /// The time at which the operator asks for the state during the first stage, in cycles after the start of the run, and the index of the
    /// strand that serves the operator.
    pub(super) looks: Option<(u64, usize)>,
    pub(super) between: BetweenStages,
    /// The index of the strand that serves the operator between the stages.
    pub(super) on: usize,
    pub(super) latency: StoreLatency,
    pub(super) faults: Vec<Fault>,
}

const fn fast(function: u64, o0: u64, o1: u64) -> Entry {
    [13, o0, o1, 0, 0, 0, function, 0]
}

const fn core(function: u64, o0: u64, o1: u64, o2: u64) -> Entry {
    [11, o0, o1, o2, 0, 0, function, 0]
}

/// The entry that ends the guest. [`LAST`] is the last entry of a list; its answer does not depend
/// on a unit.
pub(super) const EXIT: Entry = fast(0, 5, 0);
pub(super) const LAST: Entry = fast(GET, 90, 7);

/// Names the work that an entry causes, for the table of interruptions.
pub(super) fn what(entry: &Entry) -> &'static str {
    let [kind, id, minor, .., function, _] = *entry;
    match (kind, function) {
        (13, GET | SET) => {
            let names = match id {
                0 => ["get of the PCR", "set of the PCR"],
                L2 => ["get of L2", "set of L2"],
                2..10 => ["get of a channel", "set of a channel"],
                18..90 => ["get of a hub", "set of a hub"],
                90.. => ["EINVAL"; 2],
                _ => ["ENOTSUPPORTED"; 2],
            };
            names[usize::from(function == SET)]
        }
        (13, 0x17) => "a function of the slow path",
        (13, 5) => "an unknown function",
        (11, 3) => "get of a version",
        (11, 0) if minor == 1 => "a negotiation",
        (11, 0x84) => "an unknown CORE function",
        (9, _) => "a software trap",
        _ => "start and end of guests",
    }
}

/// Returns the unit that an entry accesses on the strand with this index; `None` if it accesses no unit.
pub(super) fn unit(entry: &Entry, number: usize) -> Option<Unit> {
    let is_access = entry[0] == 13 && [GET, SET].contains(&entry[6]);
    let register = PerfReg::new(entry[1]).filter(|_| is_access)?;
    Unit::for_register(register, strand(STRANDS[number]).node())
}

/// Returns the registers that only this strand of its guest uses, so that no value depends on the order of the strands. Several strands may
/// use the same unit.
fn own(number: usize) -> Vec<u64> {
    let channels: &[u64] = match number {
        0 => &[2, 4, 7, L2],
        1 => &[3, 5, 9],
        2 => &[6, 8, L2],
        _ => &[2, 3, 4, 5, 6, 7, 8, 9, L2],
    };
    let hubs = [0, 1, 2].map(|hub| 18 + 18 * hub + 3 * number as u64);
    let hubs = hubs.into_iter().flat_map(|first| first..first + 3);
    channels.iter().copied().chain(hubs).collect()
}

/// The number of memory channels at the start of [`UNITS`], which lists all units that the strands use.
const CHANNELS: usize = 4;
const UNITS: [Unit; 9] = [
    Unit::Mcu(Node::Node0, Mcu::ALL[0]),
    Unit::Mcu(Node::Node0, Mcu::ALL[1]),
    Unit::Mcu(Node::Node1, Mcu::ALL[0]),
    Unit::Mcu(Node::Node1, Mcu::ALL[1]),
    Unit::Hub(Hub::ALL[0]),
    Unit::Hub(Hub::ALL[1]),
    Unit::Hub(Hub::ALL[2]),
    Unit::L2(Node::Node0),
    Unit::L2(Node::Node1),
];

impl Plan {
    /// Returns a random plan for the strands and the operator, without failures.
    pub(super) fn drawn(random: &mut Random) -> Self {
        let between = random.one_of(&[
            BetweenStages::Look,
            BetweenStages::Look,
            BetweenStages::Look,
            BetweenStages::Transfer,
            BetweenStages::Reset,
            BetweenStages::Exit,
            BetweenStages::Return,
        ]);
        // A strand can change its guest's version only while no other strand of the guest makes calls.
        let alone = random.below(4) == 0;
        let lists = array::from_fn(|stage| {
            array::from_fn(|number| match number {
                1 | 2 if alone => Vec::new(),
                _ => list(random, number, stage, alone),
            })
        });
        let looks = (random.below(2) == 0).then(|| (random.below(1000) as u64, random.below(4)));
        Self { lists, looks, between, on: random.below(4), ..Self::default() }
    }

    /// Returns the plan with random failures and random store latencies. Either one to three random units fail, or all channels fail at the
    /// same time.
    pub(super) fn with_faults(&self, random: &mut Random) -> Self {
        let mut plan = self.clone();
        let at_once = random.below(4) == 0;
        let count = if at_once { CHANNELS } else { random.one_of(&[1, 1, 2, 3]) };
        for channel in UNITS.into_iter().take(count) {
            let at = random.below(FAULT_WINDOW as usize) as u64;
            let lasts = 1 + random.below(1000) as u64;
            let (unit, from) = match at_once {
                true => (channel, 0),
                false => (random.one_of(&UNITS), random.one_of(&[0, at])),
            };
            let until = random.one_of(&[u64::MAX, (from + lasts).min(FAULT_WINDOW)]);
            if plan.faults.iter().all(|fault| fault.unit != unit) {
                plan.faults.push(Fault { unit, from, until });
            }
        }
        let longest = 1 + random.below(1000) as u64;
        plan.latency = StoreLatency::Random { state: random.next_u64(), longest };
        plan
    }
}

/// Returns a random list for a strand. In the second stage, the list ends with a call for each unit.
fn list(random: &mut Random, number: usize, stage: usize, alone: bool) -> Vec<Entry> {
    let own = own(number);
    let stored: Vec<u64> =
        own.iter().copied().filter(|register| (2..18).contains(register)).collect();
    let mut list = Vec::new();
    for _ in 0..2 + random.below(8) {
        // No value selects event 1 (cycles), because the cycle count differs between runs.
        let value = random.one_of(&[0, 0x0202, 0x0303, 0x0203]);
        match random.below(if alone && stage == 0 { 20 } else { 18 }) {
            0..4 => list.push(fast(SET, random.one_of(&stored), value)),
            4..6 => list.push(fast(SET, random.one_of(&own), value)),
            6..8 => list.push(fast(GET, random.one_of(&own), value)),
            8 => list.push(fast(SET, 0, random.one_of(&[2, 4, 6]))),
            9 => list.push(fast(GET, 0, value)),
            10 => list.push(fast(GET, random.one_of(&[10, 91, u64::MAX]), value)),
            11 => list.push(fast(5, 0, value)),
            12 => list.push(fast(0x17, 0, value)),
            13 => list.push(core(random.one_of(&[3, 0x84]), GROUP, 0, value)),
            14 => list.push(core(0, GROUP, 1, 1)),
            15 => list.push([9, 1, 2, 3, 4, 5, 6, 0]),
            16 => list.push([10, 0, 0, 0, 0, 0, 0, 0]),
            17 => list.push([4, 1 + random.below(100) as u64, 0, 0, 0, 0, 0, 0]),
            _ => list.extend([core(0, GROUP, 1, 0), core(0, GROUP, 1, 1)]),
        }
    }
    list.extend(if stage == 1 { asks(number) } else { vec![LAST] });
    list
}

/// Returns a list with one get for each unit that a strand can use, followed by [`LAST`].
pub(super) fn asks(number: usize) -> Vec<Entry> {
    let own = own(number);
    let ask = |wanted: &Unit| {
        let mut asks = own.iter().map(|register| fast(GET, *register, 0x5a5a));
        asks.find(|entry| unit(entry, number) == Some(*wanted))
    };
    UNITS.iter().filter_map(ask).chain([LAST]).collect()
}

pub(super) const fn set(register: u64, value: u64) -> Entry {
    fast(SET, register, value)
}
