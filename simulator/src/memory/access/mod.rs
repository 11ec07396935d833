//! Sends a strand's references through its core's caches to its node's L2 cache.

mod cores;
mod shapes;
mod watched;

use guest_abi::layout::PerfConfig;
use guest_abi::{Hub, Node, StrandId};
use platform::address::L2_BANKS;

use super::ahead::log::CoresAhead;
use super::broken::{Map, mapped};
use super::copies::Copy;
use super::figures::{Figures, Variant};
use super::geometry::{ADDRESS_MASK, L2Line};
use super::hub::HubEvents;
use super::l2::{L2Caches, LineState};
use super::moves::MovedLines;
use super::plane::Plane;
use super::quantum::Executed;
use super::queue::Queue;
use super::strand_events::StrandEvent;
use super::system::{Dram, MemorySystem, Plan, StrandState};
use super::timing::{ISSUE, Timing};
use super::truth::{CoreRecord, CoreRequest, ServedBy, StrandRecord, UnitRecords, Wait};
use super::watch::Unreported;
use crate::recording::{ByKind, Kind, Reference};
use cores::Cores;
pub(super) use shapes::try_quick_store;

/// A strand that executes references. It borrows each part of the memory system separately, because a borrow of the whole system
/// would cost one more indirection per access.
pub(super) struct Access<'w, V: Variant> {
    pub(super) plan: &'w Plan<V>,
    perf_config: &'w [PerfConfig; L2_BANKS],
    strand: &'w mut StrandState,
    cores: Cores<'w, V>,
    pub(super) l2: &'w mut L2Caches<V>,
    banks: &'w mut [Queue; L2_BANKS],
    pub(super) planes: &'w mut [Plane; Hub::ALL.len()],
    pub(super) dram: &'w mut Dram,
    strand_record: &'w mut StrandRecord,
    core_record: &'w mut CoreRecord,
    pub(super) unit_records: &'w mut UnitRecords,
    pub(super) hub_events: &'w mut [HubEvents; Hub::ALL.len()],
    pub(super) moves: &'w mut Option<MovedLines>,
    ahead: &'w mut CoresAhead,
    /// The strand's requests and waits that have not been reported to its watch yet; `None` if there is no watch.
    pub(super) unreported: Option<&'w mut Unreported>,
    /// The strand's time, in cycles.
    pub(super) now: u64,
    /// The time at which the latest instruction was issued; 0 before the first instruction.
    pub(super) issued: u64,
    /// The time from which other strands see the effects of the current reference: the time at which the latest instruction was
    /// issued, or, for an instruction that loads and then stores in two steps, the time at which it began to store.
    pub(super) turn: u64,
    /// The time at which the first instruction was issued.
    first_issued: u64,
    issues: u64,
    instructions: u64,
    /// The number of executed instructions by kind. Only instructions in [whole shapes](Self::shapes) are included.
    by_kind: ByKind,
    /// The end of the quantum. No instruction except the first may begin at this time or later.
    pub(super) ends: u64,
    /// The time from which [whole shapes](Self::shapes) begin no instruction: the end of the quantum, or 0 if the shapes have to
    /// stop earlier.
    until: u64,
    /// The number of the line from which the latest instruction was fetched; [`NO_LINE`] if the instruction cache has dropped that
    /// line.
    fetched: u64,
    offset: u64,
    /// The core's number in the machine.
    pub(super) core: usize,
    core_in_node: usize,
    pub(super) node: Node,
}

