//! Compares an image with the reference model while strands make calls at the same time: the calls' answers, registers and accesses.
//!
//! - The model makes the calls in the order of their device accesses.
//! - Negotiations access no device. The judge looks for an order of simultaneous negotiations that explains the answers. A call during its
//!   guest's negotiation has the version from before or after the negotiation.
//! - EWOULDBLOCK needs a reason: another strand's access is in progress, or the hypervisor remembers that it refused another strand
//!   earlier.

mod negotiations;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use conform::oracle::negotiation::{PERF, Versions};
use conform::oracle::status::{EOK, EWOULDBLOCK};
use conform::oracle::{
    Access, Action, Cell, Console, HubCondition, Outcome, Target, Trap, Unit, World,
};
use guest_abi::StrandId;
use platform::{Bus, PhysicalAddress};

use super::caller::strand;
use super::callers::CompletedCall;
use crate::execute::{Execution, Observed, map};
use crate::recording::Kind;

/// Makes the enclosing function return an error unless a condition holds.
macro_rules! require {
    ($holds:expr, $($what:tt)+) => {
        if !$holds {
            return Err(format!($($what)+));
        }
    };
}
use require;

/// The maximum number of cycles between issue and completion of a store to a channel register.
const MAX_STORE_DELAY: u64 = 200;

/// At a free hub, the hypervisor can refuse a strand in favour of another strand that was refused earlier. This constant is the maximum
/// number of such counted refusals for one strand: twice the number of strands at the hub (two). The next call after these refusals is
/// served, however seldom the strand calls.
const MAX_COUNTED_REFUSALS: usize = 4;

/// The hypervisor counts a refusal only if half a millisecond (2^19 cycles) has passed since the strand's last counted refusal. If two
/// refused calls returned more than this number of cycles apart, half a millisecond has certainly passed between the refusals. The margin
/// covers the time between a call's decision and its return.
const MIN_REFUSAL_INTERVAL: u64 = (1 << 19) + (1 << 16);

/// A value that a channel register may have, the strand that stored it, and the time of the store.
#[derive(Clone, Copy, Debug)]
struct Stored {
    value: u64,
    strand: Option<StrandId>,
    time: u64,
}

/// The machine's reference model, and the state of the comparison.
#[derive(Debug)]
pub struct Judge {
    world: World,
    channels: BTreeMap<Cell, Vec<Stored>>,
    /// The hub PICs that may have counted events since they were last written.
    counted: BTreeSet<Cell>,
    /// How many calls were answered with each status.
    pub statuses: BTreeMap<u64, usize>,
}

impl Judge {
    /// Starts the comparison with a machine at power-on.
    #[must_use]
    pub fn new(mut world: World) -> Self {
        for bank in (0..4).flat_map(|node| (0..8).map(move |bank| Cell::L2 { node, bank })) {
            // After reset, bit 0 is set, which switches the cache off.
            world.devices.insert(bank, 1);
        }
        Self {
            world,
            channels: BTreeMap::new(),
            counted: BTreeSet::new(),
            statuses: BTreeMap::new(),
        }
    }

