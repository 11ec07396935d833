//! Runs guests whose CPUs execute lists of calls and loops: see `calls.s`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::Duration;

use guest_abi::event::DramEvent;
use guest_abi::{Mcu, Node};
use simulator::execute::calls::Call;
use simulator::execute::mailbox::GuestState;
use simulator::execute::{Limits, Observed, Stop, map};
use simulator::interpreter::Level;
use simulator::memory::Config;
use simulator::recording::Kind;
use tests::assembler::NOP;
use xtask::budgets::SPARC_BUDGETS;
use xtask::qemu::build::Production;
use xtask::qemu::machine::{self, Boot, End};

use super::{Booted, Guest, MEMORY, PCR, REAL, assembled, built};

pub(super) type Entry = [u64; 8];

/// The address of CPU 0's list in a guest's memory. [`LIST_STRIDE`] is the distance to the next list.
pub(super) const FIRST_LIST: u64 = 0x10_0000;
const LIST_STRIDE: u64 = 0x8000;
/// The offset, in a guest's memory, of a word that contains the address of the instruction after a call.
const AFTER_CALL: u64 = 0x88;
/// The offset, in a CPU's list, of the numbers that the CPU writes when it samples.
const SAMPLES: u64 = 0x7f00;

pub(super) const REPEAT_LIST: Entry = [6, 0, 0, 0, 0, 0, 0, 0];

pub(super) const GET: u64 = 0x106;
pub(super) const SET: u64 = 0x107;
pub(super) const EWOULDBLOCK: u64 = 9;

/// The id of hub 0's first register, a 16-bit PCR.
pub(super) const HUB_PCR: u64 = 18;

pub(super) const fn fast(function: u64, o0: u64, o1: u64) -> Entry {
    [1, o0, o1, 0, 0, 0, function, 0]
}

pub(super) const fn core(function: u64, o0: u64, o1: u64) -> Entry {
    [2, o0, o1, 0, 0, 0, function, 0]
}

/// Returns an entry for a call that is repeated while it returns EWOULDBLOCK. illumos repeats its
/// calls in the same way.
pub(super) const fn retried(function: u64, o0: u64, o1: u64) -> Entry {
    [3, o0, o1, 0, 0, 0, function, 0]
}

/// Returns an entry for a call that is repeated while it returns EWOULDBLOCK. The call does not
/// overwrite the entry, so the list can be executed again.
pub(super) const fn repeated(function: u64, o0: u64, o1: u64) -> Entry {
    [7, o0, o1, 0, 0, 0, function, 0]
}

impl<'a> Guest<'a> {
    /// Returns a guest with the program of `calls.s`.
    pub(super) fn with_lists(strands: &'a [usize], rights: &'a str) -> Self {
        static PROGRAM: OnceLock<Vec<u8>> = OnceLock::new();
        Self {
            program: PROGRAM.get_or_init(|| fs::read(assembled("calls", REAL)).unwrap()),
            words: Some([0, strands.len() as u64, 0]),
            strands,
            rights,
            real: REAL,
        }
    }
}

/// Returns the physical address of the list of CPU `cpu` in the memory of guest `guest`.
pub(super) const fn list_at(guest: u64, cpu: u64) -> u64 {
    map::PARTITION + guest * MEMORY + FIRST_LIST + cpu * LIST_STRIDE
}

impl Booted {
    pub(super) fn list(&mut self, guest: u64, cpu: u64, list: &[Entry]) {
        let bytes: Vec<u8> =
            (list.as_flattened().iter()).flat_map(|word| word.to_be_bytes()).collect();
        assert!(bytes.len() as u64 <= SAMPLES - 64);
        self.0.load(list_at(guest, cpu), &bytes).unwrap();
    }

    /// Returns the address of the `ta 0x80` instruction with which kind-7 entries make their calls. After this instruction, the CPU
    /// continues with the next entry.
    pub(super) fn call_of_list(&mut self) -> u64 {
        /// The instructions `ta 0x80` and `cmp %o0, 9`.
        const CALL: [u32; 2] = [0x91d0_2080, 0x80a2_2009];
        let mut program = vec![0; 4096];
        self.0.read(map::PARTITION, &mut program).unwrap();
        let (words, _) = program.as_chunks();
        let words: Vec<u32> = words.iter().map(|word| u32::from_be_bytes(*word)).collect();
        let is_call = |words: &[u32]| words[..2] == CALL && words[3] == NOP;
        REAL + 4 * words.windows(4).position(is_call).unwrap() as u64
    }

    pub(super) fn entry(&mut self, guest: u64, cpu: u64, number: usize) -> Entry {
        self.words(guest, FIRST_LIST + cpu * LIST_STRIDE + 64 * number as u64)
    }

