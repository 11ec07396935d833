//! Tests each `membar` instruction of the shipped image. The module states what goes wrong without the instruction, or why the architecture
//! does not need it.
//!
//! Most of the `membar` instructions have only #LoadLoad, #LoadStore and #StoreStore. They have no effect, because total store order always
//! keeps these orders. The compiler adds them to atomic loads and stores. Every other `membar` has a row in [`ROWS`].
//!
//! Everything that can happen with a `membar` can also happen without it. The test can therefore remove all unneeded `membar` instructions
//! from one image: running this image shows as much as separate runs without each of them.

mod late;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;

use addr2line::Context;
use gimli::{BigEndian, Dwarf, EndianSlice};
use object::{Object, ObjectSection, ObjectSymbol};
use simulator::interpreter::Instruction;
use tests::assembler::NOP;
use vfalls::cmd::boot::elf;
use xtask::cargo::root;
use xtask::qemu::build::Production;

use super::broken;
use super::image;
use super::orders::{CASES, Ready, all, waits_for};
use Verdict::{Faults, Orders, Scene, Unneeded};

/// The verdict on a `membar`: what shows that the architecture needs it, or why it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Without the `membar`, the [orders](super::orders) of two calls for a hub are wrong.
    Orders,
    /// Without the `membar`, the [scene](late::SCENES) with this name goes wrong.
    Scene(&'static str),
    /// Without the `membar`, a random run with failing units shows an error. The [`broken`] image with this name lacks the `membar`.
    Faults(&'static str),
    /// The architecture does not need the `membar`, for this reason.
    Unneeded(&'static str),
}

/// A source line from which the compiler makes a `membar` instruction, in every function that contains the line. The fields are the file,
/// the beginning of the line, a position, and the verdict. The position counts from 1 among the `membar` instructions of all lines with the
/// same text. In assembly, the file is empty, and the label before the instruction replaces the text.
type Row = (&'static str, &'static str, usize, Verdict);

const EXCHANGED: &str =
    "it follows an exchange, which completes the stores before it, and no store is between";
const EXCHANGES: &str =
    "an exchange follows, which completes the store before any load decides anything";
const LOCKED: &str = "the strand owns the lock of the rights, which it releases by a later store";
const NOBODY: &str =
    "no strand can ask for the hub, and an exchange gives the right to the next guest";
const BOOTS: &str = "the strand boots the machine, and no other strand executes yet";
const TELLS: &str = "an exchange, which starts the guest's first strand, follows";
const OWN: &str = "only the strand itself loads the word";
const AFTER: &str = "nothing that the strand does next has to follow the interrupt or the start";
const REPORT: &str = "it only makes the report of a failed store arrive before Rust is called. A \
                      report that arrives later is kept as well";

/// The beginning of the source line that sends an interrupt. [`START`] is the beginning of the
/// source line that starts a strand. Each of the two lines contains two `membar` instructions.
const SEND: &str = "asm!(\"membar #Sync\", \"stxa {value}, ";
const START: &str = "asm!(\"membar #Sync\", \"stxa {bit}, ";

const ROWS: &[Row] = &[
    // Barriers in the assembly code of the fast path and the slow path.
    ("", "perfctr_wait_hub", 1, Orders),
    ("", "sun4v_store_wait", 1, Orders),
    ("", "perfctr_set_l2", 1, Scene("a set of the L2 control fails while another strand gets it")),
    ("", "perfctr_set_l2", 2, Scene("two strands set the L2 control of their node")),
    ("", "sun4v_keep", 1, Faults("no wait for stores before Rust is called for an interrupt")),
    ("", "sun4v_general_wait", 1, Unneeded(REPORT)),
    ("", "sun4v_core_wait", 1, Unneeded(REPORT)),
    // Barriers in a hub's gate.
    ("perfctr-service/src/hubs/gate.rs", "fence_after_exchange();", 1, Unneeded(EXCHANGED)),
    ("perfctr-service/src/hubs/gate.rs", "fence_after_exchange();", 2, Unneeded(EXCHANGED)),
    (
        "perfctr-service/src/hubs/gate.rs",
        "self.state.store(self.state_in_turn(), ",
        1,
        Unneeded("the strand is refused, and no later load of the gate decides about this call"),
    ),
    (
        "perfctr-service/src/hubs/gate.rs",
        "self.state.store(taken | CLOSED, ",
        1,
        Unneeded(
            "until the store completes, the hub is reserved for the owner of the lock, and the \
             lock is released by a later store",
        ),
    ),
    ("perfctr-service/src/hubs/gate.rs", "self.lock.reset();", 1, Unneeded(NOBODY)),
    ("perfctr-service/src/hubs/gate.rs", "self.closed.store(0, ", 1, Unneeded(NOBODY)),
    ("perfctr-service/src/hubs/gate.rs", "self.state.store(0, ", 1, Unneeded(NOBODY)),
    // Barriers in the code for rights and versions.
    ("perfctr-service/src/rights/guest.rs", "fence_after_exchange();", 1, Unneeded(EXCHANGED)),
    ("perfctr-service/src/rights/guest.rs", "fence_after_exchange();", 2, Unneeded(EXCHANGED)),
    ("perfctr-service/src/rights/guest.rs", "fence_after_exchange();", 3, Unneeded(EXCHANGED)),
    ("perfctr-service/src/rights/guest.rs", "fence_after_exchange();", 4, Unneeded(EXCHANGED)),
    ("perfctr-service/src/rights/guest.rs", "self.granted.store(", 1, Unneeded(LOCKED)),
    ("perfctr-service/src/rights/guest.rs", "self.starting.store(true, ", 1, Unneeded(EXCHANGES)),
    ("perfctr-service/src/rights/guest.rs", "self.traced.store(", 1, Unneeded(EXCHANGES)),
    ("perfctr-service/src/rights/guest.rs", "self.words.access.store(", 1, Unneeded(BOOTS)),
    ("perfctr-service/src/rights/state.rs", "self.global.store(", 1, Unneeded(LOCKED)),
    ("perfctr-service/src/rights/state.rs", "self.resetting.store(Some", 1, Unneeded(EXCHANGES)),
    ("perfctr-service/src/rights/state.rs", "self.resetting.store(None", 1, Unneeded(LOCKED)),
    // Barriers where guests and their CPUs start and end.
    (
        "hypervisor/src/image/guests.rs",
        "GUEST_STATES[guest.index()].runs.store(true",
        1,
        Unneeded(TELLS),
    ),
    ("hypervisor/src/image/guests.rs", "life.runs.store(false", 1, Scene("two guests end")),
    ("hypervisor/src/image/guests.rs", "fence(SeqCst);", 1, Unneeded(EXCHANGES)),
    (
        "hypervisor/src/image/guests.rs",
        "fence(SeqCst);",
        2,
        Scene("the operator resets a guest while it ends"),
    ),
    ("hypervisor/src/image/guests.rs", "word.store(code, ", 1, Unneeded(OWN)),
    ("hypervisor/src/image/guests.rs", "exited.store(true, ", 1, Unneeded(OWN)),
    ("hypervisor/src/image/failure.rs", "failing.store(false, ", 1, Unneeded(OWN)),
    (
        "hypervisor/src/services/core_group.rs",
        "self.ended_word(guest).store(1, ",
        1,
        Scene("a CPU starts while its guest ends"),
    ),
    (
        "hypervisor/src/services/core_group.rs",
        "self.ended_word(guest).store(0, ",
        1,
        Unneeded(TELLS),
    ),
    (
        "hypervisor/src/services/cpus.rs",
        "self.cpu(strand).state.store(STOPPED, ",
        1,
        Unneeded(
            "if another strand still executes the guest, the strand exchanges that strand's \
             state next; otherwise no other strand waits for this one",
        ),
    ),
    (
        "hypervisor/src/services/cpus.rs",
        "self.cpu(strand).state.store(ERROR, ",
        1,
        Scene("two strands fail at the same moment"),
    ),
    // Barriers in the logger.
    ("hypervisor/src/logger/mod.rs", "fence(SeqCst);", 1, Unneeded(EXCHANGES)),
    ("hypervisor/src/logger/mod.rs", "fence(SeqCst);", 2, Unneeded(EXCHANGES)),
    // Barriers around accesses to the processor's registers.
    (
        "platform/src/sparc64/interrupt.rs",
        START,
        1,
        Unneeded(
            "an exchange, which lets the first strand of the guest start, is before it, and the \
             strand stores nothing for others after that",
        ),
    ),
    ("platform/src/sparc64/interrupt.rs", START, 2, Unneeded(AFTER)),
    (
        "platform/src/sparc64/interrupt.rs",
        SEND,
        1,
        Unneeded(
            "what the interrupt announces is in a word that the sender exchanges before it sends, \
             or the receiver finds it in its own registers",
        ),
    ),
    ("platform/src/sparc64/interrupt.rs", SEND, 2, Unneeded(AFTER)),
    (
        "platform/src/sparc64/guest.rs",
        "asm!(\"stxa {id}, ",
        1,
        Unneeded(
            "the register is one of the MMU, and a store to these needs no `membar`, `flush`, `done` \
             or `retry` behind it (UltraSPARC Architecture, note on accessing MMU registers)",
        ),
    ),
    (
        "platform/src/sparc64/mmio.rs",
        "unsafe { asm!(\"membar #Sync\"",
        1,
        Unneeded(
            "the strand has waited for its earlier stores before it called Rust, and every store \
             of Rust to a device waits in `sun4v_store_wait`",
        ),
    ),
];

/// A `membar` instruction of the image. The last three fields name the source line that the instruction comes from, like those of a
/// [`Row`].
#[derive(Clone, Debug)]
struct Barrier {
    address: u64,
    code: u32,
    file: String,
    line: String,
    number: usize,
}

/// Finds the source lines of instructions.
struct Places<'a> {
    context: Context<EndianSlice<'a, BigEndian>>,
    labels: BTreeMap<u64, &'a str>,
}

impl<'a> Places<'a> {
    fn new(elf: &elf::Elf<'a>) -> Self {
        let section = |id: gimli::SectionId| {
            let section = elf.section_by_name(id.name());
            let data = section.map_or(&[][..], |section| section.data().unwrap());
            Ok::<_, gimli::Error>(EndianSlice::new(data, BigEndian))
        };
        let context = Context::from_dwarf(Dwarf::load(section).unwrap()).unwrap();
        let labels = elf.symbols().map(|symbol| (symbol.address(), symbol.name().unwrap()));
        Self { context, labels: labels.filter(|(_, name)| !name.is_empty()).collect() }
    }

    /// Looks for the innermost function that does more than wrap an atomic instruction or a barrier. Returns the file, the text of the line
    /// within this function, and the number of equal lines that precede it in the file.
    fn source(&self, address: u64) -> Option<(String, String, usize)> {
        let mut frames = self.context.find_frames(address).skip_all_loads().unwrap();
        while let Some(frame) = frames.next().unwrap() {
            let location = frame.location?;
            let file = location.file?.rsplit("./").next()?;
            if file.contains("rust/library/") || file.starts_with("hv-core/src/sync/") {
                continue;
            }
            let text = fs::read_to_string(root().join(file)).ok()?;
            let number = location.line? as usize - 1;
            let line = text.lines().nth(number)?.trim();
            let rank = text.lines().take(number).filter(|before| before.trim() == line).count();
            return Some((file.to_owned(), line.to_owned(), rank));
        }
        None
    }

    fn label(&self, address: u64) -> &'a str {
        let (_, label) = self.labels.range(..=address).next_back().unwrap();
        label
    }
}

