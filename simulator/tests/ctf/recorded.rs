//! Generates random events, and lists their fields without using the tracer.

use guest_abi::StrandId;
use hv_core::trace::{FastCall, GuestReset, SetVersion, Trace};
use perfctr_service::trace::{
    ChangeComplete, ChangePending, Get, GetRefused, Granted, Held, HubConflict, Revoked, Set,
    SetRefused, UnitOut, UnitReturned,
};
use tests::random::Random;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Known {
    pub(crate) time: u64,
    pub(crate) strand: StrandId,
    pub(crate) event: AnyEvent,
}

macro_rules! kinds {
    ($($Name:ident $text:literal { $($field:ident),* })*) => {
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) enum AnyEvent {
            $($Name($Name),)*
        }

        impl AnyEvent {
            /// Returns the event's name, and its fields in order.
            pub(crate) fn shown(&self) -> (&'static str, Vec<(&'static str, u64)>) {
                match self {
                    $(Self::$Name($Name { $($field),* }) => {
                        ($text, vec![$((stringify!($field), u64::from(*$field))),*])
                    })*
                }
            }
        }

        /// Returns an event of any kind with random values.
        pub(crate) fn random_event(random: &mut Random) -> AnyEvent {
            let kinds: &[fn(&mut Random) -> AnyEvent] = &[$(|random| {
                // The shift gives values of all magnitudes.
                AnyEvent::$Name($Name { $($field: (random.next_u64() >> random.below(64)) as _),* })
            }),*];
            random.one_of(kinds)(random)
        }

        pub(crate) fn record(trace: &impl Trace, strand: StrandId, time: u64, event: AnyEvent) {
            match event {
                $(AnyEvent::$Name(event) => trace.record(strand, time, event),)*
            }
        }
    };
}

kinds! {
    SetVersion "hv:set_version" { status, guest, strand, duration, group, major, minor, granted }
    FastCall "hv:fast_call" { status, guest, strand, duration, function }
    GuestReset "hv:guest_reset" { guest, strand }
    Get "hv:get_perfreg" { perfreg, status, guest, strand, duration, value }
    Set "hv:set_perfreg" { perfreg, status, guest, strand, duration, value }
    GetRefused "hv:get_perfreg_refused" { status, guest, strand, duration, perfreg }
    SetRefused "hv:set_perfreg_refused" { status, guest, strand, duration, perfreg, value }
    HubConflict "hv:hub_conflict" { hub, why, guest, strand }
    UnitOut "hv:unit_out_of_service" { unit, why, strand }
    UnitReturned "hv:unit_returned" { unit, strand }
    Granted "hv:granted" { guest, grant, strand }
    Revoked "hv:revoked" { guest, left, strand }
    Held "hv:held" { guest, held, strand }
    ChangePending "hv:change_pending" { awaited, strand }
    ChangeComplete "hv:change_complete" { strand }
}