    /// Compares these calls and their device accesses. No other calls may overlap them.
    ///
    /// # Errors
    /// A call violates the contract. The error describes the call.
    pub fn judge(&mut self, made: &[CompletedCall], devices: &[Observed]) -> Result<(), String> {
        let own = |call: &CompletedCall| -> Vec<(usize, Observed)> {
            let places = call.accesses.clone();
            let all = places.map(|place| (place, devices[place]));
            all.filter(|(_, access)| access.strand == call.strand).collect()
        };
        let accesses: Vec<_> = made.iter().map(own).collect();
        let strands: BTreeSet<_> = made.iter().map(|call| call.strand).collect();
        let all = devices.iter().filter(|access| strands.contains(&access.strand));
        let of_calls: usize = accesses.iter().map(Vec::len).sum();
        require!(of_calls == all.count(), "accesses outside of calls");
        let mut order: Vec<usize> = (0..made.len()).collect();
        order.sort_by_key(|call| {
            // A call for L2 control is ordered by its access to bank 0: a `set` writes bank 0 last, and a `get` reads bank 0 without the
            // lock.
            let accessed = match made[*call].request.registers {
                [1, ..] => accesses[*call].last(),
                _ => accesses[*call].first(),
            };
            // A call without accesses keeps its position among its strand's calls.
            let at = accessed.map_or(made[*call].accesses.start, |(place, _)| *place);
            (at, accessed.is_some(), made[*call].turns.start)
        });
        let mut possible = vec![[false; VERSIONS.len()]; made.len()];
        for call in order {
            let seen: Vec<_> = accesses[call].iter().map(|(_, access)| *access).collect();
            possible[call] = self.versions_of(&made[call], &seen)?;
            *self.statuses.entry(made[call].after[0]).or_default() += 1;
        }
        check_refusals(made)?;
        for guest in 0..self.world.guests.len() {
            self.check_negotiations(guest, made, &possible)?;
        }
        Ok(())
    }

    /// Compares the final values of the device registers, and of these strands' %pcr.
    ///
    /// # Errors
    /// A register's value violates the contract. The error describes the register.
    pub fn end(&mut self, execution: &Execution, strands: &[StrandId]) -> Result<(), String> {
        for (cell, node) in cells() {
            let on = strand(64 * node);
            let address = PhysicalAddress(cell.address_from(node));
            let read = execution.devices().read(on, address);
            let value = read.map_err(|error| format!("{cell:?}: {error}"))?;
            self.check_load(cell, on, u64::MAX, value)?;
            let expected = self.world.holds(cell);
            require!(value == expected, "{cell:?} is {value:#x}, not {expected:#x}");
        }
        for strand in strands {
            let unit = execution.devices().strand_unit(*strand);
            let model = self.world.pcr_of(strand.number().into());
            let pcr = unit.pcr();
            require!(pcr == model, "%pcr of strand {strand} is {pcr:#x}, not {model:#x}");
        }
        Ok(())
    }

    /// Makes a call in the model, for each version that the calling guest may have. For each version, returns whether the image's answer
    /// and accesses were right.
    fn versions_of(
        &mut self,
        call: &CompletedCall,
        seen: &[Observed],
    ) -> Result<[bool; VERSIONS.len()], String> {
        let node = World::node_of(call.strand.number().into());
        let number = u16::from(call.strand.number());
        let guest = self.world.guest_of(number);
        let (sent, seen): (Vec<&Observed>, Vec<&Observed>) =
            (seen.iter()).partition(|access| access.physical >> 32 == map::CONSOLES >> 32);
        let sent: Vec<_> = sent.iter().map(|access| Console::Byte(access.value as u8)).collect();
        let accesses: Vec<Access> = seen.iter().map(|access| accessed(access)).collect();
        for access in &seen {
            let cell = Cell::at(node, access.physical).filter(|_| access.size == 8);
            let cell = cell.ok_or_else(|| format!("{call:x?}: {access:x?}"))?;
            match access.kind {
                Kind::Load => self.check_load(cell, call.strand, access.time, access.value)?,
                _ => self.record_store(cell, call.strand, access),
            }
        }
        let [id, .., function] = call.request.registers;
        let trap = match call.request.trap {
            0x80 => Trap::Fast,
            0xff => Trap::Core,
            other => Trap::Other(other),
        };
        let refused = call.after[0] == EWOULDBLOCK;
        let hub = match (trap, function, id) {
            (Trap::Fast, 0x106 | 0x107, 18..=89) => Some((id as usize - 18) / 18),
            _ => None,
        };
        if let Some(hub) = hub.filter(|_| refused) {
            self.world.hubs[hub] = HubCondition::Busy;
        }
        // Only a write (set, function 0x107) changes the registers.
        let before =
            (function == 0x107).then(|| (self.world.devices.clone(), self.world.pcr.clone()));
        let versions = self.world.guests[guest].versions.clone();
        let mut answers = Vec::new();
        let possible = VERSIONS.map(|minor| {
            let mut assumed = Versions::default();
            if let Some(minor) = minor {
                // The negotiation cannot fail, because the model knows both versions.
                let _ = assumed.set(PERF, 1, minor);
            }
            self.world.guests[guest].versions = assumed;
            let mut outcome = self.world.call(number, trap, call.request.registers);
            outcome.accesses.retain(|access| access.target != Target::Pcr);
            // The model has no L2 lock, so it does not refuse this call.
            if refused && id == 1 && outcome.regs[0] == EOK {
                outcome.regs[0..2].copy_from_slice(&[EWOULDBLOCK, call.request.registers[1]]);
            }
            let is_served = || {
                let bytes = outcome.console.into_iter().filter(|sent| *sent != Console::Break);
                let observed = Outcome { accesses: accesses.clone(), ..outcome.clone() };
                !outcome.exited
                    && bytes.eq(sent.iter().copied())
                    && outcome.by_target() == observed.by_target()
                    && (id == 1 || outcome.accesses == accesses)
            };
            let is_right = call.request.is_negotiation()
                || outcome.regs == call.after
                    && if refused { accesses.is_empty() } else { is_served() };
            answers.push(outcome.regs);
            if let Some(before) = before.clone().filter(|_| !is_right || refused) {
                (self.world.devices, self.world.pcr) = before;
            }
            is_right
        });
        self.world.guests[guest].versions = versions;
        self.world.hubs = Default::default();
        require!(possible.contains(&true), "{call:x?}: {seen:x?}; the model: {answers:x?}");
        Ok(possible)
    }

