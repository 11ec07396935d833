//! What the operator of the machine does. How it is done is in [`transfer`](super::transfer).

use core::fmt;

use guest_abi::layout::SparcPcr;
use guest_abi::{Node, StrandId};
use hv_core::GuestId;
use platform::{AccessError, StrandRegisters};

use crate::environment::Environment;
use crate::rights::grants::Grants;
use crate::rights::policy::{ConfigError, Grant, StrandSet};
use crate::rights::request::{HT, PCR, Request};
use crate::service::transfer::all_guests;
use crate::service::{PerfCounterService, STRANDS};
use crate::trace::Why;
use crate::units::Unit;

/// How often a strand looks whether a newer cross-call has come while it was at work on one.
const ACKNOWLEDGE_TRIES: usize = 4;

/// How often a strand looks whether no change is pending, while others make steps.
const PENDING_TRIES: usize = 4;

/// Why a step of the operator's did not happen. No right and no unit's service has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// The configuration is not valid.
    Config(ConfigError),
    /// It is for another number of guests than there are.
    OtherGuests {
        /// How many it is for.
        given: usize,
        /// How many there are.
        there_are: usize,
    },
    /// Another strand is at work on a change.
    Busy,
    /// The unit is cleared on a strand of its own node only.
    OtherNode(Unit),
    /// The unit cannot be cleared, and stays out of service. If it is busy, or a strand has not ended its access to it, it is
    /// to be tried again: what is clear already counts.
    NotClean(Unit, AccessError),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::OtherGuests { given, there_are } => {
                write!(
                    f,
                    "the configuration is for {given} guests; there are {there_are}"
                )
            }
            Self::Busy => f.write_str("another strand is at work on a change"),
            Self::OtherNode(unit) => write!(f, "{unit} is cleared on its own node only"),
            Self::NotClean(unit, error) => write!(f, "{unit} cannot be cleared: {error}"),
        }
    }
}

impl core::error::Error for ChangeError {}

/// What the operator of the machine does. `on` is the strand that executes it.
impl<E: Environment> PerfCounterService<E> {
    /// What the guests are granted.
    pub fn grants(&self) -> Grants {
        let mut grants = Grants::none(self.guest_count);
        for guest in all_guests().take(self.guest_count) {
            // Every one of them is there.
            let _ = grants.set(guest, self.guest(guest).granted());
        }
        grants
    }

    /// What a guest holds at this moment: less than it is granted while a change is pending.
    pub fn held(&self, guest: GuestId) -> Grant {
        self.guest(guest).access().grant()
    }

    /// Grants all guests what the configuration says, and no more. It is checked as a whole first; one that is rejected
    /// changes nothing. `Some` if the change is [pending](Self::pending) when this returns.
    pub fn reconfigure(
        &self,
        on: StrandId,
        grants: &Grants,
    ) -> Result<Option<StrandSet>, ChangeError> {
        if grants.guests() != self.guest_count {
            return Err(ChangeError::OtherGuests {
                given: grants.guests(),
                there_are: self.guest_count,
            });
        }
        grants.check().map_err(ChangeError::Config)?;
        self.locked(on, |asked| {
            self.take_up_resets(asked);
            for guest in all_guests().take(self.guest_count) {
                let grant = grants.get(guest);
                if grant != self.guest(guest).granted() {
                    self.note_granted(on, guest, grant);
                }
            }
            // All losses before the first gain: if this strand dies here, no right is granted twice.
            for guest in all_guests().take(self.guest_count) {
                self.revoke(on, guest, grants.get(guest), asked);
            }
            for guest in all_guests().take(self.guest_count) {
                self.guest(guest).set_granted(grants.get(guest));
            }
            Ok(())
        })?;
        self.note_begun(on);
        Ok(self.pending())
    }

    /// The strands that a pending change waits for: they have not taken their cross-call yet. There may be none, while a
    /// strand is at work on the change. `None` if there was a moment during this call when no change was pending.
    ///
    /// Nothing waits for ever unless one of these has died, or a strand that was in a method of this service; then that has
    /// to be [said](Self::strand_died).
    pub fn pending(&self) -> Option<StrandSet> {
        for _ in 0..PENDING_TRIES {
            let before = self.rights.at_rest();
            let awaited = self.awaited();
            if !awaited.is_empty() || self.is_incomplete() {
                return Some(awaited);
            }
            // Else a strand that was seen to have acknowledged may have been asked again before the last one had.
            if before.is_some() && before == self.rights.at_rest() {
                return None;
            }
        }
        Some(StrandSet::EMPTY)
    }

    /// Returns `true` if there is something to do beside what strands are asked for.
    fn is_incomplete(&self) -> bool {
        self.rights.revoked().is_some()
            || self.rights.next_reset().is_some()
            || all_guests()
                .take(self.guest_count)
                .any(|guest| self.held(guest) != self.guest(guest).granted())
    }