/// Returns all `membar` instructions of the image.
fn barriers(file: &[u8]) -> Vec<Barrier> {
    let elf = elf::parse(file).unwrap();
    let places = Places::new(&elf);
    // The number of barriers found so far for each source line.
    let mut seen: BTreeMap<(String, String, usize), usize> = BTreeMap::new();
    let instructions = elf::instructions(&elf).unwrap().into_iter();
    let barriers = instructions
        .filter(|(_, code)| matches!(Instruction::decode(*code), Instruction::Membar { .. }));
    barriers
        .map(|(address, code)| {
            let source = places.source(address);
            let is_assembly = source.is_none();
            let (file, line, equal) =
                source.unwrap_or_else(|| (String::new(), places.label(address).to_owned(), 0));
            let before = seen.entry((file.clone(), line.clone(), equal)).or_default();
            // The compiler may put a line's instructions into several functions.
            let of_line = line.matches("membar").count().max(1);
            let number = match is_assembly {
                true => *before + 1,
                false => equal * of_line + *before % of_line + 1,
            };
            *before += 1;
            Barrier { address, code, file, line, number }
        })
        .collect()
}

/// Returns the `membar` instructions that have an effect under total store order, with their rows.
fn judged(file: &[u8]) -> Vec<(Barrier, &'static Row)> {
    let row_of = |barrier: &Barrier| {
        let Barrier { file, line, number, .. } = barrier;
        let mut rows = ROWS.iter();
        rows.find(|row| row.0 == file && line.starts_with(row.1) && row.2 == *number)
    };
    let judged = barriers(file).into_iter().filter(|barrier| waits_for(barrier.code) != [false; 2]);
    judged
        .map(|barrier| match row_of(&barrier) {
            Some(row) => (barrier, row),
            None => panic!("no row for {barrier:x?}"),
        })
        .collect()
}

