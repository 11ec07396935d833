//! Rights that change hands, while strands are in calls.
//!
//! # What is promised
//! Once a change is complete, no call of a guest reaches what the guest has lost, everything that it could have programmed
//! with that is stopped and scrubbed, and the next holder finds zeros:
//!
//! - who loses `strand` or `htstrand`: %pcr and %pic of its strands are 0;
//! - who has `strand` in place of `htstrand`: HT is 0 in %pcr of its strands, which count on without it;
//! - who loses `global`: PERF_CONFIG and the memory channels of its nodes, and all hubs, are 0;
//! - who starts again (a reset): all of these.
//!
//! Until then the change is *pending*: who loses a right is refused with ENOACCESS at once, and who is to have it still. What
//! neither of them has to wait for is theirs all the time. Nothing here waits. A newer change takes the place of a pending
//! one: rights that were on their way to a guest may go to another, or back, but never without having been scrubbed.
//!
//! A right that nobody had is granted without scrubbing: what it covers was scrubbed when it was last revoked. That is at once,
//! unless a strand of the guest itself has been asked for something and has not acknowledged it. At the start
//! of the service all registers are 0, as they are at power-on; whoever starts the service otherwise scrubs them first.
//!
//! # How
//! A call looks at one word of its guest and then makes its access; nothing says that it is in flight. But a strand takes no
//! interrupt within a call. So:
//!
//! 1. The right is taken from the words. Calls that begin from now on do not have it.
//! 2. Every strand of the loser gets a cross-call. When the strand takes it, the strand is in no call that has seen the old
//!    word. It scrubs its own %pcr and %pic if they are to be scrubbed, which no other strand can, and acknowledges.
//! 3. When all have acknowledged, or are dead, the units are scrubbed ([`Unit`]) by the strand that is there. L2 control is reached
//!    on its own node only, so a strand of the loser on each node gets another cross-call for it. A chip that is busy is tried
//!    again at a cross-call that the strand sends to itself.
//! 4. The words of the next holder get the right.
//!
//! A strand that is [said to be dead](PerfCounterService::strand_died) is not waited for, because it will not go on in the call
//! that it was in. Its cross-call stays: if it comes back, it scrubs itself before anything else. It must not come back before
//! that has been said, to the end.
//!
//! A unit that cannot be scrubbed is out of service and *unclean*: when the operator returns it to service it is scrubbed
//! first. So is a unit that is out of service already.
//!
//! Steps 3 and 4, and the operator's own, are made by one strand at a time, which holds a lock. Who does not get it
//! leaves a mark, and the one who has it looks again. Each of these steps can be made twice, so one that a strand has died in
//! is made again. Not so the operator's own: when a strand has died in one, it has to be told again.
//!
//! Cross-calls go out when the strand that asks is through with the lock, the mark included. Otherwise a strand that is asked
//! to scrub what only it can, and is quick, finds the lock taken by the one who asked, who sees its mark, looks and asks
//! again, and so on for ever.

use guest_abi::StrandId;
use platform::{AccessError, StrandRegisters};

use crate::environment::Environment;
use crate::rights::policy::StrandSet;
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
            self.rights.finish_revoke(&self.units);
            self.rights.take_up_resets(&self.units, &mut asked);
            self.scrub_revoked(on, &mut asked);
            self.rights.complete(self.units.out(), |guest, held| {
                self.note_held(on, guest, held)
            });
        });
        if !ended {
            self.rights.ask(on, 0, &mut asked);
        }
        for strand in asked.iter() {
            self.registers().cross_call(strand);
        }
    }

    /// If `global` is revoked from a guest and none of its strands is awaited: scrubs what it has left behind, as far as this
    /// strand can.
    #[inline(always)]
    fn scrub_revoked(&self, on: StrandId, asked: &mut StrandSet) {
        let Some(guest) = self.rights.next_scrub() else {
            return;
        };
        let mut done = true;
        for unit in Unit::all() {
            if !self.units.is_unclean(unit) || self.units.out().has(unit) {
                continue;
            }
            done &= match unit {
                Unit::L2(node) if node != self.node(on) => {
                    let is_there = |strand| self.node(strand) == node;
                    match self.rights.living_strand(guest, is_there) {
                        Some(strand) => {
                            self.rights.ask(strand, 0, asked);
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
        if done {
            self.rights.end_scrub();
        }
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
                    self.rights.ask(on, 0, asked);
                }
                given_up
            }
        }
    }
}
