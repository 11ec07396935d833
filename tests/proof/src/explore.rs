//! Visits every state of a large model whose states fit into a few words.
//!
//! This module needs less memory and time than [`check`](crate::check::check), which uses stateright. Of several states that the model
//! declares alike, it visits only one. It stores a state's words, not a hash, so it never confuses two states.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use stateright::{Expectation, Model};

use crate::check::{CheckedModel, Violation, described};

/// A model with states that fit into `WORDS` words.
pub trait Packed<const WORDS: usize>: Model {
    /// Returns the words of a state, which must not all be 0. States with the same words must be alike: their next states are alike, and
    /// each property holds either in all of them or in none.
    fn pack(&self, state: &Self::State) -> [u64; WORDS];

    /// The inverse of [`pack`](Self::pack): returns a state with these words.
    fn unpack(&self, words: [u64; WORDS]) -> Self::State;
}

/// An action and the next state. `Debug` shows only the action.
#[derive(Clone, PartialEq)]
pub struct Transition<A, S> {
    pub action: A,
    pub state: S,
}

impl<A: fmt::Debug, S> fmt::Debug for Transition<A, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.action.fmt(f)
    }
}

/// Visits every state in breadth-first order, with this number of threads. Stops early if a property does not hold. All properties must be
/// `always`.
pub fn explore<const WORDS: usize, M>(model: &M, threads: usize) -> CheckedModel
where
    M: Packed<WORDS> + Sync,
    M::State: fmt::Debug + Clone,
    M::Action: fmt::Debug,
{
    visit(model, threads).0
}

/// Visits every state as [`explore`] does. Also returns the table of the visited states.
pub fn visit<const WORDS: usize, M>(model: &M, threads: usize) -> (CheckedModel, Visited<WORDS>)
where
    M: Packed<WORDS> + Sync,
    M::State: fmt::Debug + Clone,
    M::Action: fmt::Debug,
{
    let start = Instant::now();
    let always = |expectation| matches!(expectation, Expectation::Always);
    let mut properties = model.properties().into_iter();
    assert!(properties.all(|property| always(property.expectation)));
    let visited = Visited::new();
    let first = model.init_states();
    let mut level: Vec<_> = first.iter().map(|state| model.pack(state)).collect();
    level.retain(|words| visited.insert(*words, 1));
    let (mut depth, mut broken) = (1, vec![]);
    while !level.is_empty() && broken.is_empty() {
        depth += 1;
        let (taken, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let work = || visited.expand(model, &level, depth, &taken, &stop);
        let results: Vec<_> = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let results = workers.into_iter().map(|worker| worker.join());
            results.map(|result| result.expect("a model panics")).collect()
        });
        level = vec![];
        for (next, found) in results {
            level.extend(next);
            broken.extend(found);
        }
    }
    let violations = broken.into_iter().map(|(property, words)| Violation {
        property,
        path: described(visited.path(model, words)),
    });
    let violations = violations.collect();
    let report = CheckedModel { states: visited.count(), time: start.elapsed(), violations };
    (report, visited)
}

/// The number of parts of the table. Only one thread at a time uses each part.
const PARTS: usize = 256;
/// The number of states that a thread takes from a level, or looks up in a part of the table, in one go.
const BATCH: usize = 128;
/// The number of recent states that a thread remembers. Several actions often lead to the same state, so remembering it saves look-ups.
const RECENT: usize = 1 << 12;

pub struct Visited<const WORDS: usize> {
    parts: Vec<Mutex<Part<WORDS>>>,
}

/// A hash table. The words of a free slot are all 0.
struct Part<const WORDS: usize> {
    states: Vec<[u64; WORDS]>,
    /// The breadth-first level of each state. The first level is 1, and a free slot has 0.
    depths: Vec<u8>,
    used: usize,
}