/// Returns the addresses of all `membar` instructions that the architecture does not need.
fn unneeded(judged: &[(Barrier, &Row)]) -> Vec<u64> {
    let unneeded = judged.iter().filter(|(_, row)| matches!(row.3, Unneeded(_)));
    unneeded.map(|(barrier, _)| barrier.address).collect()
}

#[test]
#[ignore = "builds images"]
fn each_barrier_has_a_verdict() {
    /// The bits for #LoadLoad, #LoadStore and #StoreStore in the instruction.
    const IMPLIED: u32 = 1 | 1 << 2 | 1 << 3;
    let shipped = image(Production::Shipped);
    let judged = judged(&shipped);
    let used: HashSet<_> = judged.iter().map(|(_, row)| (row.0, row.1, row.2)).collect();
    let unused = ROWS.iter().find(|row| !used.contains(&(row.0, row.1, row.2)));
    assert_eq!(unused, None, "the image has no such barrier");
    let scenes: Vec<_> = late::SCENES.iter().map(|scene| (scene.name, scene.barrier)).collect();
    for (file, line, number, verdict) in ROWS {
        match verdict {
            Scene(name) => {
                assert!(scenes.contains(&(*name, (*file, *line, *number))), "{name}");
            }
            Unneeded(why) => assert!(!why.is_empty(), "{file} {line} {number}"),
            Faults(name) => assert!(broken::has_defect(name), "{name}"),
            Orders => {}
        }
    }
    let every = barriers(&shipped);
    let mut others = every.iter().filter(|barrier| waits_for(barrier.code) == [false; 2]);
    assert!(others.all(|barrier| barrier.code & 0x7f & !IMPLIED == 0));
    println!("{} of {} barriers have an effect", judged.len(), every.len());
}

