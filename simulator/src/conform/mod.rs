//! Checks any hypervisor image against the contract of the performance counter service.
//!
//! The image boots on the simulated machine of [`execute`](crate::execute), with [guests](guest) that make calls with real traps. The
//! calls cover every register, right and version, and also values, statuses and the order of checks. Each call is also made in a
//! [reference model](::conform::oracle), which is written from the contract alone. After each call, the check compares the call's results,
//! all registers that the call must preserve, and the device registers. The check also breaks units, and stops strands in the middle of
//! accesses.
//!
//! For these checks, the image needs only its traps. An image that reads the machine description (which `vfalls boot` passes) is checked
//! on several machines with several guests. For any other image, the caller says which machine and guests the image has. The checks that
//! move rights or reset guests need the mailbox of the [memory map](platform::memory_map::mailbox). [`Report::unchecked`] says what was
//! not checked.

pub mod attacks;
pub mod caller;
pub mod callers;
mod comparison;
mod contention;
mod counts;
mod differences;
pub mod guest;
pub mod judge;
mod machine;
pub mod pairs;
pub mod requests;
mod rights;
pub mod watch;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

pub use conform::Configuration;
pub use conform::configuration::GUESTS;
use conform::parts::{
    AT_RANDOM, BROKEN_UNITS, EVERY_REGISTER, FUNCTIONS, HALF_AN_L2, NEGOTIATION, OF_EVERY_GROUP,
    ONE_BY_ONE, READ_BACK, WITHOUT_A_HUB,
};
use conform::{Part, System, parts};
use guest_abi::StrandId;
use platform::interfaces::Interface;
use serde::Serialize;

use crate::execute::{Interfaces, NoMemoryAt, SetupError, Stop};
use crate::machine::description::BuildError;
use comparison::{Comparison, Findings};
pub use counts::{CallCount, sun};
pub use differences::{Difference, Row, Subject};
use machine::Machine;

/// A hypervisor image, as it is before it is loaded into the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Each segment's physical address and bytes.
    pub segments: Vec<(u64, Vec<u8>)>,
    /// The range of addresses that contains the instructions.
    pub text: Range<u64>,
    /// The interfaces that the image has, such as the mailbox and the log.
    pub interfaces: Interfaces,
}

/// A part of the contract that an image may omit on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum Omission {
    /// Version 1.1 of group 0x205. A guest that asks for 1.1 gets 1.0.
    #[serde(rename = "1.1")]
    Minor1,
    /// The registers of hubs, 18 to 89. Calls for them return ENOTSUPPORTED.
    #[serde(rename = "hubs")]
    Hubs,
    /// Register 1, L2 control. Calls for it return ENOTSUPPORTED.
    #[serde(rename = "l2")]
    L2,
}

/// The parts of the contract that an image omits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omissions {
    minor1: bool,
    hubs: bool,
    l2: bool,
}

impl FromIterator<Omission> for Omissions {
    fn from_iter<T: IntoIterator<Item = Omission>>(all: T) -> Self {
        let mut omissions = Self::default();
        for one in all {
            match one {
                Omission::Minor1 => omissions.minor1 = true,
                Omission::Hubs => omissions.hubs = true,
                Omission::L2 => omissions.l2 = true,
            }
        }
        omissions
    }
}

impl Omissions {
    const fn has(self, one: Omission) -> bool {
        match one {
            Omission::Minor1 => self.minor1,
            Omission::Hubs => self.hubs,
            Omission::L2 => self.l2,
        }
    }

    /// Returns whether the image omits register number `id`.
    const fn omits_register(self, id: u64) -> bool {
        matches!(id, 18..=89) && self.hubs || id == 1 && self.l2
    }

    /// Returns the parts of the contract that the image omits.
    pub fn all(self) -> impl Iterator<Item = Omission> {
        let all = [Omission::Minor1, Omission::Hubs, Omission::L2];
        all.into_iter().filter(move |one| self.has(*one))
    }
}

/// The settings of a check: which checks to perform, and on which machine.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What the image omits on purpose.
    pub omissions: Omissions,
    /// The machine and guests of an image that does not read the machine description.
    pub own: Option<Configuration>,
    /// The names of the [`CHECKS`] to perform; empty for all checks.
    pub only: Vec<String>,
    /// Whether to use only one of every [`QUICK`] configurations in each sweep.
    pub quick: bool,
}

/// A quick check uses one of every `QUICK` configurations. `QUICK` is coprime to both the number of machines and the number of grants.
pub const QUICK: usize = 7;

/// The names of the checks, by which [`Options::only`] selects them.
pub const CHECKS: [&str; 9] = [
    "registers",
    "other-strands",
    "functions",
    "versions",
    "random",
    "broken-units",
    "arbitration",
    "rights",
    "attacks",
];

