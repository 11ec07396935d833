//! Executes the service's own rights code, with the shipped atomics. This code takes the lock owner's steps. It also performs the actions
//! that happen between these steps.
//!
//! The model itself keeps only what the service does not know: what strands are doing, and who has written to registers. A [`World`] holds
//! this knowledge and the state of the rights. For each action, the model sets a machine's rights to the world's state, lets the service
//! take the steps, and reads the new state.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use guest_abi::StrandId;
use hv_core::GuestId;
use hv_core::sync::steps;
use perfctr_service::decisions::machine::MachineRights;
use perfctr_service::decisions::protocol::{Asked, Global, Holding, Ledger, Scrub};
use perfctr_service::{Grant, GuestConfig, StrandSet};
use platform::{Machine, Model};

use super::world::{Activity, World};
use super::{Change, GuestAction, Interruption, Rights, Schedule, ScrubResult, guest};

pub(crate) fn strand<const S: usize>(guest: usize, number: usize) -> StrandId {
    StrandId::new(guest * S + number).expect("a machine has it")
}

/// Word addresses, by the number of guests and the number of strands per guest.
type Addresses = HashMap<(usize, usize), Rc<[usize]>>;

thread_local! {
    /// The machines, by the number of guests and the number of strands per guest.
    static MACHINES: RefCell<HashMap<(usize, usize), &'static MachineRights>> = RefCell::default();
    /// For each machine, the addresses of the words that `Shipped::world` reads.
    static WORLD_ADDRESSES: RefCell<Addresses> = RefCell::default();
}

fn machine<const G: usize, const S: usize>() -> &'static MachineRights {
    MACHINES.with_borrow_mut(|machines| {
        *machines.entry((G, S)).or_insert_with(|| {
            let machine = Machine::new(Model::Maramba, 1).expect("a machine has one node");
            let guests = [(); G].map({
                let mut number = 0;
                move |()| {
                    let strands = (0..S).map(|own| strand::<S>(number, own)).collect();
                    number += 1;
                    GuestConfig::new(strands, Grant::NONE)
                }
            });
            let rights = MachineRights::new(machine, &guests).expect("no guest has a right");
            Box::leak(Box::new(rights))
        })
    })
}

/// A world in which the service's own code holds and changes the state of the rights.
pub(crate) struct Shipped<const G: usize, const S: usize> {
    machine: &'static MachineRights,
    /// A world in which only the fields that the service does not know are valid. All other fields are out of date.
    world: Cell<World<G, S>>,
}

impl<const G: usize, const S: usize> Shipped<G, S> {
    pub(crate) fn new(world: &World<G, S>) -> Self {
        let machine = machine::<G, S>();
        for (number, holding) in world.guests.iter().enumerate() {
            machine.set_holding(guest(number), *holding);
            for own in 0..S {
                machine.set_asked(strand::<S>(number, own), world.strands[number][own].asked);
            }
        }
        let reset = (0..G).filter(|number| world.reset[*number]).map(guest);
        machine.set_resets(reset, world.resetting);
        machine.set_global(world.global);
        if machine.is_out() != world.unit.out {
            match world.unit.out {
                true => machine.take_out(),
                false => machine.return_to_service(),
            }
        }
        machine.set_unclean(world.unit.unclean);
        Self { machine, world: Cell::new(*world) }
    }

    /// Returns the world with the current state of the rights.
    pub(crate) fn world(&self) -> World<G, S> {
        let (mut world, machine) = (self.world.get(), self.machine);
        for number in 0..G {
            world.guests[number] = machine.holding(guest(number));
            world.reset[number] = machine.is_reset(guest(number));
            for own in 0..S {
                world.strands[number][own].asked = machine.asked(strand::<S>(number, own));
            }
        }
        world.resetting = machine.resetting();
        world.global = machine.global();
        (world.unit.unclean, world.unit.out) = (machine.is_unclean(), machine.is_out());
        world
    }

