//! The properties that must hold in each machine.

use std::rc::Rc;

use perfctr_service::StrandRight;
use perfctr_service::decisions::protocol::Global;

use super::shipped::Shipped;
use super::world::{Activity, Call, Tenure, World, held_by};
use super::{Change, GuestAction, Rights, Schedule, ScrubResult, guest};

impl<const G: usize, const S: usize> World<G, S> {
    fn is_pending(&self) -> bool {
        Shipped::new(self).is_pending()
    }

    /// Returns `true` if the guests hold what they are granted, and nothing remains of the rights that they have lost. Units that are out
    /// of service and dead strands are exceptions: they are scrubbed when they come back.
    fn is_complete(&self) -> bool {
        let holder = held_by(&self.guests, |held| held.global).next();
        let global = match holder {
            Some(holder) => Global::Held(guest(holder)),
            None => Global::Free,
        };
        let left = |tenure: Option<Tenure>| tenure == Some(Tenure::Ended);
        let unit = self.unit.written.is_none_or(|(writer, tenure)| {
            Some(writer) == holder && tenure == Tenure::Current
                || self.unit.out && self.unit.unclean
        });
        let strands = self.strands.iter().flatten();
        let mut living = strands.filter(|strand| strand.doing != Activity::Dead);
        unit && self.global == global
            && self.resetting.is_none()
            && !self.reset.contains(&true)
            && self.guests.iter().all(|guest| guest.held == guest.granted)
            && living.all(|strand| {
                let call = match strand.doing {
                    Activity::Call(Call::Unit(tenure)) => left(Some(tenure)),
                    Activity::Call(Call::Pcr(pcr, ht)) => left(Some(pcr)) || left(ht),
                    _ => false,
                };
                !call && !left(strand.pcr) && !left(strand.ht)
            })
    }
}

impl<const G: usize, const S: usize> Rights<G, S> {
    pub(super) fn one_holder_of_global(&self, world: &World<G, S>) -> bool {
        held_by(&world.guests, |held| held.global).count() <= 1
    }

    pub(super) fn held_is_granted(&self, world: &World<G, S>) -> bool {
        let mut guests = world.guests.iter();
        guests.all(|guest| {
            guest.held.strand <= guest.granted.strand && guest.held.global <= guest.granted.global
        })
    }

    /// The holder of `global` finds only zeros in the unit, or what its own calls have written since it got the right. No call by another
    /// guest, or from an earlier tenure, can still write to the unit.
    pub(super) fn holders_of_global_find_nothing(&self, world: &World<G, S>) -> bool {
        held_by(&world.guests, |held| held.global).all(|holder| {
            let own = |writer: usize, tenure| writer == holder && tenure == Tenure::Current;
            let strands = world.strands.iter().enumerate();
            let mut calls = strands.flat_map(|(guest, strands)| {
                strands.iter().map(move |strand| (guest, strand.doing))
            });
            let written = world.unit.written;
            (world.unit.out || written.is_none_or(|(writer, tenure)| own(writer, tenure)))
                && calls.all(|(guest, doing)| match doing {
                    Activity::Call(Call::Unit(tenure)) => own(guest, tenure),
                    _ => true,
                })
        })
    }

    /// A holder of `strand` or `htstrand` finds only zeros in %pcr and %pic, or what it has written since it got the right.
    pub(super) fn holders_of_strands_find_nothing(&self, world: &World<G, S>) -> bool {
        let left = |tenure| tenure == Some(Tenure::Ended);
        held_by(&world.guests, |held| held.strand != StrandRight::None).all(|holder| {
            let ht = world.guests[holder].held.strand == StrandRight::HtStrand;
            let strands = world.strands[holder].iter();
            let mut living = strands.filter(|strand| strand.doing != Activity::Dead);
            living.all(|strand| {
                let call = match strand.doing {
                    Activity::Call(Call::Pcr(pcr, set)) => left(Some(pcr)) || ht && left(set),
                    _ => false,
                };
                !(call || left(strand.pcr) || ht && left(strand.ht))
            })
        })
    }

    pub(super) fn pending_is_true(&self, world: &World<G, S>) -> bool {
        world.is_pending() || world.is_complete()
    }

    /// A change ends after at most three rounds. In a round, each strand that is not declared dead acknowledges, and then
    /// a strand takes the pending steps.
    pub(super) fn a_change_ends(&self, world: &World<G, S>) -> bool {
        let shipped = Rc::new(Shipped::new(world));
        for _ in 0..3 {
            for number in 0..G * S {
                let (guest, strand) = (number / S, number % S);
                for act in [
                    GuestAction::Acknowledges(guest, strand),
                    GuestAction::EndsCall(guest, strand),
                    GuestAction::TakesCrossCall(guest, strand),
                    GuestAction::Acknowledges(guest, strand),
                ] {
                    if shipped.doing(guest, strand) != Activity::Dead {
                        shipped.act(act);
                    }
                }
            }
            shipped.make_change(self, Change::Continues(ScrubResult::Succeeds), Schedule::ALL);
        }
        !shipped.is_pending() && shipped.world().is_complete()
    }
}
