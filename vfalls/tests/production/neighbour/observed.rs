//! What a guest can observe, and what of it may depend on its neighbour.

use simulator::execute::Execution;
use simulator::interpreter::instruction::Register;
use simulator::interpreter::{Strand, TrapFrame};

use super::super::strand;
use super::{GUEST, MEMORIES, MEMORY};

/// The highest trap level that a guest can select.
const LEVELS: usize = 2;

/// A value that the guest can read, and that may depend on its neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Excluded {
    Clock,
    Hypervisor,
}

/// All such values, each with the reason why it may depend on the neighbour. When the guest has
/// read one, it becomes the same in both copies, so that the rest of the script is the same.
///
/// - No call of the guest can be refused with EWOULDBLOCK because of its neighbour: only the holder
///   of `global` can use hubs and L2 control.
/// - The time of day is not excluded, because no second passes during a script.
/// - The counters of channels and hubs are not excluded: this machine has no memory system, so these
///   counters hold what was written to them.
pub(super) const EXCLUDED: [(Excluded, &str, &str); 2] = [
    (
        Excluded::Clock,
        "%tick and %stick",
        "time passes while the neighbour executes, and while the hypervisor waits for it",
    ),
    (
        Excluded::Hypervisor,
        "%pic while %pcr counts in hyperprivileged mode (HT)",
        "the hypervisor's instructions during a call depend on what other strands do meanwhile; \
         this is what the right htstrand shows",
    ),
];

/// The opcodes (op3) of `rd` and `rdpr`, and the clocks among their registers.
const READS: [(u32, &[u32]); 2] = [(0x28, &[4, 24]), (0x2a, &[4])];

/// Makes what may depend on the neighbour the same in both copies. `before` is the guest's strand
/// before its latest instruction. Returns what was excluded.
pub(super) fn equalise(copies: [&mut Execution; 2], before: &Strand) -> Option<Excluded> {
    let id = strand(GUEST);
    let word = word(copies[0], before)?;
    let (op3, rd, read) = (word >> 19 & 0x3f, word >> 25 & 0x1f, word >> 14 & 0x1f);
    let is_clock = |(code, clocks): &(u32, &[u32])| *code == op3 && clocks.contains(&read);
    let is_read = word >> 30 == 2 && READS.iter().any(|reads| is_clock(reads));
    // The instruction has not trapped.
    let reads_clock = is_read && copies[0].strand(id).pc == before.npc;
    let has_ht = copies.iter().all(|copy| copy.devices().strand_unit(id).pcr() & HT != 0);
    for copy in copies {
        if reads_clock {
            copy.strand_mut(id).registers.set(Register::new(rd), 0);
        }
        if has_ht {
            copy.devices().set_pic(id, 0);
        }
    }
    match (reads_clock, has_ht) {
        (true, _) => Some(Excluded::Clock),
        (_, true) => Some(Excluded::Hypervisor),
        _ => None,
    }
}

/// The bit of %pcr that makes the counters count in hyperprivileged mode.
const HT: u64 = 1 << 3;

/// Returns the instruction that a strand is about to execute; `None` if its address has no
/// translation.
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

/// Returns the trap registers of the levels that a guest can select, because it can read them.
fn selectable(strand: &Strand) -> [TrapFrame; LEVELS] {
    let (used, unused) = strand.control.frames();
    let mut frames = used.iter().chain(unused);
    std::array::from_fn(|_| *frames.next().unwrap())
}

/// Describes a word of the guest's memory that differs; `None` if all are equal.
pub(super) fn memory(copies: [&Execution; 2]) -> Option<String> {
    const EMPTY: &[u8] = &[0; 8192];
    let own = MEMORIES[0]..MEMORIES[0] + MEMORY;
    let pages = copies.map(|copy| {
        let mut pages: Vec<_> = copy.pages().filter(|(address, _)| own.contains(address)).collect();
        pages.sort_unstable_by_key(|(address, _)| *address);
        pages
    });
    let [mut first, mut second] = pages.map(|pages| pages.into_iter().peekable());
    while let Some(address) =
        [first.peek(), second.peek()].into_iter().flatten().map(|page| page.0).min()
    {
        let next = |(at, _): &(u64, &[u8])| *at == address;
        let [first, second] =
            [first.next_if(next), second.next_if(next)].map(|page| page.map_or(EMPTY, |it| it.1));
        if first != second {
            let at = first.iter().zip(second).position(|(first, second)| first != second)?;
            let at = at & !7;
            let [first, second] = [&first[at..at + 8], &second[at..at + 8]];
            return Some(format!(
                "the word at {:#x}: {first:x?}, {second:x?}",
                address + at as u64
            ));
        }
    }
    None
}

fn lines_that_differ(first: &impl std::fmt::Debug, second: &impl std::fmt::Debug) -> String {
    let [first, second] = [format!("{first:#x?}"), format!("{second:#x?}")];
    let lines = first
        .lines()
        .zip(second.lines())
        .enumerate()
        .filter(|(_, (first, second))| first != second);
    lines
        .map(|(at, (first, second))| format!("line {at}: {} and {}, ", first.trim(), second.trim()))
        .take(12)
        .collect()
}
