//! Takes the steps of a few strands in every order. Exists under the feature `steps` only.
//!
//! The strands execute the code that ships. Each operation of the code on an atomic is a step, and memory is sequentially consistent. (For
//! weak memory there is loom, which tries fewer orders.) The search visits each state once. A state consists of the contents of all words
//! and the position of each strand. The values that a strand has found in words determine its next step, so the search executes a strand's
//! code only once for each sequence of values. At the first step whose value is not known yet, the strand stops by unwinding.
//!
//! The order of accesses makes no difference for a word that only one strand uses, or that never changes. The search finds these words, and
//! does not treat operations on them as steps. If a strand later uses such a word in a new way, the search begins again.
//!
//! ```
//! use hv_core::sync::steps::orders::{Strand, explore};
//! use hv_core::sync::{AtomicU32, Ordering};
//!
//! let word = AtomicU32::new(0);
//! let adds = |word: &AtomicU32, _| {
//!     let old = word.load(Ordering::SeqCst);
//!     word.store(old + 1, Ordering::SeqCst);
//!     None
//! };
//! let mut sums = std::collections::BTreeSet::new();
//! let both = [Strand::new(&adds), Strand::new(&adds)];
//! explore(&word, &both, |word| drop(sums.insert(word.load(Ordering::SeqCst))));
//! assert!(sums.into_iter().eq([1, 2]));
//! ```

mod run;

extern crate std;

use std::borrow::ToOwned;
use std::collections::HashMap;
use std::format;
use std::io::Write as _;
use std::string::String;
use std::time::Instant;
use std::vec;
use std::vec::Vec;

use super::word::WordOperation;
use run::{Answers, MemoryContents, NextAction, Spins, StrandExecution, Words, death, execute};
pub use run::{choice, is_dead, wait_until_dead, wait_until_nonzero};
pub(super) use run::{note_spin, perform};

/// A strand's code, which is called once per round. Its arguments are the shared data, and the value that the previous round returned (0 at
/// first). If the code returns `None`, the strand ends. The returned value is all that the strand knows in the next round.
pub type StrandCode<'a, T> = &'a dyn Fn(&T, u64) -> Option<u64>;

/// A strand of a model: its code, and whether it can die.
#[allow(missing_debug_implementations, reason = "it is code")]
pub struct Strand<'a, T> {
    part: StrandCode<'a, T>,
    mortal: bool,
}

impl<'a, T> Strand<'a, T> {
    /// Returns a strand that executes this code.
    pub fn new(part: StrandCode<'a, T>) -> Self {
        Self { part, mortal: false }
    }

    /// Makes the strand mortal: the search also lets the strand die before each of its steps, if no other strand has died.
    #[must_use]
    pub fn mortal(self) -> Self {
        Self { mortal: true, ..self }
    }
}

/// The result of a search: the numbers of visited states, orders and ends.
#[derive(Clone, Copy, Debug)]
pub struct Exploration {
    /// The number of different states that the search has visited.
    pub states: usize,
    /// The number of orders of steps. An order ends when no strand can continue, or when it returns to one of its earlier states.
    pub orders: f64,
    /// The number of states in which no strand can continue.
    pub ends: usize,
}

/// The position of a strand in its code: the round that the strand has begun, and the values that it has found since then.
struct Node {
    strand: usize,
    round: u64,
    /// The previous node, and the answer to its step: the value that the word held, or the choice that was made. `None` at the beginning of
    /// a round.
    from: Option<(usize, u64)>,
    next: NextAction,
}

/// The node number that stands for a dead strand.
const DEAD_NODE: usize = usize::MAX;

struct Search<'a, T> {
    shared: &'a T,
    strands: &'a [Strand<'a, T>],
    /// The maximum number of preemptions.
    preemptions: usize,
    words: Words,
    nodes: Vec<Node>,
    rounds: HashMap<(usize, u64), usize>,
    after: HashMap<(usize, u64), usize>,
}

