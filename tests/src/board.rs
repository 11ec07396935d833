//! A simple board for the service. Its registers hold every written value, and it logs all accesses.
//!
//! The board uses the reference model's types, so that a test can compare the board with the model. The board and the model share no state.
//! Each hub asserts that no access begins while another is in flight.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, Mutex, MutexGuard, OnceLock, PoisonError};

use guest_abi::{Mcu, Node, StrandId};
use platform::{AccessError, Bus, Model, PhysicalAddress, StrandRegisters};

use crate::oracle::device::pcr_after;
use crate::oracle::{Access, Action, Answer, Cell, Fault, HubCondition, Machine, Target, Unit};

pub type LoggedAccess = (StrandId, Access);

/// A function that a test runs when something happens to a strand.
type Hook = OnceLock<Box<dyn Fn(StrandId) + Send + Sync>>;

#[derive(Debug, Default)]
struct State {
    cells: BTreeMap<Cell, u64>,
    pcr: BTreeMap<u16, u64>,
    pic: BTreeMap<u16, u64>,
    ticks: BTreeMap<u16, u64>,
    cross_calls: BTreeSet<u16>,
    hubs: [HubCondition; 4],
    busy_once: [bool; 4],
    busy: BTreeSet<Cell>,
    faults: BTreeMap<Cell, Fault>,
    log: Vec<LoggedAccess>,
    stops: BTreeMap<Cell, Stop>,
}

/// A point before an access at which a strand stops, until [`resume`](Self::resume) is called.
#[derive(Clone, Debug)]
pub struct Stop {
    reached: Arc<Barrier>,
    resume: Arc<Barrier>,
}

impl Stop {
    /// Waits until a strand has stopped before the access.
    pub fn wait_until_reached(&self) {
        self.reached.wait();
    }

    pub fn resume(&self) {
        self.resume.wait();
    }
}

pub struct Board {
    machine: platform::Machine,
    cells_by_address: Vec<BTreeMap<u64, Cell>>,
    in_flight: [AtomicU32; 4],
    spin: u32,
    accessed: Hook,
    pcr_written: Hook,
    cross_called: Hook,
    state: Mutex<State>,
}

impl Board {
    /// Returns a board with `nodes` nodes, without the disabled memory channels (node, MCU). Every register is 0.
    pub fn new(machine: Machine, nodes: usize, disabled_channels: &[(usize, usize)]) -> Self {
        let banks = |node| (0..8).map(move |bank| Cell::L2 { node, bank });
        let present = |cell: &Cell| match cell.unit() {
            Unit::L2 { .. } => true,
            Unit::Mcu { node, mcu } => node < nodes && !disabled_channels.contains(&(node, mcu)),
            Unit::Hub(hub) => machine.hubs().contains(&hub),
        };
        let cells_by_address = (0..nodes)
            .map(|node| {
                let mut cells = BTreeMap::new();
                for cell in banks(node).chain((2..90).map(Cell::Register)).filter(present) {
                    let mut addresses = vec![cell.address_from(node)];
                    if let Cell::Register(id) = cell {
                        // A node also answers to the global addresses of its own registers.
                        addresses.extend(crate::oracle::registers::REGISTERS[id as usize].global);
                    }
                    cells.extend(addresses.into_iter().map(|address| (address, cell)));
                }
                cells
            })
            .collect();
        let model = match machine {
            Machine::Maramba => Model::Maramba,
            Machine::Batoka => Model::Batoka,
        };
        let all =
            platform::Machine::new(model, nodes).expect("a number of nodes that the model has");
        let without = |machine: platform::Machine, (node, mcu): &(usize, usize)| {
            machine.without_channel(Node::ALL[*node], Mcu::ALL[*mcu])
        };
        Self {
            machine: disabled_channels.iter().fold(all, without),
            cells_by_address,
            in_flight: Default::default(),
            spin: 0,
            accessed: Hook::new(),
            pcr_written: Hook::new(),
            cross_called: Hook::new(),
            state: Mutex::default(),
        }
    }

    /// Makes each hub access, and each PCR write, take `spin` rounds of an empty loop.
    #[must_use]
    pub fn with_slow_hubs(mut self, spin: u32) -> Self {
        self.spin = spin;
        self
    }

    pub fn machine(&self) -> platform::Machine {
        self.machine
    }

    /// Runs `hook` before each device access, on the thread that makes the access.
    pub fn before_accesses(&self, hook: impl Fn(StrandId) + Send + Sync + 'static) {
        assert!(self.accessed.set(Box::new(hook)).is_ok());
    }

    /// Runs `hook` after each PCR write, on the thread that writes.
    pub fn after_pcr_writes(&self, hook: impl Fn(StrandId) + Send + Sync + 'static) {
        assert!(self.pcr_written.set(Box::new(hook)).is_ok());
    }