/// Why an image cannot be checked.
#[derive(Clone, Debug, thiserror::Error)]
#[error(transparent)]
#[non_exhaustive]
pub enum CheckError {
    /// The machine cannot be built.
    Setup(#[from] SetupError),
    /// The image does not fit into the hypervisor's memory.
    Memory(#[from] NoMemoryAt),
    /// The machine description is too large.
    Description(#[from] BuildError),
    /// None of a guest's strands has begun.
    #[error("the image has not started a guest within {0} instructions")]
    NoGuest(u64),
    /// Some of the guests' strands have not begun.
    #[error("the image has not started all of the guests' strands: {0:?}")]
    NotAll(Stop),
    /// The caller has interrupted the check.
    #[error("interrupted")]
    Interrupted,
}

/// What a check of an image has found.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The number of calls that were compared.
    pub calls: u64,
    /// What the image omits on purpose.
    pub without: Vec<Omission>,
    /// The differences by register, right and version.
    pub differences: Vec<Difference>,
    /// The differences as rows. All differences with the same call, requirement and finding share a row.
    #[serde(skip)]
    pub rows: Vec<Row>,
    /// What the image serves in addition to the contract.
    pub served: Vec<String>,
    /// What was not checked, and why.
    pub unchecked: Vec<String>,
    /// How many instructions the calls take.
    pub instructions: Vec<CallCount>,
}

/// Returns strand number `number`, which must exist in the largest machine.
const fn strand(number: usize) -> StrandId {
    match StrandId::new(number) {
        Some(strand) => strand,
        None => panic!("a machine has 256 strands"),
    }
}

/// What a job does with its configuration.
#[derive(Clone, Copy)]
enum Work {
    /// Runs a part of the sweep, on the configuration with this index.
    Part(Part, usize),
    InFlight,
    Fair,
    Rights,
    /// Performs attacks of the kind with this index.
    Attacks(usize),
}

#[derive(Clone, Copy)]
struct Job {
    check: &'static str,
    /// The machine, and all its guests.
    configuration: Configuration,
    /// The configuration as this part of the sweep sees it. If an image has its own guests, every guest in this configuration is a copy of
    /// the tested guest.
    shown: Configuration,
    /// The only guest that makes calls; `None` if the part of the sweep decides.
    tested: Option<usize>,
    work: Work,
}

impl Job {
    fn run(&self, image: &Image, omissions: Omissions) -> Result<Findings, CheckError> {
        if let Work::Attacks(kind) = self.work {
            return Ok(attacks::check(image, kind));
        }
        let machine = Machine::boot(image, &self.configuration)?;
        let mut beside = Comparison::new(machine, self, image, omissions);
        match self.work {
            Work::Part(part, number) => {
                (part.run)(number, &self.shown, &mut beside);
                beside.state();
            }
            Work::InFlight => beside.in_flight(),
            Work::Fair => beside.fair(),
            Work::Rights => beside.rights_that_move(),
            Work::Attacks(_) => {}
        }
        Ok(beside.found)
    }
}

/// Returns the work for an image. `mailbox` says whether the image has the operator's mailbox.
fn jobs(own: Option<&Configuration>, omissions: Omissions, mailbox: bool) -> Vec<Job> {
    let with_hubs = !omissions.hubs && !omissions.minor1;
    let mut jobs = Vec::new();
    let mut add = |check, configuration: Configuration, work| {
        // If the image has its own guests, the check `registers` is performed once for each of them. The other checks are performed only
        // for the first guest.
        let guests = configuration.guests.iter().filter(|guest| !guest.strands.is_empty()).count();
        let tested = if own.is_none() || check != "registers" { 1 } else { guests };
        for tested in 0..tested {
            let mut shown = configuration;
            if own.is_some() {
                shown.guests = [shown.guests[tested]; GUESTS];
            }
            let tested = own.map(|_| tested);
            jobs.push(Job { check, configuration, shown, tested, work });
        }
    };
    // Each part, with the number of its configurations that are used if the image has its own machine and guests. More configurations
    // would repeat the same calls.
    let parts: [(&str, Part, usize); 10] = [
        ("registers", EVERY_REGISTER, 1),
        ("other-strands", READ_BACK, 1),
        ("functions", FUNCTIONS, FUNCTIONS.limit),
        ("versions", NEGOTIATION, NEGOTIATION.limit),
        ("versions", OF_EVERY_GROUP, OF_EVERY_GROUP.limit),
        ("random", AT_RANDOM, AT_RANDOM.limit),
        ("broken-units", BROKEN_UNITS, 2),
        ("broken-units", WITHOUT_A_HUB, WITHOUT_A_HUB.limit),
        ("broken-units", HALF_AN_L2, HALF_AN_L2.limit),
        ("broken-units", ONE_BY_ONE, 1),
    ];
    let of_mailbox = if mailbox { parts.len() } else { parts.len() - 1 };
    for (check, part, different) in parts.into_iter().take(of_mailbox) {
        let chosen = part.configurations().filter(|(number, _)| match check {
            "registers" => parts::is_chosen(*number),
            _ => true,
        });
        let runs = if own.is_some() { different } else { part.limit };
        for (number, configuration) in chosen.take(runs) {
            add(check, own.copied().unwrap_or(configuration), Work::Part(part, number));
        }
    }
    let together = own.copied().or_else(contention::configuration);
    if let Some(together) = together.filter(|_| with_hubs) {
        add("arbitration", together, Work::InFlight);
        add("arbitration", together, Work::Fair);
    }
    if let Some(rights) = rights::configuration().filter(|_| mailbox && own.is_none()) {
        add("rights", rights, Work::Rights);
        for kind in 0..attacks::ALL.len() {
            add(attacks::CHECK, rights, Work::Attacks(kind));
        }
    }
    jobs
}

/// Checks an image. `ours` is the project's own image; the report lists how many instructions calls take in both images. The check calls
/// `progress` with the number of completed configurations and the total number. `progress` returns `false` to stop the check.
///
/// # Errors
/// The image does not start a guest, or `progress` has returned `false`.
pub fn check(
    image: &Image,
    ours: &Image,
    options: &Options,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Report, CheckError> {
    let Options { omissions, own, only, quick } = options;
    let is_excluded = |check: &str| !only.is_empty() && !only.iter().any(|one| one == check);
    let shown = own.or_else(counts::configuration).ok_or(CheckError::NoGuest(0))?;
    let reads = Machine::reads_description(image, &shown)?;
    let mut found = Findings::default();
    let own = match (own, reads) {
        (Some(own), _) => Some(*own),
        (None, true) => None,
        (None, false) => Some(shown),
    };
    if own.is_some() {
        found.unchecked.insert(
            "other machines, guests and rights than the image's own: it reads no machine description".to_owned(),
        );
    }
    let has_mailbox = image.interfaces.at(Interface::Mailbox).is_some();
    if !has_mailbox || own.is_some() {
        let why = if has_mailbox { "its guests are its own" } else { "the image has no mailbox" };
        found.unchecked.insert(format!("rights that move, resets, attacks: {why}"));
    }
    if !has_mailbox {
        found.unchecked.insert("units that return to service: the image has no mailbox".to_owned());
    }
    for check in CHECKS.into_iter().filter(|check| is_excluded(check)) {
        found.unchecked.insert(format!("{check}: left out"));
    }
    let mut jobs = jobs(own.as_ref(), *omissions, has_mailbox);
    jobs.retain(|job| !is_excluded(job.check));
    if *quick && own.is_none() {
        found.unchecked.insert(format!("{} of {QUICK} configurations of each sweep", QUICK - 1));
        let mut number = 0;
        jobs.retain(|job| {
            let is_one_of_many = matches!(job.work, Work::Part(..) | Work::Attacks(_));
            number += usize::from(is_one_of_many);
            !is_one_of_many || number % QUICK == 1
        });
    }
    for result in all(&jobs, image, *omissions, progress) {
        found.add(result?);
    }
    // An attacker's neighbour meets the same differences as the guests in other checks, so these differences are not listed twice.
    found.differences.remove_expected(attacks::NEIGHBOUR);
    let instructions = counts::count(image, ours, &shown)?;
    Ok(Report {
        calls: found.calls,
        without: omissions.all().collect(),
        differences: found.differences.all(),
        rows: found.differences.rows(),
        served: found.served.into_iter().collect(),
        unchecked: found.unchecked.into_iter().collect(),
        instructions,
    })
}

/// Performs all jobs in parallel on the host's processors. The results are in the order of the jobs.
fn all(
    jobs: &[Job],
    image: &Image,
    omissions: Omissions,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Vec<Result<Findings, CheckError>> {
    let (next, is_running) = (AtomicUsize::new(0), AtomicBool::new(true));
    let (sender, receiver) = mpsc::channel();
    let mut results: Vec<Result<Findings, CheckError>> =
        jobs.iter().map(|_| Err(CheckError::Interrupted)).collect();
    thread::scope(|threads| {
        let many = thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
        for _ in 0..many {
            let sender = sender.clone();
            let (next, is_running) = (&next, &is_running);
            threads.spawn(move || {
                while is_running.load(Ordering::Relaxed)
                    && let number = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(job) = jobs.get(number)
                {
                    let result = job.run(image, omissions);
                    // Sending cannot fail, because the receiver outlives all senders.
                    let _ = sender.send((number, result));
                }
            });
        }
        drop(sender);
        for (done, (number, result)) in (1..).zip(receiver) {
            results[number] = result;
            if !progress(done, jobs.len()) {
                is_running.store(false, Ordering::Relaxed);
            }
        }
    });
    results
}
