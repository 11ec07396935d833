//! The way of a strand's references through its core to the L2 cache.

mod shapes;

use std::cmp::Ordering;

use guest_abi::layout::PerfConfig;
use guest_abi::{Hub, Mcu, Node, StrandId};
use platform::address::L2_BANKS;
use platform::models::Devices;

use super::channel::Channel;
use super::copies::Copy;
use super::figures::{Figures, Variant};
use super::geometry::{ADDRESS_MASK, Line};
use super::hub::HubEvents;
use super::l2::{L2, Slot, State};
use super::moves::MovedLines;
use super::plane::Plane;
use super::queue::Queue;
use super::system::{Core, MemorySystem, Plan, Strand};
use super::timing::{ISSUE, Timing};
use super::truth::{
    ChannelRecord, CoreRecord, HubRecord, Request, Service, StrandRecord, Wait, Waited,
};
use super::wires::StrandEvent;
use super::work::{Executed, Work};
use crate::recording::{ByKind, Flow, Kind, Reference};

/// A strand at work. What it uses is borrowed piece by piece, for speed.
pub(super) struct Access<'w, V: Variant> {
    pub(super) plan: &'w Plan<V>,
    pub(super) devices: &'w Devices,
    perf_config: &'w [PerfConfig; L2_BANKS],
    strand: &'w mut Strand,
    cores: Cores<'w, V>,
    pub(super) l2s: &'w mut [L2<V>],
    banks: &'w mut [Queue; L2_BANKS],
    pub(super) planes: &'w mut [Plane; Hub::ALL.len()],
    pub(super) channels: &'w mut [[Channel; Mcu::ALL.len()]; Node::ALL.len()],
    /// What happened on the strand and on its core, and elsewhere.
    strand_record: &'w mut StrandRecord,
    core_record: &'w mut CoreRecord,
    pub(super) channel_records: &'w mut [[ChannelRecord; Mcu::ALL.len()]; Node::ALL.len()],
    pub(super) hub_records: &'w mut [HubRecord; Hub::ALL.len()],
    pub(super) hub_events: &'w mut [HubEvents; Hub::ALL.len()],
    pub(super) moves: &'w mut Option<MovedLines>,
    /// The time, in cycles.
    pub(super) now: u64,
    /// When the last instruction was issued; 0 if none was.
    pub(super) issued: u64,
    /// When the first instruction was issued, and how many were.
    first_issued: u64,
    issues: u64,
    instructions: u64,
    /// Those of whole shapes.
    by_kind: ByKind,
    /// No instruction begins at this time or later, step by step.
    until: u64,
    /// The line of instructions that was fetched last, if it has not been dropped since.
    fetched: u64,
    offset: u64,
    /// The number of the core in the machine, and in its node.
    core: usize,
    core_in_node: usize,
    pub(super) node: Node,
}

impl<'w, V: Variant> Access<'w, V> {
    #[inline(always)]
    pub(super) fn new(
        work: &'w mut Work<'_, V>,
        strand: StrandId,
        offset: u64,
        begins: u64,
    ) -> Self {
        let node = strand.node();
        let MemorySystem {
            plan,
            strands,
            cores,
            l2,
            banks,
            planes,
            channels,
            hub_events,
            truth,
            moves,
        } = &mut *work.system;
        assert!(
            strand.index() < strands.len(),
            "strand {strand} is not of this machine"
        );
        Self {
            plan,
            devices: work.devices,
            perf_config: &work.perf_config[node.index()],
            strand: &mut strands[strand.index()],
            cores: Cores::new(cores, strand.core()),
            l2s: l2,
            banks: &mut banks[node.index()],
            planes,
            channels,
            strand_record: &mut truth.strands[strand.index()],
            core_record: &mut truth.cores[strand.core()],
            channel_records: &mut truth.channels,
            hub_records: &mut truth.hubs,
            hub_events,
            moves,
            now: begins,
            issued: 0,
            first_issued: 0,
            issues: 0,
            instructions: 0,
            by_kind: ByKind::default(),
            until: 0,
            fetched: NO_LINE,
            offset,
            core: strand.core(),
            core_in_node: strand.core() % CORES_PER_NODE,
            node,
        }
    }

    #[inline(always)]
    pub(super) fn finish(self, references: usize) -> Executed {
        if self.issues > 0 {
            let (first, last, issues) = (self.first_issued, self.issued, self.issues);
            self.cores.own.idle.issue(first, last, issues);
            self.core_record.issue(first, last, issues);
        }
        Executed {
            references,
            issued: self.issued,
            ends: self.now,
            instructions: self.instructions,
        }
    }

    /// Returns what the strand has waited for until now.
    pub(super) fn until_now(&self) -> Waited {
        self.strand_record.waited()
    }

    /// An instruction is issued.
    #[inline(always)]
    pub(super) fn issue(&mut self) {
        if self.issues == 0 {
            self.first_issued = self.now;
        }
        self.issues += 1;
        self.issued = self.now;
        self.now += ISSUE;
    }

