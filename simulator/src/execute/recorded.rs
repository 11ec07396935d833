//! Compares the events that a hypervisor has recorded with the hypercalls that the machine saw.

use std::collections::BTreeSet;
use std::fmt;

use guest_abi::trap::{VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{HvError, PerfReg, RegisterKind, StrandId, Trap};
use hv_core::trace::{FastCall, SetVersion, TraceEvent};
use perfctr_service::trace::{Get, GetRefused, HubConflict, Set, SetRefused};

use super::calls::Call;
use crate::events::kinds::EventKinds;
use crate::events::{Stream, StreamEntry, TracedEvent};
use crate::machine::guests::NamedGuest;

/// The result of a comparison, in numbers of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// The number of events that the machine saw: hypercalls that returned, and refusals because a hub was in use.
    pub seen: u64,
    /// The number of events in `seen` that the hypervisor recorded exactly as the machine saw them.
    pub recorded: u64,
    /// The number of events in `seen` that are missing because the rings have gaps.
    pub lost: u64,
    /// The number of recorded events for hypercalls that did not return.
    pub unreturned: u64,
    /// The number of other recorded events, such as changes of rights.
    pub others: u64,
    /// The number of events that the rings report as lost but that the machine did not see.
    pub others_lost: u64,
    /// The number of FAST calls that returned, but whose function has no recorded event. A hypervisor need not record the functions of
    /// services other than the performance counter service.
    pub unrecorded: u64,
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seen, recorded, lost, unreturned, others, others_lost, unrecorded } = self;
        write!(f, "{recorded} recorded + {lost} lost = {seen} that the machine saw")?;
        for (number, what) in [
            (unreturned, "of calls that did not return"),
            (others, "that the machine does not see"),
            (others_lost, "lost events that the machine did not see"),
            (unrecorded, "calls of functions that are not recorded"),
        ] {
            if *number > 0 {
                write!(f, "; {number} {what}")?;
            }
        }
        Ok(())
    }
}

/// How the recorded events differ from what the machine saw.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Difference {
    #[error("strand {strand} recorded {recorded} at {time}, when the machine saw no call")]
    NotSeen { strand: StrandId, time: u64, recorded: String },
    #[error("strand {strand} recorded {recorded} at {time}, but the machine saw {seen}")]
    Other { strand: StrandId, time: u64, recorded: String, seen: String },
    #[error(
        "strand {strand} did not record {missing} events before {time}, of which its ring counts {lost} as lost"
    )]
    Missing { strand: StrandId, time: u64, missing: u64, lost: u64 },
}

/// An event that the hypervisor should record for a call.
struct Expected {
    began: u64,
    ended: u64,
    event: TracedEvent,
    /// Whether the call has returned. The event of a call that has not returned may have any status, or be missing.
    returned: bool,
}

impl Expected {
    /// Returns whether an event's times are consistent with the event being recorded during the call. Recorded times are rounded down to
    /// multiples of `resolution`.
    fn spans(&self, event: &TracedEvent, kinds: &EventKinds, resolution: u64) -> bool {
        let took = event.field(kinds, "duration").unwrap_or(0);
        self.ended >= event.time && self.began + took < event.time.saturating_add(resolution)
    }

    /// Returns whether a recorded event agrees with the expected one. Ignores the fields `duration` and `why`. Compares `status` and
    /// `value` only if the call has returned.
    fn is(&self, event: &TracedEvent, kinds: &EventKinds) -> bool {
        let seen = |name: &str| match name {
            "duration" | "why" => false,
            "status" | "value" => self.returned,
            _ => true,
        };
        let mut both = self.event.fields(kinds).zip(event.fields(kinds));
        self.event.id == event.id && both.all(|(own, other)| !seen(&own.0.name) || own == other)
    }
}

