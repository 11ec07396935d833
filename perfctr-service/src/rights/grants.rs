//! What each guest of a machine is granted, and rights that go from hand to hand in it.

use core::fmt;

use hv_core::GuestId;

use crate::rights::policy::{ConfigError, Grant, OneGlobal, Right};

/// Why a right does not go from hand to hand. Guests are numbered in the order of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RightError {
    /// There is no such guest.
    NoSuchGuest(GuestId),
    /// The guest does not have the right.
    NotHeld(GuestId, Right),
    /// The guest has this right already, or the other of `strand` and `htstrand`.
    Excluded(GuestId, Right),
}

impl fmt::Display for RightError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchGuest(guest) => write!(f, "there is no guest {guest}"),
            Self::NotHeld(guest, right) => write!(f, "guest {guest} does not have {right}"),
            Self::Excluded(guest, right) => write!(f, "guest {guest} has {right} already"),
        }
    }
}

impl core::error::Error for RightError {}

/// What each guest is granted: a configuration that is put together, then checked and taken whole by
/// [`reconfigure`](crate::PerfCounterService::reconfigure).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grants {
    of: [Grant; GuestId::COUNT],
    guests: usize,
}

impl Grants {
    /// Nothing for any of so many guests, 256 at most.
    pub const fn none(guests: usize) -> Self {
        Self {
            of: [Grant::NONE; GuestId::COUNT],
            guests,
        }
    }

    /// How many guests there are.
    pub const fn guests(&self) -> usize {
        self.guests
    }

    /// What a guest is granted; nothing if there is no such guest.
    pub fn get(&self, guest: GuestId) -> Grant {
        self.of.get(guest.index()).copied().unwrap_or(Grant::NONE)
    }

    /// Grants a guest this and nothing else.
    pub fn set(&mut self, guest: GuestId, grant: Grant) -> Result<(), RightError> {
        let guests = self.guests;
        match self.of.get_mut(guest.index()) {
            Some(old) if guest.index() < guests => *old = grant,
            _ => return Err(RightError::NoSuchGuest(guest)),
        }
        Ok(())
    }

    /// Gives a guest one more right.
    pub fn grant(&mut self, guest: GuestId, right: Right) -> Result<(), RightError> {
        let grant = self.get(guest).with(right);
        let grant = grant.map_err(|held| RightError::Excluded(guest, held))?;
        self.set(guest, grant)
    }

    /// Takes a right from a guest that has it.
    pub fn revoke(&mut self, guest: GuestId, right: Right) -> Result<(), RightError> {
        let grant = self.get(guest).without(right);
        let grant = grant.ok_or(RightError::NotHeld(guest, right))?;
        self.set(guest, grant)
    }

    /// Takes a right from one guest and gives it to another. On an error nothing is changed.
    pub fn transfer(&mut self, from: GuestId, to: GuestId, right: Right) -> Result<(), RightError> {
        let mut after = *self;
        after.revoke(from, right)?;
        after.grant(to, right)?;
        *self = after;
        Ok(())
    }

    /// Checks all guests together.
    pub fn check(&self) -> Result<(), ConfigError> {
        let mut global = OneGlobal::new();
        self.of.iter().enumerate().try_for_each(|(number, grant)| {
            let admitted = global.admit(*grant, number);
            admitted.map_err(|holder| ConfigError::TwoGlobals(holder, number))
        })
    }
}
