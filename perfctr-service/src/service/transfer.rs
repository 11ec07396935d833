//! How rights pass from guest to guest while strands are in calls.
//!
//! # Promises
//! A *change* is a new configuration of grants, or the reset of a guest. When the change is complete, none of a guest's calls reaches what
//! the guest has lost. Everything that the guest could program with the lost right is stopped and scrubbed. The next holder finds zeros:
//!
//! - The guest loses `strand` or `htstrand`: %pcr and %pic of its strands are 0.
//! - The guest keeps `strand` and loses `htstrand`: HT is 0 in %pcr of its strands, and their counters continue without HT.
//! - The guest loses `global`: PERF_CONFIG and the memory channels of its nodes, and all hubs, are 0.
//! - The guest is reset: all of the above.
//!
//! Before that, the change is *pending*. The loser of a right is refused with ENOACCESS immediately, and the next holder is refused until
//! the change is complete. Both guests keep all rights that the change does not concern. No strand waits. A newer change replaces a pending
//! change: a right on its way to one guest may go to another guest instead, or back to the loser, but never without a scrub.
//!
//! A right that no guest held is granted without a scrub, because its units were scrubbed when the right was last revoked. Such a right is
//! granted immediately, unless one of the guest's strands has yet to acknowledge a cross-call. The service assumes that all registers are 0
//! when it starts, as after power-on. An image that starts the service at another time must scrub the registers first.
//!
//! # How it works
//! Pure functions in `rights/protocol.rs` decide what each event causes. `rights/protocol/ledger.rs` determines the order of the steps.
//!
//! A call reads one word of its guest, and then performs its access. Nothing records that a call is between these two steps, but a strand
//! takes no interrupt during a call. A right therefore passes from guest to guest in these steps:
//!
//! 1. The right is removed from the loser's word. Calls that begin later do not have it.
//! 2. Every strand of the loser gets a cross-call. A strand that takes it is not in a call that has read the old word. If necessary, the
//!    strand scrubs its %pcr and %pic, because no other strand can. It waits for its stores to devices, then acknowledges.
//! 3. When every strand has acknowledged or is dead, the strand that notices this scrubs the units ([`Unit`]). For L2 control, it sends a
//!    cross-call to one of the loser's strands on each node, because only a node's strands can reach its L2 control. If a chip is busy, the
//!    strand tries again after a cross-call to itself.
//! 4. The right is added to the next holder's word.
//!
//! Nothing waits for a strand that is [reported dead](PerfCounterService::strand_died), because that strand does not continue the call that
//! it was in. Its request remains: if the strand comes back, it scrubs itself before anything else. The strand must not come back before
//! `strand_died` has returned.
//!
//! A unit that cannot be scrubbed goes out of service. Such a unit is *unclean* until the operator returns it to service, and so is any of
//! the loser's units that was already out of service.
//!
//! One strand at a time takes steps 3 and 4, and the operator's steps, under a lock. A strand that cannot get the lock leaves a mark, and
//! the lock's owner performs another round. If the owner dies, another strand takes steps 3 and 4 again, or the operator repeats the step.
//!
//! Cross-calls are sent when the lock is free and no mark is left. If they were sent earlier, a quick strand could take its cross-call
//! while the sender still owns the lock, and leave a mark. The sender would then perform another round and send another cross-call, and
//! this could go on forever.

use guest_abi::StrandId;
use hv_core::GuestId;
use platform::{AccessError, StrandRegisters};

use crate::rights::protocol::{Ledger, Scrub};
use crate::{Cause, ChangeError, Environment, Outage, PerfCounterService, StrandSet, Unit};

/// The number of tries to get the lock for one of the operator's steps. After that, the step fails with [`ChangeError::Busy`].
pub const CHANGE_LOCK_TRIES: usize = 10_000;

impl<E: Environment> PerfCounterService<E> {
    /// Takes one of the operator's steps under the lock, and then [performs rounds](Self::perform_rounds). The step adds to its set each strand that needs a
    /// cross-call.
    #[inline(always)]
    pub(super) fn with_change_lock(
        &self,
        on: StrandId,
        step: impl FnOnce(&mut StrandSet) -> Result<(), ChangeError>,
    ) -> Result<(), ChangeError> {
        let lock = self.rights.lock(on, CHANGE_LOCK_TRIES);
        let lock = lock.ok_or(ChangeError::Busy)?;
        let mut asked = StrandSet::EMPTY;
        let result = step(&mut asked);
        drop(lock);
        self.perform_rounds(on, asked);
        result
    }

    /// Performs rounds until no work is left, or leaves the work to the owner of the lock. Then sends cross-calls to the strands in
    /// `asked`, and to the strands that the rounds have added.
    #[inline(always)]
    pub(super) fn perform_rounds(&self, on: StrandId, mut asked: StrandSet) {
        let ended = self.rights.until_unmarked(on, || {
            self.rights.ledger(&self.units, &mut asked).round(
                |rights, guest| self.scrub_revoked(on, guest, rights.asked),
                |guest, held| self.record_held(on, guest, held),
            );
        });
        if !ended {
            self.rights.ask(on, Scrub::Nothing, &mut asked);
        }
        for strand in asked.iter() {
            self.registers().cross_call(strand);
        }
    }

    /// Scrubs the units that the loser of `global` could program, as far as this strand can. Returns `true` if all are scrubbed or out of
    /// service.
    #[inline(always)]
    fn scrub_revoked(&self, on: StrandId, guest: GuestId, asked: &mut StrandSet) -> bool {
        let mut done = true;
        for unit in Unit::ALL.iter().copied() {
            if !self.units.is_unclean(unit) || self.units.out().contains(unit) {
                continue;
            }
            done &= match unit {
                Unit::L2(node) if node != on.node() => {
                    let is_there = |strand: StrandId| strand.node() == node;
                    match self.rights.living_strand(guest, is_there) {
                        Some(strand) => {
                            self.rights.ask(strand, Scrub::Nothing, asked);
                            false
                        }
                        None => {
                            let outage = Outage { unit, strand: on, cause: Cause::NoStrand };
                            if self.take_out_of_service(outage) {
                                self.log_outage(outage);
                            }
                            true
                        }
                    }
                }
                _ => self.scrub_or_give_up(on, unit, asked),
            };
        }
        done
    }

    /// Scrubs a unit, or takes it out of service. If the unit is busy, requests a cross-call and returns `false`.
    #[inline(always)]
    fn scrub_or_give_up(&self, on: StrandId, unit: Unit, asked: &mut StrandSet) -> bool {
        match self.scrub(on, unit) {
            Ok(()) => {
                self.units.set_clean(unit);
                true
            }
            Err(AccessError::Fault) => {
                let outage = Outage { unit, strand: on, cause: Cause::Scrub };
                if self.faulted(outage) {
                    self.log_outage(outage);
                }
                true
            }
            Err(AccessError::Busy) => {
                let given_up = self.found_busy(on, unit) || self.units.out().contains(unit);
                if given_up {
                    // The unit will be repaired, and the repair may leave any values in its registers, so the next scrub begins with the
                    // first register.
                    self.units.scrub_from_start(unit);
                } else {
                    self.rights.ask(on, Scrub::Nothing, asked);
                }
                given_up
            }
        }
    }
}
