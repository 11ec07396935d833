//! Executes the code of one strand up to a step. Gives each earlier step an answer: the value that the step finds in its word.

extern crate std;

use core::cell::{Cell, RefCell};
use std::borrow::ToOwned;
use std::boxed::Box;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::string::String;
use std::thread::panicking;
use std::vec::Vec;

use crate::sync::steps::word::{WordLocation, WordOperation};
use crate::sync::steps::{DEAD, Dead};

std::thread_local! {
    static RUN: RefCell<Option<StrandExecution>> = const { RefCell::new(None) };
    static ACTIVE: Cell<bool> = const { Cell::new(false) };
}

/// A word, and how strands use the word.
pub(super) struct UsedWord {
    pub(super) initial: u64,
    pub(super) mask: u64,
    /// The strands that use the word: one bit for each strand.
    pub(super) users: u64,
    /// `true` if a strand changes the word.
    pub(super) changes: bool,
}

impl UsedWord {
    /// Returns `true` if the order of accesses to the word makes a difference.
    pub(super) fn is_shared(&self) -> bool {
        self.changes && self.users.count_ones() > 1
    }
}

/// The words that strands have used.
#[derive(Default)]
pub(super) struct Words {
    pub(super) numbers: HashMap<usize, usize>,
    pub(super) words: Vec<UsedWord>,
    /// `true` if the search must begin again, because a word is used in a new way.
    pub(super) outdated: bool,
}

impl Words {
    pub(super) fn number(&mut self, location: WordLocation) -> usize {
        let Self { numbers, words, .. } = self;
        *numbers.entry(location.address).or_insert_with(|| {
            let WordLocation { initial, mask, .. } = location;
            words.push(UsedWord { initial, mask, users: 0, changes: false });
            words.len() - 1
        })
    }

    /// Returns a word's number, and notes that a strand uses it.
    pub(super) fn note_use(&mut self, location: WordLocation, by: u64, changes: bool) -> usize {
        let number = self.number(location);
        let Self { words, outdated, .. } = self;
        let word = &mut words[number];
        let before = (word.changes, word.is_shared());
        word.users |= by;
        word.changes |= changes;
        *outdated |= before != (word.changes, word.is_shared());
        number
    }
}

/// The next action of a strand.
#[derive(Clone, Debug)]
pub(super) enum NextAction {
    /// Performs the operation on the word with this number. With `Some(value)`, first waits until the word no longer holds `value`.
    Takes(usize, WordOperation, Option<u64>),
    /// The strand makes a choice. The search tries every answer below this number.
    Chooses(u64),
    /// The strand begins a round with this value.
    Begins(u64),
    Ends,
    Panics(String),
}

/// The current execution of a strand's code.
pub(super) struct StrandExecution {
    pub(super) words: Words,
    /// The executing strand, as one bit.
    pub(super) strand: u64,
    pub(super) answers: Answers,
    /// The last word that the code has used, and the value that this word held.
    pub(super) last: Option<(usize, u64)>,
    /// The word and the value of the last failed try. If the next try fails with the same word and value, the strand is in a loop.
    pub(super) spun: Option<(usize, u64)>,
    pub(super) spins: Spins,
}

/// How a strand continues after failed tries.
#[derive(Clone, Copy)]
pub(super) enum Spins {
    Not,
    /// The strand tries again when the word with this number no longer holds this value.
    Waits(usize, u64),
    /// The strand gives up: each further try finds this value in the word with this number, until the code ends its loop.
    GivesUp(usize, u64),
}

pub(super) enum Answers {
    /// The strand gets these answers, and then stops. `usize` is the number of answers given so far. `NextAction` is the step that has no answer.
    Known(Vec<u64>, usize, Option<NextAction>),
    /// The code executes to its end, on this memory.
    Memory(MemoryContents),
}

/// The contents of all words. For each word, holds the bits that differ from the word's initial value.
#[derive(Clone, Debug, Default)]
pub(super) struct MemoryContents(pub(super) Vec<u64>);

impl MemoryContents {
    pub(super) fn read(&self, words: &Words, number: usize) -> u64 {
        self.0.get(number).copied().unwrap_or(0) ^ words.words[number].initial
    }

    /// Performs an operation. Returns the old value.
    pub(super) fn take(&mut self, words: &Words, number: usize, operation: WordOperation) -> u64 {
        let old = self.read(words, number);
        if operation.writes() {
            let word = &words.words[number];
            if self.0.len() <= number {
                self.0.resize(number + 1, 0);
            }
            self.0[number] = operation.apply(old, word.mask) ^ word.initial;
        }
        old
    }
}

/// Returns the location that stands for a strand's death. No atomic has such a low address.
pub(super) fn death(strand: usize) -> WordLocation {
    WordLocation { address: strand + 1, initial: 0, mask: 1 }
}