    /// Returns what a strand is doing.
    pub(crate) fn doing(&self, guest: usize, number: usize) -> Activity {
        self.world.get().strands[guest][number].doing
    }

    /// Returns the addresses of the words that [`world`](Self::world) reads.
    fn world_addresses(self: &Rc<Self>) -> Rc<[usize]> {
        if let Some(world_addresses) =
            WORLD_ADDRESSES.with_borrow(|world_addresses| world_addresses.get(&(G, S)).cloned())
        {
            return world_addresses;
        }
        let addresses = Rc::new(RefCell::new(vec![]));
        let before = {
            let addresses = Rc::clone(&addresses);
            move |address, _| addresses.borrow_mut().push(address)
        };
        steps::with_observer(before, || self.world());
        let world_addresses: Rc<[usize]> = addresses.take().into();
        WORLD_ADDRESSES.with_borrow_mut(|all| all.insert((G, S), Rc::clone(&world_addresses)));
        world_addresses
    }

    /// Takes the lock owner's steps.
    pub(crate) fn make_change(
        self: &Rc<Self>,
        model: &Rights<G, S>,
        work: Change,
        schedule: Schedule,
    ) {
        Owner { shipped: Rc::clone(self), schedule, scrub: model.strands_scrub }
            .make_change(model, work);
    }

    /// Changes fields that the service does not know.
    fn note(&self, change: impl FnOnce(&mut World<G, S>)) {
        let mut world = self.world.get();
        change(&mut world);
        self.world.set(world);
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.machine.is_pending()
    }

    pub(crate) fn unit_returns(&self) {
        // While `global` is being revoked from a guest, the transfer itself scrubs the unit for the next guest.
        if self.machine.is_unclean() && !matches!(self.machine.global(), Global::Revoked(_)) {
            self.note(|world| world.unit.written = None);
            self.machine.set_unclean(false);
        }
        self.machine.return_to_service();
    }

    pub(crate) fn act(&self, act: GuestAction) {
        let machine = self.machine;
        match act {
            GuestAction::TakesCrossCall(guest, number) | GuestAction::ComesBack(guest, number) => {
                let taken = machine.take(strand::<S>(guest, number));
                self.note(|world| world.strands[guest][number].take_cross_call(taken));
            }
            GuestAction::Acknowledges(guest, number) => {
                let taken = self.world.get().strands[guest][number].taken_cross_call();
                if let Some(taken) = taken {
                    machine.acknowledge(strand::<S>(guest, number), taken);
                    self.note(|world| world.apply_outside_service(act));
                }
            }
            GuestAction::IsDeclaredDead(guest, number) => {
                machine.died(strand::<S>(guest, number));
                self.note(|world| world.apply_outside_service(act));
            }
            GuestAction::Resets(number) => {
                machine.reset(guest(number));
                self.note(|world| world.start(number));
            }
            GuestAction::UnitFaults => machine.take_out(),
            GuestAction::Calls(..)
            | GuestAction::EndsCall(..)
            | GuestAction::AcknowledgesInVain(..) => {
                self.note(|world| world.apply_outside_service(act));
            }
        }
    }
}

/// The worlds after the lock owner's operations. An operation that cannot have changed the world adds none.
pub(crate) type Trail<const G: usize, const S: usize> = Vec<World<G, S>>;

/// An owner's operation on a word: the word's address, whether the operation may change the word, and the length of the trail before the
/// operation.
#[derive(Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) address: usize,
    pub(crate) changes: bool,
    pub(crate) made: usize,
}

/// Records the owner's operations, and the world after each operation that may have changed it.
struct Recorder<const G: usize, const S: usize> {
    shipped: Rc<Shipped<G, S>>,
    world_addresses: Rc<[usize]>,
    operations: RefCell<Vec<Operation>>,
    trail: RefCell<Trail<G, S>>,
    changed: Cell<bool>,
}

