//! Tests events that come between any two instructions of the hypervisor. The guest makes each kind of call and takes each kind of trap,
//! with its register windows full, empty and in between, so that the hypervisor also saves and restores windows for its own use. Before
//! each instruction, one event comes. Afterwards, the test compares the whole state with the state without the event. Both must be equal,
//! except for the changes that the contract requires of the event.

mod cases;
mod events;

use std::collections::BTreeMap;
use std::env;

use conform::Cell;
use conform::modelled::Hardware;
use simulator::conform::attacks::CAUGHT;
use simulator::conform::guest::ANSWERED;
use simulator::execute::{Execution, Limits, Stop, StoreBehaviour, StoreLatency};
use simulator::interpreter::instruction::Register;
use simulator::interpreter::{Level, Strand};
use tests::assembler::{BA_ANNULLED, branch};
use vfalls::cmd::boot::elf;
use xtask::qemu::build::Production;

use super::broken::compared::{differences, judge_hypervisor, lines_that_differ};
use super::broken::defects::{Changed, DEFECTS, Defect, changed};
use super::broken::image::Image;
use super::levels::{self, HPRIV};
use super::neighbour::{GUEST, MEMORIES, NEIGHBOUR, Ready, Rights};
use super::{MEMORY, REAL, image, strand};
use cases::{CASES, Case};
use events::{EVENTS, Event, References};

/// The maximum number of slices that a call takes. [`SLICE`] is the number of instructions per slice.
const MAX_SLICES: usize = 500;
const SLICE: u64 = 1000;

/// The number of steps that the guest executes after its return from the hypervisor, so that pending events are served and stores complete.
/// A store to a device takes [`STORE_LATENCY`] cycles.
const SETTLES: usize = 40;
const STORE_LATENCY: u64 = 20;

/// The name of the boundaries at which the hypervisor saves a window for its own use.
const SPILL: &str = "the hypervisor saves a window";

/// Events come at this many visits to each instruction of a call. If the instruction is in a loop, later visits have no events.
const VISITS: usize = 2;

/// A machine whose guest is ready, and addresses in the image.
struct Machine {
    ready: Ready,
    image: Image,
}

impl Machine {
    fn new(hypervisor: &[u8]) -> Self {
        let rights = Rights { guest: "global,htstrand", neighbour: "strand", moves: false };
        let image = Image::new(&elf::parse(hypervisor).unwrap());
        let mut ready = Ready::new(hypervisor, rights);
        // A guest that has taken a trap waits.
        let wait = branch(BA_ANNULLED, CAUGHT, CAUGHT).to_be_bytes();
        ready.execution.load(MEMORIES[0] + CAUGHT - REAL, &wait).unwrap();
        let latency = StoreLatency::Fixed(STORE_LATENCY);
        ready.execution.set_stores(StoreBehaviour { latency, without_address: false });
        Self { ready, image }
    }
}

/// Returns `true` if the guest is back in its own code, and has nothing to do.
fn is_back(execution: &Execution) -> bool {
    let strand = execution.strand(strand(GUEST));
    strand.level() < Level::Hyperprivileged && [ANSWERED, CAUGHT].contains(&strand.pc)
}

/// Executes until the guest is back and stays there, and its neighbour is in its own code.
fn finish(execution: &mut Execution) -> Result<(), String> {
    for _ in 0..MAX_SLICES {
        let stays = |execution: &mut Execution| {
            execution.step(strand(GUEST));
            is_back(execution)
        };
        let is_in_guest =
            |number| execution.strand(strand(number)).level() < Level::Hyperprivileged;
        let neighbour_waits = NEIGHBOUR.into_iter().all(is_in_guest);
        if neighbour_waits && is_back(execution) && (0..SETTLES).all(|_| stays(execution)) {
            return Ok(());
        }
        let stop = execution.run(Limits::instructions(SLICE));
        if stop != Stop::Limit {
            return Err(format!("the machine stops: {stop:?}"));
        }
    }
    let at = execution.strand(strand(GUEST));
    Err(format!("the call does not end: {:#x}, {:?}", at.pc, execution.state(strand(GUEST))))
}

