//! Tests stores that fail late. The report of a failed store can arrive at any moment, whatever the strand is doing. Everything except the
//! failed unit must be as in a run without the fault. The tests compare both runs for store latencies up to [`MAX_LATENCY`].

mod banks;
mod blame;

use std::cell::OnceCell;

use guest_abi::{Hub, Mcu, Node, StrandId};
use perfctr_service::Grants;
use perfctr_service::mailbox::Step;
use platform::models::FaultyUnit;
use simulator::execute::mailbox::GuestState;
use simulator::execute::{Execution, Limits, Stop, StoreBehaviour, StoreLatency, map};
use simulator::interpreter::instruction::Register;
use simulator::interpreter::{Strand, TrapFrame};
use simulator::memory::Config;
use vfalls::cmd::boot::elf;
use xtask::qemu::build::Production;

use super::lists::{Entry, FIRST_LIST, GET, HUB_PCR, REPEAT_LIST, SET, repeated};
use super::{Booted, ENOACCESS, Guest, image, levels};

/// The maximum store latency that the tests try, in cycles. The minimum is 1 cycle.
const MAX_LATENCY: u64 = 300;

/// The id of channel 0's control register on the strand's node. [`OTHER`] is the id for channel 1.
const CHANNEL: u64 = 2;
const OTHER: u64 = 4;
const L2: u64 = 1;
const GROUP: u64 = 0x205;

const CHANNEL_0: FaultyUnit = FaultyUnit::Mcu(Node::Node0, Mcu::ALL[0]);

/// A loop of 300 instructions.
const WAIT: Entry = [4, 100, 0, 0, 0, 0, 0, 0];
const SOFTWARE_TRAP: Entry = [9, 1, 2, 3, 4, 5, 6, 0];
const ILLEGAL: Entry = [10, 0, 0, 0, 0, 0, 0, 0];

const fn call(function: u64, o0: u64, o1: u64) -> Entry {
    [12, o0, o1, 0, 0, 0, function, 0]
}

const fn core(function: u64, o0: u64, o1: u64) -> Entry {
    [11, o0, o1, 0, 0, 0, function, 0]
}

/// Returns a call for the unit that fails. The value 0x5a5a distinguishes it from all other calls.
const fn ask(register: u64) -> Entry {
    call(GET, register, 0x5a5a)
}

/// Lists that the strand executes after it has set channel 0, each with a name.
const LISTS_AFTER_SET: &[(&str, &[Entry])] = &[
    ("the guest", &[]),
    ("a get of the PCR", &[call(GET, 0, 7)]),
    ("a set of the PCR", &[call(SET, 0, 6), call(GET, 0, 7)]),
    ("a get of the other channel", &[call(GET, OTHER, 7)]),
    ("a set of the other channel", &[call(SET, OTHER, 0x22), call(GET, OTHER, 7)]),
    ("a get of a hub", &[call(GET, HUB_PCR, 7)]),
    ("a set of a hub", &[call(SET, HUB_PCR, 0x0101), call(GET, HUB_PCR, 7)]),
    ("a get of L2", &[call(GET, L2, 7)]),
    ("a set of L2", &[call(SET, L2, 1), call(GET, L2, 7)]),
    ("EINVAL", &[call(GET, 90, 7)]),
    ("ENOTSUPPORTED", &[call(GET, 6, 7)]),
    ("ENOACCESS", &[call(SET, 0, 8)]),
    ("EBADTRAP", &[core(0, GROUP, 0), call(GET, 0, 7), [11, GROUP, 1, 1, 0, 0, 0, 0]]),
    ("an unknown function", &[call(5, 1, 7)]),
    ("a slow function", &[call(0x17, 0, 7)]),
    ("a function of CPUs", &[call(0x16, 0, 7)]),
    ("a character for the console", &[core(1, b'x' as u64, 0)]),
    ("a version", &[core(3, GROUP, 0)]),
    ("the same version", &[[11, GROUP, 1, 1, 0, 0, 0, 0]]),
    ("another version", &[core(0, GROUP, 1), [11, GROUP, 1, 1, 0, 0, 0, 0]]),
    ("an unknown CORE function", &[core(0x84, 1, 2)]),
    ("a software trap", &[SOFTWARE_TRAP]),
    ("a trap that the guest takes", &[ILLEGAL, ILLEGAL]),
    ("calls on the channel", &[ask(CHANNEL), call(SET, CHANNEL + 1, 3), ask(CHANNEL + 1)]),
];

fn strand() -> StrandId {
    StrandId::new(0).unwrap()
}

/// Returns the address of a symbol of the image.
fn symbol(name: &str) -> u64 {
    elf::address(&elf::parse(&image(Production::Shipped)).unwrap(), name).unwrap()
}