    #[inline(always)]
    fn figures(&self) -> &'w Figures {
        let plan: &'w Plan<V> = self.plan;
        plan.variant.figures()
    }

    #[inline(always)]
    pub(super) fn timing(&self) -> &'w Timing {
        &self.figures().timing
    }

    /// Returns the powers of 2 that lines of the data cache, and of the instruction cache, have bytes.
    #[inline(always)]
    fn line_shifts(&self) -> (u32, u32) {
        (self.figures().l1d.line_shift, self.figures().l1i.line_shift)
    }

    /// Returns the line of 2 to the power `shift` bytes that an address is in.
    #[inline(always)]
    fn line(&self, shift: u32, address: u64) -> u64 {
        (address.wrapping_add(self.offset) & ADDRESS_MASK) >> shift
    }

    /// Executes a reference of an instruction that has been issued.
    #[inline(always)]
    pub(super) fn reference(&mut self, reference: &Reference) {
        let Reference {
            address,
            size,
            kind,
            flow,
        } = *reference;
        if !kind.is_fetch() {
            return self.data(kind, address, size);
        }
        self.count(kind, flow);
        self.now += if flow.is_elsewhere() {
            self.timing().taken
        } else {
            0
        };
        let (_, shift) = self.line_shifts();
        lines(shift, address.wrapping_add(self.offset), size, |line| {
            if line != self.fetched {
                self.fetched = line;
                self.fetch_line(line);
            }
        });
    }

    #[inline(always)]
    fn count(&mut self, fetch: Kind, flow: Flow) {
        let branch = flow.branch();
        self.strand.events.instruction(fetch, branch);
        self.strand_record.instructions[fetch as usize][branch as usize] += 1;
        self.instructions += 1;
    }

    #[inline(always)]
    fn data(&mut self, kind: Kind, address: u64, size: u16) {
        let address = address.wrapping_add(self.offset);
        match kind {
            Kind::Load => self.load(Request::Load, address, size),
            Kind::Store => {
                self.store(address, size);
            }
            _ => {
                self.load(Request::Atomic, address, size);
                let stored = self.store(address, size);
                self.wait(Wait::Atomic, stored);
            }
        }
    }

    #[inline(always)]
    fn fetch_line(&mut self, line: u64) {
        if !self.cores.own.instructions.touch(line) {
            self.fetch_missing(line);
        }
    }

    #[inline(always)]
    fn load(&mut self, request: Request, address: u64, size: u16) {
        self.now += self.timing().load;
        let (shift, _) = self.line_shifts();
        lines(shift, address, size, |line| {
            if !self.cores.own.data.touch(line) {
                self.load_line(request, line);
            }
        });
    }

    /// Returns when the store is done. The strand does not wait for it, as long as there is room for it among its others.
    #[inline(always)]
    fn store(&mut self, address: u64, size: u16) -> u64 {
        let mut done = 0;
        let (shift, _) = self.line_shifts();
        lines(shift, address, size, |line| done = self.store_line(line));
        done
    }

    /// A line that the instruction cache does not have.
    #[inline(never)]
    fn fetch_missing(&mut self, part: u64) {
        self.event(StrandEvent::InstructionCacheMiss);
        self.event(StrandEvent::CrossbarFetch);
        let slot = self.read(Request::Fetch, self.figures().line_of_instructions(part));
        let copy = self.figures().instruction_copy(self.core_in_node, part);
        *self.l2().copies(slot) |= copy;
        self.cores.own.instructions.fill(part);
    }

    /// A line that the data cache does not have.
    #[inline(never)]
    fn load_line(&mut self, request: Request, part: u64) {
        self.event(StrandEvent::DataCacheMiss);
        self.event(StrandEvent::CrossbarLoad);
        let slot = self.read(request, self.figures().line_of_data(part));
        let copy = self.figures().data_copy(self.core_in_node, part);
        *self.l2().copies(slot) |= copy;
        self.cores.own.data.fill(part);
    }

    /// Reads a line of the L2 cache.
    fn read(&mut self, request: Request, line: Line) -> Slot {
        let (data_shift, instruction_shift) = self.line_shifts();
        let shift = match request {
            Request::Fetch => instruction_shift,
            Request::Load | Request::Atomic | Request::Store => data_shift,
        };
        let accesses = (1 << shift >> BANK_SHIFT).max(1);
        let began = self.now;
        self.ask_bank(line, accesses);
        let Some(hit) = self.l2().hit(line) else {
            let (slot, service) = self.miss(line, State::Shared);
            let event = match request {
                Request::Fetch => Some(StrandEvent::L2InstructionMiss),
                Request::Load => Some(StrandEvent::L2LoadMiss),
                Request::Atomic | Request::Store => None,
            };
            if let Some(event) = event
                && self.selects_miss(line.bank(), service)
            {
                self.event(event);
            }
            self.served(request, service);
            self.waited(Wait::Request(service), began);
            return slot;
        };
        self.served(request, Service::Hit);
        self.waited(Wait::Request(Service::Hit), began);
        self.wait(Wait::Arriving, hit.arrives);
        hit.slot
    }

    /// A request goes to the bank of its line.
    fn ask_bank(&mut self, line: Line, accesses: u64) {
        let Timing { bank, l2, .. } = *self.timing();
        let cycles = accesses * bank;
        let bank = &mut self.banks[line.bank()];
        self.now = bank.enter(self.now, cycles) - cycles + l2;
    }

    /// Writes to a line of the data cache, be it there or not. Returns when that is done.
    #[inline(never)]
    fn store_line(&mut self, part: u64) -> u64 {
        self.event(StrandEvent::CrossbarStore);
        self.wait(Wait::Stores, self.strand.stores.room());
        // What follows takes time that the strand does not wait for.
        let goes_on = self.now;
        let line = self.figures().line_of_data(part);
        self.ask_bank(line, 1);
        let (slot, service) = match self.l2().hit(line) {
            Some(hit) => {
                self.now = self.now.max(hit.arrives);
                if hit.state != State::Modified {
                    self.own(line, hit.slot);
                }
                (hit.slot, Service::Hit)
            }
            None => self.miss(line, State::Modified),
        };
        self.served(Request::Store, service);
        let stale = self.figures().stale_after_store(self.core_in_node, part);
        let copies = self.l2().copies(slot);
        let stale = *copies & stale;
        if stale != 0 {
            *copies &= !stale;
            self.drop_copies(self.node, line, stale);
        }
        let stores = &mut self.strand.stores;
        let done = stores.enter(self.now, self.plan.variant.figures().timing.stores);
        self.now = goes_on;
        done
    }

    /// Takes parts of a line out of the L1 caches of a node.
    pub(super) fn drop_copies(&mut self, node: Node, line: Line, bits: u64) {
        let first = node.index() * CORES_PER_NODE;
        for copy in self.figures().copies(bits, line) {
            match copy {
                Copy::Data { core, line } => self.cores.get(first + core).data.remove(line),
                Copy::Instructions { core, line } => {
                    self.cores.get(first + core).instructions.remove(line);
                    if first + core == self.core {
                        (self.until, self.fetched) = (0, NO_LINE);
                    }
                }
            }
        }
    }

    fn event(&mut self, event: StrandEvent) {
        self.strand.events.count(event);
    }

    fn served(&mut self, request: Request, service: Service) {
        self.strand_record.served(request, service);
    }

    /// The strand has waited from the time `since` until now.
    fn waited(&mut self, wait: Wait, since: u64) {
        self.strand_record.waits(wait, self.now - since);
    }

    /// The strand waits until the time `until`, if that comes.
    #[inline]
    fn wait(&mut self, wait: Wait, until: u64) {
        if until > self.now {
            let since = std::mem::replace(&mut self.now, until);
            self.waited(wait, since);
        }
    }

    /// The L2 cache of the strand's node.
    pub(super) fn l2(&mut self) -> &mut L2<V> {
        &mut self.l2s[self.node.index()]
    }

    /// Whether PERF_CONFIG of the node selects the L2 misses in this bank that are so served.
    fn selects_miss(&self, bank: usize, service: Service) -> bool {
        match self.perf_config[bank] {
            PerfConfig::All => true,
            PerfConfig::Local => service == Service::Local,
            PerfConfig::Remote => service == Service::Remote,
            PerfConfig::CacheToCache => service == Service::CacheToCache,
        }
    }
}

