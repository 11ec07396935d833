//! Prepares the replay that the arguments describe.

use anyhow::{Context, bail, ensure};
use platform::Machine;
use simulator::machine::configuration::Configuration;
use simulator::machine::guests::{self, NamedGuest};
use simulator::operator::{Scenario, Unchecked};
use simulator::recording::Recording;
use simulator::replay::region::Region;
use simulator::replay::{Prepared, Selection, Setup};

use super::{ReplayArgs, StatArgs};
use crate::cmd::md::describe;
use crate::cmd::source::ReplaySource;
use crate::say::say;

/// The recordings that `stat` replays, and the prepared replay that `stat` shows.
pub(super) struct Inputs {
    /// The earlier recordings of a program that is recorded several times.
    pub(super) earlier: Vec<ReplaySource>,
    pub(super) source: ReplaySource,
    pub(super) prepared: Prepared,
    pub(super) scenario: Option<Scenario>,
}

/// Checks the arguments, and opens the files that they name.
pub(super) fn prepare(args: &StatArgs) -> anyhow::Result<Inputs> {
    let scenario = (args.scenario.as_ref()).map(|path| Scenario::read(path)).transpose()?;
    let earlier = args.repeat.record(&args.replay.source)?;
    let source = args.replay.source.resolve()?;
    let setup = args
        .replay
        .setup(&source, scenario.as_ref())?
        .interval(args.interval)
        .tracing(args.events_out.tracing())
        .details(args.details || args.html.is_some());
    let prepared = setup.check()?;
    let scenario = scenario.map(|file| prepared.check_scenario(file)).transpose()?;
    Ok(Inputs { earlier, source, prepared, scenario })
}

impl ReplayArgs {
    /// Opens the recordings, and returns the setup that the arguments describe. If the scenario defines guests, the setup has these guests.
    pub(crate) fn setup(
        &self,
        source: &ReplaySource,
        scenario: Option<&Unchecked>,
    ) -> anyhow::Result<Setup> {
        let (configuration, guests) = machine_and_guests(self, scenario)?;
        let Configuration { machine, memory } = configuration;
        let selection = match &self.event[..] {
            [] => Selection::default_for(machine),
            lists => selection_of(machine, Selection::parse(&lists.join(","))?)?,
        };
        let programs: Vec<_> = source.open()?.into_iter().map(Recording::read_ahead).collect();
        let region = self.region_of(source, &programs, machine)?;
        Ok(Setup::new(machine, programs)
            .memory(memory)
            .guests(guests)
            .placement(self.place.clone())
            .selection(selection)
            .perf_config(self.perf_config)
            .hub_cycles(self.hub_cycles)
            .region(region))
    }

    /// Returns the region of these recordings.
    pub(super) fn region_of(
        &self,
        source: &ReplaySource,
        recordings: &[Recording],
        machine: Machine,
    ) -> anyhow::Result<Region> {
        self.region.region_of(source, recordings, machine, self.place.as_ref())
    }
}

fn machine_and_guests(
    args: &ReplayArgs,
    scenario: Option<&Unchecked>,
) -> anyhow::Result<(Configuration, Vec<NamedGuest>)> {
    let of_scenario = scenario.filter(|file| !file.guests.is_empty());
    if let Some(path) = &args.md {
        ensure!(of_scenario.is_none(), "the scenario has guests of its own, expected no --md");
        let described = describe(path)?;
        let name = path.display();
        let machine = described
            .machine
            .with_context(|| format!("{name}: describes no Victoria Falls machine"))?;
        ensure!(!described.guests.is_empty(), "{name}: describes no guest");
        let guests = described.guests.into_iter().map(NamedGuest::from).collect();
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

/// Removes the events of hubs, with a note, if the machine has no hubs.
fn selection_of(machine: Machine, selection: Selection) -> anyhow::Result<Selection> {
    if !machine.hubs().is_empty() {
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
