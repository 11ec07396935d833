//! A simple board under the service: registers that keep what is written to them, and a log of every access.
//!
//! It speaks the reference model's types, so that both sides of a comparison can be laid side by side, and shares no
//! state with it. A hub checks by itself that there is never a second access in flight.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError};

use guest_abi::{Node, StrandId};
use platform::{AccessError, Bus, PhysicalAddress, StrandRegisters};

use crate::oracle::{Access, Action, Answer, Cell, Fault, HubCondition, Machine, Target, Unit};

/// An access, and the strand that made it.
pub type Logged = (StrandId, Access);

#[derive(Debug, Default)]
struct State {
    cells: BTreeMap<Cell, u64>,
    pcr: BTreeMap<u16, u64>,
    pic: BTreeMap<u16, u64>,
    ticks: BTreeMap<u16, u64>,
    cross_calls: BTreeSet<u16>,
    hubs: [HubCondition; 4],
    busy_once: [bool; 4],
    faults: BTreeMap<Cell, Fault>,
    log: Vec<Logged>,
    stops: BTreeMap<Cell, Stop>,
}

/// A place in a call where a strand stops until it is told to go on.
#[derive(Clone, Debug)]
pub struct Stop {
    reached: Arc<Barrier>,
    go_on: Arc<Barrier>,
}

impl Stop {
    /// Waits until a strand is there.
    pub fn reached(&self) {
        self.reached.wait();
    }

    /// Lets it go on.
    pub fn go_on(&self) {
        self.go_on.wait();
    }
}

/// The devices and strands of a machine.
#[derive(Debug)]
pub struct Board {
    machine: Machine,
    nodes: usize,
    cells_by_address: Vec<BTreeMap<u64, Cell>>,
    in_flight: [AtomicU32; 4],
    spin: u32,
    state: Mutex<State>,
}

impl Board {
    /// A board of `nodes` nodes with every register 0. A memory channel that the machine description disables answers
    /// nobody, so it is not on the board.
    pub fn new(machine: Machine, nodes: usize, disabled_channels: &[(usize, usize)]) -> Self {
        let banks = |node| (0..8).map(move |bank| Cell::L2 { node, bank });
        let present = |cell: &Cell| match Unit::of(*cell) {
            Unit::L2 { .. } => true,
            Unit::Mcu { node, mcu } => node < nodes && !disabled_channels.contains(&(node, mcu)),
            Unit::Hub(_) => machine == Machine::Batoka,
        };
        let cells_by_address = (0..nodes)
            .map(|node| {
                let mut cells = BTreeMap::new();
                for cell in banks(node)
                    .chain((2..90).map(Cell::Register))
                    .filter(present)
                {
                    let mut addresses = vec![cell.address_from(node)];
                    if let Cell::Register(id) = cell {
                        // A node answers to the global addresses of its own registers too.
                        addresses.extend(crate::oracle::registers::REGISTERS[id as usize].global);
                    }
                    cells.extend(addresses.into_iter().map(|address| (address, cell)));
                }
                cells
            })
            .collect();
        Self {
            machine,
            nodes,
            cells_by_address,
            in_flight: Default::default(),
            spin: 0,
            state: Mutex::default(),
        }
    }

    /// The board with hub accesses that last so many turns of an empty loop.
    #[must_use]
    pub fn with_slow_hubs(mut self, spin: u32) -> Self {
        self.spin = spin;
        self
    }

