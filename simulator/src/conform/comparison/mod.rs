//! Compares the image under test with the reference model. Every call is made both in the image and in the model, and all differences
//! are noted.
//!
//! After a difference, the model adopts what the image has stored, so that each difference is found only once.

mod cells;
mod changes;
mod compare;

use std::collections::BTreeSet;

use conform::oracle::{self, World};
use conform::translated::{cell_of, world};
use conform::{Cell, Configuration, System};
use guest_abi::StrandId;
use platform::interfaces::Interface;

use super::caller::Request;
use super::differences::{Differences, Key, Subject};
use super::image::{Image, Omissions};
use super::machine::{CallFailure, CallResult, Machine};
use super::requests::KERNEL_FUNCTIONS;
use compare::{CallDescription, describe_call};

const EOK: u64 = 0;
const PERF: u64 = 0x205;
const GET: u64 = 0x106;
const SET: u64 = 0x107;

/// What a check has found.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    pub(super) differences: Differences,
    /// The number of calls that were compared.
    pub(super) calls: u64,
    /// What the image serves in addition to the contract.
    pub(super) served: BTreeSet<String>,
    /// What was not checked, and why.
    pub(super) unchecked: BTreeSet<String>,
}

impl Findings {
    pub(super) fn add(&mut self, other: Self) {
        self.differences.add(other.differences);
        self.calls += other.calls;
        self.served.extend(other.served);
        self.unchecked.extend(other.unchecked);
    }
}

/// An image and the model of its machine.
pub(super) struct Comparison {
    pub(super) machine: Machine,
    pub(super) world: World,
    /// The machine and the model immediately after the guests had begun.
    start: (Machine, World),
    configuration: Configuration,
    /// The only guest that makes calls; `None` if there are several.
    tested: Option<usize>,
    has_mailbox: bool,
    omissions: Omissions,
    pub(super) check: &'static str,
    pub(super) found: Findings,
}

impl Comparison {
    /// Creates the model for a machine whose guests have begun.
    pub(super) fn new(
        machine: Machine,
        check: &'static str,
        configuration: &Configuration,
        tested: Option<usize>,
        image: &Image,
        omissions: Omissions,
    ) -> Self {
        let has_mailbox = image.interfaces.at(Interface::Mailbox).is_some();
        let mut world = world(configuration);
        for bank in Cell::all() {
            if let (Cell::L2(..), Some(value)) = (bank, machine.held(bank)) {
                // Bits of L2 control other than PERF_CONFIG were set when the machine started. The model adopts these bits.
                world.devices.insert(cell_of(bank), value & !oracle::call::PERF_CONFIG);
            }
        }
        let start = (machine.clone(), world.clone());
        let found = Findings::default();
        let mut new = Self {
            machine,
            world,
            start,
            configuration: *configuration,
            tested,
            has_mailbox,
            omissions,
            check,
            found,
        };
        new.note_unstarted_strands();
        new.adopt_versions();
        new.state();
        new.start = (new.machine.clone(), new.world.clone());
        new
    }

    /// Notes that some calls are not checked, if there are strands that the image has not started.
    fn note_unstarted_strands(&mut self) {
        let guests = self.configuration.guests.iter();
        let mut all = guests.flat_map(|guest| guest.strands.iter());
        if all.any(|strand| !self.machine.begun.contains(strand)) {
            self.found.unchecked.insert(
                "calls of guests and strands that the image does not start (by cpu_start, 0x10)"
                    .to_owned(),
            );
        }
    }

    /// Copies the guests' CORE versions to the model. The guests negotiated these versions before they started their CPUs.
    fn adopt_versions(&mut self) {
        for guest in 0..self.world.guests.len() {
            let first = self.world.guests[guest].strands.first().copied();
            let strand = first.and_then(|strand| StrandId::new(strand.into()));
            let Some(strand) = strand.filter(|strand| self.machine.begun.contains(*strand)) else {
                continue;
            };
            let request = Request { trap: 0xff, registers: [1, 0, 0, 0, 0, 3] };
            if let Ok(CallResult { after: [EOK, major @ 1..=u64::MAX, minor, ..], .. }) =
                self.machine.call(strand, request)
            {
                let _ = self.world.guests[guest].versions.set(1, major, minor);
            }
        }
    }

    /// Returns the strand that makes the calls of `strand`. If `strand` has begun and may call, this is `strand` itself. Otherwise, it
    /// is the first strand that has begun: preferably one of the tested guest, then one of the same guest, then any.
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

    /// Makes a call both in the image and in the model, and compares the results. Returns %o0 to %o5 after the call in the image.
    pub(super) fn ask(&mut self, strand: StrandId, request: Request) -> [u64; 6] {
        let registers = request.registers;
        let [.., function] = registers;
        let ends_guest = match request.trap {
            0x80 => KERNEL_FUNCTIONS.contains(&function),
            0xff => function == 2,
            _ => false,
        };
        let Some(strand) = self.caller(strand).filter(|_| !ends_guest) else {
            return registers;
        };
        let number = u16::from(strand.number());
        let about = self.about(number, request);
        let counting = accessed_register(request).map_or_else(Vec::new, |id| self.counting(id));
        self.adopt_counts(&counting);
        let (expected, late) = self.expected(number, request);
        self.found.calls += 1;
        let answered = match self.machine.call(strand, request) {
            Ok(answered) => answered,
            Err(silent) => {
                let found = match silent {
                    CallFailure::Endless => "none in 200000 instructions",
                    CallFailure::Stopped => "the strand stops",
                };
                self.note_difference(&about, "an answer", found, || describe_call(request, None));
                self.restart();
                return registers;
            }
        };
        if late {
            self.machine.settle(strand);
        }
        self.adopt_counts(&counting);
        self.compare(&about, request, (expected, late), &answered);
        if let Some(id) = accessed_register(request) {
            let is_known = expected[0] == answered.after[0] || late;
            let counts = self.counting(id).iter().any(|cell| cell.id() == id);
            let is_known = is_known && !counts;
            self.compare_cells(&about, request, strand, id, is_known);
        }
        answered.after
    }

    fn note_difference(
        &mut self,
        about: &CallDescription,
        expected: &str,
        found: &str,
        example: impl FnOnce() -> String,
    ) {
        let CallDescription { call, subject, right, version } = about.clone();
        let (check, expected, found) = (self.check, expected.to_owned(), found.to_owned());
        let key = Key { check, call, expected, found, subject, right, version };
        self.found.differences.note(key, example);
    }

    /// Notes a difference that belongs to no particular guest call.
    pub(super) fn note_difference_at(
        &mut self,
        call: &'static str,
        subject: Subject,
        expected: &str,
        found: &str,
        example: impl FnOnce() -> String,
    ) {
        let about = CallDescription { call, subject, right: "any".to_owned(), version: "any" };
        self.note_difference(&about, expected, found, example);
    }

    /// Returns the machine and the model to their state at the start. Then each guest negotiates the version of group 0x205 that it had
    /// before.
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

    pub(super) fn core(&mut self, strand: StrandId, [o0, o1, o2]: [u64; 3], function: u64) {
        let registers = [o0, o1, o2, 0x3333_0bad, 0x4444_0bad, function];
        self.ask(strand, Request { trap: 0xff, registers });
    }
}

/// Returns the register that a call reads or writes; `None` if there is no register with this number.
fn accessed_register(request: Request) -> Option<u64> {
    match (request.trap, request.registers) {
        (0x80, [id @ 0..90, .., GET | SET]) => Some(id),
        _ => None,
    }
}
