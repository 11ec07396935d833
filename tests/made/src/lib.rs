//! Generates recordings of imaginary programs, in the format that `vfalls record` writes. The number of threads, the data and the length
//! are parameters, so that the cost of a replay can be measured for each of them. The same parameters give the same file, byte for byte.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::iter;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use refs::{
    BlockDefinition, Cause, Class, Definitions, Encoder, Exit, FILE_HEADER, Frame, Log, Order,
    Program, Stored,
};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// The data of each thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Each thread goes through 4 KB of its own repeatedly.
    Own,
    /// Each thread goes through 64 MB of its own, from start to end.
    Stream,
    /// Each thread has 8 bytes of its own. Eight threads' bytes share one line.
    Line,
}

impl Data {
    /// Returns the first address and the size, in bytes, of a thread's data.
    fn range(self, thread: u32) -> (u64, u64) {
        let size = match self {
            Self::Own => 4 << 10,
            Self::Stream => 64 << 20,
            Self::Line => WORD,
        };
        (DATA + size * u64::from(thread), size)
    }
}

/// The parameters of a program. All threads execute the same functions.
#[derive(Clone, Copy, Debug)]
pub struct GeneratedProgram {
    /// The number of threads, at least 1.
    pub threads: u32,
    /// What each thread loads and stores.
    pub data: Data,
    /// The total number of references of all threads. A thread ends only after a whole loop (some 700 references), so it may execute
    /// slightly more.
    pub references: u64,
}

const CODE: u64 = 0x40_0000;
const SHARED: u64 = 0x60_0000;
const DATA: u64 = 0x1000_0000;
const WORD: u64 = 8;
const WORD_LOG2: u8 = 3;

/// The number of loops in a round. Each loop has four blocks. A quarter of the iterations skip the second block.
const LOOPS: usize = 10;
const BLOCKS: usize = 4;
/// These numbers of iterations give a round about 5,000 instructions and one atomic instruction. (In real programs, the number of
/// instructions between two atomic instructions varies widely.)
const ITERATIONS: u32 = 12;
const COUNTS: u32 = 90;

/// After this number of equal frames in a row, the encoder's state repeats, so from then on the same frame is written again without being
/// encoded.
const MIN_EQUAL_FRAMES: usize = 3;

/// A basic block of the program.
struct Block {
    number: u32,
    instructions: u64,
    /// For each access, the instruction's index and whether the access is a store.
    accesses: Vec<(u16, bool)>,
}

/// The program's blocks.
struct Code {
    definitions: Mutex<Definitions>,
    /// The address after the last block defined so far.
    end: u64,
    /// The number of instructions in all blocks.
    instructions: usize,
    /// The number of accesses in all blocks.
    accesses: usize,
}

impl Code {
    fn new() -> Self {
        let definitions = Mutex::default();
        Self { definitions, end: CODE, instructions: 0, accesses: 0 }
    }

    fn define(
        &mut self,
        count: usize,
        classes: Vec<(u16, Class)>,
        accesses: Vec<(u16, bool)>,
    ) -> anyhow::Result<Block> {
        let sizes: Vec<u8> = (0..count).map(|at| 2 + (3 * at % 6) as u8).collect();
        let address = self.end;
        self.end += sizes.iter().map(|size| u64::from(*size)).sum::<u64>();
        let exit = Exit::Conditional { instruction: count as u16 - 1, next: self.end };
        let mut definitions = self.definitions.lock().unwrap_or_else(PoisonError::into_inner);
        let number = definitions.block(BlockDefinition { address, sizes, exit, classes })?;
        Ok(Block { number, instructions: count as u64, accesses })
    }

    /// Defines the next block, of 4 to 20 instructions. Every third instruction of the program accesses data, and every tenth stores.
    fn block(&mut self, at: usize) -> anyhow::Result<Block> {
        let count = 4 + 7 * at % 17;
        let mut accesses = Vec::new();
        for instruction in 0..count {
            self.instructions += 1;
            if self.instructions.is_multiple_of(3) {
                accesses.push((instruction as u16, matches!(self.accesses % 10, 2 | 5 | 8)));
                self.accesses += 1;
            }
        }
        self.define(count, Vec::new(), accesses)
    }
}

/// The blocks that the threads execute: the loops, the loop that increments a word, and the atomic instruction.
struct Functions {
    loops: Vec<Block>,
    count: Block,
    share: Block,
}

/// A thread's state: its position in its data, its loops, and its frames.
struct Thread {
    number: u32,
    encoder: Encoder,
    log: Log,
    base: u64,
    size: u64,
    offset: u64,
    /// The number of loops executed since the start of the round.
    loops: usize,
    /// The number of references in the frames written so far.
    written: u64,
    /// The number of references in the log.
    logged: u64,
    /// The number of frames in a row that equal the latest one.
    equal: usize,
    frame: Frame,
    /// The latest frame, in stored form.
    stored: Vec<u8>,
    ended: bool,
}

impl Thread {
    fn begin(&mut self, block: &Block) {
        self.log.block(block.number);
        self.logged += block.instructions + block.accesses.len() as u64;
    }

    fn execute(&mut self, block: &Block) {
        self.begin(block);
        for &(instruction, store) in &block.accesses {
            self.log.access(instruction, store, WORD_LOG2, self.base + self.offset);
            self.offset = (self.offset + WORD) % self.size;
        }
    }