    /// Which machine it is in, and how many nodes it has.
    pub fn machine(&self) -> (Machine, usize) {
        (self.machine, self.nodes)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets how a hub answers from now on.
    pub fn set_hub(&self, hub: usize, condition: HubCondition) {
        self.state().hubs[hub] = condition;
    }

    /// The hub answers its next access with "busy", and no other.
    pub fn make_busy_once(&self, hub: usize) {
        self.state().busy_once[hub] = true;
    }

    /// Breaks a cell.
    pub fn break_cell(&self, cell: Cell, fault: Fault) {
        self.state().faults.insert(cell, fault);
    }

    /// Mends every broken cell and sets every hub free.
    pub fn mend(&self) {
        let mut state = self.state();
        state.faults.clear();
        state.hubs = Default::default();
    }

    /// The next access to a cell stops before it takes place. Whoever waits for that is told by [`Stop::reached`]; if
    /// [`Stop::go_on`] is never called, the strand has died there.
    pub fn stop_at(&self, cell: Cell) -> Stop {
        let two = || Arc::new(Barrier::new(2));
        let stop = Stop {
            reached: two(),
            go_on: two(),
        };
        self.state().stops.insert(cell, stop.clone());
        stop
    }

    /// What a cell holds.
    pub fn holds(&self, cell: Cell) -> u64 {
        self.state().cells.get(&cell).copied().unwrap_or(0)
    }

    /// Puts a value into a cell, as hardware does.
    pub fn put(&self, cell: Cell, value: u64) {
        self.state().cells.insert(cell, value);
    }

    /// Puts a value into a strand's PCR, as the strand itself can.
    pub fn put_pcr(&self, strand: u16, value: u64) {
        self.state().pcr.insert(strand, value);
    }

    /// What the cells hold that were ever written.
    pub fn cells(&self) -> BTreeMap<Cell, u64> {
        self.state().cells.clone()
    }

    /// What the PCRs hold that were ever written.
    pub fn pcrs(&self) -> BTreeMap<u16, u64> {
        self.state().pcr.clone()
    }

    /// Puts a value into a strand's PIC, as the strand itself can.
    pub fn put_pic(&self, strand: u16, value: u64) {
        self.state().pic.insert(strand, value);
    }

    /// What the PICs hold that were ever written.
    pub fn pics(&self) -> BTreeMap<u16, u64> {
        self.state().pic.clone()
    }

    /// Sets a strand's clock.
    pub fn set_ticks(&self, strand: u16, ticks: u64) {
        self.state().ticks.insert(strand, ticks);
    }

    /// The strands for which a cross-call waits.
    pub fn cross_calls(&self) -> BTreeSet<u16> {
        self.state().cross_calls.clone()
    }

    /// Takes the cross-call that waits for a strand, if there is one.
    pub fn take_cross_call(&self, strand: u16) -> bool {
        self.state().cross_calls.remove(&strand)
    }

    /// The accesses since the log was last taken, in order.
    pub fn take_log(&self) -> Vec<Logged> {
        std::mem::take(&mut self.state().log)
    }

    fn access(
        &self,
        strand: StrandId,
        address: PhysicalAddress,
        action: Action,
    ) -> Result<u64, AccessError> {
        let node = strand.index() / 64;
        let cell = self
            .cells_by_address
            .get(node)
            .and_then(|cells| cells.get(&address.0));
        let Some(&cell) = cell else {
            panic!("strand {strand} accesses {address}, where nothing is");
        };
        let stop = self.state().stops.remove(&cell);
        if let Some(stop) = stop {
            stop.reached.wait();
            stop.go_on.wait();
        }
        let Unit::Hub(hub) = Unit::of(cell) else {
            return self.state().access(strand, address, cell, action);
        };
        let others = self.in_flight[hub].fetch_add(1, Ordering::SeqCst);
        assert_eq!(
            others, 0,
            "hub {hub}: a second access while one is in flight"
        );
        for _ in 0..self.spin {
            std::hint::spin_loop();
        }
        let result = self.state().access(strand, address, cell, action);
        let others = self.in_flight[hub].fetch_sub(1, Ordering::SeqCst) - 1;
        assert_eq!(
            others, 0,
            "hub {hub}: a second access came while one was in flight"
        );
        result
    }
}

impl State {
    fn access(
        &mut self,
        strand: StrandId,
        address: PhysicalAddress,
        cell: Cell,
        action: Action,
    ) -> Result<u64, AccessError> {
        let answer = self.answer(cell, action);
        let target = Target::Address(address.0);
        self.log.push((
            strand,
            Access {
                target,
                action,
                answer,
            },
        ));
        match (answer, action) {
            (Answer::Busy, _) => Err(AccessError::Busy),
            (Answer::Fault, _) => Err(AccessError::Fault),
            (Answer::Done, Action::Read) => Ok(self.cells.get(&cell).copied().unwrap_or(0)),
            (Answer::Done, Action::Write(value)) => {
                self.cells.insert(cell, value);
                Ok(value)
            }
        }
    }

    fn answer(&mut self, cell: Cell, action: Action) -> Answer {
        if let Unit::Hub(hub) = Unit::of(cell) {
            if std::mem::take(&mut self.busy_once[hub]) {
                return Answer::Busy;
            }
            match self.hubs[hub] {
                HubCondition::Free => {}
                HubCondition::Busy => return Answer::Busy,
                HubCondition::Faulted => return Answer::Fault,
            }
        }
        match (self.faults.get_mut(&cell), action) {
            (None, _) | (Some(Fault::WritesAfter(_)), Action::Read) => Answer::Done,
            (Some(Fault::WritesAfter(left @ 1..)), Action::Write(_)) => {
                *left -= 1;
                Answer::Done
            }
            (Some(_), _) => Answer::Fault,
        }
    }

    fn pcr_access(&mut self, strand: StrandId, action: Action) {
        let access = Access {
            target: Target::Pcr,
            action,
            answer: Answer::Done,
        };
        self.log.push((strand, access));
    }
}

impl Bus for Board {
    fn read(&self, strand: StrandId, address: PhysicalAddress) -> Result<u64, AccessError> {
        self.access(strand, address, Action::Read)
    }

    fn write(
        &self,
        strand: StrandId,
        address: PhysicalAddress,
        value: u64,
    ) -> Result<(), AccessError> {
        self.access(strand, address, Action::Write(value))
            .map(|_| ())
    }
}

impl StrandRegisters for Board {
    fn node(&self, strand: StrandId) -> Node {
        Node::ALL[strand.index() / 64]
    }

    fn pcr(&self, strand: StrandId) -> u64 {
        let mut state = self.state();
        state.pcr_access(strand, Action::Read);
        state
            .pcr
            .get(&(strand.index() as u16))
            .copied()
            .unwrap_or(0)
    }

    fn set_pcr(&self, strand: StrandId, value: u64) {
        let mut state = self.state();
        state.pcr_access(strand, Action::Write(value));
        state.pcr.insert(strand.index() as u16, value);
    }

    fn set_pic(&self, strand: StrandId, value: u64) {
        self.put_pic(strand.index() as u16, value);
    }

    fn ticks(&self, strand: StrandId) -> u64 {
        let state = self.state();
        let ticks = state.ticks.get(&(strand.index() as u16));
        ticks.copied().unwrap_or(0)
    }

    fn cross_call(&self, strand: StrandId) {
        self.state().cross_calls.insert(strand.index() as u16);
    }
}
