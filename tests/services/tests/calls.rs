//! Every call and status, through a hypervisor with the three groups. Numbers are those of the sun4v specification.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use guest_abi::{HvError, Registers, StrandId};
use hv_core::{After, Caller, ConsoleOutput, Embedder, GuestId, Hypervisor};
use platform::md::{Md, Value};
use services::{
    Command, ConsoleInput, CoreGroup, CpuState, DiagGroup, Image, Memory, Platform, SoftStateGroup,
    Start,
};

type Services = (CoreGroup<Fake>, SoftStateGroup<Fake>, DiagGroup);

/// Guest 0 has strands 0, 5 and 64, and guest 1 has strand 9. Both have 64 KiB of memory from real address 0x8000_0000.
const STRANDS: [&[usize]; 2] = [&[0, 5, 64], &[9]];
const BASE: u64 = 0x8000_0000;
const SIZE: u64 = 0x1_0000;

/// An image whose devices are fields.
#[derive(Clone, Copy)]
struct Fake(&'static State);

struct State {
    memory: [RefCell<Vec<u64>>; 2],
    input: RefCell<VecDeque<ConsoleInput>>,
    /// What the console has taken, and how much it still takes.
    output: RefCell<Vec<ConsoleOutput>>,
    room: Cell<usize>,
    time: Cell<Result<u64, HvError>>,
    notified: RefCell<Vec<usize>>,
    suspended: Cell<u32>,
    exited: Cell<Option<(usize, usize, u64)>>,
    /// While it is set, strands that are notified take their command at once.
    prompt: Cell<bool>,
    hypervisor: Cell<Option<&'static Hypervisor<Services, Fake>>>,
    taken: RefCell<Vec<(usize, Option<Command>)>>,
}

impl Embedder for Fake {
    const FAST: Option<&'static [u64]> = Some(&[]);
    const CORE: Option<&'static [u64]> = Some(&[]);

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
        let found = strands
            .iter()
            .position(|strand| *strand == caller.strand.index());
        found.expect("the guest has the strand") as u64
    }

    fn memory(&self, _: GuestId) -> Memory {
        Memory {
            base: BASE,
            size: SIZE,
        }
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
        self.0
            .exited
            .set(Some((caller.guest.index(), caller.strand.index(), code)));
    }

    fn console_input(&self, _: Caller) -> Option<ConsoleInput> {
        self.0.input.borrow_mut().pop_front()
    }

    fn time_of_day(&self) -> Result<u64, HvError> {
        self.0.time.get()
    }

    fn platform(&self) -> Platform {
        Platform {
            name: "SUNW,T5440",
            banner: "T5440",
            stick_frequency: 1_400_000_000,
            clock_frequency: 1_400_000_000,
        }
    }
}

/// The index of the word at a real address, which must be in the memory.
fn word(real: u64) -> usize {
    assert!(
        real.is_multiple_of(8) && (BASE..BASE + SIZE).contains(&real),
        "{real:#x}"
    );
    ((real - BASE) / 8) as usize
}