/// Compares the events in the rings with the calls that returned and the calls that did not. Each strand's calls must be in the order in
/// which it made them.
///
/// # Errors
/// An event differs from the expected event, or an event is missing although the ring has no gap there.
pub fn compare(
    streams: &[Stream],
    resolution: u64,
    (calls, unreturned): (&[Call], &[Call]),
    guests: &[NamedGuest],
) -> Result<Compared, Difference> {
    let (mut all, kinds) = (Compared::default(), EventKinds::default());
    let mut recorded_functions = BTreeSet::new();
    for event in streams.iter().flat_map(Stream::events).filter(|event| event.id == FastCall::ID) {
        recorded_functions.extend(event.field(&kinds, "function"));
    }
    let is_recorded = |call: &Call| {
        let is_own = [VFALLS_GET_PERFREG, VFALLS_SET_PERFREG].contains(&call.function);
        call.trap != Trap::Fast || is_own || recorded_functions.contains(&call.function)
    };
    for strand in (0..StrandId::COUNT).filter_map(StrandId::new) {
        let guest = guests.iter().position(|guest| guest.config.strands.contains(strand));
        let guest = guest.unwrap_or(0) as u8;
        let mut seen = Vec::new();
        for (calls, returned) in [(calls, true), (unreturned, false)] {
            let own = calls.iter().filter(|call| call.strand == strand);
            let (recorded, unrecorded): (Vec<_>, Vec<_>) = own.partition(|call| is_recorded(call));
            recorded.into_iter().for_each(|call| expect(&mut seen, call, guest, returned));
            all.unrecorded += if returned { unrecorded.len() as u64 } else { 0 };
        }
        seen.sort_by_key(|expected: &Expected| expected.began);
        // If a call did not return, it ended no later than the start of the strand's next call.
        let mut next = u64::MAX;
        for call in seen.chunk_by_mut(|one, other| one.began == other.began).rev() {
            call.iter_mut().for_each(|expected| expected.ended = expected.ended.min(next));
            next = call[0].began;
        }
        let stream = streams.iter().find(|stream| stream.strand == strand);
        let entries = stream.map_or(&[][..], |stream| &stream.entries);
        StrandComparison { strand, kinds: &kinds, seen: &seen, lost: 0, all: &mut all }
            .compare(entries, resolution)?;
    }
    Ok(all)
}

/// Appends the events that the hypervisor should record for a call. For a call that has not returned, these are the events for success and
/// for a refusal because the hub is in use.
fn expect(seen: &mut Vec<Expected>, call: &Call, guest: u8, returned: bool) {
    let Call { began, strand, .. } = *call;
    let ended = if returned { call.ended } else { u64::MAX };
    let statuses = if returned { vec![call.status] } else { vec![0, HvError::WouldBlock.number()] };
    for status in statuses.into_iter().rev() {
        let call = Call { status, ..*call };
        let mut push = |event| seen.push(Expected { began, ended, event, returned });
        if let Some(hub) = taken_hub(&call) {
            let conflict = HubConflict { hub, why: 0, guest, strand: strand.number() };
            let payload = conflict.payload().as_ref().into();
            push(TracedEvent { time: ended, id: HubConflict::ID, payload });
        }
        call.event(guest).into_iter().for_each(push);
    }
}

/// Returns the hub that a call could not use because another strand was using it; `None` for all other calls.
fn taken_hub(call: &Call) -> Option<u8> {
    let is_access = [VFALLS_GET_PERFREG, VFALLS_SET_PERFREG].contains(&call.function);
    let refused = call.trap == Trap::Fast && call.status == HvError::WouldBlock.number();
    match PerfReg::new(call.arguments[0])?.kind() {
        RegisterKind::Hub { hub, .. } if is_access && refused => Some(hub.index() as u8),
        _ => None,
    }
}

/// Compares the events in one strand's ring with the expected events.
struct StrandComparison<'a> {
    strand: StrandId,
    kinds: &'a EventKinds,
    /// The expected events that are still to be compared.
    seen: &'a [Expected],
    /// The number of events that the ring has lost since the last compared event.
    lost: u64,
    all: &'a mut Compared,
}

impl StrandComparison<'_> {
    fn compare(mut self, entries: &[StreamEntry], resolution: u64) -> Result<(), Difference> {
        for entry in entries {
            match entry {
                StreamEntry::Lost(more) => self.lost += more,
                StreamEntry::Event(event) => self.event(event, resolution)?,
            }
        }
        self.pass(self.seen.len(), u64::MAX)
    }

    fn event(&mut self, event: &TracedEvent, resolution: u64) -> Result<(), Difference> {
        let (strand, kinds, time) = (self.strand, self.kinds, event.time);
        let here = self.seen.iter().enumerate().skip_while(|(_, seen)| seen.ended < time);
        let mut here = here.take_while(|(_, seen)| seen.began < time.saturating_add(resolution));
        let equal = |(_, seen): &(usize, &Expected)| {
            seen.spans(event, kinds, resolution) && seen.is(event, kinds)
        };
        if let Some((at, seen)) = here.clone().find(equal) {
            let returned = seen.returned;
            self.pass(at, time)?;
            self.seen = &self.seen[1..];
            self.all.seen += u64::from(returned);
            self.all.recorded += u64::from(returned);
            self.all.unreturned += u64::from(!returned);
            return Ok(());
        }
        let is_call = matches!(
            event.id,
            Get::ID | Set::ID | GetRefused::ID | SetRefused::ID | SetVersion::ID | FastCall::ID
        );
        match here.next() {
            _ if !is_call => self.all.others += 1,
            None => return Err(Difference::NotSeen { strand, time, recorded: text(event, kinds) }),
            Some((_, seen)) => {
                let (recorded, seen) = (text(event, kinds), text(&seen.event, kinds));
                return Err(Difference::Other { strand, time, recorded, seen });
            }
        }
        Ok(())
    }

    /// Skips the expected events before index `to`, which the ring must have lost.
    fn pass(&mut self, to: usize, time: u64) -> Result<(), Difference> {
        let (passed, rest) = self.seen.split_at(to);
        let missing = passed.iter().filter(|seen| seen.returned).count() as u64;
        let Some(others) = self.lost.checked_sub(missing) else {
            let (strand, lost) = (self.strand, self.lost);
            return Err(Difference::Missing { strand, time, missing, lost });
        };
        self.all.others_lost += others;
        self.all.seen += missing;
        self.all.lost += missing;
        (self.seen, self.lost) = (rest, 0);
        Ok(())
    }
}

