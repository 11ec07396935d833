//! What the operator of the machine does. How it is done is in [`transfer`](super::transfer).

use core::fmt;

use guest_abi::layout::SparcPcr;
use guest_abi::register::CounterSet;
use guest_abi::{Node, StrandId};
use hv_core::GuestId;
use platform::{AccessError, Bus, StrandRegisters};

use crate::environment::Environment;
use crate::rights::grants::Grants;
use crate::rights::policy::{ConfigError, Grant, StrandSet};
use crate::rights::protocol::{Ledger, Scrub};
use crate::service::PerfCounterService;
use crate::trace::Why;
use crate::units::Unit;

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
        self.rights.grants()
    }

    /// What a guest holds at this moment: less than it is granted while a change is pending.
    pub fn held(&self, guest: GuestId) -> Grant {
        self.rights.held(guest)
    }

    /// Grants all guests what the configuration says, and no more. It is checked as a whole first; one that is rejected
    /// changes nothing. `Some` if the change is [pending](Self::pending) when this returns.
    pub fn reconfigure(
        &self,
        on: StrandId,
        grants: &Grants,
    ) -> Result<Option<StrandSet>, ChangeError> {
        let there_are = self.rights.guest_count();
        if grants.guests() != there_are {
            return Err(ChangeError::OtherGuests {
                given: grants.guests(),
                there_are,
            });
        }
        grants.check().map_err(ChangeError::Config)?;
        self.locked(on, |asked| {
            for guest in self.rights.guests() {
                let grant = grants.get(guest);
                if grant != self.rights.guest(guest).granted() {
                    self.note_granted(on, guest, grant);
                }
            }
            let taken = |guest, left| self.note_revoked(on, guest, left);
            let mut rights = self.rights.locked(&self.units, asked);
            rights.configure(|guest| grants.get(guest), taken);
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
        self.rights.pending()
    }

    /// A strand takes a cross-call that this service has sent. To be called on that strand, between two of its calls and
    /// before it next executes guest code.
    #[inline(always)]
    pub fn cross_called(&self, strand: StrandId) {
        self.rights.acknowledge(strand, |asked| {
            match asked {
                Scrub::Nothing => {}
                Scrub::Ht => {
                    // With HOLDOV, so that a counter which overflows meanwhile keeps its OV bit.
                    let pcr = SparcPcr::from(self.registers().pcr(strand))
                        .acknowledging(CounterSet::NONE)
                        .with_hypervisor(false);
                    self.registers().set_pcr(strand, pcr.into());
                }
                Scrub::Pcr => {
                    self.registers().set_pcr(strand, 0);
                    self.registers().set_pic(strand, 0);
                }
            }
            // Otherwise a store that this strand made in a call could reach its device after the scrubbing.
            self.bus().complete_writes(strand);
        });
        self.work(strand, StrandSet::EMPTY);
        self.note_progress(strand);
    }

    /// A strand has died, and will not go on in the call that it may have been in. What it held is free: hubs, locks. An L2
    /// control that it was at work on is out of service, since its banks may differ. No change waits for the strand any more;
    /// if it comes back, which must not be before this returns, it takes its cross-call before anything else. What it has written
    /// to memory and to devices is complete and visible to the strand `on` before the call.
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
        let asked = self.rights.abandon(strand);
        self.work(on, asked);
        self.note_progress(on);
    }

    /// The operator has mended a unit. If there may be something in it of a guest that has lost it, it is scrubbed first.
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
                    Some((node, _)) if *node != on.node() => {
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
            self.rights.refresh(self.units.out());
            Ok(())
        });
        self.note_progress(on);
        result
    }

    /// The guest starts again.
    #[inline(always)]
    pub(super) fn reset(&self, guest: GuestId, on: StrandId) {
        self.rights.reset(guest, || {
            self.note_revoked(on, guest, Grant::NONE);
        });
        self.work(on, StrandSet::EMPTY);
        self.note_begun(on);
    }
}
