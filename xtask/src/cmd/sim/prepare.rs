//! The simulation that the arguments describe.

use std::env;
use std::ffi::OsString;

use anyhow::{Context, bail, ensure};
use platform::Machine;
use simulator::configuration::Configuration;
use simulator::guests::{self, Guest};
use simulator::recording::{Recording, bundled};
use simulator::simulation::scenario::{Scenario, Unchecked};
use simulator::simulation::{Selection, Setup, Simulation};

use super::{Args, RunArgs};
use crate::cmd::md::describe;
use crate::interrupt::{self, Interrupted};
use crate::output::OutputFile;
use crate::recorder::{self, Options};
use crate::say::say;

/// Checks the arguments, and opens the files that they name.
///
/// # Errors
/// The arguments describe no simulation, or a file cannot be used.
pub(super) fn prepare(args: &Args) -> anyhow::Result<(Simulation, Option<Scenario>)> {
    let scenario = (args.scenario.as_ref())
        .map(|path| Scenario::read(path))
        .transpose()?;
    let setup = Setup {
        interval: args.interval,
        tracing: args.events_out.tracing(),
        details: args.details || args.html.is_some(),
        ..args.run.setup(scenario.as_ref())?
    };
    let simulation = setup.check()?;
    let scenario = scenario.map(|file| file.check(&simulation)).transpose()?;
    Ok((simulation, scenario))
}

impl RunArgs {
    /// Returns whether the bundled recording is run.
    #[must_use]
    pub fn is_bundled(&self) -> bool {
        self.recordings.is_empty() && self.command.is_empty()
    }

    /// Opens what is run, or records it. The guests are those of the scenario, if it has any.
    ///
    /// # Errors
    /// The arguments describe no simulation, or a file cannot be used.
    pub fn setup(&self, scenario: Option<&Unchecked>) -> anyhow::Result<Setup> {
        if let Some(list) = &self.strands {
            bail!(
                "--strands is gone: --place {list} places threads on strands, --place deal:{list} deals the references of one thread to them"
            );
        }
        let (configuration, guests) = machine_and_guests(self, scenario)?;
        let Configuration { machine, memory } = configuration;
        let selection = match &self.event[..] {
            [] => Selection::default_of(machine),
            lists => selection_of(machine, Selection::parse(&lists.join(","))?)?,
        };
        let standard_inputs = (self.recordings.iter())
            .filter(|path| path.as_os_str() == "-")
            .count();
        ensure!(
            standard_inputs <= 1,
            "standard input is named {standard_inputs} times, expected once at most"
        );
        let programs = match &self.recordings[..] {
            [] if self.is_bundled() => vec![bundled()],
            [] => vec![record(&self.command)?],
            recordings => (recordings.iter())
                .map(Recording::open)
                .collect::<Result<_, _>>()?,
        };
        Ok(Setup {
            machine,
            memory,
            programs: programs.into_iter().map(Recording::read_ahead).collect(),
            guests,
            placement: self.place.clone(),
            selection,
            perf_config: self.perf_config,
            interval: None,
            hub_cycles: self.hub_cycles,
            tracing: None,
            details: false,
        })
    }
}

/// Records a program, and opens the recording, whose file is gone then.
///
/// # Errors
/// As [`recorded`], or the recording cannot be opened.
pub fn record(command: &[OsString]) -> anyhow::Result<Recording> {
    let file = recorded(command)?;
    let recording = Recording::open(file.temporary())?;
    file.discard()?;
    Ok(recording)
}

/// Records a program in a temporary file.
///
/// # Errors
/// The program cannot be recorded, or the user has interrupted it.
pub fn recorded(command: &[OsString]) -> anyhow::Result<OutputFile> {
    recorder::check(command, Options::default())?;
    let path = env::temp_dir().join("recording");
    let file = OutputFile::create(path, false)?;
    let recorded = recorder::record(command, file.temporary(), Options::default())?;
    interrupt::release();
    ensure!(!interrupt::happened(), Interrupted);
    say(format_args!("recorded {recorded}"));
    Ok(file)
}

fn machine_and_guests(
    args: &RunArgs,
    scenario: Option<&Unchecked>,
) -> anyhow::Result<(Configuration, Vec<Guest>)> {
    let of_scenario = scenario.filter(|file| !file.guests.is_empty());
    if let Some(path) = &args.md {
        ensure!(
            of_scenario.is_none(),
            "the scenario has guests of its own, expected no --md"
        );
        let described = describe(path)?;
        let name = path.display();
        let machine = described
            .machine
            .with_context(|| format!("{name}: describes no Victoria Falls machine"))?;
        ensure!(!described.guests.is_empty(), "{name}: describes no guest");
        let guests = described.guests.into_iter().map(Guest::from).collect();
        let memory = args.machine.file(Some("--md"))?.memory;
        return Ok((Configuration { machine, memory }, guests));
    }
    let configuration = args.machine.configuration()?;
    let guests = match (&args.guests, of_scenario) {
        (Some(_), Some(_)) => bail!("the scenario has guests of its own, expected no --guests"),
        (Some(path), None) => guests::from_file(path)?,
        (None, Some(file)) => file.guests.clone(),
        (None, None) => guests::default(configuration.machine),
    };
    Ok((configuration, guests))
}

/// Drops hub events, with a note, if the machine has no hubs.
fn selection_of(machine: Machine, selection: Selection) -> anyhow::Result<Selection> {
    if machine.model().has_hubs() {
        return Ok(selection);
    }
    let name = machine.model().name();
    let left = selection.without_hubs();
    for class in selection.of_hubs() {
        ensure!(
            !left.is_empty(),
            "a {name} has no hubs, and so no {class} events; expected dram or pic events"
        );
        say(format_args!(
            "note: a {name} has no hubs, and so no {class} events; they are left out"
        ));
    }
    Ok(left)
}
