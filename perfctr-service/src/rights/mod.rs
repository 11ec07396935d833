//! What guests are granted and hold, and how far changes of that have come. Nothing here touches a device: the service does
//! what has to be done, as [`transfer`](crate::transfer) says.

pub(crate) mod access;
pub(crate) mod grants;
pub(crate) mod guest;
pub mod policy;
#[cfg_attr(not(feature = "decisions"), allow(unreachable_pub))]
pub mod protocol;
pub(crate) mod request;
mod state;
mod steps;

use guest_abi::StrandId;
use hv_core::GuestId;
use hv_core::sync::{AtomicBool, AtomicId, AtomicU32, AtomicU64, OwnedLock};
use platform::Machine;

use crate::rights::guest::Guest;
use crate::rights::policy::{ConfigError, GuestConfig};
use crate::rights::protocol::Global;
use crate::rights::request::Request;

/// How many strands there can be. Model checkers have room for fewer.
pub(crate) const STRANDS: usize = if cfg!(loom) {
    4
} else if cfg!(shuttle) {
    64
} else {
    StrandId::COUNT
};

/// The rights of all guests of a machine, and what is known of grants and revocations. All but `guests`, `requests`, `again`,
/// `resets` and `noted` belongs to the strand that has the lock.
#[derive(Debug)]
pub(crate) struct Rights {
    machine: Machine,
    /// As many as there can be. The first `guest_count` exist.
    guests: [Guest; GuestId::COUNT],
    guest_count: usize,
    /// What each strand is asked for.
    requests: [Request; STRANDS],
    /// Owned by the strand that makes steps.
    lock: OwnedLock,
    /// How often the lock has been taken.
    taken: AtomicU32,
    /// The mark: there is work that the owner of the lock may not have seen. It is only ever exchanged, because loom knows no
    /// order of sequentially consistent stores and loads.
    again: AtomicBool,
    /// Guests that have started again and whose rights are to be taken.
    resets: [AtomicU64; GuestId::COUNT.div_ceil(64)],
    /// The guest whose reset is being taken up.
    resetting: AtomicId<GuestId>,
    /// Which guest has `global`: a [`Global`].
    global: AtomicU32,
    /// There is an event of a change that is begun, and none of its end.
    noted: AtomicBool,
}

impl Rights {
    /// Returns the rights of these guests, numbered in the order given. No change is pending: each guest holds what it is
    /// granted.
    ///
    /// # Errors
    /// The first problem of the configuration that [`check`](policy::check) finds.
    pub(crate) fn new(machine: Machine, guests: &[GuestConfig]) -> Result<Self, ConfigError> {
        policy::check(machine, guests)?;
        let user = guests.iter().position(|guest| guest.grant.global);
        Ok(Self {
            machine,
            guests: core::array::from_fn(|number| {
                Guest::new(guests.get(number).copied().unwrap_or_default(), machine)
            }),
            guest_count: guests.len(),
            requests: core::array::from_fn(|_| Request::default()),
            lock: OwnedLock::default(),
            taken: AtomicU32::new(0),
            again: AtomicBool::new(false),
            resets: Default::default(),
            resetting: AtomicId::default(),
            global: AtomicU32::new(
                user.and_then(GuestId::new)
                    .map_or(Global::Free, Global::Held)
                    .bits(),
            ),
            noted: AtomicBool::new(false),
        })
    }

    /// Returns the machine.
    pub(crate) fn machine(&self) -> Machine {
        self.machine
    }

    /// Returns the numbers of the guests, in order.
    pub(crate) fn guests(&self) -> impl Iterator<Item = GuestId> + use<> {
        (0..self.guest_count).filter_map(GuestId::new)
    }

    /// Returns how many guests there are.
    pub(crate) fn guest_count(&self) -> usize {
        self.guest_count
    }

    /// Returns a guest; one without strands and rights if there is no such guest.
    pub(crate) fn guest(&self, guest: GuestId) -> &Guest {
        &self.guests[guest.index()]
    }

    /// Returns what a strand is asked for.
    fn request(&self, strand: StrandId) -> &Request {
        &self.requests[strand.index()]
    }
}