impl<const G: usize, const S: usize> Recorder<G, S> {
    /// Adds the world to the trail if the last operation may have changed the world.
    fn record_world(&self) {
        if self.changed.replace(false) {
            self.trail.borrow_mut().push(self.shipped.world());
        }
    }

    fn before(&self, address: usize, changes: bool) {
        self.record_world();
        let made = self.trail.borrow().len();
        self.operations.borrow_mut().push(Operation { address, changes, made });
        self.changed.set(changes && self.world_addresses.contains(&address));
    }
}

impl<const G: usize, const S: usize> World<G, S> {
    /// Takes the lock owner's steps.
    pub(crate) fn make_change(&mut self, model: &Rights<G, S>, work: Change, schedule: Schedule) {
        let shipped = Rc::new(Shipped::new(self));
        match schedule.interruption {
            Interruption::Acts(operation, act) => {
                let meets = {
                    let shipped = Rc::clone(&shipped);
                    move || shipped.act(act)
                };
                steps::interleave_at(operation, meets, || {
                    shipped.make_change(model, work, schedule)
                });
            }
            Interruption::None | Interruption::Dies(_) => {
                shipped.make_change(model, work, schedule)
            }
        }
        *self = shipped.world();
    }

    /// Takes the lock owner's steps. Returns its operations, and the world after each operation that may have changed it.
    pub(crate) fn trace_change(
        &self,
        model: &Rights<G, S>,
        work: Change,
        schedule: Schedule,
    ) -> (Vec<Operation>, Trail<G, S>) {
        let shipped = Rc::new(Shipped::new(self));
        let recorder = Rc::new(Recorder {
            world_addresses: shipped.world_addresses(),
            shipped: Rc::clone(&shipped),
            operations: RefCell::default(),
            trail: RefCell::default(),
            changed: Cell::new(false),
        });
        let before = {
            let recorder = Rc::clone(&recorder);
            move |address, changes| recorder.before(address, changes)
        };
        steps::with_observer(before, || shipped.make_change(model, work, schedule));
        recorder.record_world();
        (recorder.operations.take(), recorder.trail.take())
    }

    /// For each word that an action uses, returns the word's address, and whether the action may change the word.
    pub(crate) fn accessed_words(&self, act: GuestAction) -> Vec<(usize, bool)> {
        let shipped = Shipped::new(self);
        let words = Rc::new(RefCell::new(vec![]));
        let before = {
            let words = Rc::clone(&words);
            move |address, changes| words.borrow_mut().push((address, changes))
        };
        steps::with_observer(before, || shipped.act(act));
        words.take()
    }
}

/// The lock owner. It takes the service's steps, and notes their effects on registers.
struct Owner<const G: usize, const S: usize> {
    shipped: Rc<Shipped<G, S>>,
    schedule: Schedule,
    scrub: bool,
}

impl<const G: usize, const S: usize> Owner<G, S> {
    fn make_change(&self, model: &Rights<G, S>, work: Change) {
        let mut asked = StrandSet::EMPTY;
        let machine = self.shipped.machine;
        let mut steps = ReorderedLedger { owner: self, ledger: machine.ledger(&mut asked) };
        match work {
            Change::Configures(number) => {
                let grants = &model.configurations[number];
                steps.configure(|guest| grants[guest.index()], |_, _| ());
            }
            Change::Continues(scrubbing) => {
                steps.round(|steps, loser| steps.scrub(loser, scrubbing), |_, _| ());
            }
        }
    }
}

/// The service's [`Ledger`], with the order of guests and strands that the model chooses.
struct ReorderedLedger<'a, L, const G: usize, const S: usize> {
    owner: &'a Owner<G, S>,
    ledger: L,
}

