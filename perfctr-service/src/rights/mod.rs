//! The rights that guests are granted and hold, and the progress of changes. This module leaves the devices to the service.

pub(crate) mod access;
pub(crate) mod grants;
pub(crate) mod guest;
#[cfg(feature = "decisions")]
pub mod machine;
pub mod policy;
#[cfg_attr(not(feature = "decisions"), allow(unreachable_pub))]
pub mod protocol;
pub(crate) mod refusals;
pub(crate) mod request;
mod state;
pub(crate) mod steps;
pub(crate) mod versions;

use guest_abi::StrandId;
use hv_core::GuestId;
use hv_core::sync::{
    AtomicBool, AtomicId, AtomicU32, AtomicU64, Ordering, OwnedLock, array_of, const_unless_loom,
    plain,
};
use platform::Machine;

use crate::rights::guest::GuestRights;
use crate::rights::policy::{ConfigError, GuestConfig};
use crate::rights::protocol::Global;
use crate::rights::request::PendingRequest;
use crate::units::Unit;

/// The maximum number of strands. Model checkers have room for fewer strands.
pub(crate) const STRANDS: usize = if cfg!(loom) {
    4
} else if cfg!(shuttle) {
    64
} else {
    StrandId::COUNT
};

/// The rights of all guests of a machine. The fields after `lock` belong to the lock's owner, except `marked`, `resets` and
/// `begin_recorded`.
#[derive(Debug)]
pub(crate) struct Rights {
    /// `true` after a configuration has been accepted. The other words of the configuration are written once, after this word.
    configured: plain::AtomicBool,
    /// The machine's [`Unit`]s, with one bit for each.
    units: plain::AtomicU32,
    /// The guests' rights. Only the first `guest_count` guests exist.
    guests: [GuestRights; GuestId::COUNT],
    /// The number of guests. It is stored with release ordering once all guests are configured, and loaded with acquire ordering before a
    /// strand makes its first call.
    guest_count: plain::AtomicUsize,
    requests: [PendingRequest; STRANDS],
    lock: OwnedLock,
    /// The number of times that a strand has taken the lock.
    lock_count: AtomicU32,
    /// `true` if there is work that the lock's owner may not have seen. It is accessed only by exchanges, because loom does not order a
    /// store and a load.
    marked: AtomicBool,
    /// The guests that were reset, and whose rights no strand has revoked yet.
    resets: [AtomicU64; GuestId::COUNT.div_ceil(64)],
    /// The guest whose rights are being revoked after its reset.
    resetting: AtomicId<GuestId>,
    /// The state of the right `global`, as the bits of a [`Global`].
    global: AtomicU32,
    /// `true` if the trace has the beginning of a change, but not its end.
    begin_recorded: AtomicBool,
}

impl Rights {
    const_unless_loom! {
        /// Returns the rights of a machine without guests.
        pub(crate) fn new() -> Self {
            Self {
                configured: plain::AtomicBool::new(false),
                units: plain::AtomicU32::new(0),
                guests: array_of!(GuestRights::new(); GuestId::COUNT),
                guest_count: plain::AtomicUsize::new(0),
                requests: array_of!(PendingRequest::new(); STRANDS),
                lock: OwnedLock::new(),
                lock_count: AtomicU32::new(0),
                marked: AtomicBool::new(false),
                resets: array_of!(AtomicU64::new(0); GuestId::COUNT.div_ceil(64)),
                resetting: AtomicId::none(),
                global: AtomicU32::new(Global::Free.bits()),
                begin_recorded: AtomicBool::new(false),
            }
        }
    }

    /// Stores the strands and the grants of all guests. Guests are numbered in the given order. Fails if [`policy::check`] fails, or if a
    /// configuration has been accepted before.
    pub(crate) fn configure(
        &self,
        machine: Machine,
        guests: &[GuestConfig],
    ) -> Result<(), ConfigError> {
        policy::check(machine, guests)?;
        if self.configured.swap(true, Ordering::SeqCst) {
            return Err(ConfigError::Configured);
        }
        let units = Unit::ALL.iter().copied().filter(|unit| unit.is_in(machine));
        let units = units.fold(0, |bits, unit| bits | 1 << unit.number());
        self.units.store(units, Ordering::Relaxed);
        for (rights, config) in self.guests.iter().zip(guests) {
            rights.configure(*config, machine);
        }
        let user = guests.iter().position(|guest| guest.grant.global);
        if let Some(user) = user.and_then(GuestId::new) {
            self.set_global(Global::Held(user));
        }
        self.guest_count.store(guests.len(), Ordering::Release);
        Ok(())
    }

    /// Returns `true` if the machine has the unit. A memory channel must also be enabled.
    pub(crate) fn has_unit(&self, unit: Unit) -> bool {
        self.units.load(Ordering::Relaxed) >> unit.number() & 1 != 0
    }

    pub(crate) fn guests(&self) -> impl Iterator<Item = GuestId> + use<> {
        (0..self.guest_count()).filter_map(GuestId::new)
    }

    pub(crate) fn guest_count(&self) -> usize {
        self.guest_count.load(Ordering::Acquire)
    }

    /// Returns the rights of a guest. A guest that does not exist has no strands and no rights.
    pub(crate) fn guest(&self, guest: GuestId) -> &GuestRights {
        &self.guests[guest.index()]
    }

    /// Returns the guest that has a strand; `None` if no guest has it.
    pub(crate) fn guest_of(&self, strand: StrandId) -> Option<GuestId> {
        self.guests().find(|guest| self.guest(*guest).strands().contains(strand))
    }

    fn request(&self, strand: StrandId) -> &PendingRequest {
        &self.requests[strand.index()]
    }
}
