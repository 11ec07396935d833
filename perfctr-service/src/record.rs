//! Calls as events.

use guest_abi::status::EOK;
use hv_core::trace::{Event, Source, Trace, duration};
use platform::{Bus, StrandRegisters};

use crate::service::PerfCounterSeat;
use crate::statistics::Refusal;
use crate::trace::{Get, GetRefused, Set, SetRefused};

impl<B: Bus, R: StrandRegisters, T: Trace> PerfCounterSeat<'_, B, R, T> {
    /// A get that was started then ends now.
    #[cold]
    pub(crate) fn record_get(&self, id: u64, result: Result<u64, Refusal>, started: u64) {
        let Some((ended, duration)) = self.ended(started) else {
            return;
        };
        let (guest, strand) = (self.number, self.strand.number());
        match result {
            Ok(value) => {
                let event = Get {
                    perfreg: id as u8,
                    status: EOK as u8,
                    guest,
                    strand,
                    duration,
                    value,
                };
                self.record(ended, event);
            }
            Err(refusal) => {
                let event = GetRefused {
                    status: refusal.error().number() as u16,
                    guest,
                    strand,
                    duration,
                    perfreg: id,
                };
                self.record(ended, event);
            }
        }
    }

    /// A set that was started then ends now.
    #[cold]
    pub(crate) fn record_set(
        &self,
        id: u64,
        value: u64,
        result: Result<(), Refusal>,
        started: u64,
    ) {
        let Some((ended, duration)) = self.ended(started) else {
            return;
        };
        let (guest, strand) = (self.number, self.strand.number());
        match result {
            Ok(()) => {
                let event = Set {
                    perfreg: id as u8,
                    status: EOK as u8,
                    guest,
                    strand,
                    duration,
                    value,
                };
                self.record(ended, event);
            }
            Err(refusal) => {
                let event = SetRefused {
                    status: refusal.error().number() as u16,
                    guest,
                    strand,
                    duration,
                    perfreg: id,
                    value,
                };
                self.record(ended, event);
            }
        }
    }

    /// The time, and how long it took until now.
    fn ended(&self, started: u64) -> Option<(u64, u32)> {
        let ended = self.service.trace.time()?;
        Some((ended, duration(started, ended)))
    }

    fn record<E: Event>(&self, time: u64, event: E) {
        let source = Source::Strand(self.strand);
        self.service.trace.record(source, time, event);
    }
}