/// Returns a one-node machine. Its guest has booted on strand 0, and is about to execute the first entry of its list.
fn ready() -> Execution {
    thread_local! {
        static READY: OnceCell<Execution> = const { OnceCell::new() };
    }
    let boot = || {
        let guest = Guest::with_lists(&[0], "global,strand");
        let mut booted = Booted::boot_nodes(1, &image(Production::Shipped), &[guest], None);
        let [begins] = booted.words(0, 0x90);
        booted.0.breakpoints().insert(begins);
        let stop = booted.0.run(Limits::instructions(10_000_000));
        assert_eq!(stop, Stop::Breakpoint(strand()));
        booted.0.breakpoints().clear();
        booted.0
    };
    READY.with(|ready| ready.get_or_init(boot).clone())
}

/// The unit that fails, and the expected answer to later calls for it.
#[derive(Clone, Copy)]
struct Failing {
    unit: FaultyUnit,
    /// The id of the unit's register that the test accesses.
    register: u64,
    /// The number of cycles after which the unit works again.
    mended: u64,
    without_address: bool,
    /// The status that calls for the unit return after the first refused call.
    status: u64,
}

const BROKEN: Failing = Failing {
    unit: CHANNEL_0,
    register: CHANNEL,
    mended: u64::MAX,
    without_address: false,
    status: ENOACCESS,
};

struct Run {
    booted: Booted,
    failing: Option<Failing>,
    begun: u64,
}

impl Run {
    fn new(list: &[Entry], latency: StoreLatency, failing: Option<Failing>) -> Self {
        let mut booted = Booted(ready());
        booted.list(0, 0, list);
        let without_address = failing.is_some_and(|failing| failing.without_address);
        booted.0.set_stores(StoreBehaviour { latency, without_address });
        if let Some(failing) = failing {
            booted.0.devices().set_faulty(failing.unit, true);
        }
        Self { begun: booted.0.now(), booted, failing }
    }

    fn guest_instructions(&self) -> u64 {
        let [user, privileged, _] = self.booted.0.counts(strand()).instructions;
        user + privileged
    }

    /// Executes until the guest has executed this number of instructions.
    fn until(&mut self, number: u64) -> Result<(), String> {
        for _ in 0..80_000 {
            if self.guest_instructions() >= number {
                return Ok(());
            }
            if let Some(Failing { unit, mended, .. }) = self.failing
                && self.booted.0.now() - self.begun >= mended
            {
                self.booted.0.devices().set_faulty(unit, false);
                self.failing = None;
            }
            match self.booted.0.step(strand()) {
                None | Some(Stop::Limit) => {}
                Some(stop) => return Err(format!("{stop:?}, {:?}", self.booted.0.guest(0))),
            }
        }
        Err(format!("the guest does not go on: {:x?}", self.booted.0.strand(strand()).pc))
    }

    fn registers(&self) -> Strand {
        self.booted.0.strand(strand()).seen_by_guest()
    }

    /// Returns the words of the guest's memory, up to the end of its list.
    fn memory(&mut self) -> Vec<[u8; 8]> {
        let mut memory = vec![0; (FIRST_LIST + 0x8000) as usize];
        self.booted.0.read(map::PARTITION, &mut memory).unwrap();
        memory.as_chunks().0.to_vec()
    }
}

/// Returns `true` if the entry is a call for the unit that this register belongs to.
fn is_for_unit(entry: &Entry, register: u64) -> bool {
    let (of_hub, of_channel) = (18..36, register & !1..=register | 1);
    entry[0] == 12
        && (entry[1] == register
            || register >= 18 && of_hub.contains(&entry[1])
            || (2..18).contains(&register) && of_channel.contains(&entry[1]))
}

