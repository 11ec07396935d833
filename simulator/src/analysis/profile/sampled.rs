//! The counts and samples that guests have taken.

use guest_abi::sampling::{CounterUnit, EventReport};

use super::events::{Rate, Selected};
use super::guest::{Samples, SamplingGuest};

/// One event's count and samples; see [`EventProfile`].
pub(super) struct SampledEvent {
    pub(super) name: &'static str,
    pub(super) absence: Option<&'static str>,
    pub(super) period: u32,
    pub(super) lost: u64,
    pub(super) missed: u64,
    pub(super) count: u64,
    pub(super) count_error: Option<u64>,
    pub(super) counted: u64,
    pub(super) taken: Samples,
}

impl SampledEvent {
    /// Returns each event's counts and samples, summed over all guests.
    pub(super) fn of_guests<U: CounterUnit>(
        guests: Vec<SamplingGuest<U>>,
        selected: &[Selected<U::Event>],
        rate: Rate,
    ) -> Vec<Self> {
        let event = |one: &Selected<U::Event>| {
            let found: Vec<EventReport<U::Event>> =
                guests.iter().filter_map(|guest| guest.report(one.event)).collect();
            let estimates = || found.iter().filter_map(|found| found.estimate);
            Self {
                name: one.name,
                absence: one.absence,
                period: rate.period(one).events(),
                lost: found.iter().map(|found| found.lost).sum(),
                missed: found.iter().map(|found| found.missed).sum(),
                count: estimates().map(|estimate| estimate.events).sum(),
                count_error: together(found.iter().map(|found| found.estimate?.error)),
                counted: estimates().map(|estimate| estimate.counted).sum(),
                taken: Samples::new(),
            }
        };
        let mut events: Vec<Self> = selected.iter().map(event).collect();
        for guest in guests {
            for (event, taken) in events.iter_mut().zip(guest.into_taken()) {
                for (point, weight) in taken {
                    *event.taken.entry(point).or_default() += weight;
                }
            }
        }
        events
    }
}

/// Returns the standard error of a sum, rounded up. `errors` are the standard errors of the sum's terms, which are
/// independent.
fn together(errors: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let variance = errors.map(|error| error.map(|error| u128::from(error).pow(2)));
    let variance: u128 = variance.sum::<Option<u128>>()?;
    let root = variance.isqrt();
    u64::try_from(root + u128::from(root * root < variance)).ok()
}