fn text(event: &TracedEvent, kinds: &EventKinds) -> String {
    let fields = event.fields(kinds).map(|(field, value)| format!(" {}={value:#x}", field.name));
    format!("{}{}", event.name(kinds), fields.collect::<String>())
}

#[cfg(test)]
mod tests {
    use guest_abi::StrandId;
    use perfctr_service::{Grant, GuestConfig};

    use super::*;

    const STRAND: StrandId = StrandId::new(72).unwrap();

    /// Returns a call that gets register 2. The call begins at `began`, takes 40 ticks and returns `value`.
    fn get(began: u64, value: u64) -> Call {
        Call {
            strand: STRAND,
            trap: Trap::Fast,
            function: VFALLS_GET_PERFREG,
            arguments: [2, 0, 0, 0, 0],
            status: 0,
            value,
            began,
            ended: began + 40,
        }
    }

    /// Returns the event that the hypervisor records for a call. The event begins 10 ticks after the call begins, and ends 10 ticks before
    /// the call ends.
    fn recorded(call: Call) -> StreamEntry {
        let (began, ended) = (call.began + 10, call.ended - 10);
        StreamEntry::Event(Call { began, ended, ..call }.event(0).unwrap())
    }

    fn compared(
        entries: Vec<StreamEntry>,
        calls: &[Call],
        unreturned: &[Call],
    ) -> Result<Compared, String> {
        let guest = NamedGuest {
            name: "guest".to_owned(),
            config: GuestConfig::new([STRAND].into_iter().collect(), Grant::ALL),
        };
        let streams = [Stream { strand: STRAND, entries }];
        compare(&streams, 1, (calls, unreturned), &[guest]).map_err(|error| error.to_string())
    }

    #[test]
    fn recorded_and_lost_are_what_the_machine_saw() {
        let calls = [100, 200, 300, 400].map(|began| get(began, began));
        let all = calls.map(recorded).to_vec();
        let equal = Compared { seen: 4, recorded: 4, ..Compared::default() };
        assert_eq!(compared(all.clone(), &calls, &[]), Ok(equal));
        let lost = vec![all[0].clone(), StreamEntry::Lost(3), all[3].clone()];
        let counts =
            Compared { seen: 4, recorded: 2, lost: 2, others_lost: 1, ..Compared::default() };
        assert_eq!(compared(lost, &calls, &[]), Ok(counts));
        let end = vec![all[0].clone(), StreamEntry::Lost(3)];
        let counts = Compared { seen: 4, recorded: 1, lost: 3, ..Compared::default() };
        assert_eq!(compared(end, &calls, &[]), Ok(counts));
        assert_eq!(counts.to_string(), "1 recorded + 3 lost = 4 that the machine saw");
    }

    #[test]
    fn calls_that_do_not_return_may_be_recorded() {
        let calls = [get(100, 1), get(300, 3)];
        let exit = Call { ended: 200, ..get(200, 0) };
        let counts = Compared { seen: 2, recorded: 2, ..Compared::default() };
        assert_eq!(compared(calls.map(recorded).to_vec(), &calls, &[exit]), Ok(counts));
        let with = [calls[0], get(200, 9), calls[1]].map(recorded).to_vec();
        let counts = Compared { unreturned: 1, ..counts };
        assert_eq!(compared(with, &calls, &[exit]), Ok(counts));
    }

    #[test]
    fn differences() {
        let calls = [100, 200].map(|began| get(began, began));
        let first = recorded(calls[0]);
        let error = |entries: &[StreamEntry]| compared(entries.to_vec(), &calls, &[]).unwrap_err();
        assert_eq!(
            error(std::slice::from_ref(&first)),
            "strand 72 did not record 1 events before 18446744073709551615, of which its ring counts 0 as lost"
        );
        let other = recorded(get(200, 7));
        assert_eq!(
            error(&[first.clone(), other]),
            "strand 72 recorded get_perfreg perfreg=0x2 status=0x0 guest=0x0 strand=0x48 duration=0x14 value=0x7 at 230, but the machine saw get_perfreg perfreg=0x2 status=0x0 guest=0x0 strand=0x48 duration=0x28 value=0xc8"
        );
        let early = recorded(get(185, 200));
        assert!(error(&[first.clone(), early]).contains("but the machine saw"));
        let phantom = recorded(get(150, 150));
        assert!(error(&[first, phantom]).ends_with("when the machine saw no call"));
    }
}
