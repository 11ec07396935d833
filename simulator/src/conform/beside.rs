//! The image under test beside the reference model: each makes every call, and what differs is noted.
//!
//! After a difference, the model takes over what the image has stored, so that each difference is found once.

use std::collections::BTreeSet;

use conform::modelled::Hardware;
use conform::oracle::{self, Answer, HubCondition, World};
use conform::translated::{cell_of, grant, node_of, unit, unit_of, world};
use conform::{Cell, Change, Configuration, System};
use guest_abi::{PerfReg, StrandId, Trap};
use hv_core::GuestId;
use perfctr_service::Unit;
use perfctr_service::mailbox::Step;
use platform::interfaces::Interface;
use platform::models::FaultyUnit;

use super::caller::Request;
use super::differences::{Differences, Key, Subject, status};
use super::machine::{Answered, Machine, Silent};
use super::requests::OF_KERNELS;
use super::{Image, Job, Omission, Omissions};

const EOK: u64 = 0;
const EINVAL: u64 = 6;
const EBADTRAP: u64 = 7;
const ENOTSUPPORTED: u64 = 13;
const PERF: u64 = 0x205;
const GET: u64 = 0x106;
const SET: u64 = 0x107;

/// What was found beside the contract.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) differences: Differences,
    /// The calls that were compared.
    pub(super) calls: u64,
    /// What the image serves beside the contract.
    pub(super) served: BTreeSet<String>,
    /// What was not checked, and why.
    pub(super) unchecked: BTreeSet<String>,
}

impl Found {
    pub(super) fn add(&mut self, other: Self) {
        self.differences.add(other.differences);
        self.calls += other.calls;
        self.served.extend(other.served);
        self.unchecked.extend(other.unchecked);
    }
}

/// An image and the model of its machine.
pub(super) struct Beside {
    pub(super) machine: Machine,
    pub(super) world: World,
    /// Both when the guests had begun.
    start: (Machine, World),
    configuration: Configuration,
    /// The only guest that makes calls; `None` if there are several.
    tested: Option<usize>,
    has_mailbox: bool,
    omissions: Omissions,
    pub(super) check: &'static str,
    pub(super) found: Found,
}

/// What a call is, in a table.
#[derive(Clone)]
struct About {
    call: &'static str,
    subject: Subject,
    right: String,
    version: &'static str,
}

impl Beside {
    /// Puts a machine whose guests have begun beside the model of its configuration.
    pub(super) fn new(machine: Machine, job: &Job, image: &Image, omissions: Omissions) -> Self {
        let Job { check, configuration, tested, .. } = *job;
        let has_mailbox = image.interfaces.at(Interface::Mailbox).is_some();
        let mut world = world(&configuration);
        for bank in Cell::all() {
            if let (Cell::L2(..), Some(value)) = (bank, machine.held(bank)) {
                // The start of the machine sets the other bits of L2 control.
                world.devices.insert(cell_of(bank), value & !oracle::call::PERF_CONFIG);
            }
        }
        let start = (machine.clone(), world.clone());
        let found = Found::default();
        let mut new = Self {
            machine,
            world,
            start,
            configuration,
            tested,
            has_mailbox,
            omissions,
            check,
            found,
        };
        new.all_begun();
        new.negotiated();
        new.state();
        new.start = (new.machine.clone(), new.world.clone());
        new
    }

    /// Notes strands that the image has not started.
    fn all_begun(&mut self) {
        let guests = self.configuration.guests.iter();
        let mut all = guests.flat_map(|guest| guest.strands.iter());
        if all.any(|strand| !self.machine.begun.contains(strand)) {
            self.found.unchecked.insert(
                "calls of guests and strands that the image does not start (by cpu_start, 0x10)"
                    .to_owned(),
            );
        }
    }

    /// Tells the model whether the guests have CORE, which they asked for to start their CPUs.
    fn negotiated(&mut self) {
        for guest in 0..self.world.guests.len() {
            let first = self.world.guests[guest].strands.first().copied();
            let strand = first.and_then(|strand| StrandId::new(strand.into()));
            let Some(strand) = strand.filter(|strand| self.machine.begun.contains(*strand)) else {
                continue;
            };
            let request = Request { trap: 0xff, registers: [1, 0, 0, 0, 0, 3] };
            if let Ok(Answered { after: [EOK, major @ 1..=u64::MAX, minor, ..], .. }) =
                self.machine.call(strand, request)
            {
                let _ = self.world.guests[guest].versions.set(1, major, minor);
            }
        }
    }

