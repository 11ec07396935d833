//! The way of a strand's references through its core to the L2 cache.

use guest_abi::layout::PerfConfig;
use guest_abi::{Hub, Mcu, Node, StrandId};
use platform::Machine;
use platform::address::L2_BANKS;
use platform::models::Devices;

use super::channel::Channel;
use super::copies::{self, Copy};
use super::geometry::{ADDRESS_MASK, Interleave, L1D_LINE_SHIFT, L1I_LINE_SHIFT, Line};
use super::hub::HubEvents;
use super::l2::{L2, Slot, State};
use super::moves::MovedLines;
use super::plane::Plane;
use super::queue::Queue;
use super::system::{Core, MemorySystem, Strand};
use super::timing;
use super::truth::{Branch, ChannelRecord, CoreRecord, HubRecord, Request, Service, StrandRecord};
use super::wires::StrandEvent;
use super::work::{Executed, Quantum, Work};
use crate::recording::{Flow, Kind, Reference};

/// A strand at work. What it uses is borrowed piece by piece, for speed.
pub(super) struct Access<'w> {
    pub(super) machine: &'w Machine,
    pub(super) interleave: &'w Interleave,
    pub(super) devices: &'w Devices,
    perf_config: &'w [PerfConfig; L2_BANKS],
    strand: &'w mut Strand,
    cores: &'w mut [Core],
    pub(super) l2s: &'w mut [L2],
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
    instructions: u64,
    served: [u64; 4],
    /// The number of the core in the machine, and in its node.
    core: usize,
    core_in_node: usize,
    pub(super) node: Node,
}

impl<'w> Access<'w> {
    #[inline(always)]
    pub(super) fn new(work: &'w mut Work<'_>, quantum: &Quantum<'_>) -> Self {
        let strand = quantum.strand;
        let node = strand.node();
        let MemorySystem {
            machine,
            interleave,
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
            machine,
            interleave,
            devices: work.devices,
            perf_config: &work.perf_config[node.index()],
            strand: &mut strands[strand.index()],
            cores,
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
            now: quantum.begins,
            issued: 0,
            instructions: 0,
            served: [0; 4],
            core: strand.core(),
            core_in_node: strand.core() % CORES_PER_NODE,
            node,
        }
    }

    #[inline(always)]
    pub(super) fn finish(self, references: usize) -> Executed {
        Executed {
            references,
            issued: self.issued,
            ends: self.now,
            instructions: self.instructions,
            served: self.served,
        }
    }

    /// An instruction is issued.
    #[inline(always)]
    pub(super) fn issue(&mut self) {
        self.cores[self.core].idle.issue(self.now);
        self.core_record.issue(self.now);
        self.issued = self.now;
        self.now += timing::ISSUE;
    }

    #[inline(always)]
    pub(super) fn reference(&mut self, reference: &Reference, offset: u64) {
        let address = reference.address.wrapping_add(offset);
        let Reference {
            size, kind, flow, ..
        } = *reference;
        match kind {
            Kind::FetchOther | Kind::FetchLoad | Kind::FetchStore | Kind::FetchModify => {
                self.fetch(kind, flow, address, size);
            }
            Kind::Load => self.load(Request::Load, address, size),
            Kind::Store => {
                self.store(address, size);
            }
            Kind::Modify => {
                self.load(Request::Atomic, address, size);
                let stored = self.store(address, size);
                self.now = self.now.max(stored);
            }
        }
    }

    #[inline(always)]
    fn fetch(&mut self, kind: Kind, flow: Flow, address: u64, size: u16) {
        let branch = BRANCHES[flow as usize];
        self.strand.events.instruction(kind, branch);
        self.strand_record.instructions[kind as usize][branch as usize] += 1;
        self.instructions += 1;
        self.now += TAKES[flow as usize];
        lines::<L1I_LINE_SHIFT>(address, size, |line| {
            if !self.cores[self.core].instructions.touch(line) {
                self.fetch_line(line);
            }
        });
    }

    #[inline(always)]
    fn load(&mut self, request: Request, address: u64, size: u16) {
        self.now += timing::LOAD;
        lines::<L1D_LINE_SHIFT>(address, size, |line| {
            if !self.cores[self.core].data.touch(line) {
                self.load_line(request, line);
            }
        });
    }

    /// Returns when the store is done. The strand does not wait for it, as long as there is room for it among its others.
    #[inline(always)]
    fn store(&mut self, address: u64, size: u16) -> u64 {
        let mut done = 0;
        lines::<L1D_LINE_SHIFT>(address, size, |line| done = self.store_line(line));
        done
    }

