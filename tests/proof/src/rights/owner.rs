//! The owner of the lock, which takes the steps of a change in the same orders as the service ([`Ledger`]).

use guest_abi::StrandId;
use hv_core::GuestId;
use perfctr_service::Grant;
use perfctr_service::decisions::protocol::{Asked, Global, Holding, Ledger, Scrub, StrandEvent};

use super::world::World;
use super::{Crossing, Scrubbing, Steps, guest};

pub(crate) struct Owner<'a, const G: usize, const S: usize> {
    world: &'a mut World<G, S>,
    how: Steps,
    strands_scrub: bool,
    /// How many steps the owner has taken.
    steps: usize,
    /// The world after each step; `None` if the caller does not need it.
    trail: Option<&'a mut Vec<World<G, S>>>,
}

impl<'a, const G: usize, const S: usize> Owner<'a, G, S> {
    pub(crate) fn new(
        world: &'a mut World<G, S>,
        how: Steps,
        strands_scrub: bool,
        trail: Option<&'a mut Vec<World<G, S>>>,
    ) -> Self {
        Self { world, how, strands_scrub, steps: 0, trail }
    }

    fn step(&mut self, step: impl FnOnce(&mut World<G, S>)) {
        if let Crossing::Meets(after, act) = self.how.crossing
            && after == self.steps
        {
            self.world.act(act);
        }
        self.steps += 1;
        step(self.world);
        if let Some(trail) = &mut self.trail {
            trail.push(*self.world);
        }
    }

    /// Returns the guest of a strand, and the strand's number in the guest.
    fn position(&self, strand: StrandId) -> (usize, usize) {
        let (guest, number) = (strand.index() / S, strand.index() % S);
        match self.how.reversed {
            true => (guest, S - 1 - number),
            false => (guest, number),
        }
    }

    /// Scrubs the unit for its next holder. Guest `loser` had the unit before. Returns `true` if the unit is scrubbed or out of service.
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
        self.how.guests.into_iter().take(G).map(guest)
    }

    fn holding(&self, guest: GuestId) -> Holding {
        self.world.guests[guest.index()]
    }

    fn strands(&self, guest: GuestId) -> impl Iterator<Item = StrandId> + use<'a, G, S> {
        let first = guest.index() * S;
        (first..first + S).filter_map(StrandId::new)
    }

    fn asked(&self, strand: StrandId) -> Asked {
        let (guest, number) = self.position(strand);
        self.world.strands[guest][number].asked
    }

    fn global(&self) -> Global {
        self.world.global
    }

    fn is_reset(&self, guest: GuestId) -> bool {
        self.world.reset[guest.index()]
    }

    fn next_reset(&self) -> Option<GuestId> {
        self.world.next_reset(self.guests())
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
        let (guest, number) = self.position(strand);
        let scrub = if self.strands_scrub { scrub } else { Scrub::Nothing };
        self.step(|world| {
            let asked = &mut world.strands[guest][number].asked;
            *asked = asked.step(StrandEvent::Asks(scrub));
        });
    }

    /// Does nothing, because any strand of the model may look for pending steps at any time.
    fn mark(&mut self) {}

    /// Does nothing, because the model has no fast paths.
    fn refresh(&mut self, _: GuestId) {}
}