    /// Returns the strand that makes the calls of a strand: itself, or one of its guest that has begun, or any.
    fn caller(&self, strand: StrandId) -> Option<StrandId> {
        let begun = self.machine.begun;
        let of_guest = self.configuration.guest_of(strand);
        let guest = of_guest.map(|guest| self.configuration.guests[guest].strands);
        let mut others = guest.iter().flat_map(|strands| strands.iter());
        let tested = self.tested.map(|guest| self.configuration.guests[guest].strands);
        let mut of_tested = tested.iter().flat_map(|strands| strands.iter());
        (Some(strand).filter(|strand| begun.contains(*strand) && of_guest.is_some()))
            .filter(|strand| tested.is_none_or(|strands| strands.contains(*strand)))
            .or_else(|| of_tested.find(|strand| begun.contains(*strand)))
            .or_else(|| others.find(|strand| begun.contains(*strand)))
            .or_else(|| begun.iter().next())
    }

    /// Makes a call, and compares it. Returns %o0 to %o5 after it.
    pub(super) fn ask(&mut self, strand: StrandId, request: Request) -> [u64; 6] {
        let registers = request.registers;
        let [.., function] = registers;
        let ends_guest = match request.trap {
            0x80 => OF_KERNELS.contains(&function),
            0xff => function == 2,
            _ => false,
        };
        let Some(strand) = self.caller(strand).filter(|_| !ends_guest) else {
            return registers;
        };
        let number = u16::from(strand.number());
        let about = self.about(number, request);
        let counting = of_register(request).map_or_else(Vec::new, |id| self.counting(id));
        self.count_on(&counting);
        let (expected, late) = self.expected(number, request);
        self.found.calls += 1;
        let answered = match self.machine.call(strand, request) {
            Ok(answered) => answered,
            Err(silent) => {
                let found = match silent {
                    Silent::Endless => "none in 200000 instructions",
                    Silent::Stopped => "the strand stops",
                };
                self.differ(&about, "an answer", found, || told(request, None));
                self.restart();
                return registers;
            }
        };
        if late {
            self.machine.settle(strand);
        }
        self.count_on(&counting);
        self.compare(&about, request, (expected, late), &answered);
        if let Some(id) = of_register(request) {
            let is_known = expected[0] == answered.after[0] || late;
            let counts = self.counting(id).iter().any(|cell| cell.id() == id);
            let is_known = is_known && !counts;
            self.compare_cells(&about, request, strand, id, is_known);
        }
        answered.after
    }

    /// Returns the registers after the call in the model, and whether it makes a store that fails, perhaps after its end.
    fn expected(&mut self, number: u16, request: Request) -> ([u64; 6], bool) {
        let registers = request.registers;
        let trap = match request.trap {
            0x80 => oracle::Trap::Fast,
            0xff => oracle::Trap::Core,
            other => oracle::Trap::Other(other),
        };
        let mut asked = registers;
        match (request.trap, registers) {
            (0xff, [PERF, 1, 1..=u64::MAX, .., 0]) if self.omissions.has(Omission::Minor1) => {
                asked[2] = 0
            }
            (0x80, [id, .., GET | SET]) if self.omissions.register(id) => {
                let guest = self.world.guest_of(number);
                let is_ready = self.world.guests[guest].versions.perf_minor().is_some();
                asked[0] = if is_ready { ENOTSUPPORTED } else { EBADTRAP };
                return (asked, false);
            }
            _ => {}
        }
        let outcome = self.world.call(number, trap, asked);
        let mut after = outcome.regs;
        for ((after, asked), before) in after.iter_mut().zip(asked).zip(registers) {
            if *after == asked {
                *after = before;
            }
        }
        let posted = outcome.accesses.iter().any(|access| {
            access.answer == Answer::Fault && matches!(access.action, oracle::Action::Write(_))
        });
        (after, posted && matches!(registers[0], 2..=17))
    }