    /// A line of 32 bytes that the instruction cache does not have.
    #[inline(never)]
    fn fetch_line(&mut self, line32: u64) {
        self.event(StrandEvent::InstructionCacheMiss);
        self.event(StrandEvent::CrossbarFetch);
        let slot = self.read(Request::Fetch, Line(line32 >> 1));
        let copy = copies::instructions(self.core_in_node, line32);
        *self.l2().copies(slot) |= copy;
        self.cores[self.core].instructions.fill(line32);
    }

    /// A line of 16 bytes that the data cache does not have.
    #[inline(never)]
    fn load_line(&mut self, request: Request, line16: u64) {
        self.event(StrandEvent::DataCacheMiss);
        self.event(StrandEvent::CrossbarLoad);
        let slot = self.read(request, Line(line16 >> 2));
        let copy = copies::data(self.core_in_node, line16);
        *self.l2().copies(slot) |= copy;
        self.cores[self.core].data.fill(line16);
    }

    /// Reads a line of the L2 cache.
    fn read(&mut self, request: Request, line: Line) -> Slot {
        let accesses = match request {
            Request::Fetch => 2,
            Request::Load | Request::Atomic | Request::Store => 1,
        };
        self.ask_bank(line, accesses);
        let Some(slot) = self.l2().find(line) else {
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
            return slot;
        };
        self.now = self.now.max(self.l2().arrival(slot));
        self.l2().touch(slot);
        self.served(request, Service::Hit);
        slot
    }

    /// A request goes to the bank of its line.
    fn ask_bank(&mut self, line: Line, accesses: u64) {
        let bank = &mut self.banks[line.bank()];
        let cycles = accesses * timing::BANK;
        self.now = bank.enter(self.now, cycles) - cycles + timing::L2_ACCESS;
    }

    /// Writes to a line of 16 bytes. Returns when that is done.
    #[inline(never)]
    fn store_line(&mut self, line16: u64) -> u64 {
        self.event(StrandEvent::CrossbarStore);
        let goes_on = self.now.max(self.strand.stores.room());
        // What follows takes time that the strand does not wait for.
        self.now = goes_on;
        let line = Line(line16 >> 2);
        self.ask_bank(line, 1);
        let (slot, service) = match self.l2().find(line) {
            Some(slot) => {
                self.now = self.now.max(self.l2().arrival(slot));
                self.l2().touch(slot);
                self.own(line, slot);
                (slot, Service::Hit)
            }
            None => self.miss(line, State::Modified),
        };
        self.served(Request::Store, service);
        let stale = copies::stale_after_store(self.core_in_node, line16);
        let copies = self.l2().copies(slot);
        let stale = *copies & stale;
        if stale != 0 {
            *copies &= !stale;
            self.drop_copies(self.node, line, stale);
        }
        let stores = &mut self.strand.stores;
        let done = stores.enter(self.now);
        self.now = goes_on;
        done
    }

    /// Takes parts of a line out of the L1 caches of a node.
    pub(super) fn drop_copies(&mut self, node: Node, line: Line, bits: u64) {
        let first = node.index() * CORES_PER_NODE;
        let cores = &mut self.cores[first..];
        for copy in copies::each(bits, line) {
            match copy {
                Copy::Data { core, line } => cores[core].data.remove(line),
                Copy::Instructions { core, line } => cores[core].instructions.remove(line),
            }
        }
    }

    fn event(&mut self, event: StrandEvent) {
        self.strand.events.count(event);
    }

    fn served(&mut self, request: Request, service: Service) {
        self.served[service as usize] += 1;
        self.strand_record.served(request, service);
    }

    /// The L2 cache of the strand's node.
    pub(super) fn l2(&mut self) -> &mut L2 {
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

const CORES_PER_NODE: usize = StrandId::PER_NODE / StrandId::PER_CORE;

/// What the instructions of each [`Flow`] are to the counters, in its order. A trap is no branch.
const BRANCHES: [Branch; 7] = [
    Branch::None,
    Branch::NotTaken,
    Branch::Taken,
    Branch::Taken,
    Branch::Taken,
    Branch::Taken,
    Branch::None,
];

/// What they take after their issue.
const TAKES: [u64; 7] = [
    0,
    0,
    timing::TAKEN,
    timing::TAKEN,
    timing::TAKEN,
    timing::TAKEN,
    timing::TAKEN,
];

/// Calls `touch` with each line of 2 to the power `SHIFT` bytes that a reference touches, in their order.
#[inline(always)]
fn lines<const SHIFT: u32>(address: u64, size: u16, mut touch: impl FnMut(u64)) {
    let address = address & ADDRESS_MASK;
    let first = address >> SHIFT;
    let last = (address + u64::from(size).saturating_sub(1)) >> SHIFT;
    touch(first);
    let mut line = first;
    while line != last {
        line += 1;
        touch(line & (ADDRESS_MASK >> SHIFT));
    }
}