    /// Checks a loaded value, and copies it to the model if the model cannot know which value to expect. A channel register must have one
    /// of the values that are possible at this time. A hub's PIC may have any value while it counts events.
    fn check_load(
        &mut self,
        cell: Cell,
        strand: StrandId,
        time: u64,
        value: u64,
    ) -> Result<(), String> {
        match cell.unit() {
            Unit::Mcu { .. } => {
                let stored = self.channels.entry(cell).or_insert_with(unwritten);
                let all = stored.clone();
                stored.retain(|one| !all.iter().any(|later| later.has_replaced(one, strand, time)));
                let is_legal = stored.iter().any(|stored| stored.value == value);
                require!(is_legal, "{cell:?} is {value:#x}: {stored:x?}");
                self.world.devices.insert(cell, value);
            }
            Unit::Hub(_) if self.counted.contains(&cell) => {
                self.world.devices.insert(cell, value);
            }
            _ => {}
        }
        Ok(())
    }

    /// Records a stored value if later loads may return other values: a channel register is written late, and a hub's PIC may count events.
    fn record_store(&mut self, cell: Cell, strand: StrandId, access: &Observed) {
        match (cell, cell.unit()) {
            (_, Unit::Mcu { .. }) => {
                let stored = self.channels.entry(cell).or_insert_with(unwritten);
                let (value, time) = (access.value, access.time);
                stored.push(Stored { value, strand: Some(strand), time });
            }
            (Cell::Register(id), Unit::Hub(_)) => {
                let (first, number) = (id - (id - 18) % 3, (id - 18) % 3);
                let pcr = match number {
                    0 => access.value,
                    _ => self.world.holds(Cell::Register(first)),
                };
                self.counted.remove(&cell);
                for pic in 1..3 {
                    // Event 1 counts cycles, which pass even without a memory system.
                    if pcr >> (8 * (pic - 1)) & 0xff == 1 {
                        self.counted.insert(Cell::Register(first + pic));
                    }
                }
            }
            _ => {}
        }
    }
}

