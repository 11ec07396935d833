//! The protocol by which rights pass from guest to guest: what follows from each event, without atomics and without devices.
//!
//! Three kinds of state make it up: what each strand is [asked](Asked) for, which guest has [`global`](Global), and what each guest
//! [holds](Holding). An event is one step of one of them. `Rights` keeps each state in atomic words, and makes
//! the steps in the order that [`transfer`](crate::transfer) describes. What only the strand that has the lock may do is
//! marked "locked".

mod ledger;
#[cfg(test)]
mod tests;

use bitfield_struct::bitfield;
use hv_core::GuestId;

pub use ledger::Ledger;

use crate::rights::policy::{Grant, StrandRight};

/// What a strand scrubs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scrub {
    /// Nothing: it only acknowledges, and so shows that it is in no call of before.
    Nothing,
    /// HT in %pcr.
    Ht,
    /// %pcr and %pic.
    Pcr,
}

/// What a strand is asked for by cross-call and has not acknowledged yet; nothing at first. An atomic holds its bits.
#[bitfield(u32)]
#[derive(PartialEq, Eq, Hash)]
pub struct Asked {
    /// It has not acknowledged.
    asked: bool,
    /// It is dead.
    excused: bool,
    /// It is to scrub %pcr and %pic.
    pcr: bool,
    /// It is to scrub HT in %pcr.
    ht: bool,
    #[bits(28)]
    __: u32,
}

/// What happens to a strand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrandEvent {
    /// It is asked to scrub this and to acknowledge.
    Asks(Scrub),
    /// Its death is reported.
    Dies,
    /// It takes its cross-call, between two calls: so it lives.
    Takes,
    /// It has done what was asked when it took the cross-call: this.
    Acknowledges(Asked),
}

impl Asked {
    /// Returns the next state. An acknowledgement changes it only if nothing was added since the strand took the cross-call: the
    /// acknowledgement of an older request does not count for a newer one. Requests and deaths only add bits.
    ///
    /// A dead strand stays asked: if it comes back, it takes its cross-call before anything else, and is waited for again.
    pub fn step(self, event: StrandEvent) -> Self {
        match event {
            StrandEvent::Asks(Scrub::Nothing) => self.with_asked(true),
            StrandEvent::Asks(Scrub::Ht) => self.with_asked(true).with_ht(true),
            StrandEvent::Asks(Scrub::Pcr) => self.with_asked(true).with_pcr(true),
            StrandEvent::Dies => self.with_asked(true).with_excused(true),
            StrandEvent::Takes => self.with_excused(false),
            StrandEvent::Acknowledges(taken) if self == taken => Self::new(),
            StrandEvent::Acknowledges(_) => self,
        }
    }

    /// Returns what the strand is to scrub.
    pub const fn scrub(self) -> Scrub {
        match (self.pcr(), self.ht()) {
            (true, _) => Scrub::Pcr,
            (false, true) => Scrub::Ht,
            (false, false) => Scrub::Nothing,
        }
    }

    /// Returns `true` if it has not acknowledged, dead or not.
    pub const fn is_asked(self) -> bool {
        self.asked()
    }

    /// Returns `true` if its acknowledgement is waited for.
    pub const fn is_awaited(self) -> bool {
        self.asked() && !self.excused()
    }

    /// Returns `true` if it is dead: nobody waits for it.
    pub const fn is_excused(self) -> bool {
        self.excused()
    }
}

/// Returns `true` if no change is pending, but for strands that are [awaited](Asked::is_awaited). `reset` is a guest whose reset
/// has not been taken up, or not to the end.
pub fn is_settled(
    global: Global,
    reset: Option<GuestId>,
    mut guests: impl Iterator<Item = Holding>,
) -> bool {
    !matches!(global, Global::Revoked(_))
        && reset.is_none()
        && guests.all(|guest| guest.held == guest.granted)
}

/// Which guest has `global`. Locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Global {
    /// None, and none has left anything behind.
    Free,
    /// This guest.
    Held(GuestId),
    /// It is being revoked from this guest: what the guest may leave behind is being listed. If the strand that lists it dies,
    /// another begins again.
    Listed(GuestId),
    /// It is revoked from this guest, and what the guest has left behind is not scrubbed yet.
    Revoked(GuestId),
}

/// What happens to `global`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobalEvent {
    /// A guest gets it.
    Grant(GuestId),
    /// It is revoked from its guest, which may have lost it already.
    Revoke,
    /// The list of what that guest has left behind is whole.
    ListIsWhole,
    /// All of the list is scrubbed, or out of service.
    Scrubbed,
}

