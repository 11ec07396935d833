//! The machine as a debugger sees it.

use std::ops::Range;

use guest_abi::StrandId;
use perfctr_service::StrandSet;
use platform::memory_map::{PARTITION, REAL};
use simulator::execute::{Execution, Limits, Observed, State, Stop};
use simulator::interpreter::Level;
use simulator::machine::guests::NamedGuest;
use simulator::recording::Kind;

/// A machine that a debugger controls. The guests are in the order of their memory.
pub struct DebuggedMachine<'a> {
    pub(super) execution: &'a mut Execution,
    guests: &'a [NamedGuest],
    addresses: Addresses,
    watchpoints: Vec<Watchpoint>,
}

/// Knows where each guest's memory is, and converts between a guest's real addresses and the hypervisor's physical addresses.
#[derive(Clone)]
struct Addresses {
    guests: Vec<StrandSet>,
    /// The size of each guest's memory, in bytes.
    memory: u64,
}

/// gdb's number for a type of breakpoint or watchpoint, as in the packets `Z` and `z`.
pub(super) type PointKind = u64;

/// A point that stops the machine when any strand performs an access of type `kind` to `addresses`.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Watchpoint {
    pub(super) kind: PointKind,
    pub(super) addresses: Range<u64>,
}

pub(super) const STORES: PointKind = 2;
pub(super) const LOADS: PointKind = 3;
pub(super) const ACCESSES: PointKind = 4;

/// The maximum number of watchpoints. The limit is low, because each access is compared with all
/// watchpoints.
const MAX_WATCHPOINTS: usize = 64;

/// Which strands execute, and how far.
pub(super) enum Resume {
    All,
    /// The strands in `strands` take turns. All other strands wait.
    Only {
        strands: Vec<StrandId>,
        begun: bool,
    },
    /// One strand executes one instruction. If the strand is waiting, the other strands execute until it can step, unless `alone` is
    /// `true`.
    Step {
        strand: StrandId,
        from: Level,
        alone: bool,
    },
}

/// The reason why the machine has stopped.
pub(super) enum StopReason {
    Stop(Stop),
    /// The strand has finished the step of [`Resume::Step`].
    Stepped(StrandId),
    /// The strand is waiting, and no other strand may execute.
    Waits(StrandId),
}

impl Addresses {
    fn guest(&self, strand: StrandId) -> Option<u64> {
        self.guests.iter().position(|strands| strands.contains(strand)).map(|guest| guest as u64)
    }

    /// Returns the address that the software used for an access: a real address in a guest, a physical address in the hypervisor.
    fn used(&self, access: &Observed) -> Option<u64> {
        if access.level == Level::Hyperprivileged {
            return Some(access.physical);
        }
        let base = PARTITION + self.guest(access.strand)? * self.memory;
        Some(access.physical.checked_sub(base)? + REAL)
    }
}

impl Watchpoint {
    fn stops(&self, access: &Observed, addresses: &Addresses) -> bool {
        let kind = match access.kind {
            Kind::Load => self.kind != STORES,
            Kind::Store => self.kind != LOADS,
            _ => false,
        };
        let at = |used: u64| {
            used < self.addresses.end
                && used.saturating_add(access.size.into()) > self.addresses.start
        };
        kind && addresses.used(access).is_some_and(at)
    }
}

impl<'a> DebuggedMachine<'a> {
    /// Returns a machine for a debugger. Each guest has `memory` bytes.
    pub fn new(execution: &'a mut Execution, guests: &'a [NamedGuest], memory: u64) -> Self {
        let strands = guests.iter().map(|guest| guest.config.strands).collect();
        let addresses = Addresses { guests: strands, memory };
        Self { execution, guests, addresses, watchpoints: Vec::new() }
    }

    /// Returns strand number `number`; `None` if the machine has no such strand.
    pub(super) fn strand(&self, number: u64) -> Option<StrandId> {
        let machine = self.execution.machine();
        StrandId::new(usize::try_from(number).ok()?)
            .filter(|strand| strand.index() < machine.strands())
    }

    /// Returns the strands of all guests.
    pub(super) fn strands(&self) -> impl Iterator<Item = StrandId> {
        self.guests.iter().flat_map(|guest| guest.config.strands.iter())
    }

    /// Returns a description of a strand for gdb: the strand's number, its guest, and its state.
    pub(super) fn describe(&self, strand: StrandId) -> String {
        let does = match self.execution.state(strand) {
            State::Parked => "parked",
            State::Halted => "halted",
            State::Error => "in error state",
            State::Running => match self.execution.strand(strand).level() {
                Level::Hyperprivileged => "in the hypervisor",
                Level::Privileged | Level::User => "runs",
            },
        };
        let guest = self.addresses.guest(strand).and_then(|guest| self.guests.get(guest as usize));
        let guest = guest.map_or("no guest", |guest| &guest.name);
        format!("strand {strand} of {}: {does}", guest.escape_debug())
    }