#[derive(Clone)]
struct SearchState {
    memory: MemoryContents,
    /// The node of each strand.
    at: Vec<usize>,
    /// `last` is the strand that took the last step, and `left` is the number of preemptions that are left.
    last: usize,
    left: usize,
}

/// A step: the strand's number, the node at which the strand took the step, and the answer. `None` stands for the strand's death.
type Step = (usize, usize, Option<u64>);

impl<T> Search<'_, T> {
    fn node(&mut self, strand: usize, round: u64, from: Option<(usize, u64)>) -> usize {
        if self.words.outdated {
            // A placeholder, because the search is about to begin again.
            self.nodes.push(Node { strand, round, from, next: NextAction::Ends });
            return self.nodes.len() - 1;
        }
        let (mut answers, mut back) = (vec![], from);
        while let Some((node, answer)) = back {
            answers.push(answer);
            back = self.nodes[node].from;
        }
        answers.reverse();
        let words = core::mem::take(&mut self.words);
        let answers = Answers::Known(answers, 0, None);
        let run = StrandExecution {
            words,
            strand: 1 << strand,
            answers,
            last: None,
            spun: None,
            spins: Spins::Not,
        };
        let part = self.strands[strand].part;
        let (run, result) = execute(run, || part(self.shared, round));
        self.words = run.words;
        let stopped = match run.answers {
            Answers::Known(.., next) => next,
            Answers::Memory(_) => None,
        };
        let next = match (stopped, result) {
            (Some(next), _) => next,
            (None, Ok(Some(round))) => NextAction::Begins(round),
            (None, Ok(None)) => NextAction::Ends,
            (None, Err(said)) => NextAction::Panics(said),
        };
        self.nodes.push(Node { strand, round, from, next });
        self.nodes.len() - 1
    }

    fn begin(&mut self, strand: usize, round: u64) -> usize {
        if let Some(node) = self.rounds.get(&(strand, round)) {
            return *node;
        }
        let node = self.node(strand, round, None);
        self.rounds.insert((strand, round), node);
        node
    }

    fn follow(&mut self, node: usize, answer: u64) -> usize {
        if let Some(next) = self.after.get(&(node, answer)) {
            return *next;
        }
        let Node { strand, round, .. } = self.nodes[node];
        let next = self.node(strand, round, Some((node, answer)));
        self.after.insert((node, answer), next);
        next
    }

    /// Lets a strand continue up to its next step at which the order of the strands makes a difference.
    fn settle(&mut self, state: &mut SearchState, strand: usize) {
        loop {
            let node = state.at[strand];
            state.at[strand] = match self.nodes[node].next {
                NextAction::Begins(round) => self.begin(strand, round),
                NextAction::Takes(word, operation, None) if !self.words.words[word].is_shared() => {
                    let found = state.memory.take(&self.words, word, operation);
                    self.follow(node, found)
                }
                _ => return,
            };
        }
    }

    /// Returns `true` if the strand that took the last step is in the middle of a round and can take another step. If so, a step of another
    /// strand is a preemption.
    fn can_continue(&self, state: &SearchState) -> bool {
        let node = state.at.get(state.last).and_then(|node| self.nodes.get(*node));
        node.is_some_and(|node| match node.next {
            NextAction::Takes(word, _, unless) => {
                node.from.is_some() && unless != Some(state.memory.read(&self.words, word))
            }
            NextAction::Chooses(_) => true,
            _ => false,
        })
    }

    /// Returns the steps that are possible in a state, and the states to which they lead.
    fn steps(&mut self, state: &SearchState) -> Vec<(Step, SearchState)> {
        let mut steps = vec![];
        let has_dead_strand = state.at.contains(&DEAD_NODE);
        let can_continue = self.can_continue(state);
        for (strand, node) in state.at.iter().copied().enumerate() {
            let preempts = can_continue && strand != state.last;
            if node == DEAD_NODE || preempts && state.left == 0 {
                continue;
            }
            let left = match self.preemptions {
                UNLIMITED => UNLIMITED,
                _ => state.left - usize::from(preempts),
            };
            let next = self.nodes[node].next.clone();
            if self.strands[strand].mortal && !has_dead_strand && !matches!(next, NextAction::Ends)
            {
                let mut to = SearchState { left, ..state.clone() };
                to.at[strand] = DEAD_NODE;
                let number = self.words.note_use(death(strand), 1 << strand, true);
                to.memory.take(&self.words, number, WordOperation::Swap(1));
                steps.push(((strand, node, None), to));
            }
            let answers = match next {
                NextAction::Takes(word, _, unless) => {
                    let found = state.memory.read(&self.words, word);
                    if unless == Some(found) {
                        continue;
                    }
                    found..found + 1
                }
                NextAction::Chooses(number) => 0..number,
                _ => continue,
            };
            for answer in answers {
                let mut to = state.clone();
                if left != UNLIMITED {
                    (to.last, to.left) = (strand, left);
                }
                if let NextAction::Takes(word, operation, _) = next {
                    to.memory.take(&self.words, word, operation);
                }
                to.at[strand] = self.follow(node, answer);
                self.settle(&mut to, strand);
                steps.push(((strand, node, Some(answer)), to));
            }
        }
        steps
    }

    /// Returns a number that identifies a state. Two different states have the same number with a probability of 2^-128.
    fn fingerprint(&self, state: &SearchState) -> u128 {
        let mix = |hash: u64, value: u64, by: u64| {
            let mixed = u128::from(hash ^ value).wrapping_mul(u128::from(by));
            (mixed >> 64) as u64 ^ mixed as u64
        };
        let words = state.memory.0.iter().copied().enumerate().filter(|(_, word)| *word != 0);
        let places = state.at.iter().chain([&state.last, &state.left]).map(|place| *place as u64);
        let values = words.flat_map(|(number, word)| [number as u64, word]).chain([u64::MAX]);
        let (mut one, mut two) = (0x9e37_79b9_7f4a_7c15_u64, 0x2545_f491_4f6c_dd1d_u64);
        for value in values.chain(places) {
            one = mix(one.wrapping_add(1), value, 0xd6e8_feb8_6659_fd93);
            two = mix(two.wrapping_add(3), value ^ 0xa5a5_5a5a_c3c3_3c3c, 0xff51_afd7_ed55_8ccd);
        }
        u128::from(one) << 64 | u128::from(two)
    }

    /// Reports a panic of the tested code, whose message is `said`: panics with this message, and with the steps that led to the panic.
    fn failed(&self, path: &[Step], said: &str) -> ! {
        let mut text = String::new();
        for (strand, node, answer) in path {
            let step = match (&self.nodes[*node].next, answer) {
                (_, None) => "dies".to_owned(),
                (NextAction::Takes(word, operation, _), Some(found)) => {
                    format!("{operation:x?} of word {word}, which holds {found:#x}")
                }
                (_, Some(answer)) => format!("chooses {answer}"),
            };
            text += &format!("  strand {strand}: {step}\n");
        }
        panic!("{said}\nafter these steps:\n{text}");
    }

    /// Visits every state. Returns `None` if an operation uses a word in a new way: the search must then begin again.
    fn visit(&mut self, after: &mut impl FnMut(&T)) -> Option<Exploration> {
        struct Frame {
            fingerprint: u128,
            steps: vec::IntoIter<(Step, SearchState)>,
            orders: f64,
        }
        let mut visited: HashMap<u128, f64> = HashMap::new();
        let (mut ends, mut all_orders) = (0, 0.0);
        let mut first = SearchState {
            memory: MemoryContents::default(),
            at: vec![],
            last: DEAD_NODE,
            left: self.preemptions,
        };
        for strand in 0..self.strands.len() {
            first.at.push(self.begin(strand, 0));
        }
        for strand in 0..self.strands.len() {
            self.settle(&mut first, strand);
        }
        let mut path: Vec<Step> = vec![];
        let mut stack: Vec<Frame> = vec![];
        let mut entered = Some(first);
        loop {
            if let Some(state) = entered.take() {
                for node in state.at.iter().filter(|node| **node != DEAD_NODE) {
                    if let NextAction::Panics(said) = &self.nodes[*node].next {
                        self.failed(&path, said);
                    }
                }
                let steps = self.steps(&state);
                if self.words.outdated {
                    return None;
                }
                let fingerprint = self.fingerprint(&state);
                visited.insert(fingerprint, 1.0);
                let mut orders = 0.0;
                let can_continue = steps.iter().any(|((.., answer), _)| answer.is_some());
                if !can_continue {
                    ends += 1;
                    orders = 1.0;
                    let words = core::mem::take(&mut self.words);
                    let answers = Answers::Memory(state.memory);
                    let run = StrandExecution {
                        words,
                        strand: 0,
                        answers,
                        last: None,
                        spun: None,
                        spins: Spins::Not,
                    };
                    let (run, result) = execute(run, || after(self.shared));
                    self.words = run.words;
                    if let Err(said) = result {
                        self.failed(&path, &said);
                    }
                }
                stack.push(Frame { fingerprint, steps: steps.into_iter(), orders });
            }
            let Some(frame) = stack.last_mut() else {
                break;
            };
            match frame.steps.next() {
                Some((step, state)) => match visited.get(&self.fingerprint(&state)) {
                    Some(orders) => stack.last_mut()?.orders += *orders,
                    None => {
                        path.push(step);
                        entered = Some(state);
                    }
                },
                None => {
                    let Frame { fingerprint, orders, .. } = stack.pop()?;
                    visited.insert(fingerprint, orders);
                    path.pop();
                    match stack.last_mut() {
                        Some(before) => before.orders += orders,
                        None => all_orders = orders,
                    }
                }
            }
        }
        Some(Exploration { states: visited.len(), orders: all_orders, ends })
    }
}