/// Returns the value that a step of the executing strand finds. Returns `None` if no search is active, or if the strand has stopped.
pub(in crate::sync::steps) fn perform(
    location: impl FnOnce() -> WordLocation,
    operation: WordOperation,
) -> Option<u64> {
    if !ACTIVE.get() {
        return None;
    }
    if panicking() {
        // The strand unwinds. Its guards, which are dropped now, must change nothing.
        DEAD.with(|dead| dead.set(true));
    }
    if DEAD.with(Cell::get) {
        return None;
    }
    let location = location();
    with_run(|run| {
        if let Answers::Memory(memory) = &mut run.answers {
            let number = run.words.number(location);
            return Some(memory.take(&run.words, number, operation));
        }
        let number = run.words.note_use(location, run.strand, operation.writes());
        if !run.words.words[number].changes {
            return Some(location.initial);
        }
        let unless = match core::mem::replace(&mut run.spins, Spins::Not) {
            Spins::GivesUp(word, found) if word == number => {
                run.spins = Spins::GivesUp(word, found);
                return Some(found);
            }
            Spins::Waits(word, found) if word == number => Some(found),
            _ => None,
        };
        let found = run.next_answer(NextAction::Takes(number, operation, unless))?;
        run.last = Some((number, found));
        Some(found)
    })
}

fn with_run(answer: impl FnOnce(&mut StrandExecution) -> Option<u64>) -> Option<u64> {
    let answer = RUN.with_borrow_mut(|run| run.as_mut().map(answer))?;
    if answer.is_none() {
        DEAD.with(|dead| dead.set(true));
        resume_unwind(Box::new(Dead));
    }
    answer
}

impl StrandExecution {
    pub(super) fn next_answer(&mut self, then: NextAction) -> Option<u64> {
        let Answers::Known(answers, given, next) = &mut self.answers else {
            return Some(0);
        };
        let answer = answers.get(*given).copied();
        match answer {
            Some(_) => *given += 1,
            None => *next = Some(then),
        }
        answer
    }
}

/// Returns a number below `number`; the search tries each such number. Outside of a search, returns 0.
pub fn choice(number: u64) -> u64 {
    if !ACTIVE.get() || DEAD.with(Cell::get) {
        return 0;
    }
    with_run(|run| run.next_answer(NextAction::Chooses(number))).unwrap_or(0)
}

/// Notes that a try has failed in a loop of tries. If the same try has failed twice, the search continues in two ways: the strand
/// waits until the word changes, or the strand fails in all further tries. Returns `false` if no search is active.
pub(in crate::sync::steps) fn note_spin() -> bool {
    if !ACTIVE.get() || DEAD.with(Cell::get) {
        return ACTIVE.get();
    }
    let spins = with_run(|run| match (run.last, run.spins, &run.answers) {
        (Some(last), Spins::Not, Answers::Known(..)) if run.spun != Some(last) => {
            run.spun = Some(last);
            Some(0)
        }
        (Some((word, found)), Spins::Not, Answers::Known(..)) => {
            let gives_up = run.next_answer(NextAction::Chooses(2))? == 1;
            run.spins = match gives_up {
                true => Spins::GivesUp(word, found),
                false => Spins::Waits(word, found),
            };
            Some(0)
        }
        _ => Some(0),
    });
    spins.is_some()
}

/// Waits until the strand with this number is dead.
pub fn wait_until_dead(strand: usize) {
    wait(death(strand));
}

/// Waits until the word is not 0.
pub fn wait_until_nonzero(word: &crate::sync::steps::AtomicU64) {
    wait(word.location());
}

fn wait(location: WordLocation) {
    if ACTIVE.get() && !DEAD.with(Cell::get) {
        with_run(|run| {
            let word = run.words.note_use(location, run.strand, true);
            run.spins = Spins::Waits(word, 0);
            Some(0)
        });
        perform(|| location, WordOperation::Load);
    }
}

/// Returns `true` if the strand with this number is dead.
pub fn is_dead(strand: usize) -> bool {
    perform(|| death(strand), WordOperation::Load) == Some(1)
}

/// Executes a strand's code. Returns the run in its state afterwards, and the code's result or its panic message.
pub(super) fn execute<R>(
    run: StrandExecution,
    code: impl FnOnce() -> R,
) -> (StrandExecution, Result<R, String>) {
    RUN.set(Some(run));
    ACTIVE.set(true);
    let result = catch_unwind(AssertUnwindSafe(code));
    DEAD.with(|dead| dead.set(false));
    ACTIVE.set(false);
    let result = result.map_err(|thrown| match thrown.downcast_ref::<String>() {
        Some(said) => said.clone(),
        None => thrown.downcast_ref::<&str>().map_or_else(String::new, |said| (*said).to_owned()),
    });
    (RUN.take().expect("it was set"), result)
}