    /// Executes the round's next loop. After the last loop, executes an atomic instruction on a word that all threads share.
    fn execute_loop(&mut self, functions: &Functions, data: Data) {
        match data {
            Data::Line => (0..COUNTS).for_each(|_| self.execute(&functions.count)),
            Data::Own | Data::Stream => {
                let blocks = &functions.loops[BLOCKS * self.loops..][..BLOCKS];
                for iteration in 0..ITERATIONS {
                    let left_out = iteration.wrapping_mul(0x9e37_79b9) >> 30 == 0;
                    let executed = blocks.iter().enumerate();
                    let executed = executed.filter(|(at, _)| !(left_out && *at == 1));
                    executed.for_each(|(_, block)| self.execute(block));
                }
            }
        }
        self.loops = (self.loops + 1) % LOOPS;
        if self.loops == 0 {
            self.begin(&functions.share);
            for &(instruction, store) in &functions.share.accesses {
                self.log.access(instruction, store, WORD_LOG2, SHARED);
            }
            // Unless the data are a stream, each round begins at the start of the data, so that equal rounds give equal frames.
            self.offset = if data == Data::Stream { self.offset } else { 0 };
        }
    }
}

/// A recording that is being written.
struct Output {
    file: BufWriter<File>,
    references: u64,
}

impl Output {
    /// Writes a frame, and returns it as stored.
    fn write(&mut self, frame: &Frame) -> anyhow::Result<Vec<u8>> {
        let data = compress_to_vec(&frame.content[..], CompressionLevel::Fastest);
        let stored = [&frame.header(Stored::Zstd, &data)[..], &data].concat();
        self.file.write_all(&stored)?;
        Ok(stored)
    }
}

impl GeneratedProgram {
    /// Writes the recording, and returns its number of references.
    pub fn write(&self, path: &Path) -> anyhow::Result<u64> {
        let file = File::create(path).with_context(|| path.display().to_string())?;
        let mut output = Output { file: BufWriter::new(file), references: 0 };
        output.file.write_all(&FILE_HEADER)?;
        let command = vec!["made".to_owned()];
        output.write(&Frame::program(&Program { target: "x86_64".to_owned(), command }))?;
        let mut code = Code::new();
        let functions = Functions {
            loops: (0..LOOPS * BLOCKS).map(|at| code.block(at)).collect::<Result<_, _>>()?,
            // The loop that increments a word: load, add, store, and the loop's own instructions.
            count: code.define(6, Vec::new(), vec![(0, false), (2, true)])?,
            share: code.define(4, vec![(1, Class::Atomic)], vec![(1, false), (1, true)])?,
        };
        let mut running: Vec<Option<Thread>> =
            iter::repeat_with(|| None).take(self.threads as usize).collect();
        let mut ended = 0;
        while ended < running.len() {
            for (number, place) in (0..).zip(&mut running) {
                if place.as_ref().is_some_and(|thread| thread.ended) {
                    continue;
                }
                let thread = place.get_or_insert_with(|| self.begin(number));
                self.write_next_frame(thread, &functions, &code, &mut output)?;
                if thread.ended {
                    ended += 1;
                    // Frees the thread's memory, because there can be thousands of threads.
                    (thread.encoder, thread.log) = (Encoder::default(), Log::default());
                }
            }
        }
        output.write(&Frame::end(output.references, Some(0)))?;
        output.file.flush()?;
        Ok(output.references)
    }

    /// Returns a thread that is about to execute its first instruction. Thread 0 starts all other threads.
    fn begin(&self, number: u32) -> Thread {
        let (base, size) = self.data.range(number);
        let mut log = Log::default();
        match number {
            0 => (1..self.threads).for_each(|other| log.order(Order::Start(u64::from(other)))),
            _ => log.order(Order::Wait(Cause::Start, u64::from(number))),
        }
        Thread {
            number,
            encoder: Encoder::new(number),
            log,
            base,
            size,
            offset: 0,
            loops: 0,
            written: 0,
            logged: 0,
            equal: 0,
            frame: Frame::default(),
            stored: Vec::new(),
            ended: false,
        }
    }

    /// Writes the next frame of a thread.
    fn write_next_frame(
        &self,
        thread: &mut Thread,
        functions: &Functions,
        code: &Code,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        let all = self.references / u64::from(self.threads);
        if thread.equal >= MIN_EQUAL_FRAMES && thread.written + thread.frame.references < all {
            thread.written += thread.frame.references;
            output.references += thread.frame.references;
            return Ok(output.file.write_all(&thread.stored)?);
        }
        // A frame ends only at the end of a round, so that frames can be equal.
        while thread.log.len() < Log::FULL || thread.loops > 0 {
            thread.execute_loop(functions, self.data);
            thread.ended = thread.written + thread.logged >= all;
            if thread.ended {
                break;
            }
        }
        if thread.ended {
            let signal = |number: u32| u64::from(self.threads) + u64::from(number);
            match thread.number {
                0 => (1..self.threads).for_each(|other| {
                    thread.log.order(Order::Wait(Cause::Thread, signal(other)));
                }),
                number => thread.log.order(Order::Signal(signal(number))),
            }
        }
        let mut frame = Frame::default();
        thread.encoder.encode(&mut thread.log, thread.ended, &code.definitions, &mut frame)?;
        let mut defined = Frame::default();
        let new =
            code.definitions.lock().unwrap_or_else(PoisonError::into_inner).take(&mut defined);
        if new {
            output.write(&defined)?;
        }
        thread.equal = if frame == thread.frame { thread.equal + 1 } else { 0 };
        (thread.written, thread.logged) = (thread.written + frame.references, 0);
        output.references += frame.references;
        thread.stored = output.write(&frame)?;
        thread.frame = frame;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