impl Fake {
    fn core(&self) -> &'static CoreGroup<Fake> {
        &self.0.hypervisor.get().expect("there is one").services().0
    }

    fn take(&self, strand: usize) {
        let command = self.core().cpus().take(StrandId::new(strand).unwrap());
        self.0.taken.borrow_mut().push((strand, command));
    }

    /// Makes a call on a strand of guest 0, or of guest 1 if the strand is its.
    fn call(&self, strand: usize, function: u64, arguments: [u64; 5]) -> [u64; 6] {
        let mut registers = Registers::call(function, arguments);
        self.strand_of(strand).fast_trap(&mut registers);
        registers.to_array()
    }

    /// As [`call`](Self::call), with arguments that are kept: the status, and %o1 if it has changed.
    fn ask(&self, function: u64, arguments: [u64; 3]) -> (u64, Option<u64>) {
        let [o0, o1, o2] = arguments;
        let [status, value, a, b, c, number] = self.call(0, function, [o0, o1, o2, 3, 4]);
        assert_eq!([a, b, c, number], [o2, 3, 4, function]);
        (status, (value != o1).then_some(value))
    }

    fn strand_of(&self, strand: usize) -> hv_core::Strand<'static, Services, Fake> {
        let guest = usize::from(strand == 9);
        let caller = Caller {
            guest: GuestId::new(guest).unwrap(),
            strand: StrandId::new(strand).unwrap(),
        };
        self.0.hypervisor.get().unwrap().strand(caller)
    }

    fn negotiate(&self, strand: usize, group: u64, version: [u64; 2]) -> [u64; 2] {
        let mut registers = Registers::call(0, [group, version[0], version[1], 0, 0]);
        assert_eq!(
            self.strand_of(strand).core_trap(&mut registers),
            After::Resume
        );
        [registers.o0, registers.o1]
    }

    fn state(&self, cpu: u64) -> (u64, Option<u64>) {
        self.ask(0x17, [cpu, 99, 0])
    }
}

