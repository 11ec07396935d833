//! Encodes a thread's logs as frames.

use std::mem;
use std::sync::{Mutex, PoisonError};

use super::definitions::{Definitions, KnownBlock, NumberedShape, TooMuchCode};
use super::frame::{Frame, FrameKind};
use super::log::{BLOCK, BlockAccess, Log, LogItem, TAG_SHIFT, before_block, is_access, items};
use super::predictor::{Predictor, shape_hash};
use super::written::{MOST_CODES, Written};

/// The maximum number of accesses in one execution of a block. Further accesses become an execution of block 0.
pub const MOST_ACCESSES: usize = 2048;

/// A word that never stands for a block in the log.
const UNKNOWN: u64 = u64::MAX;

/// The index that ends a block's list of shapes.
const NONE: u32 = u32::MAX;

/// Encodes the logs of one thread.
///
/// The fast path encodes executions of known shapes. Except for the addresses, such an execution has the same words in the log as an
/// earlier execution. The slow path encodes all other executions, and defines shapes.
#[derive(Debug)]
pub struct Encoder {
    thread: u32,
    /// The known blocks, each with the index of the first shape in its list.
    blocks: Vec<(KnownBlock, u32)>,
    /// The shapes that this thread has executed. The first entry is reserved for shape 0, which the predictor expects initially.
    shapes: Vec<KnownShape>,
    places: Vec<BlockAccess>,
    /// Predicts indices in `shapes`, and addresses.
    predictor: Predictor,
    execution: Execution,
    written: Written,
}

#[derive(Debug)]
struct KnownShape {
    /// The log's word for the start of the block; [`UNKNOWN`] if the fast path does not encode this shape.
    word: u64,
    /// For each access, the first of its two words in the log.
    accesses: Box<[u64]>,
    /// The log word of a block that has executed directly after this shape.
    successor: u64,
    shape: NumberedShape,
    hash: u32,
    instructions: u32,
    /// The address of the next instruction if the branch is not taken.
    not_taken: u64,
    branch: Branch,
    /// The index in `Encoder::places` of the shape's first access.
    first: u32,
    count: u32,
    /// The index of the next shape in the block's list.
    next: u32,
}

/// Whether the conditional branch at the end of a shape's block is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Branch {
    /// The block does not end with a conditional branch.
    None,
    NotTaken,
    Taken,
}

impl Default for Encoder {
    fn default() -> Self {
        Self {
            thread: 0,
            blocks: Vec::new(),
            shapes: vec![KnownShape {
                word: UNKNOWN,
                accesses: Box::default(),
                successor: UNKNOWN,
                shape: NumberedShape { number: 0, slot: 0 },
                hash: shape_hash(0),
                instructions: 0,
                not_taken: 0,
                branch: Branch::None,
                first: 0,
                count: 0,
                next: NONE,
            }],
            places: Vec::new(),
            predictor: Predictor::default(),
            execution: Execution::default(),
            written: Written::default(),
        }
    }
}

/// One execution of a block, with its accesses.
#[derive(Debug, Default)]
struct Execution {
    places: Vec<BlockAccess>,
    addresses: Vec<u64>,
}

impl Encoder {
    /// Returns a thread's encoder. Threads are numbered from 0 in the order in which they begin.
    pub fn new(thread: u32) -> Self {
        Self { thread, ..Self::default() }
    }

    /// Moves the content of `log` into `frame`. Unless the thread has `ended`, the latest block execution stays in the log, because only
    /// the next block shows whether the branch at its end was taken. Returns the number of instructions in the frame; `None` if there is
    /// nothing to write.
    ///
    /// # Errors
    /// The program has too much code. Then the recording must end without this log.
    pub fn encode(
        &mut self,
        log: &mut Log,
        ended: bool,
        definitions: &Mutex<Definitions>,
        frame: &mut Frame,
    ) -> Result<Option<u64>, TooMuchCode> {
        {
            let definitions = definitions.lock().unwrap_or_else(PoisonError::into_inner);
            let new = definitions.blocks_from(self.blocks.len());
            self.blocks.extend(new.iter().map(|block| (block.clone(), NONE)));
        }
        let mut all = mem::take(&mut log.words);
        let mut rest = &all[..];
        loop {
            rest = self.encode_known(rest);
            let block = rest.first().filter(|word| *word >> TAG_SHIFT == BLOCK);
            let end = match block {
                Some(_) => 1 + before_block(&rest[1..]),
                None => before_block(rest),
            };
            let (execution, after) = rest.split_at(end);
            if execution.is_empty() || block.is_some() && after.is_empty() && !ended {
                break;
            }
            self.encode_any(execution, after.first().copied(), log, definitions)?;
            rest = after;
        }
        let encoded = all.len() - rest.len();
        all.drain(..encoded);
        log.words = all;
        let Written { instructions, accesses, .. } = self.written;
        (frame.kind, frame.thread, frame.references) =
            (FrameKind::References, self.thread, instructions + accesses);
        Ok(self.written.take(&mut frame.content).then_some(instructions))
    }

