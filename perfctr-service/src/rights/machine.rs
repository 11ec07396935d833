//! A machine's rights, in the same atomics as in the service. A proof sets a state, takes steps, and reads the resulting state.

use guest_abi::{Node, StrandId};
use hv_core::GuestId;
use hv_core::sync::Ordering;
use platform::Machine;

use crate::rights::Rights;
use crate::rights::policy::{ConfigError, GuestConfig, StrandSet};
use crate::rights::protocol::{Asked, Global, Holding, Ledger, Scrub, StrandEvent};
use crate::units::{Unit, Units};

/// The unit that stands for all units that `global` covers: the last unit that is marked for scrubbing.
const UNIT: Unit = Unit::L2(Node::Node0);

/// The rights of all guests, and the units.
#[derive(Debug)]
pub struct MachineRights {
    rights: Rights,
    units: Units,
}

impl MachineRights {
    /// Returns the rights on a machine on which these guests have not negotiated.
    pub fn new(machine: Machine, guests: &[GuestConfig]) -> Result<Self, ConfigError> {
        let rights = Rights::new();
        rights.configure(machine, guests)?;
        Ok(Self { rights, units: Units::new() })
    }

    /// Returns the ledger for the owner of the lock. To `asked`, the ledger adds each strand that it asks to scrub or to acknowledge.
    pub fn ledger<'a>(&'a self, asked: &'a mut StrandSet) -> impl Ledger + use<'a> {
        self.rights.ledger(&self.units, asked)
    }

    /// Returns the rights that a guest is granted and holds.
    pub fn holding(&self, guest: GuestId) -> Holding {
        self.rights.guest(guest).holding()
    }

    /// Sets the rights that a guest is granted and holds.
    pub fn set_holding(&self, guest: GuestId, holding: Holding) {
        if self.holding(guest) != holding {
            let rights = self.rights.guest(guest);
            rights.set_granted(holding.granted);
            rights.start();
            rights.add_rights(holding.held, || true);
            if !holding.starting {
                rights.started();
            }
        }
    }

    /// Returns `true` if the guest was reset, and no strand has begun to revoke its rights yet.
    pub fn is_reset(&self, guest: GuestId) -> bool {
        self.rights.is_reset(guest)
    }

    /// Returns the guest whose rights a strand has begun to revoke after a reset.
    pub fn resetting(&self) -> Option<GuestId> {
        self.rights.resetting.load()
    }

    /// Returns a guest that was reset and whose rights are not all revoked yet, if there is one.
    pub fn next_reset(&self) -> Option<GuestId> {
        self.rights.next_reset()
    }

    /// Sets the guests that were reset, and the guest whose rights a strand has begun to revoke after a reset.
    pub fn set_resets(&self, reset: impl Iterator<Item = GuestId>, resetting: Option<GuestId>) {
        self.rights.resets.iter().for_each(|word| word.store(0, Ordering::SeqCst));
        reset.for_each(|guest| self.rights.set_reset(guest));
        self.rights.resetting.store(resetting);
    }

    /// Returns which guest has `global`, or how far its revocation has come.
    pub fn global(&self) -> Global {
        self.rights.global()
    }

    /// Sets which guest has `global`, or how far its revocation has come.
    pub fn set_global(&self, global: Global) {
        self.rights.set_global(global);
    }

    /// Returns what a strand is asked to do, and whether it is dead.
    pub fn asked(&self, strand: StrandId) -> Asked {
        self.rights.request(strand).read()
    }

    /// Sets what a strand is asked to do, and whether it is dead.
    pub fn set_asked(&self, strand: StrandId, asked: Asked) {
        let request = self.rights.request(strand);
        if request.read() == asked {
            return;
        }
        request.acknowledge(request.read());
        for scrub in [Scrub::Nothing, Scrub::Ht, Scrub::Pcr] {
            // Ask only for a scrub that `asked` already contains: adding the scrub to `asked` then changes nothing.
            if asked.step(StrandEvent::Asks(scrub)) == asked {
                request.ask(scrub);
            }
        }
        if asked.is_dead() {
            request.mark_dead();
        }
    }

    /// Returns `true` if the units are marked for scrubbing.
    pub fn is_unclean(&self) -> bool {
        self.units.is_unclean(UNIT)
    }

    /// Returns `true` if the units are out of service.
    pub fn is_out(&self) -> bool {
        self.units.out().contains(UNIT)
    }

    /// Marks the units for scrubbing, or marks them as scrubbed.
    pub fn set_unclean(&self, unclean: bool) {
        if unclean {
            self.units.set_unclean(UNIT);
        } else {
            self.units.set_clean(UNIT);
        }
    }

    /// Takes the units out of service.
    pub fn take_out(&self) {
        self.units.take_out(UNIT);
        self.rights.withdraw(UNIT, self.units.out());
    }

    /// Returns the units to service.
    pub fn return_to_service(&self) {
        self.rights.return_to_service(&self.units, UNIT, || ());
    }

    /// Resets a guest: marks the reset, and takes away all rights that the guest holds. The lock's owner then completes the reset.
    pub fn reset(&self, guest: GuestId) {
        self.rights.reset(guest, || ());
    }

    /// Begins the cross-call of a strand. Returns what the strand is asked to do.
    pub fn take(&self, strand: StrandId) -> Asked {
        self.rights.request(strand).take()
    }

    /// Acknowledges the request that [`take`](Self::take) has returned. Does nothing if another request was added meanwhile.
    pub fn acknowledge(&self, strand: StrandId, taken: Asked) {
        self.rights.request(strand).acknowledge(taken);
    }

    /// Excuses a dead strand, so that no change waits for it. Frees the lock if the dead strand owned the lock.
    pub fn died(&self, strand: StrandId) {
        let _ = self.rights.abandon(strand);
    }

    /// Returns `true` if a change has not taken effect yet.
    pub fn is_pending(&self) -> bool {
        self.rights.pending().is_some()
    }
}
