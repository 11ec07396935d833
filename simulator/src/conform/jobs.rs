//! The work of a check: which parts of the sweep run on which machines.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use conform::configuration::GUESTS;
use conform::parts::{
    AT_RANDOM, BROKEN_UNITS, EVERY_REGISTER, FUNCTIONS, HALF_AN_L2, NEGOTIATION, OF_EVERY_GROUP,
    ONE_BY_ONE, READ_BACK, WITHOUT_A_HUB,
};
use conform::{Configuration, Part, System, parts};

use super::comparison::{Comparison, Findings};
use super::image::{CheckError, Image, Omission, Omissions};
use super::machine::Machine;
use super::{attacks, contention, rights};

/// What a job does with its configuration.
#[derive(Clone, Copy)]
pub(super) enum Work {
    /// Runs a part of the sweep, on the configuration with this index.
    Part(Part, usize),
    InFlight,
    Fair,
    Rights,
    /// Performs attacks of the kind with this index.
    Attacks(usize),
}

#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) check: &'static str,
    /// The machine, and all its guests.
    configuration: Configuration,
    /// The configuration as this part of the sweep sees it. If an image has its own guests, every guest in this configuration is a copy of
    /// the tested guest.
    shown: Configuration,
    /// The only guest that makes calls; `None` if the part of the sweep decides.
    tested: Option<usize>,
    pub(super) work: Work,
}

impl Job {
    fn run(&self, image: &Image, omissions: Omissions) -> Result<Findings, CheckError> {
        if let Work::Attacks(kind) = self.work {
            return Ok(attacks::check(image, kind));
        }
        let machine = Machine::boot(image, &self.configuration)?;
        let mut beside = Comparison::new(
            machine,
            self.check,
            &self.configuration,
            self.tested,
            image,
            omissions,
        );
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
pub(super) fn jobs(own: Option<&Configuration>, omissions: Omissions, mailbox: bool) -> Vec<Job> {
    let with_hubs = !omissions.has(Omission::Hubs) && !omissions.has(Omission::Minor1);
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

/// Performs all jobs in parallel on the host's processors. The results are in the order of the jobs.
pub(super) fn perform(
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