/// Runs a list in which a unit fails, and the same list without the fault. Returns the first difference; `None` if there is none. The
/// failed unit's answers may differ from those without the fault. After the failed unit's first answer ENOACCESS, each of its answers must
/// be `failing.status`. The last answer must always be `failing.status`.
fn difference(list: &[Entry], latency: StoreLatency, failing: Failing) -> Option<String> {
    let list = [list, &[WAIT, ask(failing.register), WAIT]].concat();
    let last = list.len() - 2;
    let mut right = Run::new(&list, latency, None);
    let mut found = Run::new(&list, latency, Some(failing));
    let mut instructions = right.guest_instructions();
    while right.booted.entry(0, 0, last)[1] == failing.register {
        instructions += 150;
        right.until(instructions).unwrap();
        if let Err(why) = found.until(instructions) {
            return Some(why);
        }
        if let Err(why) = levels::judge(found.booted.0.strand(strand())) {
            return Some(why);
        }
        let (right, mut found) = (right.registers(), found.registers());
        // An answer ENOACCESS may come from the failed unit, so the registers with the answer may differ.
        if found.registers.get(Register::O0) == ENOACCESS {
            for register in [Register::O0, Register::O0.odd()] {
                found.registers.set(register, right.registers.get(register));
            }
        }
        let found = found.seen_by_guest();
        if right != found {
            let lines = [&right, &found].map(|strand| format!("{strand:#x?}"));
            let [right, found] = lines.each_ref().map(|lines| lines.lines());
            let differs = right.zip(found).filter(|(right, found)| right != found);
            return Some(format!("{:?}", differs.collect::<Vec<_>>()));
        }
    }
    let (mut right, memory) = (right.memory(), found.memory());
    let mut refused = false;
    for (number, entry) in list.iter().enumerate().filter(|(_, e)| is_for_unit(e, failing.register))
    {
        let at = FIRST_LIST as usize / 8 + 8 * number;
        let [status, value] = [1, 2].map(|word| u64::from_be_bytes(memory[at + word]));
        if refused && status != failing.status || status == ENOACCESS && value != entry[2] {
            return Some(format!("call {number}: {status}, {value:#x}"));
        }
        refused |= status == ENOACCESS;
        right[at + 1..at + 3].copy_from_slice(&memory[at + 1..at + 3]);
    }
    let [_, status, ..] = found.booted.entry(0, 0, last);
    if status != failing.status {
        return Some(format!("in the end the unit answers {status}"));
    }
    let differs = (0..memory.len()).find(|word| right[*word] != memory[*word]);
    differs.map(|word| format!("memory at {:#x}", 8 * word))
}

/// Returns the latencies to try for a list. With `ALL` in the environment, these are all latencies. Otherwise they are every twentieth
/// latency, starting from a different one for each list.
fn latencies(number: usize) -> impl Iterator<Item = u64> {
    let every = if std::env::var_os("ALL").is_some() { 1 } else { 20 };
    (1 + number as u64 % every..=MAX_LATENCY).step_by(every as usize)
}

