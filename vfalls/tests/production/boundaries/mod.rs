//! Tests what happens when something comes between any two instructions of the hypervisor. The guest
//! makes each kind of call and takes each kind of trap, with its register windows full, empty and in
//! between, so that the hypervisor also saves and restores windows for its own use. Before each
//! instruction, one event comes. The whole state afterwards must be as without the event, or as the
//! contract demands of the event.

mod cases;
mod events;

use std::collections::BTreeMap;
use std::env;

use conform::Cell;
use conform::modelled::Hardware;
use simulator::conform::attacks::CAUGHT;
use simulator::conform::guest::ANSWERED;
use simulator::execute::{Execution, Stop};
use simulator::interpreter::{Level, Strand};
use tests::assembler::{BA_ANNULLED, branch};
use vfalls::cmd::boot::elf;
use xtask::qemu::build::Production;

use super::broken::compared::{differences, judge_hypervisor, lines_that_differ};
use super::broken::image::Image;
use super::levels::{self, HPRIV};
use super::neighbour::{GUEST, MEMORIES, NEIGHBOUR, Ready, Rights};
use super::{MEMORY, REAL, image, strand};
use cases::{CASES, Case};
use events::{EVENTS, Event, References};

/// The maximum number of steps of a call.
const PATIENCE: usize = 200_000;

/// The number of steps, after the guest is back, in which the events that are pending are served.
const SETTLES: usize = 8;

/// Names the boundaries at which the hypervisor saves a window because it needs it itself.
const SPILL: &str = "the hypervisor saves a window";

/// A machine whose guest is ready, and the addresses of the image.
struct Machine {
    ready: Ready,
    image: Image,
}

impl Machine {
    fn new(hypervisor: &[u8]) -> Self {
        let rights = Rights { guest: "global,htstrand", neighbour: "strand", moves: false };
        let image = Image::new(&elf::parse(hypervisor).unwrap());
        let mut ready = Ready::new(hypervisor, rights);
        // After a trap that it takes, the guest waits.
        let wait = branch(BA_ANNULLED, CAUGHT, CAUGHT).to_be_bytes();
        ready.execution.load(MEMORIES[0] + CAUGHT - REAL, &wait).unwrap();
        Self { ready, image }
    }
}

/// Returns `true` if the guest is back in its own code, and has nothing to do.
fn is_back(execution: &Execution) -> bool {
    let strand = execution.strand(strand(GUEST));
    strand.level() < Level::Hyperprivileged && [ANSWERED, CAUGHT].contains(&strand.pc)
}

/// Executes the guest's strand until the guest is back and stays there.
fn finish(execution: &mut Execution) -> Result<(), String> {
    let mut stays = 0;
    for _ in 0..PATIENCE {
        stays = if is_back(execution) { stays + 1 } else { 0 };
        if stays > SETTLES {
            return Ok(());
        }
        match execution.step(strand(GUEST)) {
            Some(Stop::Limit) => {}
            other => return Err(format!("the strand stops: {other:?}")),
        }
    }
    Err(format!("the call does not end: {:#x}", execution.strand(strand(GUEST)).pc))
}

/// Compares the whole state of two machines: all strands as their guests see them, the memory of
/// both guests, the devices, and the hypervisor's memory but for what records events. `may_differ`
/// are device registers, and `changed` changes the guest's strand of the first machine to what is
/// expected.
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

/// Names what the guest's strand is doing.
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

/// How often an event came during some work.
type Table = BTreeMap<(&'static str, Event), usize>;

/// Lets events come at every `every`-th boundary. Returns what is wrong.
fn sweep(machine: &Machine, every: usize, table: &mut Table) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut numbers = BTreeMap::<bool, usize>::new();
    for case in &CASES {
        for windows in case.windows() {
            let begun = case.begin(machine, *windows);
            let mut right = begun.clone();
            finish(&mut right).unwrap_or_else(|why| panic!("{}: {why}", case.name));
            let references = References::new(case, &begun, right);
            let mut at = begun;
            let mut last = (0, 0);
            while !is_back(&at) || last == (0, 0) {
                let registers = at.strand(strand(GUEST));
                let here = (registers.pc, registers.control.frames().0.len());
                // While an instruction waits for a device, only time passes.
                if here != last {
                    last = here;
                    let what = work(&at, case);
                    // Few boundaries are in the hypervisor's own spills, so more of them are chosen.
                    let number = numbers.entry(what == SPILL).or_default();
                    *number += 1;
                    let every = if what == SPILL { every.div_ceil(32) } else { every };
                    for event in EVENTS {
                        // The events come at different boundaries, because few fall on each.
                        if (*number + 7 * event as usize).is_multiple_of(every)
                            && event.may_come(case, &at)
                        {
                            *table.entry((what, event)).or_default() += 1;
                            if let Err(why) = event.judge(machine, case, &at, &references) {
                                let pc = here.0;
                                wrong.push(format!(
                                    "{event:?} in {}, {windows:?}, at {pc:#x}: {why}",
                                    case.name
                                ));
                            }
                        }
                    }
                }
                at.step(strand(GUEST));
            }
        }
    }
    tests::tell(format_args!("boundaries, in spills or not: {numbers:?}"));
    wrong
}

/// With `ALL` in the environment, each event comes at every boundary, otherwise at every 97th.
#[test]
#[ignore = "builds images"]
fn whatever_comes_between_two_instructions() {
    let every = if env::var_os("ALL").is_some() { 1 } else { 97 };
    let every = env::var("EVERY").ok().and_then(|text| text.parse().ok()).unwrap_or(every);
    let machine = Machine::new(&image(Production::Shipped));
    let mut table = Table::new();
    let wrong = sweep(&machine, every, &mut table);
    for ((what, event), times) in &table {
        tests::tell(format_args!("{what:36} {event:?}: {times}"));
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(40)].join("\n")
    );
    for event in EVENTS {
        assert!(table.contains_key(&(SPILL, event)), "{event:?}");
    }
}
