//! Tests a strand's counters as its guest uses them: through direct reads and writes, and through hypercalls for HT.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use guest_abi::Counter::{self, Pic0};
use guest_abi::event::SparcEvent;
use guest_abi::guest::StrandCounters;
use guest_abi::layout::{SparcPcr, SparcPic, SparcSelect};
use guest_abi::sampling::{CounterSet, CounterUnit, ModeSet, OwnCounters, Program, SparcMode};
use guest_abi::{HvError, Hypercall, PerfCounters, Registers, Trap};
use platform::models::StrandUnit;

use crate::counter_units::conformance::Machine;
use crate::counter_units::sparc::{self, Strand, loads};

/// A strand, whether it has the right to set HT, and the number of hypercalls that set register 0.
#[derive(Clone)]
pub(crate) struct World(Rc<(RefCell<StrandUnit>, Cell<bool>, Cell<u32>)>);

impl World {
    pub(crate) fn new(grants_ht: bool) -> Self {
        let strand = RefCell::new(StrandUnit::new());
        Self(Rc::new((strand, Cell::new(grants_ht), Cell::new(0))))
    }

    pub(crate) fn strand(&self) -> std::cell::RefMut<'_, StrandUnit> {
        self.0.0.borrow_mut()
    }

    fn grant_ht(&self, granted: bool) {
        self.0.1.set(granted);
    }

    fn sets(&self) -> u32 {
        self.0.2.get()
    }
}

impl StrandCounters for World {
    fn pcr(&self) -> SparcPcr {
        self.strand().pcr().into()
    }

    fn set_pcr(&self, pcr: SparcPcr) {
        self.strand().set_pcr_privileged(pcr.into());
    }

    fn pic(&self) -> SparcPic {
        self.strand().pic().into()
    }

    fn set_pic(&self, pic: SparcPic) {
        self.strand().set_pic(pic.into());
    }
}

/// A hypervisor that grants version 1.1 and serves only `VFALLS_SET_PERFREG` of register 0.
impl Hypercall for World {
    fn trap(&self, trap: Trap, registers: &mut Registers) {
        registers.o0 = match (trap, registers.o5, registers.o0) {
            (Trap::Core, 0, 0x205) => {
                registers.o1 = 1;
                0
            }
            (Trap::Fast, 0x107, 0) => {
                self.0.2.set(self.sets() + 1);
                if registers.o1 & 8 != 0 && !self.0.1.get() {
                    10 // ENOACCESS
                } else {
                    self.strand().set_pcr(registers.o1);
                    0
                }
            }
            _ => 7, // EBADTRAP
        };
    }
}

/// The unit as a guest uses it, with its strand and its hypervisor.
pub(crate) struct OwnCounterUnit {
    unit: OwnCounters<World, World>,
    world: World,
}

impl OwnCounterUnit {
    fn new(grants_ht: bool) -> Self {
        Self::on(World::new(grants_ht))
    }

    pub(crate) fn on(world: World) -> Self {
        let service = PerfCounters::negotiate_best(world.clone()).unwrap();
        Self { unit: OwnCounters::with_service(world.clone(), service), world }
    }

    pub(crate) fn world(&self) -> &World {
        &self.world
    }
}

impl CounterUnit for OwnCounterUnit {
    type Event = SparcSelect;
    type Mode = SparcMode;
    type Refusal = HvError;

    const OVERFLOWS_AT: u32 = OwnCounters::<World, World>::OVERFLOWS_AT;
    const MAX_EARLY: u32 = OwnCounters::<World, World>::MAX_EARLY;

    fn events() -> impl Iterator<Item = SparcSelect> {
        OwnCounters::<World, World>::events()
    }

    fn start(&mut self, program: &Program<SparcSelect, SparcMode>) -> Result<(), HvError> {
        self.unit.start(program)
    }

    fn stop(&mut self) {
        self.unit.stop();
    }

    fn read(&self, counter: Counter) -> u32 {
        self.unit.read(counter)
    }

    fn write(&mut self, counter: Counter, value: u32) {
        self.unit.write(counter, value);
    }

    fn overflowed(&self) -> CounterSet {
        self.unit.overflowed()
    }

    fn acknowledge(&mut self, counters: CounterSet) {
        self.unit.acknowledge(counters);
    }
}

impl Machine for OwnCounterUnit {
    const OVERFLOW_COUNT: u64 = Strand::OVERFLOW_COUNT;

    fn reset() -> Self {
        Self::new(true)
    }

    fn happen(&mut self, mode: SparcMode, events: &[(SparcSelect, u32)]) {
        sparc::happen(&mut self.world.strand(), mode, events);
    }

    fn counted(event: SparcSelect, happened: &[(SparcSelect, u32)]) -> u32 {
        Strand::counted(event, happened)
    }

    fn interrupted(&self) -> bool {
        self.world.strand().trap_requested()
    }
}

/// A write that sets or clears HT takes a hypercall. No other access does.
#[test]
fn calls_the_hypervisor_for_ht_only() {
    let mut own = OwnCounterUnit::new(true);
    own.start(&loads(SparcMode::User.into(), CounterSet::BOTH)).unwrap();
    own.stop();
    assert_eq!(own.world.sets(), 0);
    own.start(&loads(ModeSet::ALL, CounterSet::BOTH)).unwrap();
    assert_eq!(own.world.sets(), 1);
    own.acknowledge(CounterSet::BOTH);
    own.start(&loads(ModeSet::ALL, CounterSet::BOTH)).unwrap();
    assert_eq!(own.world.sets(), 1, "HT is set already");
    own.stop();
    assert_eq!(own.world.sets(), 2);
    assert_eq!(own.world.strand().pcr() & 0xe, 0);
}

#[test]
fn without_the_right_it_is_refused_and_stops() {
    let mut own = OwnCounterUnit::new(false);
    own.start(&loads(SparcMode::User.into(), CounterSet::BOTH)).unwrap();
    let refused = own.start(&loads(ModeSet::ALL, CounterSet::BOTH));
    assert_eq!(refused, Err(HvError::NoAccess));
    own.happen(SparcMode::User, &[(SparcEvent::Loads.into(), 5)]);
    assert_eq!(own.read(Pic0), 0);

    let world = World::new(true);
    let mut alone = OwnCounters::new(world);
    assert_eq!(alone.start(&loads(ModeSet::ALL, CounterSet::BOTH)), Err(HvError::NoAccess));
    assert_eq!(alone.start(&loads(SparcMode::User.into(), CounterSet::BOTH)), Ok(()));
}

/// The hypervisor clears HT while the guest uses it. The guest's next start is refused.
#[test]
fn a_right_that_is_lost_is_noticed() {
    let mut own = OwnCounterUnit::new(true);
    own.start(&loads(ModeSet::ALL, CounterSet::BOTH)).unwrap();
    own.world.grant_ht(false);
    let pcr = own.world.strand().pcr();
    own.world.strand().set_pcr(pcr & !8);
    own.stop();
    assert_eq!(own.start(&loads(ModeSet::ALL, CounterSet::BOTH)), Err(HvError::NoAccess));
}
