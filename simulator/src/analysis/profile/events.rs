//! Parses the list of events to sample, as the option `-e` accepts it.

use guest_abi::event::SparcEvent;
use guest_abi::layout::SparcSelect;
use guest_abi::sampling::{Pace, Period, Request};
use platform::models::r10000::R10000Event;

use super::error::EventError;
use super::r10000::{self, MAX_PROCESSORS};
use crate::memory::Modelled;
use crate::nearest::unknown;

/// The kind of processor whose counters sample the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampledUnit {
    /// The counters of an UltraSPARC T2 Plus strand.
    Sparc,
    /// An R10000's counters, with `perfex`'s events.
    R10000,
}

impl SampledUnit {
    /// All units, in the order of help texts.
    pub const ALL: [Self; 2] = [Self::Sparc, Self::R10000];

    /// Returns the unit's name on command lines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sparc => "sparc",
            Self::R10000 => "r10000",
        }
    }
}

/// An event to sample, with its usual period.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Selected<E> {
    pub event: E,
    pub name: &'static str,
    /// Why the event never happens, so that its count is always 0; `None` if it can happen.
    pub absence: Option<&'static str>,
    /// The number of events per sample, unless the user gives a period.
    pub usual: u32,
}

/// An event for which a strand takes samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrandEvent {
    /// The cycles in which a thread executes on the strand or waits for memory. The simulator's clock counts them, because a strand's
    /// counter cannot.
    Cycles,
    /// An event that the strand's counters count.
    Counted(SparcSelect),
}

impl StrandEvent {
    /// Returns the selection with which a counter counts the event; `None` for cycles, which no counter of a strand counts.
    #[must_use]
    pub const fn select(self) -> Option<SparcSelect> {
        match self {
            Self::Cycles => None,
            Self::Counted(select) => Some(select),
        }
    }
}

/// How often to take samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rate {
    /// The number of events per sample. `None` selects each event's usual period.
    pub period: Option<Period>,
    /// The seed for random periods; `None` if the periods do not vary.
    pub seed: Option<u64>,
}

/// Random periods deviate from their mean by at most an eighth of the mean, which is the mean shifted right by this number of bits.
const SPREAD_SHIFT: u32 = 3;

impl Rate {
    /// Returns the period that the user gives, or else the event's usual period.
    pub fn period<E>(&self, selected: &Selected<E>) -> Period {
        self.period.unwrap_or_else(|| Period::nearest(selected.usual.into()))
    }

    /// Returns the request that makes the profiler sample an event.
    pub fn request<E: Copy>(&self, selected: &Selected<E>) -> Request<E> {
        let pace = Pace::every(self.period(selected));
        Request {
            event: selected.event,
            pace: Some(match self.seed {
                Some(seed) => pace.randomised(SPREAD_SHIFT, seed),
                None => pace,
            }),
        }
    }
}

/// An entry in a unit's list of events.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The name that [`sparc`] and [`r10000()`] accept.
    pub name: String,
    /// Whether a recording can cause the event.
    pub occurs: bool,
    /// If the event cannot occur, the reason. Otherwise, a description of the event or of the limits of its use, which may be empty.
    pub about: &'static str,
}

/// The name of the event [`StrandEvent::Cycles`].
pub const CYCLES: &str = "cycles";

/// Returns all of a unit's events, including those that a recording cannot cause.
#[must_use]
pub fn all(unit: SampledUnit) -> Vec<Listed> {
    let sparc = |event: &SparcEvent| Listed {
        name: event.name().to_owned(),
        occurs: event.is_modelled(),
        about: event.absence().unwrap_or(event.description()),
    };
    let r10000 = |event: &R10000Event| {
        let absence = r10000::absence(*event, true, MAX_PROCESSORS);
        Listed {
            name: format!("{} {event}", *event as u8),
            occurs: absence.is_none(),
            about: absence.or(r10000::limit(*event)).unwrap_or_default(),
        }
    };
    match unit {
        SampledUnit::Sparc => {
            let cycles = Listed { name: CYCLES.to_owned(), occurs: true, about: ABOUT_CYCLES };
            [cycles].into_iter().chain(SparcEvent::ALL.iter().map(sparc)).collect()
        }
        SampledUnit::R10000 => R10000Event::ALL.iter().map(r10000).collect(),
    }
}

const ABOUT_CYCLES: &str = "Cycles for which strands execute threads or wait for memory, by the simulator's clock. %pic has no such event.";

fn names(list: &str) -> Result<Vec<&str>, EventError> {
    let names: Vec<_> = list.split(',').map(str::trim).collect();
    if names.contains(&"") {
        return Err(EventError::EmptyName(list.to_owned()));
    }
    Ok(names)
}

/// Returns the events unchanged, or an error if an event is selected twice.
fn once<E: PartialEq>(selected: Vec<Selected<E>>) -> Result<Vec<Selected<E>>, EventError> {
    for (at, one) in selected.iter().enumerate() {
        if selected[..at].iter().any(|other| other.event == one.event) {
            return Err(EventError::Twice(one.name));
        }
    }
    Ok(selected)
}

