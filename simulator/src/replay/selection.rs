//! The events that each kind of unit counts.

use guest_abi::Counter;
use guest_abi::event::{AsuEvent, DramEvent, GpdEvent, LpuEvent, SparcEvent};
use platform::Machine;
use serde::Serialize;

use crate::memory::Modelled;
use crate::nearest::unknown;

/// One or two events for a unit's two counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice<E> {
    first: E,
    second: Option<E>,
}

impl<E: Copy> Choice<E> {
    const fn both(first: E, second: E) -> Option<Self> {
        Some(Self { first, second: Some(second) })
    }

    /// Returns the event that a counter counts. A counter without an event of its own counts the other counter's event, and is not
    /// reported.
    pub fn event(&self, counter: Counter) -> E {
        match counter {
            Counter::Pic0 => self.first,
            Counter::Pic1 => self.second.unwrap_or(self.first),
        }
    }

    /// Returns the counters that have an event of their own.
    pub fn counters(&self) -> &'static [Counter] {
        if self.second.is_some() { Counter::ALL } else { &[Counter::Pic0] }
    }

    pub(crate) fn events(&self) -> impl Iterator<Item = E> {
        [Some(self.first), self.second].into_iter().flatten()
    }

    /// Adds an event, unless a counter already counts it. Returns `false` if both counters have other events.
    fn add(choice: &mut Option<Self>, event: E) -> bool
    where
        E: PartialEq,
    {
        let (first, second) = match choice {
            Some(chosen) if chosen.events().any(|chosen| chosen == event) => return true,
            None => (event, None),
            Some(Self { first, second: None }) => (*first, Some(event)),
            Some(_) => return false,
        };
        *choice = Some(Self { first, second });
        true
    }
}

/// The events to count, by kind of unit. A guest does not program a unit for which there are no events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The DRAM channels' events; `None` if the guest does not program the channels.
    pub dram: Option<Choice<DramEvent>>,
    /// The link port units' events; `None` if the guest does not program these units.
    pub lpu: Option<Choice<LpuEvent>>,
    /// The general purpose design blocks' events; `None` if the guest does not program these blocks.
    pub gpd: Option<Choice<GpdEvent>>,
    /// The address serialization units' events; `None` if the guest does not program these units.
    pub asu: Option<Choice<AsuEvent>>,
    /// The events of the strands' %pic; `None` if the guest does not use %pic.
    pub pic: Option<Choice<SparcEvent>>,
}

/// An event that can be selected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
#[non_exhaustive]
pub struct Listed {
    pub class: &'static str,
    pub event: &'static str,
    pub description: &'static str,
    /// Why the event never happens in the simulator, so that its count is always 0; `None` if it can happen.
    pub absence: Option<&'static str>,
}

const CLASSES: [&str; 5] = ["dram", "lpu", "gpd", "asu", "pic"];

/// Why a string cannot be parsed as a list of events.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// This item has no colon.
    #[error("found '{0}', expected CLASS:EVENT with CLASS one of {list}", list = CLASSES.join(", "))]
    NotAnEvent(String),
    /// A class or an event is unknown. The message suggests similar names.
    #[error("{0}")]
    Unknown(String),
    /// A class has more than two events.
    #[error(
        "'{item}' is a third {class} event: a unit has two counters, and only stat without --scenario counts more events"
    )]
    #[allow(missing_docs, reason = "the message says it")]
    TooMany { item: String, class: String },
}

impl Selection {
    /// Parses a list of `CLASS:EVENT` items.
    ///
    /// # Errors
    /// Returns an error if an item is not `CLASS:EVENT`, if a class or event is unknown, or if a class has more than two events.
    pub fn parse(text: &str) -> Result<Self, SelectionError> {
        let mut selection = Self::default();
        for item in items(text) {
            let (class, name) = item?;
            if !selection.add(class, name)? {
                let (item, class) = (format!("{class}:{name}"), class.to_owned());
                return Err(SelectionError::TooMany { item, class });
            }
        }
        Ok(selection)
    }

