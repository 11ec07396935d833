//! The values that a guest can observe, and which of them may depend on the guest's neighbour.

use std::collections::BTreeSet;

use conform::Cell;
use conform::modelled::Hardware;
use guest_abi::PerfReg;
use simulator::execute::Execution;
use simulator::interpreter::instruction::Register;
use simulator::interpreter::{Strand, TrapFrame};

use super::super::broken::compared::{differences, lines_that_differ};
use super::super::lists::GET;
use super::super::strand;
use super::{GUEST, MEMORIES, MEMORY};

/// The highest trap level that a guest can select.
const LEVELS: usize = 2;

/// A value that the guest can read, and that may depend on its neighbour: see [`EXCLUDED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Excluded(&'static str);

const CLOCK: Excluded = Excluded("%tick and %stick");
const HYPERVISOR: Excluded = Excluded("%pic while %pcr counts in hyperprivileged mode (HT)");
const CLOCKS: Excluded = Excluded("a hub's counter whose select is the event of clocks");

/// The values that may depend on the neighbour, each with the reason. After the guest has read one of these values, the test makes it equal
/// in both copies, so that the rest of the script is the same.
///
/// - No call of the guest can be refused with EWOULDBLOCK because of its neighbour: only the holder of `global` can use hubs and the L2
///   control.
/// - The time of day is not excluded, because no second passes during a script.
/// - Other counters of channels and hubs are not excluded: this machine has no memory system, so these counters hold what was written to
///   them.
pub(super) const EXCLUDED: [(Excluded, &str); 3] = [
    (CLOCK, "time passes while the neighbour executes, and while the hypervisor waits for it"),
    (
        HYPERVISOR,
        "the hypervisor's instructions during a call depend on what other strands do meanwhile; \
         this is what the right htstrand shows",
    ),
    (CLOCKS, "the counter is shared by all strands, and counts time as %tick does"),
];

/// The opcodes (op3) of `rd` and `rdpr`, and the clocks among their registers.
const READS: [(u32, &[u32]); 2] = [(0x28, &[4, 24]), (0x2a, &[4])];

/// Makes the values that may depend on the neighbour equal in both copies. `before` is the guest's strand before its latest instruction.
/// `counting` contains the hub counters that counted clocks at that time. Returns the kinds of excluded values that it found.
pub(super) fn equalise(
    copies: [&mut Execution; 2],
    before: &Strand,
    counting: &mut Vec<PerfReg>,
) -> BTreeSet<Excluded> {
    let id = strand(GUEST);
    let mut excluded = BTreeSet::new();
    // A fetch that fails to translate traps, so the instruction reads nothing.
    let word = word(copies[0], before).unwrap_or(0);
    let (op3, rd, read) = (word >> 19 & 0x3f, word >> 25 & 0x1f, word >> 14 & 0x1f);
    let is_clock = |(code, clocks): &(u32, &[u32])| *code == op3 && clocks.contains(&read);
    let is_read = word >> 30 == 2 && READS.iter().any(is_clock);
    // The instruction has read a clock without taking a trap.
    if is_read && copies[0].strand(id).pc == before.npc {
        excluded.insert(CLOCK);
    }
    if copies.iter().all(|copy| copy.devices().strand_unit(id).pcr() & HT != 0) {
        excluded.insert(HYPERVISOR);
    }
    // The instruction may have stopped the counting.
    let counts = clocks(copies[0]);
    counting.extend(&counts);
    if !counting.is_empty() {
        excluded.insert(CLOCKS);
    }
    let called = [O0, O5].map(|register| before.registers.get(register));
    for copy in copies {
        let strand = copy.strand_mut(id);
        if excluded.contains(&CLOCK) {
            strand.registers.set(Register::new(rd), 0);
        }
        let reads_clocks = |register: &PerfReg| called == [register.id(), GET];
        if is_call(word) && strand.registers.get(O0) == 0 && counting.iter().any(reads_clocks) {
            strand.registers.set(O1, 0);
        }
        if excluded.contains(&HYPERVISOR) {
            copy.devices().set_pic(id, 0);
        }
        for register in &*counting {
            copy.devices().put(Cell::Register(*register), 0);
        }
    }
    *counting = counts;
    excluded
}

const O0: Register = Register::new(8);
const O1: Register = Register::new(9);
const O5: Register = Register::new(13);

/// Returns `true` if the instruction is a software trap.
const fn is_call(word: u32) -> bool {
    word >> 30 == 2 && word >> 19 & 0x3f == 0x3a
}

/// Returns the hub counters that count clocks.
fn clocks(execution: &Execution) -> Vec<PerfReg> {
    const SELECT: u64 = 1;
    let held = |register| execution.devices().holds(Cell::Register(register)).unwrap_or(0);
    let mut counters = Vec::new();
    for unit in PerfReg::ALL[PerfReg::FIRST_HUB.index()..].chunks(3) {
        let [pcr, pics @ ..] = unit else { continue };
        let selects = held(*pcr);
        if selects != 0 {
            let counts = (0..).zip(pics).filter(|(pic, _)| selects >> (8 * pic) & 0xff == SELECT);
            counters.extend(counts.map(|(_, pic)| *pic));
        }
    }
    counters
}

/// The bit of %pcr that makes the counters count in hyperprivileged mode.
const HT: u64 = 1 << 3;

/// Returns the instruction that a strand is about to execute; `None` if its address has no translation.
fn word(execution: &mut Execution, strand: &Strand) -> Option<u32> {
    let mut word = [0; 4];
    let address = execution.physical(super::super::strand(GUEST), strand.pc & !3)?;
    execution.read(address, &mut word).ok()?;
    Some(u32::from_be_bytes(word))
}

/// Compares what the guest can observe in two copies.
pub(super) fn compare(copies: [&Execution; 2], memory: bool) -> Result<(), String> {
    let strands = copies.map(|copy| copy.strand(strand(GUEST)));
    let levels = strands.map(selectable);
    let seen = strands.map(Strand::seen_by_guest);
    if seen[0] != seen[1] {
        return Err(lines_that_differ(&seen[0], &seen[1]));
    }
    let counters = copies.map(|copy| {
        let unit = copy.devices().strand_unit(strand(GUEST));
        (unit.pcr(), unit.pic())
    });
    if counters[0] != counters[1] {
        return Err(format!("%pcr and %pic: {counters:x?}"));
    }
    if levels[0] != levels[1] {
        return Err(lines_that_differ(&levels[0], &levels[1]));
    }
    match memory.then(|| self::memory(copies)).flatten() {
        None => Ok(()),
        Some(what) => Err(what),
    }
}

/// Returns the trap registers of the levels that a guest can select and therefore read.
fn selectable(strand: &Strand) -> [TrapFrame; LEVELS] {
    let (used, unused) = strand.control.frames();
    let mut frames = used.iter().chain(unused);
    std::array::from_fn(|_| *frames.next().unwrap())
}

/// Describes a word of the guest's memory that differs between the copies; `None` if all words are
/// equal.
pub(super) fn memory([first, second]: [&Execution; 2]) -> Option<String> {
    let own = MEMORIES[0]..MEMORIES[0] + MEMORY;
    let (at, words) = differences(first, second, own).into_iter().next()?;
    Some(format!("the word at {at:#x}: {words:x?}"))
}