    /// Returns the numbers that a CPU has written at [`SAMPLES`] in its list.
    pub(super) fn sampled(&mut self, guest: u64, cpu: u64) -> [u64; 5] {
        self.words(guest, FIRST_LIST + cpu * LIST_STRIDE + SAMPLES)
    }

    /// Returns an initially empty list to which the machine adds each hypercall when it returns.
    pub(super) fn calls(&mut self) -> Rc<RefCell<Vec<Call>>> {
        let calls = Rc::new(RefCell::new(Vec::new()));
        let noted = Rc::clone(&calls);
        self.0.observe_calls(Some(Box::new(move |call| noted.borrow_mut().push(*call))));
        calls
    }
}

/// Makes strand 0 perform a list's calls and exit. Returns the number of hypervisor instructions for each call.
pub(super) fn counted(booted: &mut Booted, list: &[Entry]) -> Vec<u64> {
    booted.list(0, 0, list);
    // The number of hypervisor instructions since the guest's latest instruction, and the counts of
    // the finished calls.
    let counted = Rc::new(RefCell::new((0_u64, Vec::new())));
    let counts = Rc::clone(&counted);
    let mut before = 0;
    booted.0.observe(Some(Box::new(move |access| {
        // An instruction that waits for a device is fetched twice, but is counted once.
        if access.kind == Kind::FetchOther && access.physical != before {
            before = access.physical;
            let count = &mut counts.borrow_mut().0;
            *count = if access.level == Level::Hyperprivileged { *count + 1 } else { 0 };
        }
    })));
    let counts = Rc::clone(&counted);
    booted.0.observe_calls(Some(Box::new(move |_| {
        let (count, all) = &mut *counts.borrow_mut();
        all.push(*count);
    })));
    booted.end();
    assert_eq!(booted.0.guest(0), GuestState::Exited(0));
    // The guest negotiates twice when it starts. These first two calls are not part of the list.
    counted.take().1.split_off(2)
}

/// Each kind of call takes the same number of instructions on the simulator and on QEMU. The simulator executes the shipped image, with the
/// real %pcr and devices. QEMU executes an image that keeps %pcr in memory.
#[test]
#[ignore = "builds images"]
fn calls_take_the_instructions_that_qemu_counts() {
    const HUB: u64 = 62;
    const GROUP: u64 = 0x205;
    let calls = [
        ("get_dram", fast(GET, 3, 0)),
        ("set_dram", fast(SET, 3, 0x55)),
        ("get_pcr", fast(GET, 0, 0)),
        ("set_pcr", fast(SET, 0, 0x55)),
        ("get_zambezi", fast(GET, HUB, 0)),
        ("set_zambezi", fast(SET, HUB, 0x55)),
        ("get_invalid", fast(GET, 90, 0)),
        ("set_invalid", fast(SET, 90, 0)),
        ("get_no_access", fast(GET, 7, 0)),
        ("set_no_access", fast(SET, 7, 0)),
        ("unknown_fast", fast(5, 0, 0)),
        ("negotiate", core(0, GROUP, 1)),
        ("set_version", core(0, GROUP, 1)),
        ("get_version", core(3, GROUP, 0)),
        ("get_not_supported", fast(GET, HUB, 0)),
        ("set_not_supported", fast(SET, HUB, 0)),
        ("no version", core(0, GROUP, 0)),
        ("get_bad_trap", fast(GET, HUB, 0)),
        ("set_bad_trap", fast(SET, HUB, 0)),
        ("set_version_negotiated", core(0, GROUP, 1)),
    ];
    let list = calls.map(|(_, entry)| entry);

    let guest = Guest::with_lists(&[0], "global,htstrand");
    let mut booted = Booted::new(Production::Shipped, &[guest]);
    let here = counted(&mut booted, &list);

    let addresses = (map::PARTITION + FIRST_LIST..).step_by(8);
    let words = addresses.zip(list.as_flattened().iter().copied());
    let words: Vec<_> = words.filter(|(_, word)| *word != 0).collect();
    let boot = Boot {
        hypervisor: &built(Production::PcrInMemory),
        guest: &assembled("calls", REAL),
        words: &words,
        timeout: Duration::from_secs(60),
        gdb: None,
    };
    let (console, end) = machine::run(&boot, &mut io::sink()).unwrap();
    let console = String::from_utf8(console).unwrap();
    assert_eq!(end, End::Code(0), "{console}");
    let ticks = console.lines().map(|line| u64::from_str_radix(line, 16));
    // %tick advances by 102.4 for each instruction. The two subtracted instructions are the `ta` and one `rd`.
    let there: Vec<_> =
        ticks.map_while(Result::ok).map(|ticks| (ticks * 10 + 512) / 1024 - 2).collect();

    let named = |counts: &[u64]| -> BTreeMap<String, u64> {
        let names = calls.iter().map(|(name, _)| (*name).to_owned());
        names.zip(counts.iter().copied()).collect()
    };
    assert_eq!(named(&here).len(), calls.len());
    assert_eq!(named(&here), named(&there));
    SPARC_BUDGETS.check(&named(&here)).unwrap();
}