    /// Runs `hook` before each cross-call, on the thread that sends it. The argument of `hook` is the receiving strand.
    pub fn before_cross_calls(&self, hook: impl Fn(StrandId) + Send + Sync + 'static) {
        assert!(self.cross_called.set(Box::new(hook)).is_ok());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_hub(&self, hub: usize, condition: HubCondition) {
        self.state().hubs[hub] = condition;
    }

    /// Makes a hub answer "busy" to the next access.
    pub fn make_busy_once(&self, hub: usize) {
        self.state().busy_once[hub] = true;
    }

    /// Makes a cell answer "busy" to every access.
    pub fn make_busy(&self, cell: Cell) {
        self.state().busy.insert(cell);
    }

    pub fn break_cell(&self, cell: Cell, fault: Fault) {
        self.state().faults.insert(cell, fault);
    }

    /// Repairs every broken cell and frees every hub.
    pub fn repair(&self) {
        let mut state = self.state();
        state.faults.clear();
        state.hubs = Default::default();
    }

    /// Stops the next strand that accesses a cell, just before its access. Unless [`Stop::resume`] is called, the strand stays there
    /// forever, like a dead strand.
    pub fn stop_at(&self, cell: Cell) -> Stop {
        let two = || Arc::new(Barrier::new(2));
        let stop = Stop { reached: two(), resume: two() };
        self.state().stops.insert(cell, stop.clone());
        stop
    }

    pub fn value_of(&self, cell: Cell) -> u64 {
        self.state().cells.get(&cell).copied().unwrap_or(0)
    }

    /// Stores a value in a cell without an access, as hardware does when it counts.
    pub fn put(&self, cell: Cell, value: u64) {
        self.state().cells.insert(cell, value);
    }

    pub fn put_pcr(&self, strand: u16, value: u64) {
        self.state().pcr.insert(strand, value);
    }

    /// Returns the contents of all cells that were ever written. For the PCRs and PICs, see [`pcrs`](Self::pcrs) and [`pics`](Self::pics).
    pub fn cells(&self) -> BTreeMap<Cell, u64> {
        self.state().cells.clone()
    }

    pub fn pcrs(&self) -> BTreeMap<u16, u64> {
        self.state().pcr.clone()
    }

    pub fn put_pic(&self, strand: u16, value: u64) {
        self.state().pic.insert(strand, value);
    }

    pub fn pics(&self) -> BTreeMap<u16, u64> {
        self.state().pic.clone()
    }

    pub fn set_ticks(&self, strand: u16, ticks: u64) {
        self.state().ticks.insert(strand, ticks);
    }

    /// Returns the strands with a pending cross-call.
    pub fn cross_calls(&self) -> BTreeSet<u16> {
        self.state().cross_calls.clone()
    }

    /// Takes a strand's pending cross-call. Returns `false` if there is none.
    pub fn take_cross_call(&self, strand: u16) -> bool {
        self.state().cross_calls.remove(&strand)
    }

    /// Returns the accesses since this function was last called, in order.
    pub fn take_log(&self) -> Vec<LoggedAccess> {
        std::mem::take(&mut self.state().log)
    }

    fn access(
        &self,
        strand: StrandId,
        address: PhysicalAddress,
        action: Action,
    ) -> Result<u64, AccessError> {
        let node = strand.index() / 64;
        let cell = self.cells_by_address.get(node).and_then(|cells| cells.get(&address.0));
        let Some(&cell) = cell else {
            panic!("strand {strand} accesses {address}, where there is no register");
        };
        if let Some(hook) = self.accessed.get() {
            hook(strand);
        }
        let stop = self.state().stops.remove(&cell);
        if let Some(stop) = stop {
            stop.reached.wait();
            stop.resume.wait();
        }
        let Unit::Hub(hub) = cell.unit() else {
            return self.state().access(strand, address, cell, action);
        };
        let others = self.in_flight[hub].fetch_add(1, Ordering::SeqCst);
        assert_eq!(others, 0, "hub {hub}: a second access while one is in flight");
        for _ in 0..self.spin {
            hv_core::sync::spin_loop();
        }
        let result = self.state().access(strand, address, cell, action);
        let others = self.in_flight[hub].fetch_sub(1, Ordering::SeqCst) - 1;
        assert_eq!(others, 0, "hub {hub}: a second access came while one was in flight");
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
        let access = Access { target, action, answer };
        self.log.push((strand, access));
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
        if self.busy.contains(&cell) {
            return Answer::Busy;
        }
        if let Unit::Hub(hub) = cell.unit() {
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
        self.log.push((strand, Access::done(Target::Pcr, action)));
    }
}

impl Bus for Board {
    fn read(&self, strand: StrandId, at: PhysicalAddress) -> Result<u64, AccessError> {
        self.access(strand, at, Action::Read)
    }

    fn write(&self, strand: StrandId, at: PhysicalAddress, value: u64) -> Result<(), AccessError> {
        self.access(strand, at, Action::Write(value)).map(|_| ())
    }
}

impl StrandRegisters for Board {
    fn pcr(&self, strand: StrandId) -> u64 {
        let mut state = self.state();
        state.pcr_access(strand, Action::Read);
        let pcr = state.pcr.get(&strand.number().into());
        pcr.copied().unwrap_or(0)
    }

    fn set_pcr(&self, strand: StrandId, value: u64) {
        for _ in 0..self.spin {
            hv_core::sync::spin_loop();
        }
        let mut state = self.state();
        state.pcr_access(strand, Action::Write(value));
        let pcr = state.pcr.entry(strand.number().into()).or_default();
        *pcr = pcr_after(*pcr, value);
        drop(state);
        if let Some(hook) = self.pcr_written.get() {
            hook(strand);
        }
    }

    fn set_pic(&self, strand: StrandId, value: u64) {
        self.put_pic(strand.number().into(), value);
    }

    fn ticks(&self, strand: StrandId) -> u64 {
        let state = self.state();
        let ticks = state.ticks.get(&strand.number().into());
        ticks.copied().unwrap_or(0)
    }

    fn cross_call(&self, strand: StrandId) {
        if let Some(hook) = self.cross_called.get() {
            hook(strand);
        }
        self.state().cross_calls.insert(strand.number().into());
    }
}
