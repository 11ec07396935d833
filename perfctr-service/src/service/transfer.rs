//! Rights that pass from guest to guest while strands are in calls.
//!
//! # Promises
//! A *change* is a new configuration of grants, or the reset of a guest. When it is complete, no call of a guest reaches what
//! the guest has lost. All that the guest could program with the lost right has been stopped and scrubbed, and the next holder
//! finds zeros:
//!
//! - The guest loses `strand` or `htstrand`: %pcr and %pic of its strands are 0.
//! - It keeps `strand` and loses `htstrand`: HT is 0 in %pcr of its strands, and their counters go on without it.
//! - It loses `global`: PERF_CONFIG and the memory channels of its nodes, and all hubs, are 0.
//! - It is reset: all of these.
//!
//! Until then the change is *pending*. The loser of a right is refused with ENOACCESS at once; the next holder is refused until
//! the change is complete. Both keep what the change does not concern. Nothing here waits. A newer change replaces a pending one:
//! a right on its way to one guest may go to another guest instead, or back to the loser, but never without scrubbing.
//!
//! A right that nobody held is granted without scrubbing, because what it covers was scrubbed when the right was last revoked. It
//! is granted at once, unless a strand of the guest has not yet acknowledged a cross-call. The service takes all registers for 0
//! when it starts, as they are at power-on; an image that starts it at another time scrubs them first.
//!
//! # How it works
//! What follows from each event is decided by pure functions, in `rights/protocol.rs`, and in which order by `rights/protocol/ledger.rs`.
//! This is how they are put to work.
//!
//! A call reads one word of its guest and then makes its access; nothing records that the call is in flight. But a strand takes
//! no interrupt within a call. So:
//!
//! 1. The right is removed from the loser's word. Calls that begin from now on do not have it.
//! 2. Every strand of the loser gets a cross-call. A strand that takes it is in no call that has read the old word. If its %pcr
//!    and %pic are to be scrubbed, the strand does that itself, because no other strand can. It waits until its stores to devices
//!    are complete. Then it acknowledges.
//! 3. When every strand has acknowledged or is dead, the strand that finds this scrubs the units ([`Unit`]). L2 control can be
//!    reached from its own node only, so one strand of the loser on each node gets another cross-call for it. A chip that is busy
//!    is tried again at a cross-call that the strand sends to itself.
//! 4. The right is added to the word of the next holder.
//!
//! Nothing waits for a strand that is [declared dead](PerfCounterService::strand_died), because it does not go on in the call that
//! it was in. Its cross-call stays: if the strand comes back, it scrubs itself before anything else. It must not come back before
//! `strand_died` has returned.
//!
//! A unit that cannot be scrubbed goes out of service and is *unclean*: it is scrubbed when the operator returns it to service.
//! So is a unit that is out of service already.
//!
//! One strand at a time takes steps 3 and 4, and the operator's steps, under a lock. A strand that cannot get the lock leaves a
//! mark, and the owner of the lock looks again. Steps 3 and 4 may be taken twice, so that another strand takes them again if the
//! owner dies. An operator's step whose strand has died is to be made again.
//!
//! Cross-calls go out when the lock is free and no mark is left. Otherwise this could go on for ever: a quick strand takes its
//! cross-call while the sender still has the lock, and leaves a mark; the sender sees the mark, looks again, and sends another
//! cross-call.

use guest_abi::StrandId;
use hv_core::GuestId;
use platform::{AccessError, StrandRegisters};

use crate::environment::Environment;
use crate::rights::policy::StrandSet;
use crate::rights::protocol::{Ledger, Scrub};
use crate::service::PerfCounterService;
use crate::service::operator::ChangeError;
use crate::trace::Why;
use crate::units::Unit;

/// How often a strand tries to get the lock before a step of the operator's ends with [`ChangeError::Busy`].
pub const CHANGE_LOCK_TRIES: usize = 10_000;

impl<E: Environment> PerfCounterService<E> {
    /// Makes a step of the operator's, and does what follows from it. The step adds the strands that it asks for
    /// something to the set that it is given.
    #[inline(always)]
    pub(super) fn locked(
        &self,
        on: StrandId,
        step: impl FnOnce(&mut StrandSet) -> Result<(), ChangeError>,
    ) -> Result<(), ChangeError> {
        let lock = self.rights.lock(on, CHANGE_LOCK_TRIES);
        let lock = lock.ok_or(ChangeError::Busy)?;
        let mut asked = StrandSet::EMPTY;
        let result = step(&mut asked);
        drop(lock);
        self.work(on, asked);
        result
    }

    /// Does what is to be done, or leaves it to the strand that has the lock. Then sends cross-calls to the strands that
    /// are asked for something, by this or before.
    #[inline(always)]
    pub(super) fn work(&self, on: StrandId, mut asked: StrandSet) {
        let ended = self.rights.turns(on, || {
            self.rights.locked(&self.units, &mut asked).turn(
                |rights, guest| self.scrub_revoked(on, guest, rights.asked),
                |guest, held| self.note_held(on, guest, held),
            );
        });
        if !ended {
            self.rights.ask(on, Scrub::Nothing, &mut asked);
        }
        for strand in asked.iter() {
            self.registers().cross_call(strand);
        }
    }

    /// Scrubs what a guest has left behind from which `global` is revoked, as far as this strand can. Returns `true` if that is
    /// all of it.
    #[inline(always)]
    fn scrub_revoked(&self, on: StrandId, guest: GuestId, asked: &mut StrandSet) -> bool {
        let mut done = true;
        for unit in Unit::all() {
            if !self.units.is_unclean(unit) || self.units.out().has(unit) {
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
                            if self.take_out_of_service(on, unit, Why::Uncleared) {
                                log::error!(
                                    "{unit} is out of service: no strand is there to scrub it"
                                );
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

    /// Scrubs a unit, or takes it out of service. Returns `false` if the unit is busy and a cross-call will come.
    #[inline(always)]
    fn scrub_or_give_up(&self, on: StrandId, unit: Unit, asked: &mut StrandSet) -> bool {
        match self.scrub(on, unit) {
            Ok(()) => {
                self.units.set_clean(unit);
                true
            }
            Err(AccessError::Fault) => {
                if self.faulted(on, unit) {
                    log::error!("{unit} cannot be scrubbed and is out of service");
                }
                true
            }
            Err(AccessError::Busy) => {
                let given_up = self.found_busy(on, unit) || self.units.out().has(unit);
                if given_up {
                    // Whoever mends it may leave anything in it.
                    self.units.scrub_from_start(unit);
                } else {
                    self.rights.ask(on, Scrub::Nothing, asked);
                }
                given_up
            }
        }
    }
}