/// A guest counts the instructions of loops of known length, and the reads from memory. Each of the node's two channels serves an eighth of
/// the cache lines.
#[test]
#[ignore = "builds images"]
fn what_a_guest_counts_is_what_happened() {
    const LINES: u64 = 8192;
    let guest = Guest::with_lists(&[0], "global,strand");
    let mut booted = Booted::with(Production::Shipped, &[guest], Some(Config::default()));
    let rounds = [1, 1000, 54_321];
    let mut list = vec![fast(SET, 0, PCR)];
    list.extend(rounds.map(|rounds| [4, rounds, 0, 0, 0, 0, 0, 0]));
    // These two calls bring the hypervisor's code into the caches.
    for (pic, address) in [(3, 0x8040_0000), (5, 0x8050_0000)] {
        list.extend([fast(SET, pic, 0), fast(GET, pic, 0), fast(GET, pic, 0)]);
        list.push([5, address, LINES, 0, 0, 0, 0, 0]);
        list.push(fast(GET, pic, 0));
    }
    booted.list(0, 0, &list);
    let calls = booted.calls();
    // The value that each `get` returned, and the channel's read count at that time.
    let mut seen = [Vec::new(), Vec::new()];
    let [answered] = booted.words(0, AFTER_CALL);
    booted.0.breakpoints().insert(answered);
    while booted.0.run(Limits::instructions(600_000_000)) != Stop::Off {
        if let Some(call) = calls.borrow().last()
            && call.function == GET
        {
            assert_eq!(call.status, 0);
            let (mcu, seen) = match call.arguments[0] {
                3 => (Mcu::ALL[0], &mut seen[0]),
                _ => (Mcu::ALL[1], &mut seen[1]),
            };
            let truth = booted.0.truth().unwrap();
            seen.push((call.value, truth.dram(Node::Node0, mcu, DramEvent::Reads)));
        }
    }
    for (number, rounds) in rounds.into_iter().enumerate() {
        let [.., counted] = booted.entry(0, 0, 1 + number);
        // Counter 0 counts the loop and the `rd` that follows it.
        assert_eq!(counted & 0xffff_ffff, 3 * rounds + 1, "{rounds} rounds");
    }
    for seen in seen {
        let [_, (before, true_before), (after, true_after)] = seen[..] else { panic!("{seen:?}") };
        let reads = true_after - true_before;
        // Both counters of the channel count its reads.
        assert_eq!(after - before, reads << 32 | reads);
        // The hypervisor and the list cause a few more reads.
        assert!((LINES / 8..LINES / 8 + 16).contains(&reads), "{reads}");
    }
}

/// The stores to the words of a hub's gate.
#[derive(Default)]
struct Stores {
    /// The address of the gate's words. It becomes known at the first access to the hub.
    gate: Option<u64>,
    stores: Vec<Observed>,
}

impl Stores {
    fn note(&mut self, access: &Observed) {
        match self.gate {
            Some(gate) if (gate..gate + 128).contains(&access.physical) => {}
            Some(_) => return,
            // On the fast path, a strand's last store before its access to the hub takes the hub.
            None if access.physical >> 32 & 0xf3 == 0xe1 => {
                let own = |store: &&Observed| store.strand == access.strand;
                let taken = self.stores.iter().rfind(own).unwrap().physical;
                let gate = taken..taken + 128;
                self.stores.retain(|store| gate.contains(&store.physical));
                self.gate = Some(taken);
                return;
            }
            None => {}
        }
        if access.kind == Kind::Store {
            self.stores.push(*access);
        }
    }
}

/// The words of a hub's gate: see `hubs/gate.rs` and `hubs/atomic_turns.rs`.
#[derive(Default)]
struct Words {
    state: u64,
    remembered: [u64; 4],
}

/// The strands' waits for the hub. A wait lasts from the strand's refusal to its access.
struct Waits {
    n: usize,
    /// For each waiting strand, how often other strands have been served since its refusal.
    waiting: BTreeMap<usize, usize>,
    ended: usize,
    /// The number of waits that the gate cut short. The gate forgets a waiting strand if other strands ask too often before it asks again.
    cut: usize,
    /// The largest number of refusals during one turn.
    refusals: u32,
}

impl Waits {
    fn new(n: usize) -> Self {
        Self { n, waiting: BTreeMap::new(), ended: 0, cut: 0, refusals: 0 }
    }