impl<'w, V: Variant> Access<'w, V> {
    #[inline(always)]
    pub(super) fn new(
        system: &'w mut MemorySystem<V>,
        perf_config: &'w [PerfConfig; L2_BANKS],
        strand: StrandId,
        offset: u64,
        begins: u64,
    ) -> Self {
        let node = node_of(strand);
        let MemorySystem {
            plan,
            strands,
            cores,
            l2,
            banks,
            planes,
            dram,
            hub_events,
            truth,
            moves,
            ahead,
        } = system;
        assert!(strand.index() < strands.len(), "this machine has no strand {strand}");
        Self {
            plan,
            perf_config,
            strand: &mut strands[strand.index()],
            cores: Cores::new(cores, strand.core()),
            l2,
            banks: &mut banks[node.index()],
            planes,
            dram,
            strand_record: &mut truth.strands[strand.index()],
            // Each core has eight strands. The index is computed here, without the memory system's own map from strands to cores,
            // because the truth (the record of all events) is used to check that map.
            core_record: &mut truth.cores[strand.index() / 8],
            unit_records: &mut truth.units,
            hub_events,
            moves,
            ahead,
            unreported: None,
            now: begins,
            issued: 0,
            turn: begins,
            first_issued: 0,
            issues: 0,
            instructions: 0,
            by_kind: ByKind::default(),
            ends: 0,
            until: 0,
            fetched: NO_LINE,
            offset,
            core: strand.core(),
            core_in_node: strand.core() % CORES_PER_NODE,
            node,
        }
    }