/// Compares the whole state of two machines: all strands as their guests see them, both guests' memory, the devices, and the hypervisor's
/// memory, except the words that record events. `may_differ` selects the device registers that may differ. `changed` changes the guest's
/// strand on the first machine to the expected state.
fn same(
    machine: &Machine,
    right: &Execution,
    found: &Execution,
    may_differ: fn(Cell) -> bool,
    changed: impl Fn(&mut Strand),
) -> Result<(), String> {
    for number in NEIGHBOUR.into_iter().chain([GUEST]) {
        let id = strand(number);
        let mut strands = [right, found].map(|it| it.strand(id).clone());
        levels::judge(&strands[1])?;
        if number == GUEST {
            changed(&mut strands[0]);
        }
        let [first, second] = &mut strands;
        clear_free(first, second);
        let [first, second] = strands.each_ref().map(Strand::seen_by_guest);
        if first != second {
            return Err(format!("strand {number}: {}", lines_that_differ(&first, &second)));
        }
        let counters = [right, found].map(|it| {
            let unit = it.devices().strand_unit(id);
            (unit.pcr(), unit.pic())
        });
        if counters[0] != counters[1] {
            return Err(format!("%pcr and %pic of strand {number}: {counters:x?}"));
        }
    }
    let guests = MEMORIES[0]..MEMORIES[1] + MEMORY;
    if let Some((address, words)) = differences(right, found, guests).first() {
        return Err(format!("the guests' memory at {address:#x}: {words:x?}"));
    }
    for cell in Cell::all().filter(|cell| !may_differ(*cell)) {
        let held = [right, found].map(|it| it.devices().holds(cell));
        if held[0] != held[1] {
            return Err(format!("{cell:?}: {held:x?}"));
        }
    }
    judge_hypervisor(right, found, &machine.image)
}

/// Clears registers in two windows of the first strand. These windows were free at a call, so the guest cannot rely on the values of their
/// registers. Clears only the registers that are 0 in the second strand.
fn clear_free(first: &mut Strand, second: &mut Strand) {
    let window = first.registers.window();
    if first.windows.can_save < 2 || second.registers.window() != window {
        return;
    }
    for (distance, registers) in [(1, 16..24), (2, 16..32), (3, 24..32)] {
        for strand in [&mut *first, &mut *second] {
            strand.registers.set_window((window + distance) % 8);
        }
        for register in registers.map(Register::new) {
            if second.registers.get(register) == 0 {
                first.registers.set(register, 0);
            }
        }
    }
    for strand in [first, second] {
        strand.registers.set_window(window);
    }
}

/// Returns the name of the work that the guest's strand is doing.
fn work(execution: &Execution, case: &Case) -> &'static str {
    let strand = execution.strand(strand(GUEST));
    let (frames, _) = strand.control.frames();
    let nested = |numbers: std::ops::Range<u16>| {
        frames.iter().any(|frame| numbers.contains(&frame.number) && frame.hpstate & HPRIV != 0)
    };
    if nested(0xa0..0xc0) {
        return SPILL;
    }
    match strand.level() {
        Level::Hyperprivileged => case.name,
        _ => "the guest's own instructions",
    }
}