impl<L: Ledger, const G: usize, const S: usize> ReorderedLedger<'_, L, G, S> {
    /// Scrubs the unit for its next holder. Guest `loser` had the unit before. Returns `true` if the unit is now scrubbed or out of
    /// service.
    fn scrub(&mut self, loser: GuestId, scrubbing: ScrubResult) -> bool {
        let machine = self.owner.shipped.machine;
        if !machine.is_unclean() || machine.is_out() {
            return true;
        }
        match scrubbing {
            ScrubResult::Succeeds => {
                self.owner.shipped.note(|world| world.unit.written = None);
                machine.set_unclean(false);
                true
            }
            ScrubResult::Busy => false,
            ScrubResult::Faults => {
                machine.take_out();
                true
            }
            ScrubResult::OnOtherNode => {
                let mut strands = self.strands(loser);
                match strands.find(|strand| !self.asked(*strand).is_dead()) {
                    Some(strand) => self.ask(strand, Scrub::Nothing),
                    None => machine.take_out(),
                }
                machine.is_out()
            }
        }
    }
}

impl<'a, L: Ledger, const G: usize, const S: usize> Ledger for ReorderedLedger<'a, L, G, S> {
    fn guests(&self) -> impl Iterator<Item = GuestId> + use<'a, L, G, S> {
        self.owner.schedule.guests.into_iter().take(G).map(guest)
    }

    fn holding(&self, guest: GuestId) -> Holding {
        self.ledger.holding(guest)
    }

    fn strands(&self, guest: GuestId) -> impl Iterator<Item = StrandId> + use<'a, L, G, S> {
        let reversed = self.owner.schedule.reversed;
        (0..S).map(move |number| {
            let number = if reversed { S - 1 - number } else { number };
            strand::<S>(guest.index(), number)
        })
    }

    fn asked(&self, strand: StrandId) -> Asked {
        self.ledger.asked(strand)
    }

    fn global(&self) -> Global {
        self.ledger.global()
    }

    fn is_reset(&self, guest: GuestId) -> bool {
        self.ledger.is_reset(guest)
    }

    /// Returns the guest whose reset is in progress. If there is none, returns the first guest in the model's order that has been reset.
    fn next_reset(&self) -> Option<GuestId> {
        let found = self.ledger.next_reset()?;
        let machine = self.owner.shipped.machine;
        let first = || self.guests().find(|guest| machine.is_reset(*guest));
        machine.resetting().or_else(first).or(Some(found))
    }

    fn begin_reset(&mut self, guest: GuestId) {
        self.ledger.begin_reset(guest);
    }

    fn end_reset(&mut self) {
        self.ledger.end_reset();
    }

    fn start(&mut self, guest: GuestId) {
        self.ledger.start(guest);
        self.owner.shipped.note(|world| world.start(guest.index()));
    }

    fn started(&mut self, guest: GuestId) {
        self.ledger.started(guest);
    }

    fn restrict_to(&mut self, guest: GuestId, grant: Grant) {
        self.ledger.restrict_to(guest, grant);
    }

    fn add_rights(&mut self, guest: GuestId, grant: Grant) -> bool {
        self.ledger.add_rights(guest, grant)
    }

    fn set_granted(&mut self, guest: GuestId, grant: Grant) {
        let before = self.ledger.holding(guest).granted;
        self.ledger.set_granted(guest, grant);
        self.owner.shipped.note(|world| world.end_tenures(guest.index(), before, grant));
    }

    fn set_global(&mut self, global: Global) {
        self.ledger.set_global(global);
    }

    fn mark_units(&mut self, guest: GuestId) {
        self.ledger.mark_units(guest);
    }

    fn ask(&mut self, strand: StrandId, scrub: Scrub) {
        self.ledger.ask(strand, if self.owner.scrub { scrub } else { Scrub::Nothing });
    }

    fn mark(&mut self) {
        self.ledger.mark();
    }

    fn refresh(&mut self, guest: GuestId) {
        self.ledger.refresh(guest);
    }
}
