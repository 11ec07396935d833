//! The part of a machine's state that matters for rights.

use hv_core::GuestId;
use perfctr_service::decisions::protocol::{Asked, Global, Holding, Scrub};
use perfctr_service::{Grant, StrandRight};

use super::{GuestAction, Register, guest};

/// The state of a machine. The machine has one unit that `global` covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct World<const G: usize, const S: usize> {
    pub(crate) guests: [Holding; G],
    /// For each guest, `true` from the guest's reset until a strand begins to handle it.
    pub(crate) reset: [bool; G],
    /// The guest whose reset the strands are handling. `None` if no reset is being handled.
    pub(crate) resetting: Option<GuestId>,
    pub(crate) global: Global,
    pub(crate) strands: [[Strand; S]; G],
    pub(crate) unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strand {
    pub(crate) asked: Asked,
    pub(crate) doing: Activity,
    /// The tenure in which the guest wrote to %pcr and %pic; `None` if both are 0.
    pub(crate) pcr: Option<Tenure>,
    /// The tenure in which the guest set HT; `None` if HT is 0.
    pub(crate) ht: Option<Tenure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Activity {
    Guest,
    /// The strand is in a call, and has found that its guest has the right to the register.
    Call(Call),
    /// The strand has taken a cross-call and scrubbed.
    CrossCall(Asked),
    Dead,
}

/// The register that a call writes, and whether the guest still has the right that it had when the call began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    Unit(Tenure),
    /// The call writes %pcr, and perhaps its HT bit.
    Pcr(Tenure, Option<Tenure>),
}

/// The time during which a guest has a right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Tenure {
    Current,
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Unit {
    /// The guest that last wrote to the unit; `None` if the unit is 0.
    pub(crate) written: Option<(usize, Tenure)>,
    /// Whether the unit is on the service's list, because it holds values of a guest that has lost the unit.
    pub(crate) unclean: bool,
    pub(crate) out: bool,
}

impl Strand {
    /// Takes a cross-call and scrubs.
    pub(crate) fn take_cross_call(&mut self, taken: Asked) {
        match taken.scrub() {
            Scrub::Pcr => (self.pcr, self.ht) = (None, None),
            Scrub::Ht => self.ht = None,
            Scrub::Nothing => {}
        }
        self.doing = Activity::CrossCall(taken);
    }

    /// Returns the cross-call that the strand has taken.
    pub(crate) fn taken_cross_call(&self) -> Option<Asked> {
        match self.doing {
            Activity::CrossCall(taken) => Some(taken),
            _ => None,
        }
    }
}

/// Returns the guests whose rights make `such` return `true`.
pub(crate) fn held_by<const G: usize>(
    guests: &[Holding; G],
    such: impl Fn(Grant) -> bool,
) -> impl Iterator<Item = usize> {
    let guests = guests.iter().enumerate();
    guests.filter_map(move |(number, guest)| such(guest.held).then_some(number))
}

impl<const G: usize, const S: usize> World<G, S> {
    /// Returns a machine whose guests hold these grants and have written nothing.
    pub(crate) fn new(grants: &[Grant; G]) -> Self {
        let strand =
            Strand { asked: Asked::default(), doing: Activity::Guest, pcr: None, ht: None };
        let user = grants.iter().position(|grant| grant.global);
        Self {
            guests: grants.map(|granted| Holding { granted, held: granted, starting: false }),
            reset: [false; G],
            resetting: None,
            global: user.map_or(Global::Free, |user| Global::Held(guest(user))),
            strands: [[strand; S]; G],
            unit: Unit { written: None, unclean: false, out: false },
        }
    }

    /// Takes all rights from a guest that is being reset.
    pub(crate) fn start(&mut self, number: usize) {
        self.end_tenures(number, Grant::ALL, Grant::NONE);
    }

    /// Changes what a strand is doing and what it has written. The service knows neither of these.
    pub(crate) fn apply_outside_service(&mut self, act: GuestAction) {
        match act {
            GuestAction::Calls(guest, strand, register) => {
                let call = match register {
                    Register::Unit => Call::Unit(Tenure::Current),
                    Register::Pcr => Call::Pcr(Tenure::Current, None),
                    Register::PcrWithHt => Call::Pcr(Tenure::Current, Some(Tenure::Current)),
                };
                self.strands[guest][strand].doing = Activity::Call(call);
            }
            GuestAction::EndsCall(guest, strand) => {
                let strand = &mut self.strands[guest][strand];
                match strand.doing {
                    Activity::Call(Call::Unit(tenure)) => self.unit.written = Some((guest, tenure)),
                    Activity::Call(Call::Pcr(pcr, ht)) => (strand.pcr, strand.ht) = (Some(pcr), ht),
                    _ => {}
                }
                strand.doing = Activity::Guest;
            }
            GuestAction::Acknowledges(guest, strand)
            | GuestAction::AcknowledgesInVain(guest, strand) => {
                self.strands[guest][strand].doing = Activity::Guest;
            }
            GuestAction::IsDeclaredDead(guest, strand) => {
                self.strands[guest][strand].doing = Activity::Dead
            }
            _ => {}
        }
    }

    /// Ends the tenures of the rights that are in `before` but not in `after`. Values that the guest has written with these rights, or is
    /// about to write, then belong to an ended tenure. (The lock owner may take a right from the guest and die before it stores the new
    /// grant. Then the right is not revoked, and the guest gets it back.)
    pub(crate) fn end_tenures(&mut self, number: usize, before: Grant, after: Grant) {
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
                Activity::Call(Call::Unit(tenure)) => end(tenure, global),
                Activity::Call(Call::Pcr(pcr, set)) => {
                    end(pcr, strand);
                    set.iter_mut().for_each(|tenure| end(tenure, ht));
                }
                _ => {}
            }
        }
    }
}