    fn compare(
        &mut self,
        about: &About,
        request: Request,
        (expected, late): ([u64; 6], bool),
        answered: &Answered,
    ) {
        let [id, .., function] = request.registers;
        let after = answered.after;
        let told = || told(request, Some(after));
        if expected[0] != after[0] {
            if late && after[0] == EOK {
                return;
            }
            // An image may have functions and groups of its own.
            let served = match (request.trap, function) {
                (0x80, GET | SET) => None,
                (0x80, function) if !is_like_ours(function) => Some(format!("FAST {function:#x}")),
                (0xff, 0 | 3) if expected[0] == EINVAL && !is_like_group(id) => {
                    Some(format!("group {id:#x}"))
                }
                (0xff, 0..4) => None,
                (0xff, function) if function >> 32 == 0 => Some(format!("CORE {function:#x}")),
                (0x81..=0xfe, _) => Some(format!("trap {:#x}", request.trap)),
                _ => None,
            };
            if let Some(served) = served.filter(|_| matches!(expected[0], EBADTRAP | EINVAL)) {
                self.found.served.insert(served);
                return;
            }
            self.differ(about, &status(expected[0]), &status(after[0]), told);
            return;
        }
        let results = match (about.call, after[0]) {
            ("get" | "set_version", EOK) => 1,
            ("get_version", EOK) => 2,
            _ => 0,
        };
        for number in 1..6 {
            if expected[number] == after[number] {
                continue;
            }
            let value = expected[number];
            if number <= results {
                let (right, wrong) = match about.call {
                    "get" if self.counting(id).iter().any(|cell| cell.id() == id) => continue,
                    "get" => ("the value", "another value"),
                    _ => ("the version", "another version"),
                };
                self.differ(about, right, wrong, || format!("{}, not {value:#x}", told()));
            } else {
                let status = status(after[0]);
                let kept = format!("{status}, %o{number} kept");
                self.differ(about, &kept, "changed", told);
            }
        }
        if let Err(what) = &answered.kept {
            let subject = what.split(" is ").next().unwrap_or_default();
            let kept = format!("{subject} kept");
            self.differ(about, &kept, "changed", || format!("{}: {what}", told()));
        }
    }

    /// Compares what the call can have changed, and takes it over into the model.
    fn compare_cells(
        &mut self,
        about: &About,
        request: Request,
        strand: StrandId,
        id: u64,
        is_known: bool,
    ) {
        let mut wrong = Vec::new();
        if id == 0 {
            let (number, found) = (u16::from(strand.number()), self.machine.pcr(strand));
            let expected = self.world.pcr_of(number);
            if found != expected {
                wrong.push((expected, found));
                self.world.pcr.insert(number, found);
            }
        }
        let banks = (0..8).map(|bank| Cell::L2(strand.node(), bank));
        let register = PerfReg::new(id);
        let cells: Vec<Cell> = match id {
            0 => Vec::new(),
            1 => banks.collect(),
            _ => register.map(Cell::Register).into_iter().collect(),
        };
        for cell in cells {
            wrong.extend(self.take_over(cell));
        }
        if let Some((expected, found)) = wrong.first().copied().filter(|_| is_known) {
            let (right, wrong) = match (request.registers[5], id) {
                (SET, 1) if (expected ^ found) & !oracle::call::PERF_CONFIG != 0 => {
                    ("L2 control's other bits kept", "changed")
                }
                (SET, _) => ("stores the value's bits", "stores others"),
                _ => ("stores nothing", "stores"),
            };
            self.differ(about, right, wrong, || {
                format!("{}: {found:#x} there, not {expected:#x}", told(request, None))
            });
        }
    }

    /// Gives the model the content of a register. Returns both, if they differed.
    fn take_over(&mut self, cell: Cell) -> Option<(u64, u64)> {
        let found = self.machine.held(cell)?;
        let cell = cell_of(cell);
        let expected = self.world.holds(cell);
        if found == expected || self.world.faults.contains_key(&cell) {
            return None;
        }
        self.world.devices.insert(cell, found);
        let is_clean = !self.world.transfer.unclean.contains(&cell.unit());
        is_clean.then_some((expected, found))
    }

    /// Returns the counters of the hub's part with this register that count: cycles pass without any traffic.
    fn counting(&self, id: u64) -> Vec<PerfReg> {
        let Some(first) = id.checked_sub(18).filter(|_| id < 90).map(|above| id - above % 3) else {
            return Vec::new();
        };
        let selects = self.world.holds(oracle::Cell::Register(first));
        let pics = [(first + 1, selects & 0xff), (first + 2, selects >> 8 & 0xff)];
        let counting = pics.into_iter().filter(|(_, select)| *select == 1);
        counting.filter_map(|(id, _)| PerfReg::new(id)).collect()
    }

    /// Takes over the values of counters that have counted.
    fn count_on(&mut self, counting: &[PerfReg]) {
        for register in counting {
            self.take_over(Cell::Register(*register));
        }
    }