fn hash<const WORDS: usize>(words: &[u64; WORDS]) -> u64 {
    words.iter().fold(0, |hash, word| {
        let mixed = u128::from(hash ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93_u128;
        (mixed >> 64) as u64 ^ mixed as u64
    })
}

impl<const WORDS: usize> Part<WORDS> {
    /// Returns a state's slot. If the state is missing, returns a free slot.
    fn slot(&self, state: &[u64; WORDS]) -> usize {
        let length = self.states.len();
        let mut slot = ((u128::from(hash(state)) * length as u128) >> 64) as usize;
        while self.states[slot] != [0; WORDS] && self.states[slot] != *state {
            slot = if slot + 1 == length { 0 } else { slot + 1 };
        }
        slot
    }

    /// Inserts a state. Returns `true` if the state was missing.
    fn insert(&mut self, state: [u64; WORDS], depth: u8) -> bool {
        if 4 * self.used >= 3 * self.states.len() {
            let length = self.states.len() * 3 / 2 + 64;
            let states = std::mem::replace(&mut self.states, vec![[0; WORDS]; length]);
            let depths = std::mem::replace(&mut self.depths, vec![0; length]);
            for (state, depth) in states.into_iter().zip(depths) {
                if depth != 0 {
                    let slot = self.slot(&state);
                    (self.states[slot], self.depths[slot]) = (state, depth);
                }
            }
        }
        let slot = self.slot(&state);
        let missing = self.depths[slot] == 0;
        if missing {
            (self.states[slot], self.depths[slot]) = (state, depth);
            self.used += 1;
        }
        missing
    }
}

/// The name of a property, and a state in which it does not hold.
type Broken<const WORDS: usize> = (&'static str, [u64; WORDS]);

impl<const WORDS: usize> Visited<WORDS> {
    fn new() -> Self {
        let part = |_| Mutex::new(Part { states: vec![], depths: vec![], used: 0 });
        Self { parts: (0..PARTS).map(part).collect() }
    }

    fn insert(&self, state: [u64; WORDS], depth: u8) -> bool {
        assert_ne!(state, [0; WORDS]);
        let part = hash(&state) as usize % PARTS;
        let mut part = self.parts[part].lock().expect("a thread panics");
        part.insert(state, depth)
    }

    pub fn count(&self) -> usize {
        let parts = self.parts.iter();
        let used = parts.map(|part| part.lock().expect("a thread panics").used);
        used.sum()
    }

    /// Calls `each` with each state of the levels for which `such` returns `true`.
    pub fn for_each(&self, such: impl Fn(u8) -> bool, mut each: impl FnMut([u64; WORDS])) {
        for part in &self.parts {
            let part = part.lock().expect("a thread panics");
            let states = part.states.iter().zip(&part.depths);
            for (state, _) in states.filter(|(_, depth)| **depth != 0 && such(**depth)) {
                each(*state);
            }
        }
    }

    /// Takes states of `level`, and visits their next states. Several threads share the level: `taken` is the index of the first state that
    /// no thread has taken yet. Returns the new states, which belong to the next level, and the properties that do not hold in this level.
    fn expand<M: Packed<WORDS>>(
        &self,
        model: &M,
        level: &[[u64; WORDS]],
        depth: usize,
        taken: &AtomicUsize,
        stop: &AtomicBool,
    ) -> (Vec<[u64; WORDS]>, Vec<Broken<WORDS>>) {
        let depth = u8::try_from(depth).expect("a model with 255 levels at most");
        let properties = model.properties();
        let (mut next, mut broken, mut actions) = (vec![], vec![], vec![]);
        let mut recent = [[0; WORDS]; RECENT];
        let mut batches = vec![vec![]; PARTS];
        let mut flush = |part: usize, batch: &mut Vec<[u64; WORDS]>| {
            let mut part = self.parts[part].lock().expect("a thread panics");
            batch.retain(|state| part.insert(*state, depth));
            next.append(batch);
        };
        while !stop.load(Ordering::Relaxed) {
            let from = taken.fetch_add(BATCH, Ordering::Relaxed).min(level.len());
            let to = (from + BATCH).min(level.len());
            if from == to {
                break;
            }
            for words in &level[from..to] {
                let state = model.unpack(*words);
                for property in &properties {
                    if !(property.condition)(model, &state) {
                        broken.push((property.name, *words));
                        stop.store(true, Ordering::Relaxed);
                    }
                }
                model.actions(&state, &mut actions);
                for action in actions.drain(..) {
                    let Some(after) = model.next_state(&state, action) else {
                        continue;
                    };
                    let after = model.pack(&after);
                    let lately = &mut recent[hash(&after) as usize / PARTS % RECENT];
                    if *lately == after {
                        continue;
                    }
                    *lately = after;
                    let part = hash(&after) as usize % PARTS;
                    batches[part].push(after);
                    if batches[part].len() == BATCH {
                        flush(part, &mut batches[part]);
                    }
                }
            }
        }
        for (part, batch) in batches.iter_mut().enumerate() {
            flush(part, batch);
        }
        (next, broken)
    }

    /// Returns the states from an initial state to `to`, each with the action that follows it.
    fn path<M: Packed<WORDS>>(
        &self,
        model: &M,
        to: [u64; WORDS],
    ) -> Vec<(M::State, Option<M::Action>)> {
        let part = self.parts[hash(&to) as usize % PARTS].lock();
        let part = part.expect("a thread panics");
        let mut depth = part.depths[part.slot(&to)];
        drop(part);
        let (mut path, mut to) = (vec![(model.unpack(to), None)], to);
        while depth > 1 {
            depth -= 1;
            let mut before = None;
            self.for_each(
                |level| level == depth,
                |words| {
                    if before.is_some() {
                        return;
                    }
                    let (state, mut actions) = (model.unpack(words), vec![]);
                    model.actions(&state, &mut actions);
                    // Keep the action's index, because an action need not be `Clone`.
                    let leads = |action| {
                        let after = model.next_state(&state, action);
                        after.is_some_and(|after| model.pack(&after) == to)
                    };
                    let found = actions.drain(..).position(leads);
                    before = found.map(|action| (words, action));
                },
            );
            let (words, action) = before.expect("a state of the level before leads here");
            let (state, mut actions) = (model.unpack(words), vec![]);
            model.actions(&state, &mut actions);
            path.push((state, Some(actions.swap_remove(action))));
            to = words;
        }
        path.reverse();
        path
    }
}
