//! The rights that guests are granted and hold, and the progress of changes. The service accesses the devices.

pub(crate) mod access;
pub(crate) mod grants;
pub(crate) mod guest;
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
use hv_core::sync::{AtomicBool, AtomicId, AtomicU32, AtomicU64, OwnedLock};
use platform::Machine;

use crate::rights::guest::GuestRights;
use crate::rights::policy::{ConfigError, GuestConfig};
use crate::rights::protocol::Global;
use crate::rights::request::Request;

/// The maximum number of strands. Model checkers have room for fewer strands.
pub(crate) const STRANDS: usize = if cfg!(loom) {
    4
} else if cfg!(shuttle) {
    64
} else {
    StrandId::COUNT
};

/// The rights of all guests of a machine. Except `marked`, `resets` and `begin_recorded`, the fields after `lock` belong to the lock's
/// owner.
#[derive(Debug)]
pub(crate) struct Rights {
    machine: Machine,
    /// The rights of the guests. Only the first `guest_count` guests exist.
    guests: [GuestRights; GuestId::COUNT],
    guest_count: usize,
    requests: [Request; STRANDS],
    lock: OwnedLock,
    /// The number of times that a strand has taken the lock.
    taken: AtomicU32,
    /// `true` if there is work that the owner of the lock may not have seen. Accessed by exchanges only, because loom does not
    /// order a store and a load.
    marked: AtomicBool,
    /// The guests that were reset, and whose rights no strand has revoked yet.
    resets: [AtomicU64; GuestId::COUNT.div_ceil(64)],
    /// The guest whose rights are being revoked after its reset.
    resetting: AtomicId<GuestId>,
    /// The bits of a [`Global`].
    global: AtomicU32,
    /// `true` if the trace has the beginning of a change, but not its end.
    begin_recorded: AtomicBool,
}

impl Rights {
    /// Returns the rights of these guests, numbered in the given order. Each guest holds its grant. Fails like [`policy::check`].
    pub(crate) fn new(machine: Machine, guests: &[GuestConfig]) -> Result<Self, ConfigError> {
        policy::check(machine, guests)?;
        let user = guests.iter().position(|guest| guest.grant.global);
        Ok(Self {
            machine,
            guests: core::array::from_fn(|number| {
                GuestRights::new(guests.get(number).copied().unwrap_or_default(), machine)
            }),
            guest_count: guests.len(),
            requests: core::array::from_fn(|_| Request::default()),
            lock: OwnedLock::default(),
            taken: AtomicU32::new(0),
            marked: AtomicBool::new(false),
            resets: Default::default(),
            resetting: AtomicId::default(),
            global: AtomicU32::new(
                user.and_then(GuestId::new).map_or(Global::Free, Global::Held).bits(),
            ),
            begin_recorded: AtomicBool::new(false),
        })
    }

    pub(crate) fn machine(&self) -> Machine {
        self.machine
    }

    pub(crate) fn guests(&self) -> impl Iterator<Item = GuestId> + use<> {
        (0..self.guest_count).filter_map(GuestId::new)
    }

    pub(crate) fn guest_count(&self) -> usize {
        self.guest_count
    }

    /// Returns the rights of a guest. A guest that does not exist has no strands and no rights.
    pub(crate) fn guest(&self, guest: GuestId) -> &GuestRights {
        &self.guests[guest.index()]
    }

    fn request(&self, strand: StrandId) -> &Request {
        &self.requests[strand.index()]
    }
}
