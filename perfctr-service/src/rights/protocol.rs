//! The protocol by which rights pass from guest to guest. Its functions compute the next state from a state and an event, without atomics.
//!
//! The state consists of what each strand is [asked](Asked) for, which guest has [`global`](Global), and what each guest [holds](Holding).
//! `Rights` keeps each of these in an atomic word, and an event changes one word.

mod ledger;
#[cfg(test)]
mod tests;

use bitfield_struct::bitfield;
use hv_core::GuestId;

pub use ledger::Ledger;

use crate::rights::policy::{Grant, StrandRight};

/// What a strand is asked to scrub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scrub {
    /// Nothing. The strand only acknowledges, and so shows that it has left any earlier call.
    Nothing,
    /// The bit HT in %pcr. The counters continue without it.
    Ht,
    /// All bits of %pcr and %pic.
    Pcr,
}

/// The request that a cross-call brings to a strand. The request lasts until the strand acknowledges it. At first there is no request.
#[bitfield(u32)]
#[derive(PartialEq, Eq, Hash)]
pub struct Asked {
    /// The strand has been asked, and has not acknowledged.
    asked: bool,
    /// The strand is dead, so no change waits for it.
    excused: bool,
    /// The strand has to scrub %pcr and %pic.
    pcr: bool,
    /// The strand has to scrub HT in %pcr.
    ht: bool,
    #[bits(28)]
    __: u32,
}

/// An event that changes a strand's [`Asked`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrandEvent {
    /// The strand is asked to scrub what the event names, and to acknowledge.
    Asks(Scrub),
    /// The death of the strand is reported.
    Dies,
    /// The strand takes its cross-call, between two calls, and so shows that it is alive.
    Takes,
    /// The strand has done everything that it was asked to do when it took the cross-call.
    Acknowledges(Asked),
}

impl Asked {
    /// Returns the next state. An acknowledgement has no effect if a request was added after the strand took the cross-call.
    ///
    /// A request to a dead strand remains. If the strand comes back, it first takes its cross-call, and changes wait for it again.
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

    /// Returns what the strand has to scrub.
    pub const fn scrub(self) -> Scrub {
        match (self.pcr(), self.ht()) {
            (true, _) => Scrub::Pcr,
            (false, true) => Scrub::Ht,
            (false, false) => Scrub::Nothing,
        }
    }

    /// Returns `true` if the strand, dead or alive, has not acknowledged.
    pub const fn is_asked(self) -> bool {
        self.asked()
    }

    /// Returns `true` if a change waits for the strand: it has not acknowledged, and is not dead.
    pub const fn is_awaited(self) -> bool {
        self.asked() && !self.excused()
    }

    /// Returns `true` if the strand is dead, so that no change waits for it.
    pub const fn is_dead(self) -> bool {
        self.excused()
    }
}

/// Returns `true` if no change is pending, or if only [awaited](Asked::is_awaited) strands keep a change pending. `reset` is a guest that
/// was reset and whose rights are not all revoked.
pub fn is_settled(
    global: Global,
    reset: Option<GuestId>,
    mut guests: impl Iterator<Item = Holding>,
) -> bool {
    !matches!(global, Global::Revoked(_))
        && reset.is_none()
        && guests.all(|guest| guest.held == guest.granted)
}

/// Which guest has the right `global`, or how far its revocation has come. Only the owner of the lock changes this state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Global {
    /// No guest has `global`, and no unit waits to be scrubbed.
    Free,
    /// This guest has `global`. Another guest can get `global` only after a revocation.
    Held(GuestId),
    /// This guest is losing `global`, and a strand is marking the units that the guest could program, so that they are scrubbed. If this
    /// strand dies, another strand marks the units again.
    Revoking(GuestId),
    /// This guest has lost `global`, and the units that the guest could program are not all scrubbed yet.
    Revoked(GuestId),
}

/// An event that changes the machine's [`Global`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobalEvent {
    /// A guest is granted `global`. The event has an effect only if `global` is free.
    Grant(GuestId),
    /// `global` is revoked from the guest that has it, or that has lost it and still has units to be scrubbed.
    Revoke,
    /// All units that the loser of `global` could program are marked.
    UnitsMarked,
    /// All marked units are scrubbed or out of service.
    Scrubbed,
}

impl Global {
    /// Returns the next state. An event that does not fit the state changes nothing.
    pub fn step(self, event: GlobalEvent) -> Self {
        match (self, event) {
            (Self::Free, GlobalEvent::Grant(guest)) => Self::Held(guest),
            (Self::Held(user) | Self::Revoked(user), GlobalEvent::Revoke) => Self::Revoking(user),
            (Self::Revoking(user), GlobalEvent::UnitsMarked) => Self::Revoked(user),
            (Self::Revoked(_), GlobalEvent::Scrubbed) => Self::Free,
            (state, _) => state,
        }
    }