    fn about(&self, number: u16, request: Request) -> About {
        let guest = &self.world.guests[self.world.guest_of(number)];
        let [first, .., function] = request.registers;
        let (call, subject) = match (request.trap, function) {
            (0x80, GET) => ("get", Subject::Register(first)),
            (0x80, SET) => ("set", Subject::Register(first)),
            (0x80, _) => ("FAST", Subject::Function(function)),
            (0xff, 0) => ("set_version", Subject::Group(first)),
            (0xff, 1) => ("cons_putchar", Subject::Function(1)),
            (0xff, 3) => ("get_version", Subject::Group(first)),
            (0xff, _) => ("CORE", Subject::Function(function)),
            (trap, _) => ("trap", Subject::Function(trap.into())),
        };
        let switch = if guest.compat { ", compatible" } else { "" };
        let right = format!("{}{switch}", grant(guest.grant));
        let version = match guest.versions.perf_minor() {
            None => "none",
            Some(0) => "1.0",
            Some(_) => "1.1",
        };
        About { call, subject, right, version }
    }

    fn differ(
        &mut self,
        about: &About,
        expected: &str,
        found: &str,
        example: impl FnOnce() -> String,
    ) {
        let About { call, subject, right, version } = about.clone();
        let (check, expected, found) = (self.check, expected.to_owned(), found.to_owned());
        let key = Key { check, call, expected, found, subject, right, version };
        self.found.differences.note(key, example);
    }

    /// Notes a difference that no call shows.
    pub(super) fn differ_at(
        &mut self,
        call: &'static str,
        subject: Subject,
        expected: &str,
        found: &str,
        example: impl FnOnce() -> String,
    ) {
        let about = About { call, subject, right: "any".to_owned(), version: "any" };
        self.differ(&about, expected, found, example);
    }

    /// Starts the machine and its guests anew. The guests negotiate the versions of group 0x205 that they had.
    pub(super) fn restart(&mut self) {
        let versions: Vec<Option<u64>> =
            self.world.guests.iter().map(|guest| guest.versions.perf_minor()).collect();
        (self.machine, self.world) = self.start.clone();
        for (guest, minor) in versions.into_iter().enumerate() {
            let first = self.configuration.guests[guest].strands.iter().next();
            if let (Some(strand), Some(minor)) = (first, minor) {
                self.core(strand, [PERF, 1, minor], 0);
            }
        }
    }

    /// Returns what the contract demands of registers that no call has just set, and what they do otherwise.
    fn demands_of_state(&self) -> (&'static str, &'static str) {
        match self.check {
            "rights" => ("scrubbed when rights move", "keeps a value"),
            _ => ("unchanged", "changed"),
        }
    }

    pub(super) fn core(&mut self, strand: StrandId, [o0, o1, o2]: [u64; 3], function: u64) {
        let registers = [o0, o1, o2, 0x3333_0bad, 0x4444_0bad, function];
        self.ask(strand, Request { trap: 0xff, registers });
    }

    /// Lets a guest give up what it has negotiated, which every image can do.
    fn give_up(&mut self, guest: usize) {
        let guest = self.tested.unwrap_or(guest);
        if let Some(strand) = self.configuration.guests[guest].strands.iter().next() {
            for group in [1, PERF] {
                self.core(strand, [group, 0, 0], 0);
            }
        }
    }

    fn set_faulty(&self, unit: FaultyUnit, faulty: bool) {
        self.machine.execution.devices().set_faulty(unit, faulty);
    }

    fn repair(&mut self) {
        for unit in Unit::ALL.iter().copied() {
            self.set_faulty(faulty(unit), false);
        }
        self.world.faults.clear();
        self.world.hubs = [HubCondition::Free; 4];
    }

    /// Lets the operator return a unit to service, on a strand that reaches it.
    fn return_to_service(&mut self, one: Unit) {
        let model = unit_of(one);
        let node = node_of(model);
        let of_node = |strand: &StrandId| strand.node().index() == node;
        // L2 control can be reached on its own node only, and a guest on another node notices nothing of it.
        let Some(on) = self.machine.begun.iter().find(of_node) else { return };
        let expected = self.world.return_to_service(node, model);
        let answer = self.machine.operate(on, &Step::ReturnToService(one));
        if answer.as_ref().map(Result::is_ok) != Some(expected) {
            let (right, wrong) = if expected { ("done", "not") } else { ("refused", "not") };
            self.differ_at("the operator", Subject::Unit(one.number()), right, wrong, || {
                format!("{one:?} returns to service: {answer:?}")
            });
        }
        if !self.machine.run_on() {
            self.restart();
        }
    }

