//! A hypervisor with three groups, on a fake image. The image keeps its data in [`State`] and uses no machine.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use guest_abi::{HvError, Registers, StrandId};
use hv_core::{Caller, ConsoleOutput, Embedder, GuestId, Hypervisor, TrapOutcome};
use hypervisor::services::{
    ConsoleInput, CoreGroup, DiagGroup, Image, Memory, Platform, SoftStateGroup, Start,
    StrandCommand,
};
use platform::Homes;

type Services = (CoreGroup<Fake>, SoftStateGroup<Fake>, DiagGroup);

/// Guest 0 has strands 0, 5 and 64; guest 1 has strand 9. Each guest has 64 KiB of memory from real address 0x8000_0000.
const STRANDS: [&[usize]; 2] = [&[0, 5, 64], &[9]];
pub(crate) const BASE: u64 = 0x8000_0000;
pub(crate) const SIZE: u64 = 0x1_0000;
pub(crate) const PHYSICAL: u64 = 0x9000_0000;

#[derive(Clone, Copy)]
pub(crate) struct Fake(pub(crate) &'static State);

pub(crate) struct State {
    pub(crate) memory: [RefCell<Vec<u64>>; 2],
    pub(crate) homes: Cell<Option<Homes>>,
    pub(crate) input: RefCell<VecDeque<ConsoleInput>>,
    /// The outputs that the console has accepted.
    pub(crate) output: RefCell<Vec<ConsoleOutput>>,
    pub(crate) room: Cell<usize>,
    pub(crate) time: Cell<Result<u64, HvError>>,
    pub(crate) notified: RefCell<Vec<usize>>,
    pub(crate) suspended: Cell<u32>,
    pub(crate) exited: Cell<Option<(usize, usize, u64)>>,
    /// If `true`, strands take a command as soon as they are notified.
    pub(crate) prompt: Cell<bool>,
    pub(crate) hypervisor: Cell<Option<&'static Hypervisor<Services, Fake>>>,
    pub(crate) taken: RefCell<Vec<(usize, Option<StrandCommand>)>>,
}

impl Embedder for Fake {
    const FAST_FUNCTIONS: Option<&'static [u64]> = Some(&[]);
    const CORE_FUNCTIONS: Option<&'static [u64]> = Some(&[]);

    fn console(&self, _: Caller, output: ConsoleOutput) -> Result<(), HvError> {
        let room = self.0.room.get().checked_sub(1);
        self.0.room.set(room.ok_or(HvError::WouldBlock)?);
        self.0.output.borrow_mut().push(output);
        Ok(())
    }
}

impl Image for Fake {
    fn strand(&self, guest: GuestId, cpu: u64) -> Option<StrandId> {
        let strands = STRANDS[guest.index()];
        StrandId::new(*strands.get(usize::try_from(cpu).ok()?)?)
    }

    fn cpu(&self, caller: Caller) -> u64 {
        let strands = STRANDS[caller.guest.index()];
        let found = strands.iter().position(|strand| *strand == caller.strand.index());
        found.expect("the guest has the strand") as u64
    }

    fn memory(&self, _: GuestId) -> Memory {
        Memory { base: BASE, size: SIZE, physical: PHYSICAL }
    }

    fn load(&self, guest: GuestId, real: u64) -> u64 {
        self.0.memory[guest.index()].borrow()[word(real)]
    }

    fn store(&self, guest: GuestId, real: u64, value: u64) {
        self.0.memory[guest.index()].borrow_mut()[word(real)] = value;
    }

    fn notify(&self, strand: StrandId) {
        self.0.notified.borrow_mut().push(strand.index());
        if self.0.prompt.get() {
            self.take(strand.index());
        }
    }

    fn suspend(&self, _: Caller) {
        self.0.suspended.set(self.0.suspended.get() + 1);
    }

    fn exited(&self, caller: Caller, code: u64) {
        self.0.exited.set(Some((caller.guest.index(), caller.strand.index(), code)));
    }

    fn console_input(&self, _: Caller) -> Option<ConsoleInput> {
        self.0.input.borrow_mut().pop_front()
    }

    fn time_of_day(&self, _: Caller) -> Result<u64, HvError> {
        self.0.time.get()
    }

    fn set_time_of_day(&self, _: Caller, seconds: u64) -> Result<(), HvError> {
        self.0.time.get()?;
        self.0.time.set(Ok(seconds));
        Ok(())
    }

    fn platform(&self) -> Platform {
        Platform {
            name: "SUNW,T5440",
            banner: "T5440",
            stick_frequency: 1_400_000_000,
            clock_frequency: 1_400_000_000,
            homes: self.0.homes.get(),
        }
    }
}

/// Returns the index, in a guest's element of `State::memory`, of the word at a real address.
fn word(real: u64) -> usize {
    assert!(real.is_multiple_of(8) && (BASE..BASE + SIZE).contains(&real), "{real:#x}");
    ((real - BASE) / 8) as usize
}

impl Fake {
    pub(crate) fn core(&self) -> &'static CoreGroup<Fake> {
        &self.0.hypervisor.get().expect("there is one").services().0
    }

    pub(crate) fn take(&self, strand: usize) {
        let command = self.core().cpus().take(StrandId::new(strand).unwrap());
        self.0.taken.borrow_mut().push((strand, command));
    }

    /// Makes a FAST call on a strand. Returns %o0 to %o5 after the call.
    pub(crate) fn call(&self, strand: usize, function: u64, arguments: [u64; 5]) -> [u64; 6] {
        let mut registers = Registers::call(function, arguments);
        self.strand_of(strand).fast_trap(&mut registers);
        registers.to_array()
    }

    /// Makes a FAST call on strand 0. Returns the status, and %o1 if it has changed. Asserts that no other register has changed.
    pub(crate) fn ask(&self, function: u64, arguments: [u64; 3]) -> (u64, Option<u64>) {
        let [o0, o1, o2] = arguments;
        let [status, value, a, b, c, number] = self.call(0, function, [o0, o1, o2, 3, 4]);
        assert_eq!([a, b, c, number], [o2, 3, 4, function]);
        (status, (value != o1).then_some(value))
    }

    pub(crate) fn strand_of(&self, strand: usize) -> hv_core::Strand<'static, Services, Fake> {
        let guest = usize::from(strand == 9);
        let caller =
            Caller { guest: GuestId::new(guest).unwrap(), strand: StrandId::new(strand).unwrap() };
        self.0.hypervisor.get().unwrap().strand(caller).unwrap()
    }

    pub(crate) fn negotiate(&self, strand: usize, group: u64, version: [u64; 2]) -> [u64; 2] {
        let mut registers = Registers::call(0, [group, version[0], version[1], 0, 0]);
        assert_eq!(self.strand_of(strand).core_trap(&mut registers), TrapOutcome::Resume);
        [registers.o0, registers.o1]
    }

    pub(crate) fn state(&self, cpu: u64) -> (u64, Option<u64>) {
        self.ask(0x17, [cpu, 99, 0])
    }
}

