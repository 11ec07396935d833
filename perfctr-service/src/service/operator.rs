//! The steps that the machine's operator takes. [`transfer`](super::transfer) explains how they work.

use core::fmt;

use guest_abi::layout::SparcPcr;
use guest_abi::{CounterSet, Node, StrandId};
use hv_core::GuestId;
use platform::{AccessError, Bus, StrandRegisters};

use crate::rights::protocol::{Ledger, Scrub};
use crate::{
    Cause, ConfigError, Environment, Grant, Grants, Outage, PerfCounterService, StrandSet, Unit,
};

/// The error of a step that failed. Such a step has changed no rights, and every unit stays in or out of service as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeError {
    /// The service rejects the configuration for this reason.
    Config(ConfigError),
    /// The configuration has a different number of guests.
    OtherGuests {
        /// The number of guests in the rejected configuration.
        given: usize,
        /// The number of guests that the service has.
        there_are: usize,
    },
    /// Another strand is performing a change.
    Busy,
    /// The machine does not have the unit.
    NoSuchUnit(Unit),
    /// The step executes on a strand of another node. Only a strand of the unit's own node can scrub the unit.
    OtherNode(Unit),
    /// The unit cannot be scrubbed, and stays out of service. After [`Busy`](AccessError::Busy), the next step continues the scrub.
    NotClean(Unit, AccessError),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::OtherGuests { given, there_are } => {
                write!(f, "the configuration is for {given} guests; there are {there_are}")
            }
            Self::Busy => f.write_str("another strand is working on a change"),
            Self::NoSuchUnit(unit) => write!(f, "this machine has no {unit}"),
            Self::OtherNode(unit) => write!(f, "{unit} can be scrubbed only on its own node"),
            Self::NotClean(unit, error) => write!(f, "{unit} cannot be scrubbed: {error}"),
        }
    }
}

impl core::error::Error for ChangeError {}

/// The progress of a change of rights.
///
/// The compiler warns if the caller ignores a change:
///
/// ```compile_fail
/// #![deny(unused_must_use)]
/// # use guest_abi::StrandId;
/// # use perfctr_service::{Change, ChangeError, Environment, Grants, PerfCounterService};
/// # fn begin(service: &PerfCounterService<impl Environment>, on: StrandId, grants: &Grants) -> Result<bool, ChangeError> {
/// service.reconfigure(on, grants)?;
/// # Ok(true) }
/// ```
///
/// ```
/// #![deny(unused_must_use)]
/// # use guest_abi::StrandId;
/// # use perfctr_service::{Change, ChangeError, Environment, Grants, PerfCounterService};
/// # fn begin(service: &PerfCounterService<impl Environment>, on: StrandId, grants: &Grants) -> Result<bool, ChangeError> {
/// let change = service.reconfigure(on, grants)?;
/// # Ok(change.awaited().is_empty()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a pending change takes effect after the awaited strands have taken their cross-calls"]
pub enum Change {
    /// The change, and every earlier one, has taken effect.
    Complete,
    /// These strands have not taken their cross-calls. The set is empty while a strand performs the change.
    Pending(StrandSet),
}

impl Change {
    /// Returns the strands that the change waits for; the empty set for a complete change.
    pub const fn awaited(self) -> StrandSet {
        match self {
            Self::Complete => StrandSet::EMPTY,
            Self::Pending(awaited) => awaited,
        }
    }
}

/// The steps that the operator takes. `on` is the strand that executes the step.
impl<E: Environment> PerfCounterService<E> {
    /// Returns the rights that the operator has granted to each guest. Some grants may still be pending.
    pub fn grants(&self) -> Grants {
        self.rights.grants()
    }

    /// Returns the rights that a guest holds now. While a change is pending, the guest may hold fewer rights than its grant.
    pub fn held(&self, guest: GuestId) -> Grant {
        self.rights.held(guest)
    }

    /// Grants each guest exactly the rights in the configuration. The whole configuration is checked first, and changes nothing if it is
    /// rejected.
    ///
    /// The change may be [pending](Self::pending) when this function returns.
    pub fn reconfigure(&self, on: StrandId, grants: &Grants) -> Result<Change, ChangeError> {
        self.set_grants(on, grants, || {})
    }

    /// Like [`reconfigure`](Self::reconfigure), on a strand that is between two calls. The strand takes its own cross-call before it writes
    /// the log, because a change must not wait for a slow console.
    pub(crate) fn reconfigure_between_calls(
        &self,
        on: StrandId,
        grants: &Grants,
    ) -> Result<Change, ChangeError> {
        self.set_grants(on, grants, || self.cross_called(on))
    }