/// A machine whose guests have negotiated all groups, and whose first strands run.
fn machine() -> Fake {
    let fake = Fake(Box::leak(Box::new(State {
        memory: [(); 2].map(|()| RefCell::new(vec![u64::MAX; (SIZE / 8) as usize])),
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
        let entry = Start {
            pc: BASE,
            rtba: BASE,
            argument: BASE,
        };
        assert_eq!(cpus.start(first, entry), Ok(()));
        assert_eq!(cpus.take(first), Some(Command::Start(entry)));
    }
    fake
}

/// Starts CPU 1 of guest 0, which is strand 5.
fn start_second(fake: Fake) {
    assert_eq!(fake.ask(0x10, [1, BASE + 0x100, BASE]), (0, None));
    fake.take(5);
    assert_eq!(fake.state(1), (0, Some(2)));
}

#[test]
fn groups_are_negotiated_before_they_are_served() {
    let fake = machine();
    let functions = [
        0, 1, 0x10, 0x11, 0x12, 0x14, 0x16, 0x17, 0x50, 0x60, 0x61, 0x63,
    ];
    for (group, functions) in [
        (1, &functions[..]),
        (3, &[0x70, 0x71]),
        (0x300, &[0x200, 0x201]),
    ] {
        assert_eq!(fake.negotiate(0, group, [2, 0]), [13, 2]);
        assert_eq!(
            fake.negotiate(0, group, [1, 9]),
            [0, 0],
            "1.0 is the highest"
        );
        assert_eq!(fake.negotiate(0, group, [0, 0]), [0, 0]);
        for function in functions {
            assert_eq!(
                fake.call(0, *function, [0x5a; 5])[..2],
                [7, 0x5a],
                "{function:#x}"
            );
        }
    }
    assert_eq!(fake.0.exited.get(), None);
    // The other guest has negotiated what it has.
    assert_eq!(fake.call(9, 0x16, [0; 5])[..2], [0, 0]);
    // Functions that CORE has in Sun's hypervisor, but not here.
    assert_eq!(fake.negotiate(0, 1, [1, 0]), [0, 0]);
    for function in [
        2,
        5,
        0x13,
        0x15,
        0x18,
        0x19,
        0x20,
        0x42,
        0x51,
        0x62,
        1 << 32 | 0x16,
    ] {
        assert_eq!(fake.ask(function, [0; 3]), (7, None), "{function:#x}");
    }
}

#[test]
fn cpus_start() {
    let fake = machine();
    assert_eq!(fake.call(0, 0x16, [7; 5]), [0, 0, 7, 7, 7, 0x16]);
    assert_eq!(
        (fake.state(0), fake.state(1), fake.state(2)),
        ((0, Some(2)), (0, Some(1)), (0, Some(1)))
    );
    assert_eq!(fake.state(3), (1, None));
    assert_eq!(fake.state(u64::MAX), (1, None));
    let last = BASE + SIZE;
    for (status, [cpu, pc, rtba]) in [
        (1, [3, BASE, BASE]),
        (1, [1 << 32, BASE, BASE]),
        (6, [0, BASE, BASE]),
        (2, [1, BASE - 4, BASE]),
        (2, [1, last, BASE]),
        (2, [1, last - 2, BASE]),
        (2, [1, u64::MAX - 3, BASE]),
        (2, [1, BASE, BASE - 0x100]),
        (2, [1, BASE, last - 0x80]),
        (2, [1, BASE, u64::MAX - 0xff]),
        (8, [1, BASE + 2, BASE]),
        (8, [1, BASE, BASE + 0x80]),
    ] {
        assert_eq!(
            fake.ask(0x10, [cpu, pc, rtba]),
            (status, None),
            "{cpu:#x} {pc:#x} {rtba:#x}"
        );
    }
    assert!(fake.0.notified.borrow().is_empty());
    // CPU 2, which is strand 64, at the last instruction, with the last trap table.
    let [status, ..] = fake.call(0, 0x10, [2, last - 4, last - 0x100, 0x1234, 0]);
    assert_eq!(status, 0);
    assert_eq!(*fake.0.notified.borrow(), [64]);
    // Until it is there it is stopped, cannot be started again, and cannot be stopped.
    assert_eq!(fake.state(2), (0, Some(1)));
    assert_eq!(fake.ask(0x10, [2, BASE, BASE]), (6, None));
    assert_eq!(fake.ask(0x11, [2, 0, 0]), (9, None));
    fake.take(64);
    let start = Start {
        pc: last - 4,
        rtba: last - 0x100,
        argument: 0x1234,
    };
    assert_eq!(*fake.0.taken.borrow(), [(64, Some(Command::Start(start)))]);
    assert_eq!(fake.state(2), (0, Some(2)));
    // On its strand it is CPU 2.
    assert_eq!(fake.call(64, 0x16, [7; 5])[..2], [0, 2]);
    // An interrupt for nothing.
    fake.take(64);
    fake.take(5);
    assert_eq!(fake.0.taken.borrow()[1..], [(64, None), (5, None)]);
}

#[test]
fn cpus_stop() {
    let fake = machine();
    for (status, cpu) in [(1, 3), (1, u64::MAX), (6, 0), (6, 1)] {
        assert_eq!(fake.ask(0x11, [cpu, 0, 0]), (status, None), "{cpu:#x}");
    }
    start_second(fake);
    // It leaves the guest at once.
    fake.0.prompt.set(true);
    assert_eq!(fake.ask(0x11, [1, 0, 0]), (0, None));
    assert_eq!(
        fake.0.taken.borrow().last(),
        Some(&(5, Some(Command::Stop)))
    );
    assert_eq!(fake.state(1), (0, Some(1)));
    // It does not leave the guest in time: then it goes on.
    fake.0.prompt.set(false);
    start_second(fake);
    assert_eq!(fake.ask(0x11, [1, 0, 0]), (9, None));
    fake.take(5);
    assert_eq!(fake.0.taken.borrow().last(), Some(&(5, None)));
    assert_eq!(fake.state(1), (0, Some(2)));
}

#[test]
fn a_guest_ends() {
    let fake = machine();
    start_second(fake);
    assert_eq!(fake.ask(0x10, [2, BASE, BASE]), (0, None));
    fake.0.notified.borrow_mut().clear();
    // CPU 1 ends the guest with 42: CPU 0 is told to leave it, and CPU 2 never enters it.
    assert_eq!(fake.call(5, 0, [42, 0, 0, 0, 0])[0], 0);
    assert_eq!(fake.0.exited.get(), Some((0, 5, 42)));
    assert_eq!(*fake.0.notified.borrow(), [0]);
    let core = fake.core();
    let [first, second] = [0, 1].map(|number| GuestId::new(number).unwrap());
    assert!(core.has_ended(first) && !core.is_stopped(first));
    // What CPU 0 was in the middle of.
    assert_eq!(fake.ask(0x10, [1, BASE, BASE]), (9, None));
    assert_eq!(fake.ask(0x11, [2, 0, 0]), (9, None));
    fake.take(0);
    fake.take(64);
    assert_eq!(
        fake.0.taken.borrow()[1..],
        [(0, Some(Command::Stop)), (64, None)]
    );
    assert!(core.is_stopped(first) && !core.is_stopped(second) && !core.has_ended(second));
    assert_eq!(fake.state(1), (0, Some(1)));
    // It starts again.
    let hypervisor = fake.0.hypervisor.get().unwrap();
    hypervisor.reset_guest(first, StrandId::new(9).unwrap());
    assert!(!core.has_ended(first));
    assert_eq!(fake.ask(0x16, [0, 7, 0]), (7, None));
    assert_eq!(
        core.cpus().state(StrandId::new(9).unwrap()),
        CpuState::Running
    );
}

#[test]
fn queues_yield_and_time() {
    let fake = machine();
    for (status, [queue, entries]) in [
        (6, [0x3b, 0]),
        (6, [0x40, 128]),
        (6, [u64::MAX, 128]),
        (0, [0x3c, 0]),
        (0, [0x3f, 0]),
        (13, [0x3c, 128]),
        (13, [0x3f, 2]),
    ] {
        assert_eq!(
            fake.ask(0x14, [queue, BASE, entries]),
            (status, None),
            "{queue:#x}"
        );
    }
    assert_eq!(fake.ask(0x12, [0; 3]), (0, None));
    assert_eq!(fake.0.suspended.get(), 1);
    assert_eq!(fake.ask(0x50, [0; 3]), (0, Some(1_790_000_000)));
    for (error, status) in [(HvError::WouldBlock, 9), (HvError::NotSupported, 13)] {
        fake.0.time.set(Err(error));
        assert_eq!(fake.ask(0x50, [0; 3]), (status, None));
    }
    // Diagnosis is refused.
    assert_eq!(fake.ask(0x200, [BASE, 5, 0]), (10, None));
    assert_eq!(fake.ask(0x201, [BASE, 5, 0]), (10, None));
}

#[test]
fn consoles() {
    let fake = machine();
    fake.0.input.borrow_mut().extend([
        ConsoleInput::Byte(b'a'),
        ConsoleInput::Break,
        ConsoleInput::HangUp,
        ConsoleInput::Byte(255),
    ]);
    for value in [0x61, u64::MAX, u64::MAX - 1, 0xff] {
        assert_eq!(fake.ask(0x60, [0; 3]), (0, Some(value)));
    }
    assert_eq!(fake.ask(0x60, [0; 3]), (9, None));

    for (argument, status) in [
        (0x41, 0),
        (0xff, 0),
        (0x100, 6),
        (u64::MAX, 0),
        (u64::MAX - 1, 6),
    ] {
        assert_eq!(
            fake.ask(0x61, [argument, 7, 0]),
            (status, None),
            "{argument:#x}"
        );
    }
    let sent = [
        ConsoleOutput::Byte(0x41),
        ConsoleOutput::Byte(0xff),
        ConsoleOutput::Break,
    ];
    assert_eq!(fake.0.output.take(), sent);

    // "hello, world" at an address that is not aligned.
    fake.0.memory[0].borrow_mut()[..2]
        .copy_from_slice(&[0xffff_ff68_656c_6c6f, 0x2c20_776f_726c_64ff]);
    assert_eq!(fake.ask(0x63, [BASE + 3, 12, 0]), (0, None));
    let bytes = |text: &str| text.bytes().map(ConsoleOutput::Byte).collect::<Vec<_>>();
    assert_eq!(fake.0.output.take(), bytes("hello, world"));
    fake.0.room.set(5);
    assert_eq!(fake.ask(0x63, [BASE + 3, 12, 0]), (0, Some(5)));
    assert_eq!(fake.0.output.take(), bytes("hello"));
    assert_eq!(fake.ask(0x63, [BASE + 3, 12, 0]), (9, None));
    assert_eq!(fake.ask(0x61, [0x41, 7, 0]), (9, None));
    // No more than 256 bytes at a time, and none that the guest does not have.
    fake.0.room.set(usize::MAX);
    assert_eq!(fake.ask(0x63, [BASE, SIZE, 0]), (0, Some(256)));
    assert_eq!(fake.0.output.take().len(), 256);
    assert_eq!(fake.ask(0x63, [0, 0, 0]), (0, None));
    for (real, size) in [
        (BASE - 1, 1),
        (BASE, SIZE + 1),
        (BASE + SIZE, 1),
        (BASE + SIZE - 1, 2),
        (BASE + 1, u64::MAX),
        (u64::MAX, 1),
        (0, 1),
    ] {
        assert_eq!(
            fake.ask(0x63, [real, size, 0]),
            (2, None),
            "{real:#x} {size:#x}"
        );
    }
    assert!(fake.0.output.take().is_empty());
    assert_eq!(fake.ask(0x63, [BASE + SIZE - 1, 1, 0]), (0, None));
}

#[test]
fn soft_states() {
    let fake = machine();
    let text = |memory: &[u64]| {
        memory
            .iter()
            .flat_map(|word| word.to_be_bytes())
            .collect::<Vec<_>>()
    };
    let guest = GuestId::new(0).unwrap();
    let groups = fake.0.hypervisor.get().unwrap().services();
    // In a transition at first.
    assert_eq!(fake.ask(0x71, [BASE + 32, 9, 0]), (0, Some(2)));
    assert_eq!(fake.0.memory[0].borrow()[4..9], [0, 0, 0, 0, u64::MAX]);
    // "booting" and what is behind the NUL, which is not kept.
    fake.0.memory[0].borrow_mut()[..5].copy_from_slice(&[0x626f_6f74_696e_6700, 1, 2, 3, 4]);
    for (status, [state, real]) in [
        (6, [0, BASE]),
        (6, [3, BASE]),
        (6, [1 << 32 | 1, BASE]),
        (8, [1, BASE + 16]),
        (8, [1, 8]),
        (2, [1, BASE - 32]),
        (2, [1, BASE + SIZE]),
        (2, [1, 0]),
        // No NUL.
        (6, [1, BASE + 64]),
        (0, [1, BASE]),
    ] {
        assert_eq!(
            fake.ask(0x70, [state, real, 0]),
            (status, None),
            "{state:#x} {real:#x}"
        );
    }
    assert_eq!(fake.ask(0x71, [BASE + 32, 9, 0]), (0, Some(1)));
    let expected = [&b"booting\0"[..], &[0; 24]].concat();
    assert_eq!(text(&fake.0.memory[0].borrow()[4..8]), expected);
    assert_eq!(groups.1.get(guest).text[..], expected);
    assert!(groups.1.get(guest).normal);
    for (status, real) in [(8, BASE + 8), (2, BASE - 32), (2, BASE + SIZE), (2, 0)] {
        assert_eq!(fake.ask(0x71, [real, 9, 0]), (status, None), "{real:#x}");
    }
    // 31 bytes and a NUL.
    fake.0.memory[0].borrow_mut()[..4].copy_from_slice(
        &[
            [0x4141_4141_4141_4141; 3].as_slice(),
            &[0x4141_4141_4141_4100],
        ]
        .concat(),
    );
    assert_eq!(fake.ask(0x70, [2, BASE, 0]), (0, None));
    assert_eq!(
        groups.1.get(guest).text[..],
        [&[0x41; 31][..], &[0]].concat()
    );
    // The other guest's is its own, and a reset forgets.
    let other = groups.1.get(GuestId::new(1).unwrap());
    assert_eq!((other.normal, other.text), (false, [0; 32]));
    fake.0
        .hypervisor
        .get()
        .unwrap()
        .reset_guest(guest, StrandId::new(9).unwrap());
    assert_eq!(groups.1.get(guest).text, [0; 32]);
}

/// The size first: with too little room it is EINVAL, and %o1 says how much is needed, whatever the address is.
#[test]
fn descriptions() {
    let fake = machine();
    let (status, size) = fake.ask(1, [0, 0, 0]);
    let size = size.expect("the size");
    assert_eq!((status, size % 16), (6, 0));
    assert_eq!(fake.ask(1, [3, size - 1, 0]), (6, Some(size)));
    for (status, real) in [
        (8, BASE + 8),
        (2, BASE - 16),
        (2, BASE + SIZE - 16),
        (2, 0),
        (2, 1 << 63),
    ] {
        assert_eq!(fake.ask(1, [real, size, 0]), (status, None), "{real:#x}");
    }
    assert!(
        fake.0.memory[0]
            .borrow()
            .iter()
            .all(|word| *word == u64::MAX)
    );
    assert_eq!(fake.ask(1, [BASE + 16, size + 100, 0]), (0, Some(size)));
    let memory = fake.0.memory[0].borrow();
    let (before, memory) = memory.split_at(2);
    let (words, behind) = memory.split_at(size as usize / 8);
    assert!(before.iter().chain(behind).all(|word| *word == u64::MAX));
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();

    let md = Md::new(&bytes).expect("it is a description");
    let text: Vec<String> = md
        .nodes()
        .map(|node| {
            let properties = node.properties().map(|property| {
                let value = match property.value() {
                    Value::Arc(node) => format!(
                        "-> {} {}",
                        node.name(),
                        node.number("id").unwrap().unwrap_or(0)
                    ),
                    Value::Number(number) => number.to_string(),
                    Value::String(string) => format!("'{string}'"),
                    Value::Data(data) => format!("{:?}", String::from_utf8_lossy(data)),
                };
                format!("{} {value}", property.name())
            });
            format!(
                "{}: {}",
                node.name(),
                properties.collect::<Vec<_>>().join(", ")
            )
        })
        .collect();
    let cpu = |id, pid| {
        format!(
            "cpu: id {id}, pid {pid}, clock-frequency 1400000000, compatible \"SUNW,UltraSPARC-T2+\\0SUNW,sun4v\\0\", \
         nwins 8, maxtl 2, maxgl 2, back -> cpus 0"
        )
    };
    assert_eq!(text, [
        "root: fwd -> platform 0, fwd -> memory 0, fwd -> cpus 0".to_owned(),
        "platform: name 'SUNW,T5440', banner-name 'T5440', stick-frequency 1400000000, max-cpus 3, back -> root 0".to_owned(),
        "memory: fwd -> mblock 0, back -> root 0".to_owned(),
        "mblock: base 2147483648, size 65536, back -> memory 0".to_owned(),
        "cpus: fwd -> cpu 0, fwd -> cpu 1, fwd -> cpu 2, back -> root 0".to_owned(),
        cpu(0, 0),
        cpu(1, 5),
        cpu(2, 64),
    ]);
    // Version 1.0; 58 elements; each name once, 150 bytes; three items of data, 16 + 8 + 32 bytes; blocks are multiples of 16 bytes.
    let header: Vec<u32> = bytes[..16]
        .chunks(4)
        .map(|word| u32::from_be_bytes(word.try_into().unwrap()))
        .collect();
    assert_eq!(header, [0x0001_0000, 58 * 16, 160, 64]);
    assert_eq!(
        md.platform().unwrap().unwrap().stick_frequency,
        Some(1_400_000_000)
    );
}
