//! The grants of all guests, as a configuration that the operator edits one right at a time.

use core::fmt;

use hv_core::GuestId;

use crate::rights::policy::{ConfigError, Grant, OneGlobal, Right};

/// Why an edit of a configuration fails. Guests are numbered as in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RightError {
    /// The configuration has no guest with this number.
    NoSuchGuest(GuestId),
    /// The guest does not have the right that should be revoked or transferred.
    NotHeld(GuestId, Right),
    /// The guest already has this right, so it cannot get the requested right. The two rights are the same, or one is `strand` and the
    /// other `htstrand`.
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

/// The grants of all guests. [`reconfigure`](crate::PerfCounterService::reconfigure) checks them as a whole and applies them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grants {
    grants: [Grant; GuestId::COUNT],
    guests: usize,
}

impl Grants {
    /// Returns a configuration of `guests` guests that grants nothing. Fails with [`ConfigError::TooManyGuests`] above
    /// [`GuestId::COUNT`].
    pub const fn none(guests: usize) -> Result<Self, ConfigError> {
        if guests > GuestId::COUNT {
            return Err(ConfigError::TooManyGuests);
        }
        Ok(Self::none_saturating(guests))
    }

    /// Returns a configuration that grants nothing, of `guests` guests or of [`GuestId::COUNT`] guests, whichever is fewer.
    pub(crate) const fn none_saturating(guests: usize) -> Self {
        let guests = if guests < GuestId::COUNT { guests } else { GuestId::COUNT };
        Self { grants: [Grant::NONE; GuestId::COUNT], guests }
    }

    /// Returns the number of guests in the configuration, as given to [`none`](Self::none).
    pub const fn guests(&self) -> usize {
        self.guests
    }

    /// Returns a guest's grant; [`Grant::NONE`] if there is no such guest.
    pub fn get(&self, guest: GuestId) -> Grant {
        let grant = self.grants.get(guest.index());
        grant.copied().unwrap_or(Grant::NONE)
    }

    /// Replaces a guest's grant. Fails if the configuration does not have the guest.
    pub fn set(&mut self, guest: GuestId, grant: Grant) -> Result<(), RightError> {
        let mut guests = self.grants.iter_mut().take(self.guests);
        let old = guests.nth(guest.index());
        *old.ok_or(RightError::NoSuchGuest(guest))? = grant;
        Ok(())
    }

    /// Grants a guest one more right. Fails if the guest already has the right. Also fails if the guest would have both `strand` and
    /// `htstrand`.
    pub fn grant(&mut self, guest: GuestId, right: Right) -> Result<(), RightError> {
        let grant = self.get(guest).with(right);
        let grant = grant.map_err(|held| RightError::Excluded(guest, held))?;
        self.set(guest, grant)
    }

    /// Revokes one of a guest's rights. Fails if the guest does not have it.
    pub fn revoke(&mut self, guest: GuestId, right: Right) -> Result<(), RightError> {
        let grant = self.get(guest).without(right);
        let grant = grant.ok_or(RightError::NotHeld(guest, right))?;
        self.set(guest, grant)
    }

    /// Moves a right from one guest to another. If this fails, no grant changes.
    pub fn transfer(&mut self, from: GuestId, to: GuestId, right: Right) -> Result<(), RightError> {
        let mut after = *self;
        after.revoke(from, right)?;
        after.grant(to, right)?;
        *self = after;
        Ok(())
    }

    /// Checks that at most one guest is granted `global`.
    pub fn check(&self) -> Result<(), ConfigError> {
        let mut global = OneGlobal::new();
        let mut grants = self.grants.iter().enumerate();
        grants.try_for_each(|(number, grant)| {
            let admitted = global.admit(*grant, number);
            admitted.map_err(|holder| ConfigError::TwoGlobals(holder, number))
        })
    }
}
