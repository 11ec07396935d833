//! Follows guests' hypercalls as the machine sees them, from the trap until the guest continues.

use guest_abi::trap::{API_SET_VERSION, PerfFunction};
use guest_abi::{StrandId, Trap};
use hv_core::trace::{FastCall, SetVersion, TraceEvent};
use perfctr_service::trace::{Get, GetRefused, Set, SetRefused};

use crate::events::kinds::EventKinds;
use crate::events::layouts::LayoutName;
use crate::events::{Stream, StreamEntry, Trace, TracedEvent};
use crate::interpreter::Strand;
use crate::interpreter::instruction::Register;
use crate::machine::clock::HZ;
use crate::machine::guests::NamedGuest;

/// A hypercall. `status`, `value` and `ended` are valid only if the call has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Call {
    pub strand: StrandId,
    pub trap: Trap,
    /// The function number, in %o5.
    pub function: u64,
    /// %o0 to %o4 at the trap.
    pub arguments: [u64; 5],
    /// %o0 after the call.
    pub status: u64,
    /// %o1 after the call.
    pub value: u64,
    /// The time at which the guest trapped, in cycles since the machine started.
    pub began: u64,
    /// The time at which the guest continued, in cycles since the machine started.
    pub ended: u64,
}

/// A function that is called each time a hypercall returns to its guest.
pub type CallObserver = Box<dyn FnMut(&Call)>;

/// A hypercall in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingCall {
    call: Call,
    /// The address at which the guest will continue.
    returns: u64,
}

impl PendingCall {
    /// Returns the hypercall that a strand begins with this trap; `None` if the trap is not a hypercall.
    pub(super) fn new(
        id: StrandId,
        strand: &Strand,
        number: u16,
        returns: u64,
        now: u64,
    ) -> Option<Self> {
        let mut traps = [Trap::Fast, Trap::Core].into_iter();
        let trap = traps.find(|trap| number == 0x100 + u16::from(trap.number()))?;
        let [arguments @ .., function] = out_registers(strand);
        let (status, value, began, ended) = (0, 0, now, now);
        let call = Call { strand: id, trap, function, arguments, status, value, began, ended };
        Some(Self { call, returns })
    }

    /// Returns a call that has not returned, with the function and arguments at the trap. Its `status`, `value` and `ended` are not valid.
    pub(super) const fn unreturned(&self) -> Call {
        self.call
    }

    /// Returns the completed call; `None` if the strand continues at another address, as after mach_exit.
    pub(super) fn returned(&self, strand: &Strand, now: u64) -> Option<Call> {
        (strand.pc == self.returns).then(|| Call {
            status: out_registers(strand)[0],
            value: out_registers(strand)[1],
            ended: now,
            ..self.call
        })
    }
}

fn out_registers(strand: &Strand) -> [u64; 6] {
    let o0 = Register::O0.index() as u32;
    [0, 1, 2, 3, 4, 5].map(|number| strand.registers.get(Register::new(o0 + number)))
}

impl Call {
    /// Returns the event that the hypervisor's tracer should record for the call; `None` if the tracer should record nothing.
    #[must_use]
    pub fn event(&self, guest: u8) -> Option<TracedEvent> {
        let [first, second, third, ..] = self.arguments;
        let (strand, ok) = (self.strand.index() as u8, self.status == 0);
        let duration = u32::try_from(self.ended - self.began).unwrap_or(u32::MAX);
        let status = u16::try_from(self.status).unwrap_or(u16::MAX);
        Some(match (self.trap, self.function) {
            (Trap::Fast, function) => match PerfFunction::from_number(function) {
                Some(PerfFunction::VfallsGet) if ok => {
                    let (perfreg, value) = (first as u8, self.value);
                    self.traced(&Get { perfreg, status: 0, guest, strand, duration, value })
                }
                Some(PerfFunction::VfallsGet) => {
                    self.traced(&GetRefused { status, guest, strand, duration, perfreg: first })
                }
                Some(PerfFunction::VfallsSet) if ok => {
                    let (perfreg, value) = (first as u8, second);
                    self.traced(&Set { perfreg, status: 0, guest, strand, duration, value })
                }
                Some(PerfFunction::VfallsSet) => {
                    let (perfreg, value) = (first, second);
                    self.traced(&SetRefused { status, guest, strand, duration, perfreg, value })
                }
                None => self.traced(&FastCall { status, guest, strand, duration, function }),
            },
            (Trap::Core, API_SET_VERSION) => self.traced(&SetVersion {
                status,
                guest,
                strand,
                duration,
                group: first,
                major: second,
                minor: third,
                granted: if ok { self.value } else { 0 },
            }),
            (Trap::Core, _) => return None,
        })
    }

