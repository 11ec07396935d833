//! `--events`: what each kind of unit counts.

use anyhow::{anyhow, bail};
use guest_abi::Counter;
use guest_abi::event::{AsuEvent, DramEvent, GpdEvent, LpuEvent, SparcEvent};

use crate::memory::is_modelled;
use crate::nearest::unknown;

/// One or two events for the two counters of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice<E> {
    first: E,
    second: Option<E>,
}

impl<E: Copy> Choice<E> {
    /// The event of a counter. A counter that was given none counts the event of the other, and is not reported.
    pub fn event(&self, counter: Counter) -> E {
        match counter {
            Counter::Pic0 => self.first,
            Counter::Pic1 => self.second.unwrap_or(self.first),
        }
    }

    /// The counters that were given an event.
    pub fn counters(&self) -> &'static [Counter] {
        if self.second.is_some() {
            Counter::ALL
        } else {
            &[Counter::Pic0]
        }
    }

    fn add(choice: &mut Option<Self>, event: E) -> Result<(), &'static str> {
        match choice {
            None => {
                *choice = Some(Self {
                    first: event,
                    second: None,
                })
            }
            Some(Self {
                second: second @ None,
                ..
            }) => *second = Some(event),
            Some(_) => return Err("a unit has two counters"),
        }
        Ok(())
    }
}

/// What is counted, by kind of unit. A kind without events is left alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// DRAM channels.
    pub dram: Option<Choice<DramEvent>>,
    /// Link port units.
    pub lpu: Option<Choice<LpuEvent>>,
    /// General purpose design blocks.
    pub gpd: Option<Choice<GpdEvent>>,
    /// Address serialization units.
    pub asu: Option<Choice<AsuEvent>>,
    /// The strands' %pic.
    pub pic: Option<Choice<SparcEvent>>,
}

/// The classes, as they are written before the colon.
const CLASSES: [&str; 5] = ["dram", "lpu", "gpd", "asu", "pic"];

/// What is counted unless told otherwise.
pub const DEFAULT: &str = "dram:mem_reads,dram:mem_writes,lpu:cycles_READ_or_INV,lpu:cycles_cache_hit,\
                           asu:asu_in_pck,asu:asu_out_pck,pic:Instr_cnt,pic:L2_dmiss_ld";

impl Events {
    /// Reads a list of `CLASS:EVENT`.
    ///
    /// # Errors
    /// The text is not such a list, a class or event is unknown, or a class has more than two events.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let mut events = Self::default();
        for item in text.split(',').map(str::trim) {
            let Some((class, name)) = item.split_once(':') else {
                bail!(
                    "found '{item}', expected CLASS:EVENT with CLASS one of {}",
                    CLASSES.join(", ")
                )
            };
            events.add(class, name)?.map_err(|problem| {
                anyhow!("'{item}' is one event of {class} too many: {problem}")
            })?;
        }
        Ok(events)
    }

    /// The outer error is about the names, the inner one about their number.
    fn add(&mut self, class: &str, name: &str) -> anyhow::Result<Result<(), &'static str>> {
        macro_rules! add {
            ($field:ident, $event:ty, $find:expr) => {{
                let names = <$event>::ALL.iter().map(|event| event.name());
                let find: fn(&str) -> Option<$event> = $find;
                let found = find(name)
                    .ok_or_else(|| anyhow!(unknown(&format!("{class} event"), name, names)))?;
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
            other => bail!(unknown("class of events", other, CLASSES.into_iter())),
        })
    }

    /// The names of the chosen events that the memory system does not bring about. They read 0.
    pub fn not_modelled(&self) -> Vec<String> {
        let mut names = Vec::new();
        macro_rules! look {
            ($($field:ident)*) => { $(
                if let Some(choice) = &self.$field {
                    for counter in choice.counters() {
                        let event = choice.event(*counter);
                        // Counting nothing is what the event called none is for.
                        if !is_modelled(event) && event.name() != "none" {
                            names.push(format!("{}:{}", stringify!($field), event.name()));
                        }
                    }
                }
            )* };
        }
        look!(dram lpu gpd asu pic);
        names
    }

    /// The chosen classes that a machine without hubs does not have.
    pub fn of_hubs(&self) -> Vec<&'static str> {
        [
            ("lpu", self.lpu.is_some()),
            ("gpd", self.gpd.is_some()),
            ("asu", self.asu.is_some()),
        ]
        .into_iter()
        .filter_map(|(class, chosen)| chosen.then_some(class))
        .collect()
    }

    /// Whether nothing is counted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Without the classes that a machine without hubs does not have.
    #[must_use]
    pub fn without_hubs(self) -> Self {
        Self {
            lpu: None,
            gpd: None,
            asu: None,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Events::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn lists_of_events() {
        let events =
            Events::parse("dram:mem_reads, lpu:cycles_c2c_portX,dram:wb_buf_hits,pic:PAPI_tot_ins")
                .unwrap();
        let dram = events.dram.unwrap();
        assert_eq!(dram.event(Counter::Pic0), DramEvent::Reads);
        assert_eq!(dram.event(Counter::Pic1), DramEvent::WriteBackBufferHits);
        assert_eq!(events.lpu.unwrap().counters(), [Counter::Pic0]);
        assert_eq!(
            events.pic.unwrap().event(Counter::Pic0),
            SparcEvent::Instructions
        );
        assert_eq!((events.gpd, events.asu), (None, None));
    }

    #[test]
    fn what_is_wrong_with_a_list() {
        assert_eq!(
            error("mem_reads"),
            "found 'mem_reads', expected CLASS:EVENT with CLASS one of dram, lpu, gpd, asu, pic"
        );
        assert_eq!(
            error("dam:mem_reads"),
            "there is no class of events 'dam'; did you mean dram?"
        );
        assert_eq!(
            error("dram:mem_raeds"),
            "there is no dram event 'mem_raeds'; did you mean mem_reads?"
        );
        assert_eq!(
            error("gpd:none,gpd:clock_cycles,gpd:none"),
            "'gpd:none' is one event of gpd too many: a unit has two counters"
        );
    }

    #[test]
    fn events_without_a_model_are_named() {
        let events =
            Events::parse("pic:ITLB_miss,pic:Instr_cnt,lpu:cycles_CRC_errors,gpd:none").unwrap();
        assert_eq!(
            events.not_modelled(),
            ["lpu:cycles_CRC_errors", "pic:ITLB_miss"]
        );
        assert!(Events::parse(DEFAULT).unwrap().not_modelled().is_empty());
    }
}