/// All cores, with the one of the strand apart, for speed.
struct Cores<'w, V: Variant> {
    before: &'w mut [Core<V>],
    own: &'w mut Core<V>,
    after: &'w mut [Core<V>],
}

impl<'w, V: Variant> Cores<'w, V> {
    #[inline(always)]
    fn new(cores: &'w mut [Core<V>], own: usize) -> Self {
        let (before, rest) = cores.split_at_mut(own);
        let (own, after) = rest.split_first_mut().expect("the strand has a core");
        Self { before, own, after }
    }

    /// Returns the core with this number.
    fn get(&mut self, number: usize) -> &mut Core<V> {
        let own = self.before.len();
        match number.cmp(&own) {
            Ordering::Less => &mut self.before[number],
            Ordering::Equal => self.own,
            Ordering::Greater => &mut self.after[number - own - 1],
        }
    }
}

const CORES_PER_NODE: usize = StrandId::PER_NODE / StrandId::PER_CORE;

/// A bank of the L2 cache reads 2 to this power bytes at once.
const BANK_SHIFT: u32 = 4;

/// No line has this number.
const NO_LINE: u64 = u64::MAX;

/// Calls `touch` with each line of 2 to the power `shift` bytes that a reference touches, in their order.
#[inline(always)]
fn lines(shift: u32, address: u64, size: u16, mut touch: impl FnMut(u64)) {
    let address = address & ADDRESS_MASK;
    let first = address >> shift;
    let last = (address + u64::from(size).saturating_sub(1)) >> shift;
    touch(first);
    let mut line = first;
    while line != last {
        line += 1;
        touch(line & (ADDRESS_MASK >> shift));
    }
}