    fn traced<E: TraceEvent>(&self, event: &E) -> TracedEvent {
        TracedEvent { time: self.ended, id: E::ID, payload: event.payload().as_ref().into() }
    }
}

/// Returns the trace of the calls that `guests` made. `calls` must be in the order in which they returned.
#[must_use]
pub fn trace(calls: &[Call], guests: &[NamedGuest]) -> Trace {
    let of_strand = |number| {
        let strand = StrandId::new(number)?;
        let guest = guests.iter().position(|guest| guest.config.strands.contains(strand))?;
        let own = calls.iter().filter(|call| call.strand == strand);
        let entries: Vec<_> =
            own.filter_map(|call| call.event(guest as u8)).map(StreamEntry::Event).collect();
        (!entries.is_empty()).then_some(Stream { strand, entries })
    };
    Trace {
        hz: HZ,
        layout: LayoutName::Clock27,
        began: 0,
        epoch: None,
        missed: 0,
        guests: guests.iter().map(|guest| guest.name.clone()).collect(),
        kinds: EventKinds::default(),
        streams: (0..StrandId::COUNT).filter_map(of_strand).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::calls::{TracedCall as Described, TracedFunction};
    use perfctr_service::{Grant, GuestConfig};

    const STRAND: StrandId = StrandId::new(72).unwrap();

    fn call(trap: Trap, function: u64, arguments: [u64; 5], status: u64, value: u64) -> Call {
        Call { strand: STRAND, trap, function, arguments, status, value, began: 1000, ended: 1040 }
    }

    #[test]
    fn calls_are_events() {
        let cases = [
            // Two reads (register 2 and an unknown register), a write, a negotiation, and another function.
            (call(Trap::Fast, 0x106, [2, 0, 0, 0, 0], 0, 77), TracedFunction::Get(2), Some(77)),
            (call(Trap::Fast, 0x106, [90, 5, 0, 0, 0], 6, 5), TracedFunction::Get(90), None),
            (call(Trap::Fast, 0x107, [3, 99, 0, 0, 0], 0, 99), TracedFunction::Set(3), Some(99)),
            (
                call(Trap::Core, 0, [0x205, 1, 1, 0, 0], 0, 1),
                TracedFunction::SetVersion(0x205),
                None,
            ),
            (call(Trap::Fast, 0x12, [0; 5], 0, 0), TracedFunction::Fast(0x12), None),
        ];
        for (call, function, value) in cases {
            let traced = call.event(1).unwrap();
            assert_eq!(traced.time, 1040);
            let expected =
                Described { guest: 1, function, status: call.status, duration: 40, value };
            assert_eq!(Described::from_event(&traced.event().unwrap()), Some(expected));
        }
        // The call is cons_putchar.
        assert_eq!(call(Trap::Core, 1, [10, 0, 0, 0, 0], 0, 0).event(1), None);
    }

    #[test]
    fn a_trace_has_a_stream_for_each_strand_that_called() {
        let guest = |name: &str, strands: &[StrandId]| NamedGuest {
            name: name.to_owned(),
            config: GuestConfig::new(strands.iter().copied().collect(), Grant::NONE),
        };
        let guests = [guest("first", &[]), guest("second", &[STRAND])];
        let get = call(Trap::Fast, 0x106, [2, 0, 0, 0, 0], 0, 77);
        let of_nobody = Call { strand: StrandId::new(5).unwrap(), ..get };
        let trace = trace(&[get, of_nobody], &guests);
        assert_eq!(trace.guests, ["first", "second"]);
        let [stream] = &*trace.streams else { panic!("{:?}", trace.streams) };
        assert_eq!(
            (stream.strand, &*stream.entries),
            (STRAND, &[StreamEntry::Event(get.event(1).unwrap())][..])
        );
    }
}