    /// Converts an address that a strand uses to a physical address. Returns `None` if the `size`
    /// bytes at this address are outside the memory of the strand's guest.
    fn physical(&self, strand: StrandId, address: u64, size: u64) -> Option<u64> {
        if self.execution.strand(strand).level() == Level::Hyperprivileged {
            return Some(address);
        }
        let Addresses { memory, .. } = self.addresses;
        let guest = self.addresses.guest(strand)?;
        let offset = address.checked_sub(REAL)?;
        let end = offset.checked_add(size)?;
        (end <= memory).then(|| PARTITION + guest * memory + offset)
    }

    pub(super) fn read(&mut self, strand: StrandId, address: u64, size: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; size];
        let physical = self.physical(strand, address, size as u64)?;
        self.execution.read(physical, &mut bytes).ok()?;
        Some(bytes)
    }

    pub(super) fn write(&mut self, strand: StrandId, address: u64, bytes: &[u8]) -> Option<()> {
        let physical = self.physical(strand, address, bytes.len() as u64)?;
        self.execution.load(physical, bytes).ok()
    }

    /// Sets a watchpoint, or keeps it if it is already set. Returns `None` if there are too many watchpoints.
    pub(super) fn watch(&mut self, watchpoint: Watchpoint) -> Option<()> {
        self.ignore(&watchpoint);
        if self.watchpoints.len() == MAX_WATCHPOINTS {
            return None;
        }
        self.watchpoints.push(watchpoint);
        self.renew_watch();
        Some(())
    }

    pub(super) fn ignore(&mut self, watchpoint: &Watchpoint) {
        self.watchpoints.retain(|other| other != watchpoint);
        self.renew_watch();
    }

    /// Removes all breakpoints and watchpoints.
    pub(super) fn ignore_all(&mut self) {
        self.execution.breakpoints().clear();
        self.watchpoints.clear();
        self.renew_watch();
    }

    fn renew_watch(&mut self) {
        let (watchpoints, addresses) = (self.watchpoints.clone(), self.addresses.clone());
        self.execution.watch((!watchpoints.is_empty()).then(|| {
            let stops = move |access: &Observed| {
                watchpoints.iter().any(|point| point.stops(access, &addresses))
            };
            Box::new(stops) as _
        }));
    }

    /// Returns the watchpoint at which an access stopped the machine.
    pub(super) fn watchpoint(&self, access: &Observed) -> Option<&Watchpoint> {
        self.watchpoints.iter().find(|point| point.stops(access, &self.addresses))
    }

    /// Executes about `most` instructions. Stops earlier if the machine stops for another reason.
    pub(super) fn execute(&mut self, resume: &mut Resume, most: u64) -> StopReason {
        match resume {
            Resume::All => StopReason::Stop(self.execution.run(Limits::instructions(most))),
            Resume::Only { strands, begun } => self.take_turns(strands, begun, most),
            Resume::Step { strand, from, alone } => self.step(*strand, *from, *alone, most),
        }
    }

    fn take_turns(&mut self, strands: &[StrandId], begun: &mut bool, most: u64) -> StopReason {
        for _ in 0..most.div_ceil(strands.len() as u64) {
            let mut waits = true;
            for strand in strands.iter().copied() {
                let pc = self.execution.strand(strand).pc;
                let runs = self.execution.state(strand) == State::Running;
                if *begun && runs && self.execution.breakpoints().contains(&pc) {
                    return StopReason::Stop(Stop::Breakpoint(strand));
                }
                match self.execution.step(strand) {
                    None => {}
                    Some(Stop::Limit) => waits = false,
                    Some(stop) => return StopReason::Stop(stop),
                }
            }
            *begun = true;
            if waits && let Some(strand) = strands.first() {
                return StopReason::Waits(*strand);
            }
        }
        StopReason::Stop(Stop::Limit)
    }

    /// Steps a strand. If the instruction enters the hypervisor, the step continues until the hypervisor returns to the guest.
    fn step(&mut self, strand: StrandId, from: Level, alone: bool, most: u64) -> StopReason {
        for _ in 0..most {
            let stepped = self.execution.step(strand);
            let stop = match stepped {
                Some(stop) => stop,
                None if alone => return StopReason::Waits(strand),
                None => self.execution.run(Limits::instructions(1)),
            };
            if stop != Stop::Limit {
                return StopReason::Stop(stop);
            }
            let level = self.execution.strand(strand).level();
            if stepped.is_some()
                && (from == Level::Hyperprivileged || level < Level::Hyperprivileged)
            {
                return StopReason::Stepped(strand);
            }
        }
        if alone {
            return StopReason::Stop(Stop::Limit);
        }
        // The strand is still in the hypervisor. It may be waiting for other strands, so all strands execute.
        StopReason::Stop(self.execution.run(Limits::instructions(most)))
    }
}
