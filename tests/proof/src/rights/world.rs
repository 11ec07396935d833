//! What a machine is, as far as rights go.

use guest_abi::StrandId;
use hv_core::GuestId;
use perfctr_service::decisions::protocol::{Asked, Global, Holding, Ledger, Scrub, StrandEvent};
use perfctr_service::{Grant, StrandRight};

use super::{Crossing, Scrubbing, Steps, guest};

/// A machine in one moment. It has one unit that `global` covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct World<const G: usize, const S: usize> {
    pub(crate) guests: [Holding; G],
    /// Guests that start again, which has not been taken up.
    pub(crate) reset: [bool; G],
    /// The guest whose reset is taken up, and not to the end.
    resetting: Option<GuestId>,
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

    /// Returns a guest whose reset has not been taken up, or not to the end.
    pub(crate) fn next_reset(&self) -> Option<GuestId> {
        let flagged = || self.reset.iter().position(|reset| *reset).map(guest);
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
    fn set_granted(&mut self, number: usize, grant: Grant) {
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

    /// Sorts the strands of each guest.
    pub(crate) fn sort(&mut self) {
        for strands in &mut self.strands {
            strands.sort_unstable_by_key(Strand::key);
        }
    }
}

impl Strand {
    /// Returns a number that is another for each state.
    fn key(&self) -> u32 {
        let written = |tenure: Option<Tenure>| match tenure {
            None => 0,
            Some(Tenure::Current) => 1,
            Some(Tenure::Ended) => 2,
        };
        let doing = match self.doing {
            Doing::Guest => 0,
            Doing::Dead => 1,
            Doing::Call(Call::OfUnit(tenure)) => 2 + written(Some(tenure)),
            Doing::Call(Call::Pcr(pcr, ht)) => 8 + 4 * written(Some(pcr)) + written(ht),
            Doing::CrossCall(taken) => 32 + taken.bits(),
        };
        ((doing << 8 | self.asked.bits()) << 2 | written(self.pcr)) << 2 | written(self.ht)
    }
}

/// The strand that has the lock, and makes steps.
pub(crate) struct Owner<'a, const G: usize, const S: usize> {
    world: &'a mut World<G, S>,
    how: Steps,
    /// The steps made so far.
    steps: usize,
}

impl<'a, const G: usize, const S: usize> Owner<'a, G, S> {
    pub(crate) fn new(world: &'a mut World<G, S>, how: Steps) -> Self {
        Self {
            world,
            how,
            steps: 0,
        }
    }

    pub(crate) fn steps(&self) -> usize {
        self.steps
    }

    fn is_dead(&self) -> bool {
        matches!(self.how.crossing, Crossing::Dies(after) if after <= self.steps)
    }

    /// Makes a step, unless the strand has died.
    fn step(&mut self, step: impl FnOnce(&mut World<G, S>)) {
        if self.is_dead() {
            return;
        }
        if let Crossing::Meets(after, act) = self.how.crossing
            && after == self.steps
            // What could be done before the first step may be impossible by now.
            && self.world.acts().contains(&act)
        {
            self.world.act(act);
        }
        self.steps += 1;
        step(self.world);
    }

    /// Returns the place of a strand.
    fn place(&self, strand: StrandId) -> (usize, usize) {
        let (guest, number) = (strand.index() / S, strand.index() % S);
        match self.how.reversed {
            true => (guest, S - 1 - number),
            false => (guest, number),
        }
    }

    /// Scrubs the unit after a guest. Returns `true` if it is scrubbed or out of service.
    pub(crate) fn scrub(&mut self, loser: GuestId, scrubbing: Scrubbing) -> bool {
        if !self.world.unit.unclean || self.world.unit.out {
            return true;
        }
        match scrubbing {
            Scrubbing::Succeeds => {
                self.step(|world| world.unit.written = None);
                self.step(|world| world.unit.unclean = false);
                true
            }
            Scrubbing::Busy => false,
            Scrubbing::Faults => {
                self.step(|world| world.unit.out = true);
                true
            }
            Scrubbing::Elsewhere => {
                let mut strands = self.strands(loser);
                match strands.find(|strand| !self.asked(*strand).is_excused()) {
                    Some(strand) => self.ask(strand, Scrub::Nothing),
                    None => self.step(|world| world.unit.out = true),
                }
                self.world.unit.out
            }
        }
    }
}

impl<'a, const G: usize, const S: usize> Ledger for Owner<'a, G, S> {
    fn guests(&self) -> impl Iterator<Item = GuestId> + use<'a, G, S> {
        (0..G).map(guest)
    }

    fn holding(&self, guest: GuestId) -> Holding {
        self.world.guests[guest.index()]
    }

    fn strands(&self, guest: GuestId) -> impl Iterator<Item = StrandId> + use<'a, G, S> {
        let first = guest.index() * S;
        (first..first + S).filter_map(StrandId::new)
    }

    fn asked(&self, strand: StrandId) -> Asked {
        let (guest, number) = self.place(strand);
        self.world.strands[guest][number].asked
    }

    fn global(&self) -> Global {
        self.world.global
    }

    fn is_reset(&self, guest: GuestId) -> bool {
        self.world.reset[guest.index()]
    }

    fn next_reset(&self) -> Option<GuestId> {
        // A dead strand looks no further.
        self.world.next_reset().filter(|_| !self.is_dead())
    }

    fn begin_reset(&mut self, guest: GuestId) {
        self.step(|world| world.resetting = Some(guest));
        self.step(|world| world.reset[guest.index()] = false);
    }

    fn end_reset(&mut self) {
        self.step(|world| world.resetting = None);
    }

    fn start(&mut self, guest: GuestId) {
        self.step(|world| world.start(guest.index()));
    }

    fn started(&mut self, guest: GuestId) {
        self.step(|world| world.guests[guest.index()].starting = false);
    }

    fn keep(&mut self, guest: GuestId, grant: Grant) {
        self.step(|world| {
            let held = &mut world.guests[guest.index()].held;
            held.strand = held.strand.min(grant.strand);
            held.global &= grant.global;
        });
    }

    fn raise(&mut self, guest: GuestId, grant: Grant) -> bool {
        let mut raised = false;
        self.step(|world| {
            let held = &mut world.guests[guest.index()].held;
            raised = !world.reset[guest.index()];
            if raised {
                held.strand = held.strand.max(grant.strand);
                held.global |= grant.global;
            }
        });
        raised
    }

    fn set_granted(&mut self, guest: GuestId, grant: Grant) {
        self.step(|world| world.set_granted(guest.index(), grant));
    }

    fn set_global(&mut self, global: Global) {
        self.step(|world| world.global = global);
    }

    fn list(&mut self, _: GuestId) {
        self.step(|world| world.unit.unclean = true);
    }

    fn ask(&mut self, strand: StrandId, scrub: Scrub) {
        let (guest, number) = self.place(strand);
        self.step(|world| {
            let asked = &mut world.strands[guest][number].asked;
            *asked = asked.step(StrandEvent::Asks(scrub));
        });
    }

    /// Somebody looks once more whether there is a mark or not.
    fn mark(&mut self) {}

    /// No guest has a fast path here.
    fn refresh(&mut self, _: GuestId) {}
}