/// Parses a list of a strand's events. `flow` is `true` if the recording [has control flow](crate::recording::Recording::has_flow).
///
/// # Errors
/// Returns an error if a name is unknown, or if an event is named twice.
pub fn sparc(list: &str, flow: bool) -> Result<Vec<Selected<StrandEvent>>, EventError> {
    let select = |name: &&str| {
        if *name == CYCLES {
            let (event, usual) = (StrandEvent::Cycles, STRAND_CYCLE_PERIOD);
            return Ok(Selected { event, name: CYCLES, absence: None, usual });
        }
        let event = match *name {
            "instructions" => Some(SparcEvent::Instructions),
            name => SparcEvent::from_name(name).or_else(|| SparcEvent::from_papi_name(name)),
        };
        let all = || [CYCLES].into_iter().chain(SparcEvent::ALL.iter().map(|event| event.name()));
        let event =
            event.ok_or_else(|| EventError::Unknown(unknown("SPARC event", name, all())))?;
        Ok(Selected {
            event: StrandEvent::Counted(event.into()),
            name: event.name(),
            absence: match event {
                SparcEvent::BranchesCompleted | SparcEvent::BranchesTaken if !flow => {
                    Some(r10000::NO_BRANCHES)
                }
                SparcEvent::FguArithmetic if !flow => Some(r10000::NO_CLASSES),
                _ => event.absence(),
            },
            usual: match event {
                SparcEvent::Instructions | SparcEvent::OtherInstructions => INSTRUCTION_PERIOD,
                SparcEvent::Loads
                | SparcEvent::Stores
                | SparcEvent::CrossbarStores
                | SparcEvent::BranchesCompleted
                | SparcEvent::BranchesTaken => MEMORY_PERIOD,
                _ => RARE_PERIOD,
            },
        })
    };
    once(names(list)?.iter().map(select).collect::<Result<_, _>>()?)
}

/// Returns the selected events that a counter can count.
pub(super) fn counted(selected: &[Selected<StrandEvent>]) -> Vec<Selected<SparcSelect>> {
    let counted = selected.iter().filter_map(|one| {
        let Selected { name, absence, usual, .. } = *one;
        Some(Selected { event: one.event.select()?, name, absence, usual })
    });
    counted.collect()
}

/// Parses a list of events for an R10000's counters. The list contains names or numbers of events, as in `perfex`. An event that both
/// counters can count goes to the counter that has fewer of the listed events. `flow` says whether the recording [has control
/// flow](crate::recording::Recording::has_flow). `processors` is the number of processors that execute the recording.
///
/// # Errors
/// Returns an error if a name or number is unknown, or if an event is named twice.
pub fn r10000(
    list: &str,
    flow: bool,
    processors: usize,
) -> Result<Vec<Selected<R10000Event>>, EventError> {
    let names = names(list)?;
    let candidates =
        names.iter().map(|name| r10000_candidates(name)).collect::<Result<Vec<_>, EventError>>()?;
    let mut load = [0; 2];
    for events in &candidates {
        if let [event] = events[..] {
            load[event.counter().index()] += 1;
        }
    }
    let mut selected: Vec<Selected<R10000Event>> = Vec::new();
    for events in candidates {
        let free = |event: &&R10000Event| !selected.iter().any(|one| one.event == **event);
        let free = events.iter().filter(free);
        let easiest = free.min_by_key(|event| load[event.counter().index()]);
        let event = *easiest.unwrap_or(&events[0]);
        if events.len() > 1 {
            load[event.counter().index()] += 1;
        }
        let (name, usual) = (event.name(), r10000_period(event));
        let absence = r10000::absence(event, flow, processors);
        selected.push(Selected { event, name, absence, usual });
    }
    once(selected)
}

fn r10000_candidates(name: &str) -> Result<Vec<R10000Event>, EventError> {
    if let Ok(number) = name.parse::<usize>() {
        let event = R10000Event::ALL.get(number);
        let event = event.ok_or(EventError::UnknownNumber(number))?;
        return Ok(vec![*event]);
    }
    let full = match name {
        "instructions" => "graduated_instructions",
        name => name,
    };
    let events: Vec<_> = R10000Event::named(full).collect();
    let all = || R10000Event::ALL.iter().map(|event| event.name());
    if events.is_empty() {
        return Err(EventError::Unknown(unknown("R10000 event", name, all())));
    }
    Ok(events)
}

fn r10000_period(event: R10000Event) -> u32 {
    use R10000Event as Event;
    match event {
        Event::Cycles0 | Event::Cycles1 => CYCLE_PERIOD,
        Event::Issued | Event::Graduated0 | Event::Graduated1 => INSTRUCTION_PERIOD,
        Event::LoadsIssued
        | Event::StoresIssued
        | Event::LoadsGraduated
        | Event::StoresGraduated
        | Event::BranchesDecoded => MEMORY_PERIOD,
        _ => RARE_PERIOD,
    }
}

/// The usual period for a strand's cycles. A sample costs the strand no time, so the period is short, and even a short program gets enough
/// samples.
const STRAND_CYCLE_PERIOD: u32 = 211;

/// The usual period for an R10000's cycles. All usual periods are prime, so that a loop is rarely sampled at the same instruction each
/// time.
const CYCLE_PERIOD: u32 = 2003;

/// The usual period for events that nearly every instruction causes.
const INSTRUCTION_PERIOD: u32 = 701;

/// The usual period for events that about one instruction in ten causes.
const MEMORY_PERIOD: u32 = 61;

const RARE_PERIOD: u32 = 13;
