//! Writes the log: which units are out of service, and which rights move.

use hv_core::GuestId;

use crate::outage::{NamedGuest, OutageMessage, RightMoveMessage};
use crate::{Cause, Environment, Grants, Outage, PerfCounterService, Right};

impl<E: Environment> PerfCounterService<E> {
    /// Logs an outage. A caller that held the unit must already have released it, so that no strand is refused while a slow logger writes.
    #[cold]
    #[inline(never)]
    pub(super) fn log_outage(&self, outage: Outage) {
        let of = match outage.cause {
            Cause::Died(dead) => dead,
            _ => outage.strand,
        };
        let guest = self.rights.guest_of(of).map(|guest| self.named_guest(guest));
        log::error!(target: crate::LOG_TARGET, "{}", OutageMessage { outage, guest });
    }

    /// Logs how the operator has changed rights. If exactly one guest loses a right and exactly one gets it, writes one message about the
    /// right. Otherwise, writes one message for each guest and right.
    #[cold]
    #[inline(never)]
    pub(super) fn log_right_moves(&self, before: &Grants, after: &Grants) {
        let is_pending = self.pending().is_some();
        let has = |grants: &Grants, guest, right| grants.get(guest).without(right).is_some();
        for right in Right::ALL.iter().copied() {
            let changed = |to: bool| {
                let guests = self.rights.guests();
                guests.filter(move |guest| {
                    let had = has(before, *guest, right);
                    had != to && has(after, *guest, right) == to
                })
            };
            let log_move = |from: Option<GuestId>, to: Option<GuestId>| {
                let [from, to] = [from, to].map(|guest| guest.map(|guest| self.named_guest(guest)));
                log::info!(target: crate::LOG_TARGET, "{}", RightMoveMessage { right, from, to, is_pending });
            };
            match [changed(false), changed(true)].map(only) {
                [Some(from), Some(to)] => log_move(Some(from), Some(to)),
                _ => {
                    changed(false).for_each(|guest| log_move(Some(guest), None));
                    changed(true).for_each(|guest| log_move(None, Some(guest)));
                }
            }
        }
    }

    fn named_guest(&self, guest: GuestId) -> NamedGuest<'_> {
        NamedGuest(guest, self.environment.guest_name(guest))
    }
}

/// Returns the only guest of a list; `None` if there are none or several.
fn only(mut guests: impl Iterator<Item = GuestId>) -> Option<GuestId> {
    let first = guests.next();
    first.filter(|_| guests.next().is_none())
}