fn sweep<'a>(lists: impl IntoIterator<Item = (&'a str, Vec<Entry>)>, failing: Failing) {
    let mut wrong = Vec::new();
    for (number, (name, list)) in lists.into_iter().enumerate() {
        for latency in latencies(number) {
            if let Some(why) = difference(&list, StoreLatency::Fixed(latency), failing) {
                wrong.push(format!("{name}, latency {latency}: {why}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn behind_a_set(register: u64, value: u64) -> impl Iterator<Item = (&'static str, Vec<Entry>)> {
    LISTS_AFTER_SET
        .iter()
        .map(move |(name, entries)| (*name, [&[call(SET, register, value)], *entries].concat()))
}

#[test]
#[ignore = "builds images"]
fn a_channel_fails_whatever_the_strand_does() {
    sweep(behind_a_set(CHANNEL, 0x11), BROKEN);
}

/// The channel fails only for a time, but stays out of service.
#[test]
#[ignore = "builds images"]
fn a_channel_that_works_again_is_out_of_service() {
    for mended in [200, 500] {
        let failing = Failing { mended, ..BROKEN };
        let lists = behind_a_set(CHANNEL, 0x11).filter(|(name, _)| *name != "calls on the channel");
        let wrong = |(name, list): (&str, Vec<Entry>)| {
            let latency = StoreLatency::Fixed(mended - 150);
            difference(&list, latency, failing).map(|why| format!("{name}: {why}"))
        };
        let wrong: Vec<String> = lists.filter_map(wrong).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// A strand waits for its stores to a hub and to the L2 control, so the call itself is refused.
#[test]
#[ignore = "builds images"]
fn a_hub_or_l2_fails_while_its_call_waits() {
    for (unit, register) in
        [(FaultyUnit::Hub(Hub::ALL[0]), HUB_PCR), (FaultyUnit::L2(Node::Node0), L2)]
    {
        let failing = Failing { unit, register, ..BROKEN };
        let lists = behind_a_set(register, 1)
            .filter(|(_, list)| list[1..].iter().all(|entry| !is_for_unit(entry, register)));
        sweep(lists, failing);
    }
}

/// Several stores are in flight at the same time, and some of them fail. The latencies are random.
#[test]
#[ignore = "builds images"]
fn reports_that_come_together() {
    let seeds = if std::env::var_os("ALL").is_some() { 20_000 } else { 400 };
    for seed in 0..seeds {
        let (_, entries) = LISTS_AFTER_SET[seed as usize % LISTS_AFTER_SET.len()];
        let sets = [(CHANNEL, 1), (CHANNEL + 1, 2), (OTHER, 3), (CHANNEL, 4)];
        let sets = sets.map(|(register, value)| call(SET, register, value));
        let latency = StoreLatency::Random { state: seed, longest: 1 + seed % 1000 };
        let difference = difference(&[&sets, entries].concat(), latency, BROKEN);
        assert_eq!(difference, None, "seed {seed}");
    }
}

/// The operator's interrupt arrives at about the same time as the failed store's report.
#[test]
#[ignore = "builds images"]
fn a_channel_fails_while_an_interrupt_comes() {
    for latency in latencies(0) {
        let list = [call(SET, CHANNEL, 1), WAIT, ask(CHANNEL), WAIT];
        let run = |failing| {
            let mut run = Run::new(&list, StoreLatency::Fixed(latency), failing);
            let on = StrandId::new(0).unwrap();
            run.booted.0.operate(on, &Step::ReadState(1)).unwrap();
            run.until(run.guest_instructions() + 600).unwrap();
            assert!(run.booted.0.operated().is_some());
            run
        };
        let (right, found) = (run(None), run(Some(BROKEN)));
        let [right, mut found] = [right, found].map(|run| run.registers());
        assert_eq!(found.registers.get(Register::O0), ENOACCESS, "latency {latency}");
        for register in [Register::O0, Register::O0.odd()] {
            found.registers.set(register, right.registers.get(register));
        }
        assert_eq!(right, found.seen_by_guest(), "latency {latency}");
    }
}

/// While the hypervisor's Rust code waits for a store that fails, the operator revokes the rights. When the failed access returns to the
/// Rust code, the report's trap level must be clear. If it were not, the guest could read this trap level after a slow call returns from
/// the Rust code.
#[test]
#[ignore = "builds images"]
fn a_failed_access_leaves_no_trap_level() {
    let failed = symbol("sun4v_access_failed");
    let mut execution = ready();
    execution.devices().set_faulty(CHANNEL_0, true);
    execution.breakpoints().insert(failed);
    execution.operate(strand(), &Step::Reconfigure(Grants::none(1).unwrap())).unwrap();
    let mut number = 0;
    while execution.run(Limits::instructions(100_000)) == Stop::Breakpoint(strand()) {
        while (failed..failed + 64).contains(&execution.strand(strand()).pc) {
            execution.step(strand());
        }
        let (_, above) = execution.strand(strand()).control.frames();
        assert_eq!(above[0], TrapFrame::default());
        number += 1;
    }
    assert_eq!((execution.operated(), number > 0), (Some(Ok(None)), true), "{number}");
}

/// A guest sets a channel in a loop without a pause, and the channel breaks. The guest and its
/// neighbour continue.
#[test]
#[ignore = "builds images"]
fn a_channel_breaks_under_load() {
    // Without a memory system each instruction takes one cycle.
    let ready = [None, Some(Config::default())].map(|memory| {
        let guests = [Guest::with_lists(&[0], "global"), Guest::with_lists(&[8], "strand")];
        let mut booted = Booted::with(Production::Shipped, &guests, memory);
        booted.list(
            0,
            0,
            &[repeated(SET, CHANNEL, 0x11), repeated(SET, CHANNEL + 1, 1), REPEAT_LIST],
        );
        booted.list(1, 0, &[repeated(GET, 0, 0), REPEAT_LIST]);
        booted.0.run(Limits::instructions(3_000_000));
        booted.0
    });
    for pause in 0..80 {
        let mut booted = Booted(ready[pause % 2].clone());
        booted.0.run(Limits::instructions(1 + pause as u64 / 2));
        booted.0.devices().set_faulty(CHANNEL_0, true);
        let calls = booted.calls();
        assert_eq!(booted.0.run(Limits::instructions(300_000)), Stop::Limit, "{pause}");
        assert_eq!([0, 1].map(|guest| booted.0.guest(guest)), [GuestState::Runs; 2]);
        let calls = calls.borrow();
        let last = |strand| calls.iter().rfind(|call| call.strand.index() == strand).unwrap();
        assert_eq!((last(0).status, last(8).status), (ENOACCESS, 0), "{pause}");
        assert_eq!(booted.consoles(), ["", "", "", ""]);
        // Only one failure is reported to the operator. The failed access is either of the two stores in the loop, whichever comes first
        // after the break.
        let expected = ["0x8400000400", "0x8400000408"].map(|address| {
            let told = format!("NODE0_MCU0 is out of service: an access failed at {address}, on strand 0 of guest 0");
            (vec![told], 1)
        });
        let told = booted.failure_records();
        assert!(expected.contains(&told), "{pause}: {told:?}");
    }
}