    /// The strands that are asked for something and have not acknowledged it. Nobody waits for the dead.
    fn awaited(&self) -> StrandSet {
        self.strands_whose(Request::is_awaited)
    }

    fn strands_whose(&self, request: impl Fn(&Request) -> bool) -> StrandSet {
        (0..STRANDS)
            .filter_map(StrandId::new)
            .filter(|strand| request(self.request(*strand)))
            .collect()
    }

    /// A strand takes a cross-call that this service has sent. To be called on that strand, between two of its calls and
    /// before it next executes guest code.
    #[inline(always)]
    pub fn cross_called(&self, strand: StrandId) {
        let request = self.request(strand);
        for _ in 0..ACKNOWLEDGE_TRIES {
            let asked = request.read();
            if asked & PCR != 0 {
                self.registers().set_pcr(strand, 0);
                self.registers().set_pic(strand, 0);
            } else if asked & HT != 0 {
                let pcr = self.registers().pcr(strand);
                self.registers().set_pcr(strand, pcr & !SparcPcr::HT);
            }
            if request.acknowledge(asked) {
                break;
            }
        }
        self.work(strand, StrandSet::EMPTY);
        self.note_progress(strand);
    }

    /// A strand has died, and will not go on in the call that it may have been in. What it held is free: hubs, locks. An L2
    /// control that it was at work on is out of service, since its banks may differ. No change waits for the strand any more;
    /// if it comes back, which must not be before this returns, it takes its cross-call before anything else.
    ///
    /// A step of the operator's that it died in, and a reset of a guest, are to be made again.
    pub fn strand_died(&self, on: StrandId, strand: StrandId) {
        for hub in &self.hubs {
            hub.abandon(strand);
        }
        for (l2, node) in self.l2.iter().zip(Node::ALL) {
            let unit = Unit::L2(*node);
            if l2.holder() == Some(strand) {
                self.units.set_unclean(unit);
                if self.take_out_of_service(on, unit, Why::Died) {
                    log::error!("{unit} is out of service: strand {strand} died at work on it");
                }
                l2.abandon(strand);
            }
        }
        self.request(strand).excuse();
        self.rights.abandon(strand);
        // It may have been about to call those that it had asked, or another that had died.
        let asked = self.strands_whose(Request::is_asked);
        self.work(on, asked);
        self.note_progress(on);
    }

    /// The operator has mended a unit. If there may be something in it of a guest that has lost it, it is scrubbed first. A
    /// guest that was reset while it was a hub that was missing sees the hubs from its next reset on.
    #[inline(always)]
    pub fn return_to_service(&self, on: StrandId, unit: Unit) -> Result<(), ChangeError> {
        let result = self.locked(on, |_| {
            // A strand that is at work on L2 control, or has died at that, makes it unclean before it gives the lock back.
            let held = match unit {
                Unit::L2(node) => {
                    let held = self.take_l2(on, node);
                    let busy = ChangeError::NotClean(unit, AccessError::Busy);
                    Some((node, held.ok_or(busy)?))
                }
                _ => None,
            };
            // While `global` is revoked from a guest, no guest has the unit, and it is scrubbed before the next one has.
            if self.units.is_unclean(unit) && self.rights.revoked().is_none() {
                let scrubbed = match &held {
                    Some((node, _)) if *node != self.node(on) => {
                        return Err(ChangeError::OtherNode(unit));
                    }
                    Some((_, held)) => self.scrub_l2(on, held),
                    None => self.scrub(on, unit),
                };
                if let Err(error) = scrubbed {
                    if error == AccessError::Fault {
                        self.units.count_fault(unit);
                    }
                    return Err(ChangeError::NotClean(unit, error));
                }
                self.units.set_clean(unit);
            }
            match (&held, unit) {
                (Some((_, held)), _) => held.access_ended(),
                (None, Unit::Hub(hub)) => self.hub(hub).access_ended(),
                (None, _) => {}
            }
            self.units.put_back(unit);
            self.note_returned(on, unit);
            for guest in self.guests.iter().take(self.guest_count) {
                guest.refresh(self.units.out());
            }
            Ok(())
        });
        self.note_progress(on);
        result
    }

    /// The guest starts again.
    #[inline(always)]
    pub(super) fn reset(&self, guest: GuestId, on: StrandId) {
        // Before anything is taken away, so that nobody gives it back; and after, if that has been taken up meanwhile.
        self.rights.reset(guest);
        self.guest(guest).reset(self.units.out());
        self.note_revoked(on, guest, Grant::NONE);
        self.rights.reset(guest);
        self.work(on, StrandSet::EMPTY);
        self.note_begun(on);
    }
}