    #[inline(always)]
    pub(super) fn finish(&mut self, references: usize) -> Executed {
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

    #[inline(always)]
    pub(super) fn issue(&mut self) {
        if self.issues == 0 {
            self.first_issued = self.now;
        }
        self.issues += 1;
        (self.issued, self.turn) = (self.now, self.now);
        self.now += ISSUE;
    }

    /// Begins to store in an instruction that loads and then stores in two steps. Returns `false` if the quantum ends before the store.
    #[inline(always)]
    pub(super) fn begin_store(&mut self) -> bool {
        let is_in_time = self.now < self.ends;
        if is_in_time {
            self.turn = self.now;
        }
        is_in_time
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

    /// Returns the binary logarithms of the line lengths of the data cache and of the instruction cache.
    #[inline(always)]
    fn line_shifts(&self) -> (u32, u32) {
        (self.figures().l1d.line_shift, self.figures().l1i.line_shift)
    }

    /// Returns the number of the line that holds an address. A line has `1 << shift` bytes.
    #[inline(always)]
    fn line(&self, shift: u32, address: u64) -> u64 {
        (address.wrapping_add(self.offset) & ADDRESS_MASK) >> shift
    }

    /// Executes a reference that belongs to the latest issued instruction.
    #[inline(always)]
    pub(super) fn reference(&mut self, reference: &Reference) {
        let Reference { address, size, kind, flow, .. } = *reference;
        if !kind.is_fetch() {
            return self.data(kind, address, size);
        }
        self.count(reference);
        self.now += if flow.is_elsewhere() { self.timing().taken } else { 0 };
        let (_, shift) = self.line_shifts();
        lines(shift, address.wrapping_add(self.offset), size, |line| {
            if line != self.fetched {
                self.fetched = line;
                self.fetch_line(line);
            }
        });
    }

    #[inline(always)]
    fn count(&mut self, fetch: &Reference) {
        let (data, group) = (fetch.data(), fetch.group());
        self.strand.events.instruction(data, group);
        self.strand_record.instructions[data as usize][group as usize] += 1;
        self.instructions += 1;
    }

    #[inline(always)]
    fn data(&mut self, kind: Kind, address: u64, size: u16) {
        let address = address.wrapping_add(self.offset);
        match kind {
            Kind::Load => self.load(CoreRequest::Load, address, size),
            Kind::Store => {
                self.store(address, size);
            }
            _ => {
                self.load(CoreRequest::Atomic, address, size);
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
    fn load(&mut self, request: CoreRequest, address: u64, size: u16) {
        self.now += self.timing().load;
        let (shift, _) = self.line_shifts();
        lines(shift, address, size, |line| {
            if !self.cores.own.data.touch(line) {
                self.load_line(request, line);
            }
        });
    }

    /// Executes a store and returns the time at which it is done. The strand waits only if it has too many stores under way.
    #[inline(always)]
    pub(super) fn store(&mut self, address: u64, size: u16) -> u64 {
        let mut done = 0;
        let (shift, _) = self.line_shifts();
        lines(shift, address, size, |line| done = self.store_line(line));
        done
    }

    #[inline(never)]
    fn fetch_missing(&mut self, part: u64) {
        self.event(StrandEvent::InstructionCacheMiss);
        self.event(StrandEvent::CrossbarFetch);
        let copy = self.figures().instruction_copy(self.core_in_node, part);
        self.read(CoreRequest::Fetch, self.figures().line_of_instructions(part), copy);
        self.cores.own.instructions.fill(part);
    }

    #[inline(never)]
    fn load_line(&mut self, request: CoreRequest, part: u64) {
        self.event(StrandEvent::DataCacheMiss);
        self.event(StrandEvent::CrossbarLoad);
        let copy = self.figures().data_copy(self.core_in_node, part);
        self.read(request, self.figures().line_of_data(part), copy);
        self.cores.own.data.fill(part);
    }

    /// Reads a line through the L2 cache for an L1 cache. `copy` is the directory bit of the copy that the L1 cache will have.
    #[inline(always)]
    fn read(&mut self, request: CoreRequest, line: L2Line, copy: u64) {
        let (data_shift, instruction_shift) = self.line_shifts();
        let shift = match request {
            CoreRequest::Fetch => instruction_shift,
            CoreRequest::Load | CoreRequest::Atomic | CoreRequest::Store => data_shift,
        };
        let accesses = (1 << shift >> BANK_SHIFT).max(1);
        let began = self.now;
        self.ask_bank(line, accesses);
        let Some(hit) = self.l2.hit(self.node, line, copy) else {
            let service = self.miss(line, LineState::Shared, copy);
            let event = match request {
                CoreRequest::Fetch => Some(StrandEvent::L2InstructionMiss),
                CoreRequest::Load => Some(StrandEvent::L2LoadMiss),
                CoreRequest::Atomic | CoreRequest::Store => None,
            };
            if let Some(event) = event
                && self.selects_miss(line.bank(), service)
            {
                self.event(event);
            }
            self.served(request, service);
            self.waited(Wait::Request(service), began);
            return;
        };
        self.served(request, ServedBy::Hit);
        self.waited(Wait::Request(ServedBy::Hit), began);
        self.wait(Wait::Arriving, hit.arrives);
    }

    /// Sends a request through the crossbar to the L2 bank of its line.
    #[inline(always)]
    fn ask_bank(&mut self, line: L2Line, accesses: u64) {
        let Timing { bank, l2, .. } = *self.timing();
        let cycles = accesses * bank;
        let bank = &mut self.banks[line.bank()];
        self.now = bank.enter(self.now, cycles) - cycles + l2;
    }

    /// Writes to a line, whether the data cache holds it or not. Returns the time at which the store is done.
    #[inline(never)]
    fn store_line(&mut self, part: u64) -> u64 {
        self.event(StrandEvent::CrossbarStore);
        self.wait(Wait::Stores, self.strand.stores.room());
        // The strand continues at this time, without waiting for the rest of the store.
        let continues_at = self.now;
        let line = self.figures().line_of_data(part);
        self.ask_bank(line, 1);
        let service = match self.l2.hit(self.node, line, 0) {
            Some(hit) => {
                self.now = self.now.max(hit.arrives);
                if hit.state != LineState::Modified {
                    self.upgrade(line, hit.slot);
                }
                let stale = hit.copies & self.figures().stale_after_store(self.core_in_node, part);
                if stale != 0 {
                    *self.l2.copies(hit.slot) &= !stale;
                    self.drop_copies(self.node, line, stale);
                }
                ServedBy::Hit
            }
            None => self.miss(line, LineState::Modified, 0),
        };
        self.served(CoreRequest::Store, service);
        let stores = &mut self.strand.stores;
        let done = stores.enter(self.now, self.plan.variant.figures().timing.stores);
        self.now = continues_at;
        done
    }

    /// Drops the L1 copies of a line in a node. Each set bit of `bits` selects a copy.
    pub(super) fn drop_copies(&mut self, node: Node, line: L2Line, bits: u64) {
        let first = node.index() * CORES_PER_NODE;
        for copy in self.figures().copies(bits, line) {
            let (Copy::Data { core, .. } | Copy::Instructions { core, .. }) = copy;
            let core = first + core;
            let state = self.cores.get(core);
            if self.ahead.may_run(core) && state.is_copy_in_use(copy, line) {
                if state.has(copy) {
                    self.ahead.drop(core, copy, self.turn);
                    // The core that lost a copy may have a turn before this strand's next instruction, so this quantum ends here.
                    (self.ends, self.until) = (0, 0);
                }
                continue;
            }
            state.drop(copy);
            if core == self.core && matches!(copy, Copy::Instructions { .. }) {
                (self.until, self.fetched) = (0, NO_LINE);
            }
        }
    }

    /// Handles a line that has just moved for the first time. Marks the cores that run ahead and hold a copy of the line, because a
    /// watch has to be told how these cores use the line after the current turn.
    #[cold]
    #[inline(never)]
    pub(super) fn watch_line(&mut self, line: L2Line) {
        for node in &Node::ALL[..self.plan.machine.nodes()] {
            let Some(slot) = self.l2.find(*node, line) else { continue };
            let copies = *self.l2.copies(slot);
            for copy in self.figures().copies(copies, line) {
                let (Copy::Data { core, .. } | Copy::Instructions { core, .. }) = copy;
                let core = node.index() * CORES_PER_NODE + core;
                if self.ahead.may_run(core) && self.cores.get(core).has(copy) {
                    self.ahead.watch(core, self.turn);
                    // The marked core may have a turn before this strand's next instruction, so this quantum ends here.
                    (self.ends, self.until) = (0, 0);
                }
            }
        }
    }

    #[inline(always)]
    fn event(&mut self, event: StrandEvent) {
        self.strand.events.count(event);
    }

    #[inline(always)]
    fn served(&mut self, request: CoreRequest, service: ServedBy) {
        self.strand_record.served(request, service);
        if let Some(unreported) = &mut self.unreported {
            unreported.served(service);
        }
    }

    #[inline(always)]
    fn waited(&mut self, wait: Wait, since: u64) {
        let cycles = self.now - since;
        self.strand_record.waits(wait, cycles);
        if let Some(unreported) = &mut self.unreported {
            unreported.cycles += cycles;
        }
    }

    /// Waits until the time `until`. Does nothing if that time has passed.
    #[inline]
    fn wait(&mut self, wait: Wait, until: u64) {
        if until > self.now {
            let since = std::mem::replace(&mut self.now, until);
            self.waited(wait, since);
        }
    }

    /// Returns `true` if a bank's PERF_CONFIG selects the L2 misses that `service` serves.
    #[inline(always)]
    fn selects_miss(&self, bank: usize, service: ServedBy) -> bool {
        match self.perf_config[bank] {
            PerfConfig::All => true,
            PerfConfig::Local => service == ServedBy::Local,
            PerfConfig::Remote => service == ServedBy::Remote,
            PerfConfig::CacheToCache => service == ServedBy::CacheToCache,
        }
    }
}

pub(super) fn node_of(strand: StrandId) -> Node {
    Node::new(mapped(Map::NodeOfStrand, strand.node().index())).unwrap_or(strand.node())
}

pub(super) const CORES_PER_NODE: usize = StrandId::PER_NODE / StrandId::PER_CORE;

/// The binary logarithm of the number of bytes that an L2 bank reads in one access.
const BANK_SHIFT: u32 = 4;

/// A value that is not a line number.
const NO_LINE: u64 = u64::MAX;

/// Calls `touch` with the number of each line of `1 << shift` bytes that a reference touches, in ascending order.
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
