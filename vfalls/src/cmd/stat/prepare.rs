//! Prepares the replay that the arguments describe.

use anyhow::{Context, bail, ensure};
use platform::Machine;
use simulator::machine::configuration::Configuration;
use simulator::machine::guests::{self, NamedGuest};
use simulator::operator::{Scenario, UncheckedScenario};
use simulator::recording::Recording;
use simulator::replay::region::Region;
use simulator::replay::{Prepared, Selection, SelectionError, Setup};

use super::{ReplayArgs, StatArgs};
use crate::cmd::md::describe;
use crate::cmd::source::{self, ReplaySource};
use crate::say::say;

/// The recordings that `stat` replays, and the prepared replay that `stat` shows.
pub(super) struct Inputs {
    /// The earlier recordings of a program that is recorded several times.
    pub(super) earlier: Vec<ReplaySource>,
    pub(super) source: ReplaySource,
    pub(super) prepared: Prepared,
    /// The events of all passes after the prepared one.
    pub(super) others: Vec<Selection>,
    pub(super) scenario: Option<Scenario>,
}

/// Checks the arguments, and opens the files that they name.
pub(super) fn prepare(args: &StatArgs) -> anyhow::Result<Inputs> {
    let scenario = (args.scenario.as_ref()).map(|path| Scenario::read(path)).transpose()?;
    let earlier = args.repeat.record(&args.replay.source)?;
    let (configuration, guests) = machine_and_guests(&args.replay, scenario.as_ref())?;
    let parse = if scenario.is_some() { one_pass } else { Selection::passes };
    let mut selections = args.replay.selections(configuration.machine, parse)?.into_iter();
    let first = selections.next().unwrap_or_default();
    let mut source = args.replay.source.resolve()?;
    if selections.len() > 0 {
        source = source.rereadable()?;
    }
    let setup = args.replay.of(&source, configuration, guests, first)?;
    let setup = setup
        .interval(args.interval)
        .tracing(args.events_out.tracing())
        .details(args.details || args.html.is_some());
    let prepared = setup.check()?;
    let scenario = scenario.map(|file| prepared.check_scenario(file)).transpose()?;
    Ok(Inputs { earlier, source, prepared, others: selections.collect(), scenario })
}

impl ReplayArgs {
    /// Opens the recordings, and returns the setup for one pass, as the arguments describe it.
    pub(crate) fn setup(&self, source: &ReplaySource) -> anyhow::Result<Setup> {
        let (configuration, guests) = machine_and_guests(self, None)?;
        let selections = self.selections(configuration.machine, one_pass)?;
        self.of(source, configuration, guests, selections.first().copied().unwrap_or_default())
    }

    /// Returns the events of each pass. `parse` divides the list of events among the passes.
    fn selections(&self, machine: Machine, parse: Parse) -> anyhow::Result<Vec<Selection>> {
        match &self.event[..] {
            [] => Ok(vec![Selection::default_for(machine)]),
            lists => selections_of(machine, parse(&lists.join(","))?),
        }
    }

    fn of(
        &self,
        source: &ReplaySource,
        Configuration { machine, memory }: Configuration,
        guests: Vec<NamedGuest>,
        selection: Selection,
    ) -> anyhow::Result<Setup> {
        let programs = source::counted(source.open()?).into_iter().map(Recording::read_ahead);
        let programs: Vec<_> = programs.collect();
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

    /// Returns the region of these recordings that the arguments select.
    pub(super) fn region_of(
        &self,
        source: &ReplaySource,
        recordings: &[Recording],
        machine: Machine,
    ) -> anyhow::Result<Region> {
        self.region.region_of(source, recordings, machine, self.place.as_ref())
    }
}

type Parse = fn(&str) -> Result<Vec<Selection>, SelectionError>;

/// Parses a list of events that must fit into one pass.
fn one_pass(list: &str) -> Result<Vec<Selection>, SelectionError> {
    Selection::parse(list).map(|selection| vec![selection])
}

/// Returns the machine and the guests that the arguments describe. If the scenario defines guests, returns these guests.
fn machine_and_guests(
    args: &ReplayArgs,
    scenario: Option<&UncheckedScenario>,
) -> anyhow::Result<(Configuration, Vec<NamedGuest>)> {
    let of_scenario = scenario.filter(|file| !file.guests.is_empty());
    if let Some(path) = &args.md {
        ensure!(
            of_scenario.is_none(),
            "the scenario has guests of its own, so --md is not allowed"
        );
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
        (Some(_), Some(_)) => {
            bail!("the scenario has guests of its own, so --guests is not allowed")
        }
        (Some(path), None) => guests::from_file(path)?,
        (None, Some(file)) => file.guests.clone(),
        (None, None) => guests::default(configuration.machine),
    };
    Ok((configuration, guests))
}

/// If the machine has no hubs, removes hub events, and prints a note.
fn selections_of(machine: Machine, passes: Vec<Selection>) -> anyhow::Result<Vec<Selection>> {
    if !machine.hubs().is_empty() {
        return Ok(passes);
    }
    let name = machine.model().name();
    // The first pass has events of every class that any later pass has.
    let classes = passes.first().map(Selection::hub_classes).unwrap_or_default();
    let left = passes.into_iter().map(Selection::without_hubs);
    let left: Vec<_> = left.filter(|pass| !pass.is_empty()).collect();
    for class in classes {
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