/// Returns a machine whose guests have negotiated all groups. The first strand of each guest runs.
pub(crate) fn machine() -> Fake {
    let fake = Fake(Box::leak(Box::new(State {
        memory: [(); 2].map(|()| RefCell::new(vec![u64::MAX; (SIZE / 8) as usize])),
        homes: Cell::new(None),
        input: RefCell::default(),
        output: RefCell::default(),
        room: Cell::new(usize::MAX),
        time: Cell::new(Ok(1_790_000_000)),
        notified: RefCell::default(),
        suspended: Cell::new(0),
        exited: Cell::new(None),
        prompt: Cell::new(false),
        hypervisor: Cell::new(None),
        taken: RefCell::default(),
    })));
    let services = (CoreGroup::new(fake), SoftStateGroup::new(fake), DiagGroup);
    let hypervisor = Box::leak(Box::new(Hypervisor::new(services, fake)));
    fake.0.hypervisor.set(Some(hypervisor));
    for strand in [0, 9] {
        for group in [1, 3, 0x300] {
            assert_eq!(fake.negotiate(strand, group, [1, 0]), [0, 0]);
        }
        let cpus = fake.core().cpus();
        let first = StrandId::new(strand).unwrap();
        let entry = Start { pc: BASE, rtba: BASE, argument: BASE };
        assert_eq!(cpus.start(first, entry), Ok(()));
        assert_eq!(cpus.take(first), Some(StrandCommand::Start(entry)));
    }
    fake
}