    /// Begins the change, calls `before_log`, and logs the change.
    #[inline(always)]
    fn set_grants(
        &self,
        on: StrandId,
        grants: &Grants,
        before_log: impl FnOnce(),
    ) -> Result<Change, ChangeError> {
        let there_are = self.rights.guest_count();
        if grants.guests() != there_are {
            return Err(ChangeError::OtherGuests { given: grants.guests(), there_are });
        }
        grants.check().map_err(ChangeError::Config)?;
        let mut before = Grants::none_saturating(there_are);
        self.with_change_lock(on, |asked| {
            before = self.rights.grants();
            for guest in self.rights.guests() {
                let grant = grants.get(guest);
                if grant != before.get(guest) {
                    self.record_granted(on, guest, grant);
                }
            }
            let revoked = |guest, left| self.record_revoked(on, guest, left);
            let mut rights = self.rights.ledger(&self.units, asked);
            rights.configure(|guest| grants.get(guest), revoked);
            Ok(())
        })?;
        self.record_change_begun(on);
        before_log();
        self.log_right_moves(&before, grants);
        Ok(self.pending().map_or(Change::Complete, Change::Pending))
    }

    /// Returns the strands that have not yet taken the cross-call of a pending change. The set is empty while a strand performs the change.
    /// Returns `None` if no change was pending at some moment during this call.
    ///
    /// If a strand in the set has died, the change waits until its death is [reported](Self::strand_died). The change also waits for such a
    /// report if a strand has died in a method of this service.
    pub fn pending(&self) -> Option<StrandSet> {
        self.rights.pending()
    }

    /// Serves a cross-call of this service. The interrupted strand calls this function between two hypercalls, before guest code.
    #[inline(always)]
    pub fn cross_called(&self, strand: StrandId) {
        self.rights.acknowledge(strand, |asked| {
            match asked {
                Scrub::Nothing => {}
                Scrub::Ht => {
                    // HOLDOV is set, so that a counter that overflows meanwhile keeps its OV bit set.
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
            // Otherwise, a store of an earlier hypercall could reach its device after the scrub.
            self.bus().complete_writes(strand);
        });
        self.perform_rounds(strand, StrandSet::EMPTY);
        self.record_change_end(strand);
    }

    /// Reports that a strand has died. The strand must not continue a call that it was in. Frees the hubs and locks that the strand held.
    /// If the strand held the lock of an L2 control, takes the L2 control out of service, because its banks may differ. No change waits for
    /// the strand any longer. The strand must not come back before this function returns; when it comes back, it takes its cross-call
    /// first. The caller must ensure that all of the dead strand's stores to memory and to devices are complete, and visible to the strand
    /// `on`.
    ///
    /// If the strand has died in a step of the operator or in a guest's reset, the operator must repeat the step or the reset.
    pub fn strand_died(&self, on: StrandId, strand: StrandId) {
        for hub in &self.hubs {
            hub.abandon(strand);
        }
        for (l2, node) in self.l2.iter().zip(Node::ALL) {
            let unit = Unit::L2(*node);
            if l2.holder() == Some(strand) {
                self.units.set_unclean(unit);
                let outage = Outage { unit, strand: on, cause: Cause::Died(strand) };
                let was_in_service = self.take_out_of_service(outage);
                l2.abandon(strand);
                if was_in_service {
                    self.log_outage(outage);
                }
            }
        }
        let asked = self.rights.abandon(strand);
        self.perform_rounds(on, asked);
        self.record_change_end(on);
    }

    /// Returns a repaired unit to service. Scrubs the unit first if it may hold values of a guest that has lost it.
    #[inline(always)]
    pub fn return_to_service(&self, on: StrandId, unit: Unit) -> Result<(), ChangeError> {
        if !self.has_unit(unit) {
            return Err(ChangeError::NoSuchUnit(unit));
        }
        let result = self.with_change_lock(on, |_| {
            // The lock is free only after its last owner, or the report of the owner's death, has marked L2 control unclean.
            let held = match unit {
                Unit::L2(node) => {
                    let held = self.lock_l2(on, node);
                    let busy = ChangeError::NotClean(unit, AccessError::Busy);
                    Some((node, held.ok_or(busy)?))
                }
                _ => None,
            };
            // While `global` is being revoked from a guest, no guest has the unit. The change scrubs it for the next guest.
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
                (Some((_, held)), _) => held.count_access_end(),
                (None, Unit::Hub(hub)) => self.hub(hub).count_access_end(),
                (None, _) => {}
            }
            self.rights
                .return_to_service(&self.units, unit, || self.record_unit_returned(on, unit));
            Ok(())
        });
        self.record_change_end(on);
        result
    }

    #[inline(always)]
    pub(super) fn reset(&self, guest: GuestId, on: StrandId) {
        self.rights.reset(guest, || {
            self.record_revoked(on, guest, Grant::NONE);
        });
        self.perform_rounds(on, StrandSet::EMPTY);
        self.record_change_begun(on);
    }
}