impl Global {
    /// Returns the next state. It is the same if the event does not fit.
    pub fn step(self, event: GlobalEvent) -> Self {
        match (self, event) {
            (Self::Free, GlobalEvent::Grant(guest)) => Self::Held(guest),
            (Self::Held(user) | Self::Revoked(user), GlobalEvent::Revoke) => Self::Listed(user),
            (Self::Listed(user), GlobalEvent::ListIsWhole) => Self::Revoked(user),
            (Self::Revoked(_), GlobalEvent::Scrubbed) => Self::Free,
            (state, _) => state,
        }
    }

    /// Returns the guest that has it, or had it last and has left something behind.
    pub const fn user(self) -> Option<GuestId> {
        match self {
            Self::Free => None,
            Self::Held(user) | Self::Listed(user) | Self::Revoked(user) => Some(user),
        }
    }

    /// Returns `true` if nothing stands in the way of giving it to this guest.
    fn is_free_for(self, guest: GuestId) -> bool {
        matches!(self, Self::Free) || self == Self::Held(guest)
    }

    /// Returns the word that an atomic holds.
    pub const fn bits(self) -> u32 {
        let (kind, user) = match self {
            Self::Free => return 0,
            Self::Held(user) => (1, user),
            Self::Listed(user) => (2, user),
            Self::Revoked(user) => (3, user),
        };
        (user.index() as u32) << 2 | kind
    }

    /// Returns what these [bits](Self::bits) stand for.
    pub fn from_bits(bits: u32) -> Self {
        match (bits & 3, GuestId::new(bits as usize >> 2)) {
            (1, Some(user)) => Self::Held(user),
            (2, Some(user)) => Self::Listed(user),
            (3, Some(user)) => Self::Revoked(user),
            _ => Self::Free,
        }
    }
}

/// What a guest is granted, and what it holds of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Holding {
    /// By the operator.
    pub granted: Grant,
    /// No more than that; less while a change is pending.
    pub held: Grant,
    /// It starts again, and does not have its rights back yet.
    pub starting: bool,
}

/// What happens to a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestEvent {
    /// The operator leaves it no more than this. Locked.
    Revoke(Grant),
    /// The operator grants it this. All revocations of the same configuration come before. Locked.
    Grant(Grant),
    /// It starts again.
    Reset,
    /// A strand looks what it can be given. Locked.
    Complete(Circumstances),
}

/// On what it depends whether a guest is given what it is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circumstances {
    /// The guest.
    pub guest: GuestId,
    /// One of its strands is [awaited](Asked::is_awaited).
    pub awaited: bool,
    /// It was reset, and nothing was done about that yet.
    pub reset: bool,
    /// Which guest has `global`.
    pub global: Global,
}

/// What follows from what happens to a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing: it neither loses nor gets anything.
    Nothing,
    /// It has lost something: its strands are asked to scrub this.
    Lost {
        /// What.
        scrub: Scrub,
        /// `global` is revoked, if it is the [user](Global::user).
        global: bool,
    },
    /// It is given what it holds now.
    Given,
}

impl Holding {
    /// Returns the next state, and what follows.
    pub fn step(self, event: GuestEvent) -> (Self, Answer) {
        match event {
            GuestEvent::Revoke(grant) => self.revoke(grant),
            GuestEvent::Grant(granted) => (Self { granted, ..self }, Answer::Nothing),
            GuestEvent::Reset => {
                let held = Grant::NONE;
                let starting = true;
                let (scrub, global) = (Scrub::Pcr, true);
                let reset = Self {
                    held,
                    starting,
                    ..self
                };
                (reset, Answer::Lost { scrub, global })
            }
            GuestEvent::Complete(circumstances) => self.complete(circumstances),
        }
    }

    /// A guest that has waited for what it loses, and has never held it, loses it all the same.
    fn revoke(self, grant: Grant) -> (Self, Answer) {
        let granted = self.granted.both(grant);
        if granted == self.granted {
            return (self, Answer::Nothing);
        }
        let scrub = match (self.granted.strand, granted.strand) {
            (StrandRight::HtStrand, StrandRight::Strand) => Scrub::Ht,
            (old, new) if old != new => Scrub::Pcr,
            _ => Scrub::Nothing,
        };
        let held = self.held.both(granted);
        let global = !granted.global;
        let left = Self {
            granted,
            held,
            ..self
        };
        (left, Answer::Lost { scrub, global })
    }

    fn complete(self, circumstances: Circumstances) -> (Self, Answer) {
        let Circumstances { guest, global, .. } = circumstances;
        if circumstances.awaited || circumstances.reset {
            return (self, Answer::Nothing);
        }
        let held = Grant {
            global: self.granted.global && global.is_free_for(guest),
            ..self.granted
        };
        let starting = self.starting && held != self.granted;
        let next = Self {
            held,
            starting,
            ..self
        };
        let answer = if next == self {
            Answer::Nothing
        } else {
            Answer::Given
        };
        (next, answer)
    }
}
