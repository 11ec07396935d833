//! Compares the counts that a guest has measured with the true counts.

use guest_abi::layout::PerfConfig;
use guest_abi::{Counter, Node, Pmu};
use hv_core::GuestId;
use perfctr_service::statistics::Class;

use super::measure::{CountedEvent, CounterLocation, CounterPair};
use crate::analysis::details::CounterName;
use crate::machine::board::{Board, StatusCounts};
use crate::machine::guests::NamedGuest;
use crate::memory::Truth;
use crate::run::{CounterResult, GuestCalls, Hypercalls, class};

pub(super) fn guest_calls(guests: &[NamedGuest], board: &Board<'_>) -> Vec<GuestCalls> {
    let result = |((id, guest), tally): ((GuestId, &NamedGuest), &StatusCounts)| {
        let statistics = board.service().statistics(id);
        let calls = |class: &Class| Hypercalls::for_class(&statistics, *class);
        let classes = Class::ALL.iter().map(|class| (class.name().into(), calls(class)));
        GuestCalls {
            name: guest.name.clone(),
            grant: board.service().grants().get(id).to_string(),
            hypercalls: Hypercalls::new(tally),
            by_class: classes.filter(|(_, calls)| calls.total != 0).collect(),
        }
    };
    let ids = (0..).map_while(GuestId::new);
    let tallies = board.tallies();
    ids.zip(guests).zip(&tallies).map(result).collect()
}

/// Returns a PMU's or strand's counters, each with its true count.
pub(super) fn counters(
    pair: &CounterPair,
    truth: &Truth,
    perf_config: PerfConfig,
) -> Vec<CounterResult> {
    let strand = match pair.place {
        CounterLocation::Pic(strand) => Some(strand),
        CounterLocation::Pmu(_) => None,
    };
    let result = |(counter, event): &(Counter, CountedEvent)| {
        let register = pair.place.register(*counter);
        CounterResult {
            perfreg: register,
            counter: *counter,
            strand,
            name: register.map_or("%pic", |register| register.name()).into(),
            event: event.name().into(),
            measured: pair.totals[counter.index()],
            truth: true_count(pair.place, *event, truth, perf_config),
        }
    };
    pair.events.iter().map(result).collect()
}

/// Returns the measured and true counts of a PMU's or strand's counters.
pub(super) fn counts(
    pair: &CounterPair,
    truth: &Truth,
    perf_config: PerfConfig,
) -> impl Iterator<Item = [u64; 2]> {
    pair.events.iter().map(move |(counter, event)| {
        [pair.totals[counter.index()], true_count(pair.place, *event, truth, perf_config)]
    })
}

/// Returns the names of a PMU's or strand's counters.
pub(super) fn names(pair: &CounterPair) -> impl Iterator<Item = CounterName> {
    let (node, hub, strand) = match pair.place {
        CounterLocation::Pmu(Pmu::Dram(dram)) => (Some(dram.node), None, None),
        CounterLocation::Pmu(Pmu::Lpu(lpu)) => (None, Some(lpu.hub), None),
        CounterLocation::Pmu(Pmu::Gpd(gpd)) => (None, Some(gpd.hub), None),
        CounterLocation::Pmu(Pmu::Asu(asu)) => (None, Some(asu.hub), None),
        CounterLocation::Pic(strand) => (Some(strand.node()), None, Some(strand)),
    };
    let (class, unit) = match pair.place {
        CounterLocation::Pmu(pmu) => (class(Some(pmu)), pmu.to_string()),
        CounterLocation::Pic(strand) => (class(None), format!("strand {strand}")),
    };
    pair.events.iter().map(move |(counter, event)| CounterName {
        class: class.into(),
        unit: unit.clone(),
        name: (pair.place.register(*counter)).map_or("%pic", |register| register.name()).into(),
        counter: *counter,
        event: event.name().into(),
        node,
        hub,
        strand,
    })
}

/// Returns how many of these events really happened.
fn true_count(
    place: CounterLocation,
    event: CountedEvent,
    truth: &Truth,
    perf_config: PerfConfig,
) -> u64 {
    match (place, event) {
        (CounterLocation::Pic(strand), CountedEvent::Pic(event)) => {
            truth.strand(strand, event.into(), perf_config)
        }
        (CounterLocation::Pmu(Pmu::Dram(dram)), CountedEvent::Dram(event)) => {
            truth.dram(dram.node, dram.mcu, event)
        }
        (CounterLocation::Pmu(Pmu::Lpu(lpu)), CountedEvent::Lpu(event)) => {
            Node::new(lpu.port.index()).map_or(0, |port| truth.lpu(lpu.hub, port, event))
        }
        (CounterLocation::Pmu(Pmu::Gpd(gpd)), CountedEvent::Gpd(event)) => {
            truth.gpd(gpd.hub, event)
        }
        (CounterLocation::Pmu(Pmu::Asu(asu)), CountedEvent::Asu(event)) => {
            truth.asu(asu.hub, event)
        }
        // Another kind of unit counts these events.
        _ => 0,
    }
}
