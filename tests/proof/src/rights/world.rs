//! What a machine is, as far as rights go.

use hv_core::GuestId;
use perfctr_service::decisions::protocol::{Asked, Global, Holding};
use perfctr_service::{Grant, StrandRight};

use super::guest;

/// A machine in one moment. It has one unit that `global` covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct World<const G: usize, const S: usize> {
    pub(crate) guests: [Holding; G],
    /// Guests that start again, which has not been taken up.
    pub(crate) reset: [bool; G],
    /// The guest whose reset is taken up, and not to the end.
    pub(crate) resetting: Option<GuestId>,
    pub(crate) global: Global,
    pub(crate) strands: [[Strand; S]; G],
    pub(crate) unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strand {
    pub(crate) asked: Asked,
    pub(crate) doing: Doing,
    /// What its guest has written to %pcr and %pic; `None` if they are 0.
    pub(crate) pcr: Option<Tenure>,
    /// The same of HT.
    pub(crate) ht: Option<Tenure>,
}

/// What a strand is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Doing {
    /// It executes guest code.
    Guest,
    /// It is in a call, which has found that the guest may make it.
    Call(Call),
    /// It is in a cross-call: it has taken this, and has scrubbed.
    CrossCall(Asked),
    /// It is declared dead.
    Dead,
}

/// What a call writes, and whether its guest has had the right to that ever since the call began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    OfUnit(Tenure),
    /// %pcr, and HT in it.
    Pcr(Tenure, Option<Tenure>),
}

/// The time from which a guest has a right, until it loses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Tenure {
    Current,
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Unit {
    /// The guest that has written to it last; `None` if it is 0.
    pub(crate) written: Option<(usize, Tenure)>,
    /// It is listed: something is in it of a guest that has lost it.
    pub(crate) unclean: bool,
    /// It is out of service.
    pub(crate) out: bool,
}

/// Returns the guests that hold such rights.
pub(crate) fn held_by<const G: usize>(
    guests: &[Holding; G],
    such: impl Fn(Grant) -> bool,
) -> impl Iterator<Item = usize> {
    let guests = guests.iter().enumerate();
    guests.filter_map(move |(number, guest)| such(guest.held).then_some(number))
}

impl<const G: usize, const S: usize> World<G, S> {
    /// The guests hold what they are granted, and nobody has written anything.
    pub(crate) fn new(grants: &[Grant; G]) -> Self {
        let strand = Strand {
            asked: Asked::default(),
            doing: Doing::Guest,
            pcr: None,
            ht: None,
        };
        let user = grants.iter().position(|grant| grant.global);
        Self {
            guests: grants.map(|granted| Holding {
                granted,
                held: granted,
                starting: false,
            }),
            reset: [false; G],
            resetting: None,
            global: user.map_or(Global::Free, |user| Global::Held(guest(user))),
            strands: [[strand; S]; G],
            unit: Unit {
                written: None,
                unclean: false,
                out: false,
            },
        }
    }

    /// Returns the first of these guests whose reset has not been taken up, or one for which that was not done to the end.
    pub(crate) fn next_reset(&self, mut guests: impl Iterator<Item = GuestId>) -> Option<GuestId> {
        let flagged = || guests.find(|guest| self.reset[guest.index()]);
        self.resetting.or_else(flagged)
    }

    /// A guest starts again: it loses all its rights.
    pub(crate) fn start(&mut self, number: usize) {
        self.guests[number].starting = true;
        self.guests[number].held = Grant::NONE;
        self.end_tenures(number, Grant::ALL, Grant::NONE);
    }

    /// It is noted what a guest is granted. (If the owner of the lock dies after it took a right from the guest and before this,
    /// the right was not revoked, and the guest has it back.)
    pub(crate) fn set_granted(&mut self, number: usize, grant: Grant) {
        let before = self.guests[number].granted;
        self.guests[number].granted = grant;
        self.end_tenures(number, before, grant);
    }

    /// Ends the tenures of the rights that are in `before` and not in `after`: of what the guest has written by them, and of what
    /// it is about to write.
    fn end_tenures(&mut self, number: usize, before: Grant, after: Grant) {
        let end = |tenure: &mut Tenure, lost| {
            if lost {
                *tenure = Tenure::Ended;
            }
        };
        let global = before.global && !after.global;
        let strand = before.strand != StrandRight::None && after.strand == StrandRight::None;
        let ht = before.strand == StrandRight::HtStrand && after.strand != StrandRight::HtStrand;
        if let Some((writer, tenure)) = &mut self.unit.written {
            end(tenure, global && *writer == number);
        }
        for own in &mut self.strands[number] {
            own.pcr.iter_mut().for_each(|tenure| end(tenure, strand));
            own.ht.iter_mut().for_each(|tenure| end(tenure, ht));
            match &mut own.doing {
                Doing::Call(Call::OfUnit(tenure)) => end(tenure, global),
                Doing::Call(Call::Pcr(pcr, set)) => {
                    end(pcr, strand);
                    set.iter_mut().for_each(|tenure| end(tenure, ht));
                }
                _ => {}
            }
        }
    }
}