    /// Parses a list of any number of `CLASS:EVENT` items, and divides the events into passes. The first pass counts the first two
    /// events of each class, the second pass the next two, and so on. An event that the list repeats is counted once.
    ///
    /// # Errors
    /// Returns an error if an item is not `CLASS:EVENT`, or if a class or event is unknown.
    pub fn passes(text: &str) -> Result<Vec<Self>, SelectionError> {
        let mut passes = vec![Self::default()];
        for item in items(text) {
            let (class, name) = item?;
            let mut number = 0;
            while !passes[number].add(class, name)? {
                number += 1;
                if number == passes.len() {
                    passes.push(Self::default());
                }
            }
        }
        Ok(passes)
    }

    /// Adds an event, unless it is already selected. Returns `false` if the class has two other events.
    fn add(&mut self, class: &str, name: &str) -> Result<bool, SelectionError> {
        macro_rules! add {
            ($field:ident, $event:ty, $find:expr) => {{
                let names = <$event>::ALL.iter().map(|event| event.name());
                let find: fn(&str) -> Option<$event> = $find;
                let unknown = || unknown(&format!("{class} event"), name, names);
                let found = find(name).ok_or_else(|| SelectionError::Unknown(unknown()))?;
                Choice::add(&mut self.$field, found)
            }};
        }
        Ok(match class {
            "dram" => add!(dram, DramEvent, DramEvent::from_name),
            "lpu" => add!(lpu, LpuEvent, LpuEvent::from_name),
            "gpd" => add!(gpd, GpdEvent, GpdEvent::from_name),
            "asu" => add!(asu, AsuEvent, AsuEvent::from_name),
            "pic" => add!(pic, SparcEvent, |name| {
                SparcEvent::from_name(name).or_else(|| SparcEvent::from_papi_name(name))
            }),
            other => {
                let names = CLASSES.into_iter();
                return Err(SelectionError::Unknown(unknown("event class", other, names)));
            }
        })
    }

    /// Returns a machine's default: reads and writes of DRAM, instructions, and loads that miss the L2 cache. If the machine has
    /// hubs, also requests, cache hits and packets.
    #[must_use]
    pub fn default_for(machine: Machine) -> Self {
        use SparcEvent::{Instructions, L2LoadMisses};
        let all = Self {
            dram: Choice::both(DramEvent::Reads, DramEvent::Writes),
            lpu: Choice::both(LpuEvent::ReadOrInvalidate, LpuEvent::CacheHit),
            gpd: None,
            asu: Choice::both(AsuEvent::PacketsIn, AsuEvent::PacketsOut),
            pic: Choice::both(Instructions, L2LoadMisses),
        };
        if machine.hubs().is_empty() { all.without_hubs() } else { all }
    }

    /// Returns all events of the units that the machine has.
    #[must_use]
    pub fn available_events(machine: Machine) -> Vec<Listed> {
        let mut all = Vec::new();
        macro_rules! list {
            ($($class:ident: $event:ty),*) => { $(
                all.extend(<$event>::ALL.iter().map(|event| Listed {
                    class: stringify!($class),
                    event: event.name(),
                    description: event.description(),
                    absence: event.absence(),
                }));
            )* };
        }
        list!(dram: DramEvent);
        if !machine.hubs().is_empty() {
            list!(lpu: LpuEvent, gpd: GpdEvent, asu: AsuEvent);
        }
        list!(pic: SparcEvent);
        all
    }

    /// Returns the names of the selected events that the memory system does not model. Their counts are 0.
    pub fn not_modelled(&self) -> Vec<String> {
        let mut names = Vec::new();
        macro_rules! look {
            ($($field:ident)*) => { $(
                for event in self.$field.iter().flat_map(Choice::events) {
                    // The event `none` counts nothing by definition, so it is not listed.
                    if !event.is_modelled() && event.name() != "none" {
                        names.push(format!("{}:{}", stringify!($field), event.name()));
                    }
                }
            )* };
        }
        look!(dram lpu gpd asu pic);
        names
    }