/// Takes the steps of the strands in every order. Calls `after` in each state in which no strand can continue; `after` sees the words of
/// this state. If a strand or `after` panics, this function panics with the steps that lead to the panic.
pub fn explore<T>(shared: &T, strands: &[Strand<'_, T>], after: impl FnMut(&T)) -> Exploration {
    explore_within(UNLIMITED, shared, strands, after)
}

/// The preemption bound that stands for "no limit".
const UNLIMITED: usize = usize::MAX;

/// Like [`explore`], but takes only the orders with at most this number of preemptions. A preemption interrupts a strand in the middle of a
/// round. The environment variable `PREEMPTIONS` replaces the number; 255 means no limit.
pub fn explore_within<T>(
    preemptions: usize,
    shared: &T,
    strands: &[Strand<'_, T>],
    mut after: impl FnMut(&T),
) -> Exploration {
    let preemptions = match std::env::var("PREEMPTIONS").map(|number| number.parse()) {
        Ok(Ok(255)) => UNLIMITED,
        Ok(Ok(number)) if preemptions != UNLIMITED => number,
        _ => preemptions,
    };
    let start = Instant::now();
    let mut words = Words::default();
    loop {
        words.outdated = false;
        let mut search = Search {
            shared,
            strands,
            preemptions,
            words,
            nodes: vec![],
            rounds: HashMap::new(),
            after: HashMap::new(),
        };
        if let Some(explored) = search.visit(&mut after) {
            let test = std::thread::current();
            let (name, seconds) = (test.name().unwrap_or_default(), start.elapsed().as_secs_f64());
            let Exploration { states, orders, ends } = explored;
            let said = format!(
                "{name}: {states} states, {orders:.1e} orders, {ends} ends, {seconds:.1} s\n"
            );
            // Unlike `println!`, a direct write shows the text even if the test passes. A failed write does no harm.
            let _ = std::io::stdout().write_all(said.as_bytes());
            return explored;
        }
        words = search.words;
    }
}
