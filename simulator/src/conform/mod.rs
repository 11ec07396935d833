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
mod image;
mod jobs;
pub mod judge;
mod machine;
pub mod pairs;
pub mod requests;
mod rights;
pub mod watch;

pub use conform::Configuration;
pub use conform::configuration::GUESTS;
use platform::interfaces::Interface;
use serde::Serialize;

use comparison::Findings;
pub use counts::{CallCount, sun};
pub use differences::{Difference, Row, Subject};
pub use image::{CheckError, Image, Omission, Omissions};
use jobs::{Work, jobs, perform};
use machine::Machine;

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
    for result in perform(&jobs, image, *omissions, progress) {
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