/// How often each event came during each kind of work.
type Table = BTreeMap<(&'static str, Event), usize>;

/// Makes events happen at every `every`-th boundary. Returns at most `most` error descriptions.
fn sweep(machine: &Machine, every: usize, most: usize, table: &mut Table) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut numbers = BTreeMap::<bool, usize>::new();
    let chosen = env::var("CASE").ok();
    let is_chosen = |case: &&Case| chosen.as_ref().is_none_or(|it| it == case.name);
    assert!(CASES.iter().any(|case| is_chosen(&case)), "no case has this name: {chosen:?}");
    for case in CASES.iter().filter(is_chosen) {
        for windows in case.windows() {
            let begun = case.begin(machine, *windows);
            let mut right = begun.clone();
            finish(&mut right).unwrap_or_else(|why| panic!("{}: {why}", case.name));
            let references = References::new(case, &begun, right);
            let mut at = begun;
            let mut last = (0, 0);
            let mut visits = BTreeMap::<(u64, usize), usize>::new();
            while !is_back(&at) || last == (0, 0) {
                if wrong.len() >= most {
                    return wrong;
                }
                let registers = at.strand(strand(GUEST));
                let here = (registers.pc, registers.control.frames().0.len());
                // While an instruction waits for a device, only time passes, so these boundaries count as one visit.
                let visit = visits.entry(here).or_default();
                *visit += usize::from(here != last);
                if here != last && *visit <= VISITS {
                    let what = work(&at, case);
                    let number = numbers.entry(what == SPILL).or_default();
                    *number += 1;
                    for event in EVENTS {
                        // Few boundaries are in the hypervisor's own spills or in calls that use units, so a larger share of them is
                        // tested.
                        let is_rare = what == SPILL || event == Event::Breaks;
                        let every = if is_rare { every.div_ceil(16) } else { every };
                        // Different events come at different boundaries.
                        if (*number + 7 * event as usize).is_multiple_of(every)
                            && event.may_come(case, &at)
                        {
                            *table.entry((what, event)).or_default() += 1;
                            let judged = event.judge(machine, case, &at, &references);
                            wrong.extend(judged.err().map(|why| {
                                let (name, pc) = (case.name, here.0);
                                format!("{event:?} in {name}, {windows:?}, at {pc:#x}: {why}")
                            }));
                        }
                    }
                }
                last = here;
                at.step(strand(GUEST));
            }
        }
    }
    tests::print_line(format_args!("boundaries, in spills or not: {numbers:?}"));
    wrong
}

/// With the environment variable `ALL`, each event comes at every boundary. Otherwise, each event comes at every 251st boundary. The
/// variable `EVERY` sets another distance, and `CASE` selects one case.
#[test]
#[ignore = "builds images"]
fn whatever_comes_between_two_instructions() {
    let every = if env::var_os("ALL").is_some() { 1 } else { 251 };
    let every = env::var("EVERY").ok().and_then(|text| text.parse().ok()).unwrap_or(every);
    let machine = Machine::new(&image(Production::Shipped));
    let mut table = Table::new();
    let wrong = sweep(&machine, every, 40, &mut table);
    for ((what, event), times) in &table {
        tests::print_line(format_args!("{what:36} {event:?}: {times}"));
    }
    assert!(wrong.is_empty(), "wrong:\n{}", wrong.join("\n"));
    if env::var_os("CASE").is_some() {
        return;
    }
    for event in EVENTS {
        // A call that uses a unit needs no further windows, so no unit breaks while the hypervisor saves one.
        let came = match event {
            Event::Breaks => table.keys().any(|(_, came)| *came == event),
            _ => table.contains_key(&(SPILL, event)),
        };
        assert!(came, "{event:?}");
    }
}

/// Returns an image whose report handler does not restart an interrupted window save.
fn without_restarts(image: &mut Changed) {
    let [first, end] = ["__sun4v_restarts", "__sun4v_restarts_end"].map(|name| image.symbol(name));
    for range in (first..end).step_by(24) {
        // Clear the low half of the address at which the range ends.
        image.put(range + 12, 0);
    }
}

/// The defects in module `broken` that a single event reveals, whatever the guest does.
const OF_EVENTS: [&str; 4] = [
    "a report changes %ccr",
    "a report changes %y",
    "a report in a delay slot loses the branch",
    "Rust changes %y in the handler of an interrupt",
];

/// Each image has one defect, which the sweep must find.
#[test]
#[ignore = "builds images"]
fn each_defect_shows_between_two_instructions() {
    let named = |(name, _): &&Defect| OF_EVENTS.contains(name);
    let images = DEFECTS.iter().filter(named).map(|(name, change)| (*name, changed(*change)));
    let images: Vec<_> = images
        .chain([("a save of a window does not begin again", changed(without_restarts))])
        .collect();
    assert_eq!(images.len(), OF_EVENTS.len() + 1);
    for (name, hypervisor) in images {
        let wrong = sweep(&Machine::new(&hypervisor), 41, 1, &mut Table::new());
        tests::print_line(format_args!("{name}: {wrong:?}"));
        assert_eq!(wrong.len(), 1, "not found: {name}");
    }
}
