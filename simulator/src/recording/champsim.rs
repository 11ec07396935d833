//! Reads recordings for ChampSim. The layout is that of `input_instr` in ChampSim's `inc/trace_instruction.h`: 64 bytes for each
//! instruction. The branch kinds are those that ChampSim derives from the registers.

use super::chunk::Chunk;
use super::error::RecordingError;
use super::lackey::BLOCK;
use super::records::Records;
use super::reference::{Flow, Kind, Reference};
use super::source::{BytesRead, Source};

const SIZE: usize = 64;

/// The assumed size, in bytes, of an instruction whose size cannot be determined.
const USUAL_SIZE: u16 = 4;

/// The maximum number of bytes in an x86 instruction. A larger distance to the next instruction cannot be a size.
const MAX_INSTRUCTION_BYTES: u64 = 15;

/// The numbers of the registers whose use shows an instruction's branch kind.
const STACK_POINTER: u8 = 6;
const FLAGS: u8 = 25;
const INSTRUCTION_POINTER: u8 = 26;

/// Returns `true` if a file in this format can begin with these bytes. The format has no magic number, but bytes 8 and 9 of a file
/// are 0 or 1, which never happens in a text file.
pub(super) fn is_plausible(head: &[u8]) -> bool {
    let mut instructions = head.chunks_exact(SIZE).filter_map(|record| record.first_chunk());
    head.len() >= SIZE
        && instructions.all(|record| {
            Instruction::new(record).is_some_and(|one| {
                let mut addresses = one.stores.iter().chain(&one.loads);
                one.address != 0 && is_address(one.address) && addresses.all(|at| is_address(*at))
            })
        })
}

/// Returns the note that says what recordings in this format lack.
pub(super) fn note(name: &str) -> String {
    format!(
        "{name} is a recording for ChampSim: it has no symbols, no threads and no sizes, and does not tell atomic and floating-point \
         instructions from others"
    )
}

/// Returns `true` if an address has 48 bits, sign-extended to 64 bits as on x86.
fn is_address(address: u64) -> bool {
    matches!(address >> 47, 0 | 0x1_ffff)
}

#[derive(Clone, Copy)]
struct Instruction {
    address: u64,
    is_branch: bool,
    is_taken: bool,
    written: [u8; 2],
    read: [u8; 4],
    /// The addresses of stores and loads; 0 stands for no access.
    stores: [u64; 2],
    loads: [u64; 4],
}

impl Instruction {
    /// Returns a record's instruction; `None` if one of the record's two flags ("is a branch" and "is taken") is neither 0 nor 1.
    fn new(record: &[u8; SIZE]) -> Option<Self> {
        let word = |at: usize| record[at..].first_chunk().copied().map_or(0, u64::from_le_bytes);
        let flag = |at: usize| [false, true].get(usize::from(record[at])).copied();
        Some(Self {
            address: word(0),
            is_branch: flag(8)?,
            is_taken: flag(9)?,
            written: [record[10], record[11]],
            read: [record[12], record[13], record[14], record[15]],
            stores: [word(16), word(24)],
            loads: [word(32), word(40), word(48), word(56)],
        })
    }

    fn flow(&self) -> Flow {
        if !self.is_branch {
            return Flow::Next;
        }
        let (written, read) = (|one| self.written.contains(&one), |one| self.read.contains(&one));
        let known = [0, STACK_POINTER, FLAGS, INSTRUCTION_POINTER];
        let reads_other = self.read.iter().any(|one| !known.contains(one));
        match (read(STACK_POINTER) && written(STACK_POINTER), read(INSTRUCTION_POINTER)) {
            (true, true) => Flow::Call,
            (true, false) => Flow::Return,
            (false, true) if read(FLAGS) || reads_other => match self.is_taken {
                true => Flow::Taken,
                false => Flow::NotTaken,
            },
            _ if !self.is_taken => Flow::NotTaken,
            _ => Flow::Jump,
        }
    }

    /// Returns this instruction's size. `next` is the instruction that is executed next. The recording has no sizes, so the result
    /// is the distance to `next` if that is a possible size.
    fn size(&self, flow: Flow, next: Option<&Self>) -> u16 {
        let distance = next.map_or(0, |next| next.address.wrapping_sub(self.address));
        match (1..=MAX_INSTRUCTION_BYTES).contains(&distance) && !flow.is_elsewhere() {
            true => distance as u16,
            false => USUAL_SIZE,
        }
    }

    /// Appends this instruction's fetch, its loads and its stores.
    fn put(&self, next: Option<&Self>, block: &mut Vec<Reference>) {
        let flow = self.flow();
        let mut fetch = Reference::new(self.address, self.size(flow, next), Kind::FetchOther);
        fetch.flow = flow;
        let at = block.len();
        block.push(fetch);
        let loads = self.loads.iter().map(|address| (Kind::Load, *address));
        let stores = self.stores.iter().map(|address| (Kind::Store, *address));
        for (kind, address) in loads.chain(stores).filter(|(_, address)| *address != 0) {
            block[at].accesses(kind);
            // The recording has no access sizes, so assume that an access ends at the end of its word.
            block.push(Reference::new(address, 8 - (address % 8) as u16, kind));
        }
    }
}

/// Reads instructions block by block, in constant memory.
pub(super) struct ChampSimReader {
    records: Records<SIZE>,
    /// The instruction after the latest block.
    next: Option<Instruction>,
    has_begun: bool,
    has_ended: bool,
    block: Vec<Reference>,
}

impl ChampSimReader {
    pub(super) fn new(source: Source) -> Self {
        Self {
            records: Records::new(source),
            next: None,
            has_begun: false,
            has_ended: false,
            block: Vec::new(),
        }
    }

    pub(super) fn progress(&self) -> BytesRead {
        self.records.progress()
    }

    /// Replaces the content of `chunk` with the next instructions and their data. At the end of the recording and after an error,
    /// returns `false` and an empty chunk.
    pub(super) fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool, RecordingError> {
        self.block.clear();
        let result = self.fill();
        if result.is_err() {
            self.block.clear();
            (self.next, self.has_ended) = (None, true);
        }
        chunk.set(&self.block);
        result.map(|()| !self.block.is_empty())
    }

    fn fill(&mut self) -> Result<(), RecordingError> {
        if !self.has_begun {
            self.has_begun = true;
            self.next = self.read()?;
        }
        while let Some(instruction) = self.next
            && self.block.len() < BLOCK
        {
            self.next = self.read()?;
            instruction.put(self.next.as_ref(), &mut self.block);
        }
        Ok(())
    }

    fn read(&mut self) -> Result<Option<Instruction>, RecordingError> {
        if self.has_ended {
            return Ok(None);
        }
        let Some(record) = self.records.next()? else {
            self.has_ended = true;
            return Ok(None);
        };
        let instruction = Instruction::new(&record).ok_or_else(|| {
            let found = format!("is_branch {} and branch_taken {}", record[8], record[9]);
            self.records.wrong(&found, "0 or 1 for both")
        })?;
        Ok(Some(instruction))
    }
}
