//! The way of a strand's references through its core to the L2 cache.

use guest_abi::event::SparcEvent;
use guest_abi::layout::SparcSelect;
use guest_abi::{Node, StrandId};
use platform::models::Devices;

use super::copies::{self, Copy};
use super::geometry::{ADDRESS_MASK, L1D_LINE_SHIFT, L1I_LINE_SHIFT, Line};
use super::l2::{Slot, State};
use super::system::MemorySystem;
use super::timing;
use super::truth::{Request, Service};
use super::wires::Wires;
use crate::recording::{Kind, Reference};

/// The events of an atomic instruction, which is a load and a store, too.
const ATOMIC: SparcSelect = SparcSelect::from_code(
    SparcEvent::AtomicOperations.code() | SparcEvent::Loads.code() | SparcEvent::Stores.code(),
);

/// A strand at work.
pub(super) struct Access<'a> {
    pub(super) system: &'a mut MemorySystem,
    pub(super) wires: Wires<'a>,
    /// The time, in cycles.
    pub(super) now: u64,
    strand: usize,
    /// Instructions so far, as the truth has them by class.
    instructions: [u64; 4],
    /// The number of the core in the machine, and in its node.
    core: usize,
    core_in_node: usize,
    pub(super) node: Node,
}

impl<'a> Access<'a> {
    pub(super) fn new(
        system: &'a mut MemorySystem,
        strand: StrandId,
        devices: &'a Devices,
    ) -> Self {
        Self {
            system,
            wires: Wires::new(devices, strand),
            now: devices.now(),
            strand: strand.index(),
            instructions: [0; 4],
            core: strand.core(),
            core_in_node: strand.core() % CORES_PER_NODE,
            node: strand.node(),
        }
    }

    /// Ends the work and unlocks the strand's unit. Returns the time at the end.
    pub(super) fn finish(self) -> u64 {
        let record = &mut self.system.truth.strands[self.strand];
        for (total, count) in record.instructions.iter_mut().zip(self.instructions) {
            *total += count;
        }
        self.now
    }

    #[inline(always)]
    pub(super) fn reference(&mut self, reference: &Reference, offset: u64) {
        let address = reference.address.wrapping_add(offset);
        let size = reference.size;
        match reference.kind {
            Kind::FetchOther => self.fetch(0, SparcEvent::OtherInstructions.into(), address, size),
            Kind::FetchLoad => self.fetch(1, SparcEvent::Loads.into(), address, size),
            Kind::FetchStore => self.fetch(2, SparcEvent::Stores.into(), address, size),
            Kind::FetchModify => self.fetch(3, ATOMIC, address, size),
            Kind::Load => self.load(Request::Load, address, size),
            Kind::Store => self.store(address, size),
            Kind::Modify => {
                self.load(Request::Atomic, address, size);
                self.store(address, size);
            }
        }
    }

    /// An instruction, its class in the truth, and its events.
    #[inline(always)]
    fn fetch(&mut self, class: usize, events: SparcSelect, address: u64, size: u16) {
        self.wires.strand(events);
        self.instructions[class] += 1;
        self.now += timing::REFERENCE;
        lines::<L1I_LINE_SHIFT>(address, size, |line| {
            if !self.system.cores[self.core].instructions.touch(line) {
                self.fetch_line(line);
            }
        });
    }

    #[inline(always)]
    fn load(&mut self, request: Request, address: u64, size: u16) {
        self.now += timing::REFERENCE;
        lines::<L1D_LINE_SHIFT>(address, size, |line| {
            if !self.system.cores[self.core].data.touch(line) {
                self.load_line(request, line);
            }
        });
    }

    #[inline(always)]
    fn store(&mut self, address: u64, size: u16) {
        self.now += timing::REFERENCE;
        lines::<L1D_LINE_SHIFT>(address, size, |line| self.store_line(line));
    }

    /// A line of 32 bytes that the instruction cache does not have.
    #[inline(never)]
    fn fetch_line(&mut self, line32: u64) {
        self.wires.strand(SparcEvent::InstructionCacheMisses);
        self.wires.strand(SparcEvent::CrossbarFetches);
        let slot = self.read(Request::Fetch, Line(line32 >> 1));
        let copy = copies::instructions(self.core_in_node, line32);
        *self.l2().copies(slot) |= copy;
        self.system.cores[self.core].instructions.fill(line32);
    }

    /// A line of 16 bytes that the data cache does not have.
    #[inline(never)]
    fn load_line(&mut self, request: Request, line16: u64) {
        self.wires.strand(SparcEvent::DataCacheMisses);
        self.wires.strand(SparcEvent::CrossbarLoads);
        let slot = self.read(request, Line(line16 >> 2));
        let copy = copies::data(self.core_in_node, line16);
        *self.l2().copies(slot) |= copy;
        self.system.cores[self.core].data.fill(line16);
    }

    /// Reads a line of the L2 cache.
    fn read(&mut self, request: Request, line: Line) -> Slot {
        self.now += timing::L2_ACCESS;
        let Some(slot) = self.l2().find(line) else {
            let (slot, service) = self.miss(line, State::Shared);
            let event = match request {
                Request::Fetch => Some(SparcEvent::L2InstructionMisses),
                Request::Load => Some(SparcEvent::L2LoadMisses),
                Request::Atomic | Request::Store => None,
            };
            if let Some(event) = event {
                self.wires.l2_miss(event, line.bank(), service);
            }
            self.served(request, service);
            return slot;
        };
        self.l2().touch(slot);
        self.served(request, Service::Hit);
        slot
    }

    /// Writes to a line of 16 bytes.
    #[inline(never)]
    fn store_line(&mut self, line16: u64) {
        self.wires.strand(SparcEvent::CrossbarStores);
        let line = Line(line16 >> 2);
        let (slot, service) = match self.l2().find(line) {
            Some(slot) => {
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
    }

    /// Takes parts of a line out of the L1 caches of a node.
    pub(super) fn drop_copies(&mut self, node: Node, line: Line, bits: u64) {
        let first = node.index() * CORES_PER_NODE;
        for copy in copies::each(bits, line) {
            match copy {
                Copy::Data { core, line } => self.system.cores[first + core].data.remove(line),
                Copy::Instructions { core, line } => {
                    self.system.cores[first + core].instructions.remove(line);
                }
            }
        }
    }

    fn served(&mut self, request: Request, service: Service) {
        self.system.truth.strands[self.strand].served(request, service);
    }

    /// The L2 cache of the strand's node.
    pub(super) fn l2(&mut self) -> &mut super::l2::L2 {
        &mut self.system.l2[self.node.index()]
    }
}

const CORES_PER_NODE: usize = StrandId::PER_NODE / StrandId::PER_CORE;

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
