//! Reads one drmemtrace file.

use super::super::chunk::Chunk;
use super::super::error::RecordingError;
use super::super::lackey::BLOCK_SLACK;
use super::super::records::Records;
use super::super::reference::{Flow, Kind, Reference};
use super::super::source::{BytesRead, Source};
use super::record::{Meaning, Record, SIZE};
use super::time::{Clock, Run};
use refs::Order;

/// The maximum number of bytes in a reference. A longer access becomes several references.
const MAX_REFERENCE_BYTES: u16 = 4096;

/// The maximum number of references into which one record is divided.
const MAX_PIECES: usize = u16::MAX.div_ceil(MAX_REFERENCE_BYTES) as usize;

/// Reads a file's records block by block, in constant memory.
pub(super) struct ThreadReader {
    records: Records<SIZE>,
    /// The record after the latest block.
    next: Option<(Record, Meaning)>,
    has_ended: bool,
    clock: Clock,
    /// The address just after the latest instruction.
    after: u64,
    /// The number of references after which a block ends.
    most: usize,
    block: Vec<Reference>,
    /// The index of the block's latest fetch.
    fetch: Option<usize>,
    /// Whether the latest fetch is a branch whose next instruction is not known yet.
    is_open: bool,
}

impl ThreadReader {
    /// Returns a reader for one thread's file. `runs` is empty if there is no other thread. A block has `most` references or a few
    /// more.
    pub(super) fn new(source: Source, runs: Vec<Run>, most: usize) -> Self {
        Self {
            records: Records::new(source),
            next: None,
            has_ended: false,
            clock: Clock::new(runs),
            after: 0,
            most,
            block: Vec::new(),
            fetch: None,
            is_open: false,
        }
    }

    pub(super) fn progress(&self) -> BytesRead {
        self.records.progress()
    }

    /// Replaces the content of `chunk` with the next references. At the end of the file and after an error, returns `false` and
    /// an empty chunk.
    pub(super) fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool, RecordingError> {
        self.block.clear();
        self.fetch = None;
        chunk.order.clear();
        let mut order = std::mem::take(&mut chunk.order);
        let result = self.fill(&mut order);
        if result.is_err() {
            self.block.clear();
            order.clear();
            self.has_ended = true;
        }
        chunk.set(&self.block);
        chunk.order = order;
        result.map(|()| !chunk.is_empty())
    }

    fn fill(&mut self, order: &mut Vec<(usize, Order)>) -> Result<(), RecordingError> {
        while let Some((record, meaning)) = self.read()? {
            let is_data = matches!(meaning, Meaning::Data(_));
            // A block includes all data of its last instruction, unless there are too many.
            let most = if is_data { self.most + BLOCK_SLACK - MAX_PIECES } else { self.most };
            match meaning {
                Meaning::Bundle => self.is_open = false,
                _ if meaning.is_fetch() => self.close(record.value()),
                _ => {}
            }
            if (is_data || meaning.is_fetch()) && self.block.len() >= most {
                self.next = Some((record, meaning));
                return Ok(());
            }
            match meaning {
                Meaning::Data(kind) => self.put_data(kind, &record),
                Meaning::Fetch(flow) => self.put_fetch(record.value(), record.size, flow),
                Meaning::Branch => {
                    self.put_fetch(record.value(), record.size, Flow::NotTaken);
                    self.is_open = true;
                }
                Meaning::Bundle => {
                    for size in record.bundled() {
                        self.put_fetch(self.after, u16::from(*size), Flow::Next);
                    }
                }
                Meaning::Time if self.clock.advance(record.value()) => {
                    self.clock.begin(&self.block, order);
                }
                Meaning::SystemCall => {
                    let fetch = self.fetch.map(|at| &mut self.block[at]);
                    if let Some(fetch) = fetch.filter(|fetch| fetch.flow == Flow::Next) {
                        fetch.flow = Flow::Trap;
                    }
                }
                Meaning::Time | Meaning::End | Meaning::Nothing => {}
            }
        }
        Ok(())
    }

    /// Returns the next record; `None` after the last one.
    fn read(&mut self) -> Result<Option<(Record, Meaning)>, RecordingError> {
        match self.next.take() {
            None if !self.has_ended => {}
            held => return Ok(held),
        }
        let record = self.records.next()?.ok_or_else(|| {
            let found = format!("the end of the file after record {}", self.records.number());
            self.records.error(found, "a footer, which ends a recording")
        })?;
        let record = Record::new(&record);
        let meaning = record.meaning();
        let meaning = meaning.map_err(|(found, expected)| self.records.wrong(&found, expected))?;
        self.has_ended = meaning == Meaning::End;
        Ok(Some((record, meaning)))
    }

    /// Determines whether the latest branch is taken. `next` is the next instruction's address.
    fn close(&mut self, next: u64) {
        if std::mem::take(&mut self.is_open)
            && next != self.after
            && let Some(fetch) = self.fetch
        {
            self.block[fetch].flow = Flow::Taken;
        }
    }

    fn put_fetch(&mut self, address: u64, size: u16, flow: Flow) {
        self.fetch = Some(self.block.len());
        self.after = address.wrapping_add(size.into());
        self.block.push(Reference { flow, ..Reference::new(address, size, Kind::FetchOther) });
    }

    fn put_data(&mut self, kind: Kind, record: &Record) {
        if let Some(fetch) = self.fetch.filter(|_| record.size > 0) {
            self.block[fetch].accesses(kind);
        }
        for from in (0..record.size).step_by(MAX_REFERENCE_BYTES.into()) {
            let address = record.value().wrapping_add(from.into());
            self.block.push(Reference::new(
                address,
                (record.size - from).min(MAX_REFERENCE_BYTES),
                kind,
            ));
        }
    }

    /// Reads the whole file. Returns the times of its parts and its number of references; `None` if there are more than `most`
    /// parts.
    pub(super) fn scan(mut self, most: usize) -> Result<Option<(Vec<u64>, u64)>, RecordingError> {
        let (mut times, mut references) = (Vec::new(), 0_u64);
        while let Some((record, meaning)) = self.read()? {
            references += match meaning {
                Meaning::Data(_) => u64::from(record.size.div_ceil(MAX_REFERENCE_BYTES)),
                Meaning::Fetch(_) | Meaning::Branch => 1,
                Meaning::Bundle => record.size.into(),
                _ => 0,
            };
            if meaning == Meaning::Time && self.clock.advance(record.value()) {
                if times.len() == most {
                    return Ok(None);
                }
                times.push(record.value());
            }
        }
        Ok(Some((times, references)))
    }
}
