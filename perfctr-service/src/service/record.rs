//! Records the events of calls and of the operator's steps. The functions for calls are inlined, because there are few register windows for
//! nested calls.

use guest_abi::{Hub, StrandId};
use hv_core::GuestId;
use hv_core::trace::{Trace, TraceEvent};

use crate::rights::steps::TRIES;
use crate::service::StrandContext;
use crate::service::call::Access;
use crate::statistics::Refusal;
use crate::trace::{
    ChangeComplete, ChangePending, Conflict, Get, GetRefused, Granted, Held, HubConflict,
    OutageReason, Revoked, Set, SetRefused, UnitOut, UnitReturned,
};
use crate::{Environment, Grant, PerfCounterService, Unit};

impl<E: Environment> StrandContext<'_, E> {
    /// Records a served call. Without `ALWAYS`, records it only if this takes few instructions. Returns `true` if the call is recorded.
    #[inline(always)]
    pub(super) fn record_served<const ALWAYS: bool>(
        &self,
        id: u64,
        access: Access,
        read: u64,
        duration: u32,
        ended: u64,
    ) -> bool {
        let event_header = || (self.event_header | u32::from(id as u8)).to_le_bytes();
        match access {
            Access::Get => self.record::<_, ALWAYS>(ended, || {
                let [perfreg, status, guest, strand] = event_header();
                Get { perfreg, status, guest, strand, duration, value: read }
            }),
            Access::Set(value) => self.record::<_, ALWAYS>(ended, || {
                let [perfreg, status, guest, strand] = event_header();
                Set { perfreg, status, guest, strand, duration, value }
            }),
        }
    }

    #[inline(always)]
    fn record<V: TraceEvent, const ALWAYS: bool>(
        &self,
        time: u64,
        event: impl FnOnce() -> V,
    ) -> bool {
        if ALWAYS {
            self.service.trace().record(self.caller.strand, time, event());
            true
        } else {
            (self.ring).is_some_and(|ring| E::Trace::try_record(ring, time, event))
        }
    }

    #[inline(always)]
    pub(super) fn record_refused(
        &self,
        perfreg: u64,
        access: Access,
        refusal: Refusal,
        duration: u32,
        ended: u64,
    ) {
        let trace = self.service.trace();
        let (guest, strand) = (self.caller.guest.number(), self.caller.strand.number());
        let status = refusal.error().number() as u16;
        match access {
            Access::Get => {
                let event = GetRefused { status, guest, strand, duration, perfreg };
                trace.record(self.caller.strand, ended, event);
            }
            Access::Set(value) => {
                let event = SetRefused { status, guest, strand, duration, perfreg, value };
                trace.record(self.caller.strand, ended, event);
            }
        }
    }

    pub(super) fn record_conflict(&self, hub: Hub, why: Conflict) {
        let (guest, strand) = (self.caller.guest.number(), self.caller.strand.number());
        self.service.record_event(self.caller.strand, || HubConflict {
            hub: hub.index() as u8,
            why: why as u8,
            guest,
            strand,
        });
    }
}

impl<E: Environment> PerfCounterService<E> {
    /// Records an event with the time of strand `on`, if the tracer is on.
    #[inline(always)]
    pub(super) fn record_event<V: TraceEvent>(&self, on: StrandId, event: impl FnOnce() -> V) {
        if let Some(time) = self.trace().time(on) {
            self.trace().record(on, time, event());
        }
    }

    pub(super) fn record_revoked(&self, on: StrandId, guest: GuestId, left: Grant) {
        self.record_event(on, || Revoked {
            guest: guest.number(),
            left: left.bits(),
            strand: on.number().into(),
        });
    }

    pub(super) fn record_granted(&self, on: StrandId, guest: GuestId, grant: Grant) {
        self.record_event(on, || Granted {
            guest: guest.number(),
            grant: grant.bits(),
            strand: on.number().into(),
        });
    }

    pub(super) fn record_held(&self, on: StrandId, guest: GuestId, held: Grant) {
        self.record_event(on, || Held {
            guest: guest.number(),
            held: held.bits(),
            strand: on.number().into(),
        });
    }

    pub(super) fn record_unit_returned(&self, on: StrandId, unit: Unit) {
        self.record_event(on, || UnitReturned {
            unit: unit.number() as u16,
            strand: on.number().into(),
        });
    }

    pub(super) fn record_unit_out(&self, on: StrandId, unit: Unit, why: OutageReason) {
        self.record_event(on, || UnitOut {
            unit: unit.number() as u16,
            why: why as u8,
            strand: on.number(),
        });
    }

    /// Records the beginning of a change. If the change is already complete, also records its end.
    pub(super) fn record_change_begun(&self, on: StrandId) {
        if !self.trace().is_on() {
            return;
        }
        if let Some(awaited) = self.pending() {
            self.record_event(on, || ChangePending {
                awaited: awaited.len() as u16,
                strand: on.number().into(),
            });
        }
        // Set the flag after the event, so that no strand records the end first.
        self.rights.set_begin_recorded(true);
        self.record_change_end(on);
    }

    /// Records the end of a change if a step has completed it.
    pub(super) fn record_change_end(&self, on: StrandId) {
        if !self.trace().is_on() {
            return;
        }
        for _ in 0..TRIES {
            if self.pending().is_some() || !self.rights.set_begin_recorded(false) {
                return;
            }
            // Read the time before `pending`, because another change may begin right after `pending` is read.
            let time = self.trace().time(on);
            if self.pending().is_none() {
                if let Some(time) = time {
                    let strand = on.number().into();
                    self.trace().record(on, time, ChangeComplete { strand });
                }
                return;
            }
            self.rights.set_begin_recorded(true);
        }
    }
}