/// First removes, one at a time, the barriers that calls for a hub need. Without any one of them, some order of two calls must go wrong.
/// Then removes all other barriers together. Now every order must be right.
#[test]
#[ignore = "builds images"]
fn the_orders_find_each_barrier_that_calls_of_a_hub_need() {
    let judged = judged(&image(Production::Shipped));
    let (needed, others): (Vec<_>, Vec<_>) = judged.iter().partition(|(_, row)| row.3 == Orders);
    let mut ready = Ready::new();
    for (barrier, _) in needed {
        let wrong = wrong(&mut ready, &[barrier]);
        println!("without {}: {wrong:?}", barrier.line);
        assert!(wrong.is_some(), "{barrier:x?}");
    }
    assert_eq!(wrong(&mut ready, &[]), None);
    // The calls also execute some of the barriers that they do not need.
    let executed: BTreeSet<u64> = ready.orders.barriers();
    let on_the_way = others.iter().filter(|(barrier, _)| executed.contains(&barrier.address));
    assert!(on_the_way.count() > 4);
    let others: Vec<_> = others.iter().map(|(barrier, _)| barrier).collect();
    assert_eq!(wrong(&mut ready, &others), None);
}

/// Explores the orders of two calls without some barriers. Returns a description of what is wrong.
fn wrong(ready: &mut Ready, without: &[&Barrier]) -> Option<String> {
    for barrier in without {
        ready.orders.booted.0.load(barrier.address, &NOP.to_be_bytes()).unwrap();
    }
    let mut cases = CASES.iter().filter(|case| all() || !case.is_large);
    let wrong = cases.find_map(|case| ready.explore(case, true).wrong);
    for barrier in without {
        ready.orders.booted.0.load(barrier.address, &barrier.code.to_be_bytes()).unwrap();
    }
    wrong
}

/// Removes each scene's barrier. A scene must go wrong if and only if the barrier's verdict names it. Then removes all barriers that the
/// architecture does not need. Now no scene may go wrong.
#[test]
#[ignore = "builds images"]
fn the_scenes_find_each_barrier_that_they_need() {
    let shipped = image(Production::Shipped);
    let judged = judged(&shipped);
    let unneeded = unneeded(&judged);
    for scene in &late::SCENES {
        // The compiler may put the barrier into several functions.
        let of_scene = judged.iter().filter(|(_, row)| (row.0, row.1, row.2) == scene.barrier);
        let (addresses, rows): (Vec<u64>, Vec<&Row>) =
            of_scene.map(|(barrier, row)| (barrier.address, *row)).unzip();
        assert!(scene.is_right(&shipped, &[], &addresses), "{}", scene.name);
        assert!(scene.is_right(&shipped, &unneeded, &addresses), "{}", scene.name);
        let needed = rows[0].3 == Scene(scene.name);
        assert_eq!(!scene.is_right(&shipped, &addresses, &addresses), needed, "{}", scene.name);
    }
    assert!(late::passes_a_right(&shipped, &[]));
    assert!(late::passes_a_right(&shipped, &unneeded));
}