    /// Returns the names of the selected classes that belong to hubs.
    pub fn hub_classes(&self) -> Vec<&'static str> {
        [("lpu", self.lpu.is_some()), ("gpd", self.gpd.is_some()), ("asu", self.asu.is_some())]
            .into_iter()
            .filter_map(|(class, chosen)| chosen.then_some(class))
            .collect()
    }

    /// Returns `true` if no class has an event.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the selection without the classes that belong to hubs.
    #[must_use]
    pub fn without_hubs(self) -> Self {
        Self { lpu: None, gpd: None, asu: None, ..self }
    }
}

/// Splits a list into items, each of which is a class and an event.
fn items(text: &str) -> impl Iterator<Item = Result<(&str, &str), SelectionError>> {
    let items = text.split(',').map(str::trim);
    items
        .map(|item| item.split_once(':').ok_or_else(|| SelectionError::NotAnEvent(item.to_owned())))
}

#[cfg(test)]
mod tests {
    use platform::Model;

    use super::*;

    #[test]
    fn lists_of_events() {
        let list = "dram:mem_reads, lpu:cycles_c2c_portX,dram:wb_buf_hits,pic:PAPI_tot_ins";
        let events = Selection::parse(list).unwrap();
        let dram = events.dram.unwrap();
        assert_eq!(dram.event(Counter::Pic0), DramEvent::Reads);
        assert_eq!(dram.event(Counter::Pic1), DramEvent::WriteBackBufferHits);
        assert_eq!(events.lpu.unwrap().counters(), [Counter::Pic0]);
        assert_eq!(events.pic.unwrap().event(Counter::Pic0), SparcEvent::Instructions);
        assert_eq!((events.gpd, events.asu), (None, None));
    }

    #[test]
    fn invalid_lists_are_rejected() {
        for (list, error) in [
            (
                "mem_reads",
                "found 'mem_reads', expected CLASS:EVENT with CLASS one of dram, lpu, gpd, asu, pic",
            ),
            ("dam:mem_reads", "there is no event class 'dam'; did you mean dram?"),
            ("dram:mem_raeds", "there is no dram event 'mem_raeds'; did you mean mem_reads?"),
            (
                "asu:none,asu:clock_cycles,asu:none,asu:asu_in_pck",
                "'asu:asu_in_pck' is a third asu event: a unit has two counters, and only stat without --scenario counts \
                 more events",
            ),
        ] {
            assert_eq!(Selection::parse(list).unwrap_err().to_string(), error);
        }
    }

    #[test]
    fn a_pass_counts_two_events_of_each_class() {
        let list = "dram:mem_reads,pic:Instr_cnt,dram:mem_writes,dram:wb_buf_hits,pic:PAPI_tot_ins,dram:mem_writes";
        let passes = Selection::passes(list).unwrap();
        let events = |pass: &Selection| {
            let dram = pass.dram.iter().flat_map(Choice::events).map(|event| event.name());
            let pic = pass.pic.iter().flat_map(Choice::events).map(|event| event.name());
            dram.chain(pic).collect::<Vec<_>>()
        };
        let passes: Vec<_> = passes.iter().map(events).collect();
        assert_eq!(passes, [vec!["mem_reads", "mem_writes", "Instr_cnt"], vec!["wb_buf_hits"]]);
        let error = SelectionError::NotAnEvent("pic".into());
        assert_eq!(Selection::passes("pic:Instr_cnt,pic").unwrap_err(), error);
    }

    #[test]
    fn events_without_a_model_are_named() {
        let events =
            Selection::parse("pic:ITLB_miss,pic:Instr_cnt,lpu:cycles_CRC_errors,gpd:none").unwrap();
        assert_eq!(events.not_modelled(), ["lpu:cycles_CRC_errors", "pic:ITLB_miss"]);
        for (model, class) in [(Model::Batoka, "lpu"), (Model::Maramba, "dram")] {
            let selection = Selection::default_for(Machine::new(model, 1).unwrap());
            assert!(selection.not_modelled().is_empty());
            assert_eq!(selection.hub_classes().contains(&class), class == "lpu");
        }
    }
}