    /// Encodes executions of known shapes from the start of `words`. Returns the remaining words.
    fn encode_known<'a>(&mut self, words: &'a [u64]) -> &'a [u64] {
        let (mut at, mut executions) = (0, 0);
        while let Some((&word, after)) = words[at..].split_first() {
            let expected = &self.shapes[self.predictor.shape() as usize];
            let is_expected = self.fits(expected, word, after);
            let known = match is_expected {
                true => expected,
                false => {
                    let Some(index) = self.find(word, after) else { break };
                    self.predictor.expect(index);
                    &self.shapes[index as usize]
                }
            };
            let count = known.accesses.len();
            self.predictor.occurs(known.hash);
            let slot = known.shape.slot as usize;
            let codes = match count {
                0 => 0,
                _ => {
                    self.predictor.addresses(slot, &after[..2 * count], &mut self.written.literals)
                }
            };
            self.written.instructions += u64::from(known.instructions);
            if codes == 0 && is_expected {
                self.written.run += 1;
            } else {
                let shape = (!is_expected).then_some(known.shape.number);
                self.written.short_event(shape, codes, count);
            }
            executions += 1;
            at += 1 + 2 * count;
        }
        self.written.executions += executions;
        self.written.accesses += (at as u64 - executions) / 2;
        &words[at..]
    }

    /// Returns `true` if an execution has a known shape. `word` is the word of its block, and `after` are the words after it.
    #[inline(always)]
    fn fits(&self, known: &KnownShape, word: u64, after: &[u64]) -> bool {
        let count = known.accesses.len();
        if known.word != word || after.len() <= 2 * count {
            return false;
        }
        let mut at = 0;
        while at < count {
            if after[2 * at] != known.accesses[at] {
                return false;
            }
            at += 1;
        }
        let next = after[2 * count];
        known.successor == next || self.branches(known, next)
    }

    /// Returns `true` if `word` is the start of a block that can follow an execution of the known shape. If the shape says whether a branch
    /// is taken, the block must be on that side of the branch.
    #[cold]
    fn branches(&self, known: &KnownShape, word: u64) -> bool {
        word >> TAG_SHIFT == BLOCK && {
            let next = self.blocks[word as u32 as usize].0.address;
            match known.branch {
                Branch::None => true,
                Branch::NotTaken => next == known.not_taken,
                Branch::Taken => next != known.not_taken,
            }
        }
    }

    /// Returns the index of the known shape of an execution, if the fast path can encode it.
    fn find(&self, word: u64, after: &[u64]) -> Option<u32> {
        let mut at = match word >> TAG_SHIFT {
            BLOCK => self.blocks[word as u32 as usize].1,
            _ => return None,
        };
        while let Some(known) = self.shapes.get(at as usize) {
            if self.fits(known, word, after) {
                return Some(at);
            }
            at = known.next;
        }
        None
    }

    /// Encodes one block execution with its orders and accesses, as well as orders and accesses outside all blocks. `next` is the word of
    /// the block that executes next.
    fn encode_any(
        &mut self,
        execution: &[u64],
        next: Option<u64>,
        log: &mut Log,
        definitions: &Mutex<Definitions>,
    ) -> Result<(), TooMuchCode> {
        let mut block = None;
        for item in items(execution, log.describe()) {
            match item {
                LogItem::Block(number) => block = Some(number),
                LogItem::Access(place, address) => {
                    let atomics = block.map(|block| &*self.blocks[block as usize].0.atomics);
                    self.execution.add(place, address, atomics.unwrap_or_default());
                    if self.execution.places.len() == MOST_ACCESSES {
                        self.execute(block, None, &[], definitions)?;
                        block = None;
                    }
                }
                LogItem::Order => {
                    let open = block.is_some() || !self.execution.places.is_empty();
                    for order in log.take_orders() {
                        self.written.order(order, open);
                    }
                }
            }
        }
        self.execute(block, next, execution, definitions)
    }

    /// Writes one execution of `block`, or accesses outside all blocks. `next` is the word of the block that executes next. `words` are the
    /// execution's words.
    fn execute(
        &mut self,
        block: Option<u32>,
        next: Option<u64>,
        words: &[u64],
        definitions: &Mutex<Definitions>,
    ) -> Result<(), TooMuchCode> {
        if block.is_none() && self.execution.places.is_empty() {
            return Ok(());
        }
        let block = block.unwrap_or(0);
        let facts = &self.blocks[block as usize].0;
        let branch = match (facts.next, next) {
            (None, _) => Branch::None,
            (Some(not_taken), Some(next))
                if self.blocks[next as u32 as usize].0.address != not_taken =>
            {
                Branch::Taken
            }
            (Some(_), _) => Branch::NotTaken,
        };
        let index = self.shape(block, branch, definitions)?;
        self.learn(index, words, next);
        let known = &self.shapes[index as usize];
        self.written.instructions += u64::from(known.instructions);
        self.written.accesses += u64::from(known.count);
        self.written.execution(
            &mut self.predictor,
            index,
            (known.shape, known.hash),
            &self.execution.addresses,
        );
        self.execution.places.clear();
        self.execution.addresses.clear();
        Ok(())
    }

    /// Returns the index of an execution's shape. Defines the shape if it is new.
    fn shape(
        &mut self,
        block: u32,
        branch: Branch,
        definitions: &Mutex<Definitions>,
    ) -> Result<u32, TooMuchCode> {
        let (ref facts, first) = self.blocks[block as usize];
        let mut at = first;
        while let Some(known) = self.shapes.get(at as usize) {
            let places = &self.places[known.first as usize..][..known.count as usize];
            if known.branch == branch && places == self.execution.places {
                return Ok(at);
            }
            at = known.next;
        }
        let mut definitions = definitions.lock().unwrap_or_else(PoisonError::into_inner);
        let places = &self.execution.places;
        let shape = definitions.shape(block, branch == Branch::Taken, places)?;
        let known = KnownShape {
            word: UNKNOWN,
            accesses: Box::default(),
            successor: UNKNOWN,
            shape,
            hash: shape_hash(shape.number),
            instructions: facts.instructions.into(),
            not_taken: facts.next.unwrap_or(0),
            branch,
            first: self.places.len() as u32,
            count: places.len() as u32,
            next: first,
        };
        let index = match shape.number {
            0 => 0,
            _ => self.shapes.len() as u32,
        };
        match self.shapes.get_mut(index as usize) {
            Some(reserved) => *reserved = known,
            None => self.shapes.push(known),
        }
        self.places.extend_from_slice(places);
        self.blocks[block as usize].1 = index;
        Ok(index)
    }

    /// Lets the fast path recognise a shape by the words of one of its executions. Does nothing if executions with these words can have
    /// other shapes.
    fn learn(&mut self, index: u32, words: &[u64], next: Option<u64>) {
        let (Some((&block, accesses)), Some(next)) = (words.split_first(), next) else { return };
        let ((accesses, []), BLOCK) = (accesses.as_chunks(), block >> TAG_SHIFT) else { return };
        let known = &mut self.shapes[index as usize];
        let has_atomics = !self.blocks[block as u32 as usize].0.atomics.is_empty();
        // An atomic instruction has one access or two, depending on the addresses.
        if accesses.iter().all(|[word, _]| is_access(*word))
            && accesses.len() == known.count as usize
            && accesses.len() <= MOST_CODES
            && !has_atomics
        {
            (known.word, known.successor) = (block, next);
            known.accesses = accesses.iter().map(|[word, _]| *word).collect();
        }
    }
}

impl Execution {
    /// Adds an access. The store of an atomic instruction is merged with the preceding load if both access the same location. `atomics` has
    /// the indices of the block's atomic instructions.
    fn add(&mut self, place: BlockAccess, address: u64, atomics: &[u16]) {
        let load = BlockAccess(place.0 & !BlockAccess::STORE);
        if place != load
            && self.places.last() == Some(&load)
            && self.addresses.last() == Some(&address)
            && atomics.contains(&place.instruction())
        {
            if let Some(last) = self.places.last_mut() {
                *last = BlockAccess(place.0 | BlockAccess::ATOMIC);
            }
            return;
        }
        self.places.push(place);
        self.addresses.push(address);
    }
}