    /// Resets a guest by the operator, in place of a guest that gives up.
    pub(super) fn reset(&mut self, guest: usize) -> bool {
        let on = self.machine.begun.iter().next();
        let (Some(id), Some(on)) = (GuestId::new(guest), on) else { return false };
        self.world.reset_guest(guest);
        self.world.all_acknowledge();
        let is_done = self.machine.operate(on, &Step::Reset(id)) == Some(Ok(None));
        let is_done = is_done && self.machine.run_on();
        self.negotiated();
        is_done
    }
}

impl System for Beside {
    fn call(&mut self, strand: StrandId, trap: Trap, registers: [u64; 6]) -> [u64; 6] {
        self.ask(strand, Request { trap: trap.number(), registers })
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Reset(guest) => self.give_up(guest),
            // A hub of this machine is busy only while a strand accesses it.
            Change::Busy(..) => {}
            Change::Break(unit) => {
                self.set_faulty(faulty(unit), true);
                self.world.break_unit(unit_of(unit));
            }
            Change::BreakBanks(node, from) => {
                self.set_faulty(FaultyUnit::L2FromBank(node, from), true);
                for bank in from..8 {
                    let cell = oracle::Cell::L2 { node: node.index(), bank };
                    self.world.faults.insert(cell, oracle::Fault::Always);
                }
            }
            Change::Repair => self.repair(),
            Change::Return(unit) if self.has_mailbox => self.return_to_service(unit),
            Change::Return(_) => {}
            Change::Mend => {
                self.repair();
                if self.has_mailbox {
                    for out in self.world.out_of_service.clone() {
                        self.return_to_service(unit(out));
                    }
                } else {
                    self.restart();
                }
            }
            Change::Put(cell, value) => {
                self.machine.execution.devices().put(cell, value);
                self.take_over(cell);
            }
        }
    }

    /// Compares all registers, which the last call must not have changed.
    fn state(&mut self) -> u64 {
        for cell in Cell::all() {
            let id = match cell {
                Cell::L2(..) => 1,
                Cell::Register(register) => register.id(),
            };
            if let Some((expected, found)) = self.take_over(cell)
                && self.counting(id).iter().all(|register| register.id() != id)
            {
                let (right, wrong) = self.demands_of_state();
                self.differ_at("the machine", Subject::Register(id), right, wrong, || {
                    format!("{cell:?} is {found:#x}, not {expected:#x}")
                });
            }
        }
        for strand in self.machine.begun.iter() {
            let number = u16::from(strand.number());
            let (expected, found) = (self.world.pcr_of(number), self.machine.pcr(strand));
            if expected != found {
                self.world.pcr.insert(number, found);
                let (right, wrong) = self.demands_of_state();
                self.differ_at("the machine", Subject::Register(0), right, wrong, || {
                    format!("%pcr of strand {strand} is {found:#x}, not {expected:#x}")
                });
            }
        }
        0
    }

    fn counts(&mut self) -> u64 {
        0
    }
}

/// Returns the unit of the device models.
pub(super) fn faulty(unit: Unit) -> FaultyUnit {
    match unit {
        Unit::Mcu(node, mcu) => FaultyUnit::Mcu(node, mcu),
        Unit::Hub(hub) => FaultyUnit::Hub(hub),
        Unit::L2(node) => FaultyUnit::L2(node),
    }
}

/// Returns the register of a get or set, if there is one with this number.
fn of_register(request: Request) -> Option<u64> {
    match (request.trap, request.registers) {
        (0x80, [id @ 0..90, .., GET | SET]) => Some(id),
        _ => None,
    }
}

/// Returns whether a function must be unknown, because some of its bits are those of a function of the contract.
fn is_like_ours(function: u64) -> bool {
    function > u64::from(u32::MAX) || matches!(function & 0xffff, GET | SET)
}

fn is_like_group(group: u64) -> bool {
    group > u64::from(u32::MAX) || matches!(group & 0xffff, 0 | 1 | PERF)
}

/// Returns a call in words: its trap, its registers, and those after it.
fn told(request: Request, after: Option<[u64; 6]>) -> String {
    let [o0, o1, o2, .., function] = request.registers;
    let call = match (request.trap, function) {
        (0x80, GET) => format!("get of {o0:#x}"),
        (0x80, SET) => format!("set of {o0:#x} to {o1:#x}"),
        (0xff, 0) => format!("set_version of {o0:#x} to {o1:#x}.{o2:#x}"),
        (trap, _) => {
            format!("trap {trap:#x} with {o0:#x}, {o1:#x}, {o2:#x}, function {function:#x}")
        }
    };
    match after {
        Some([status, o1, ..]) => format!("{call}: {status}, %o1 {o1:#x}"),
        None => call,
    }
}