    fn happens(&mut self, words: &mut Words, at: u64, store: &Observed) {
        let by = store.strand.index();
        match at {
            0 => {
                // On the fast path, a single store writes this word and the next one.
                let state = if store.size == 8 { store.value >> 32 } else { store.value };
                // The word can also reserve a free hub for the strand whose turn it is. Here, a reserved hub counts as free.
                let state = if state & 1 != 0 { 0 } else { state & !(1 << 31) };
                let before = std::mem::replace(&mut words.state, state);
                if state == before || state == 0 {
                    return;
                }
                assert_eq!(before, 0, "a second access in flight");
                assert_eq!(state, 2 * (by as u64 + 1));
                if let Some(others) = self.waiting.remove(&by) {
                    assert!(others < self.n, "strand {by}: {others} accesses of others");
                    self.ended += 1;
                }
                self.waiting.values_mut().for_each(|others| *others += 1);
            }
            8..40 => {
                let word = (at / 8 - 1) as usize;
                let before = std::mem::replace(&mut words.remembered[word], store.value);
                for bit in (0..64).filter(|bit| (before ^ store.value) >> bit & 1 != 0) {
                    let strand = 64 * word + bit;
                    if store.value >> bit & 1 != 0 {
                        self.waiting.entry(strand).or_insert(0);
                    } else if strand != by {
                        self.waiting.remove(&strand);
                        self.cut += 1;
                    }
                }
            }
            40 => {
                let refusals = store.value as u32 >> 16 & 0x7fff;
                let remembered = words.remembered.map(u64::count_ones).iter().sum::<u32>();
                assert!(refusals <= 2 * remembered, "{refusals} refusals of {remembered}");
                self.refusals = self.refusals.max(refusals);
            }
            _ => {}
        }
    }
}

/// All strands of a guest ask for one hub repeatedly, and each strand is served. The stores to the gate's words show that the gate keeps
/// two limits: how many accesses by other strands a strand must wait for, and how many refusals a turn lasts if its strand does not ask
/// again. The guest has 16 strands on one node. With `ALL` in the environment, the test also uses 64 strands on four nodes, and takes half
/// a minute.
#[test]
#[ignore = "builds images"]
fn every_strand_has_its_turn_at_a_hub() {
    let in_one_node: Vec<usize> = (0..16).collect();
    let in_all_nodes: Vec<usize> = (0..256).step_by(4).collect();
    let mut cases = vec![(in_one_node, 8)];
    if env::var_os("ALL").is_some() {
        cases.push((in_all_nodes, 4));
    }
    for (strands, accesses) in cases {
        let guest = Guest::with_lists(&strands, "global");
        let mut booted = Booted::new(Production::Shipped, &[guest]);
        let n = strands.len();
        let list: Vec<_> =
            (0..accesses).map(|turn| retried([SET, GET][turn % 2], HUB_PCR, 0x0101)).collect();
        for cpu in 0..n as u64 {
            booted.list(0, cpu, &list);
        }
        let calls = booted.calls();
        let stores = Rc::new(RefCell::new(Stores::default()));
        let noted = Rc::clone(&stores);
        booted.0.observe(Some(Box::new(move |access| {
            if access.level == Level::Hyperprivileged && access.kind != Kind::FetchOther {
                noted.borrow_mut().note(access);
            }
        })));
        booted.end();
        assert_eq!(booted.0.guest(0), GuestState::Exited(0));
        for cpu in 0..n as u64 {
            for turn in 0..list.len() {
                let [_, status, value, ..] = booted.entry(0, cpu, turn);
                assert_eq!((status, value), (0, 0x0101), "CPU {cpu} of {n}, {turn}");
            }
        }
        let calls = calls.borrow();
        let of_hub: Vec<&Call> =
            (calls.iter()).filter(|call| [SET, GET].contains(&call.function)).collect();
        let served: Vec<&&Call> = of_hub.iter().filter(|call| call.status == 0).collect();
        assert_eq!(served.len(), n * list.len());
        let refused = of_hub.len() - served.len();
        assert!(refused > n, "{refused} refusals of {n} strands");
        let Stores { gate, stores } = &*stores.borrow();
        let first = gate.unwrap();
        let (mut words, mut waits) = (Words::default(), Waits::new(n));
        for store in stores {
            waits.happens(&mut words, store.physical - first, store);
        }
        // During a wait, each of the other strands is served at most once. Few waits are cut short.
        let Waits { ended, cut, refusals, .. } = waits;
        println!(
            "{n} strands: {ended} waits, {cut} cut short, at most {refusals} refusals in a turn"
        );
        assert!(ended > 9 * cut && ended > n, "{ended} waits, {cut} cut short");
        assert!(refusals > 0);
    }
}