    /// Returns the guest that has `global`, or has lost it and still has units to be scrubbed.
    pub const fn user(self) -> Option<GuestId> {
        match self {
            Self::Free => None,
            Self::Held(user) | Self::Revoking(user) | Self::Revoked(user) => Some(user),
        }
    }

    fn is_free_for(self, guest: GuestId) -> bool {
        matches!(self, Self::Free) || self == Self::Held(guest)
    }

    /// Returns the state as a word: bits 1:0 are the variant, and the bits above them are the guest's number.
    pub const fn bits(self) -> u32 {
        let (kind, user) = match self {
            Self::Free => return 0,
            Self::Held(user) => (1, user),
            Self::Revoking(user) => (2, user),
            Self::Revoked(user) => (3, user),
        };
        (user.index() as u32) << 2 | kind
    }

    /// Returns the state with these [bits](Self::bits); [`Free`](Self::Free) if the bits stand for no state.
    pub fn from_bits(bits: u32) -> Self {
        match (bits & 3, GuestId::new(bits as usize >> 2)) {
            (1, Some(user)) => Self::Held(user),
            (2, Some(user)) => Self::Revoking(user),
            (3, Some(user)) => Self::Revoked(user),
            _ => Self::Free,
        }
    }
}

/// What a guest is granted, and how much of it the guest holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Holding {
    /// The rights that the operator grants the guest.
    pub granted: Grant,
    /// The part of the grant that the guest holds: less than the grant while a change is pending.
    pub held: Grant,
    /// The guest was reset, and has not received its rights again.
    pub starting: bool,
}

/// An event that changes a guest's [`Holding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestEvent {
    /// The operator revokes all rights outside of this grant. Needs the lock.
    Revoke(Grant),
    /// The operator gives the guest this grant, after all revocations of the same configuration. Needs the lock.
    Grant(Grant),
    /// The guest is reset, and all its rights are revoked.
    Reset,
    /// A strand completes the grant as far as the circumstances allow. Needs the lock.
    Complete(Circumstances),
}

/// What decides whether a guest can hold all rights that it is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circumstances {
    /// The guest that the other fields describe.
    pub guest: GuestId,
    /// A strand of the guest is [awaited](Asked::is_awaited).
    pub awaited: bool,
    /// The guest was reset, and no strand has begun to revoke its rights.
    pub reset: bool,
    /// The state of `global` on the machine.
    pub global: Global,
}

/// What the owner of the lock has to do after an event that concerns a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// Nothing, because the guest neither loses nor gains a right.
    Nothing,
    /// Asks the guest's strands to scrub themselves, because the guest has lost a right.
    Lost {
        /// What each strand of the guest is asked to scrub.
        scrub: Scrub,
        /// `true` if `global` is also revoked, provided that the guest is its [user](Global::user).
        global: bool,
    },
    /// Gives the guest the rights that it holds now.
    Given,
}

impl Holding {
    /// Returns the next state, and what the owner of the lock has to do.
    pub fn step(mut self, event: GuestEvent) -> (Self, Consequence) {
        let consequence = match event {
            GuestEvent::Revoke(grant) => self.revoke(grant),
            GuestEvent::Grant(granted) => {
                self.granted = granted;
                Consequence::Nothing
            }
            GuestEvent::Reset => {
                (self.held, self.starting) = (Grant::NONE, true);
                let (scrub, global) = (Scrub::Pcr, true);
                Consequence::Lost { scrub, global }
            }
            GuestEvent::Complete(circumstances) => self.complete(circumstances),
        };
        (self, consequence)
    }

    /// Revokes all rights outside of `grant`, including rights that the guest is granted but does not hold yet.
    fn revoke(&mut self, grant: Grant) -> Consequence {
        let left = self.granted.both(grant);
        if left == self.granted {
            return Consequence::Nothing;
        }
        let scrub = match (self.granted.strand, left.strand) {
            (StrandRight::HtStrand, StrandRight::Strand) => Scrub::Ht,
            (old, new) if old != new => Scrub::Pcr,
            _ => Scrub::Nothing,
        };
        (self.granted, self.held) = (left, self.held.both(left));
        let global = !left.global;
        Consequence::Lost { scrub, global }
    }

    fn complete(&mut self, circumstances: Circumstances) -> Consequence {
        if circumstances.awaited || circumstances.reset {
            return Consequence::Nothing;
        }
        let before = *self;
        self.held = self.granted;
        self.held.global &= circumstances.global.is_free_for(circumstances.guest);
        self.starting &= self.held != self.granted;
        if *self == before { Consequence::Nothing } else { Consequence::Given }
    }
}