/// Checks that each EWOULDBLOCK has a reason.
fn check_refusals(made: &[CompletedCall]) -> Result<(), String> {
    let device = |call: &CompletedCall| match (call.request.trap, call.request.registers) {
        (0x80, [id, .., 0x106 | 0x107]) if matches!(call.after[0], EOK | EWOULDBLOCK) => match id {
            1 => Some(Unit::L2 { node: call.strand.node().index() }),
            18..=89 => Some(Cell::Register(id).unit()),
            _ => None,
        },
        _ => None,
    };
    let of: Vec<_> = made.iter().filter_map(|call| Some((device(call)?, call))).collect();
    // Calls are in the order in which they returned. Few calls overlap, so only calls that are close in this order are searched.
    let overlaps = |number: usize| {
        let (unit, call) = &of[number];
        let around = &of[number.saturating_sub(64)..(number + 64).min(of.len())];
        around.iter().any(|(one, other)| {
            one == unit
                && other.strand != call.strand
                && other.turns.start < call.turns.end
                && call.turns.start < other.turns.end
        })
    };
    for (number, (unit, call)) in of.iter().enumerate() {
        if call.after[0] != EWOULDBLOCK || overlaps(number) {
            continue;
        }
        let before = (0..number).rev().filter(|before| of[*before].0 == *unit);
        let own = before.clone().take_while(|before| of[*before].1.strand == call.strand);
        let on_behalf =
            |before: &usize| of[*before].1.after[0] == EWOULDBLOCK && !overlaps(*before);
        let mut times = vec![call.returned];
        times.extend(own.filter(on_behalf).map(|at| of[at].1.returned));
        times.reverse();
        let counted = counted_at_least(&times);
        let mut before = before.map(|before| of[before].1);
        let other = before.find(|before| before.strand != call.strand);
        let is_remembered = other.is_some_and(|other| other.after[0] == EWOULDBLOCK);
        require!(
            is_remembered && counted <= MAX_COUNTED_REFUSALS && matches!(unit, Unit::Hub(_)),
            "{call:x?}, refused without a reason after {counted} counted refusals: {other:x?}"
        );
    }
    Ok(())
}

/// Returns the minimum number of a strand's refusals that the hypervisor has counted. `times` are the times at which the refused calls
/// returned. The first refusal may be uncounted, if another refusal came shortly before it.
fn counted_at_least(times: &[u64]) -> usize {
    let Some((first, later)) = times.split_first() else { return 0 };
    let count = |(last, counted), time: &u64| match *time > last + MIN_REFUSAL_INTERVAL {
        true => (*time, counted + 1),
        false => (last, counted),
    };
    later.iter().fold((*first, 0), count).1
}

/// The minor versions of group 0x205 that a guest can have, or `None` before it negotiates.
const VERSIONS: [Option<u64>; 3] = [None, Some(0), Some(1)];

impl Stored {
    /// Returns `true` if, at the time `time`, this value has replaced `earlier` for a strand. From then on, none of the strand's loads
    /// returns `earlier`.
    fn has_replaced(&self, earlier: &Self, strand: StrandId, time: u64) -> bool {
        let is_there = self.strand == Some(strand) || time > self.time + MAX_STORE_DELAY;
        let comes_later = self.time > earlier.time + MAX_STORE_DELAY
            || self.strand == earlier.strand && self.time > earlier.time;
        is_there && comes_later
    }
}

/// Returns the possible values of a register that nobody has written.
fn unwritten() -> Vec<Stored> {
    vec![Stored { value: 0, strand: None, time: 0 }]
}

fn accessed(access: &Observed) -> Access {
    let action = match access.kind {
        Kind::Load => Action::Read,
        _ => Action::Write(access.value),
    };
    Access::done(Target::Address(access.physical), action)
}

/// Returns all device registers, each with a node that can reach it.
pub(super) fn cells() -> impl Iterator<Item = (Cell, usize)> {
    let nodes = (0..4).map(|node| (Unit::L2 { node }, node));
    let channels = (0..8).map(|number| Unit::Mcu { node: number / 2, mcu: number % 2 });
    let others = channels.chain((0..4).map(Unit::Hub));
    let units = nodes.chain(others.map(|unit| (unit, 0)));
    units.flat_map(|(unit, node)| unit.cells().into_iter().map(move |cell| (cell, node)))
}
