//! Reads handwritten recordings; see the [formats](super).

use std::io::{BufRead, BufReader, Read};

use guest_abi::StrandId;

use super::chunk::Chunk;
use super::error::{RecordingError, quoted};
use super::formats::MemoryReader;
use super::lackey::BLOCK;
use super::line::number;
use super::reference::{Kind, Reference};
use super::source::Source;
use refs::{Cause, Order};

/// The maximum number of references in a file. They take 384 MB of memory, plus 768 MB if the strand changes at every line.
pub(super) const MAX_REFERENCES: u64 = 1 << 24;

/// The maximum number of bytes in a line.
const MAX_LINE_BYTES: u64 = 1024;

const A_STRAND: &str = "a strand, 0 to 255 or P0 to P255";
const AN_OPERATION: &str = "r, w, m, a or i (read, write, modify, modify atomically, instruction)";
const AN_ADDRESS: &str = "an address of 1 to 16 hexadecimal digits";
const A_SIZE: &str = "a size from 1 to 4096 bytes";
const AN_END: &str = "nothing after the size but a comment";
const A_LINE: &str = "a line of at most 1024 bytes";
const FEWER: &str = "at most 16777216 references";
const SOME: &str = "at least one, such as \"0 w 0x1000 8\"";

/// Reads a whole handwritten recording.
pub(super) fn read(mut source: Source) -> Result<MemoryReader, RecordingError> {
    let mut text = ParsedText::default();
    let mut line = Vec::new();
    let mut reader = BufReader::new(&mut source.text);
    let mut number = 0;
    let failed = loop {
        number += 1;
        line.clear();
        match reader.by_ref().take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut line) {
            Ok(0) => break None,
            Ok(_) if line.len() as u64 > MAX_LINE_BYTES => break Some((quoted(&line), A_LINE)),
            Ok(_) => {}
            Err(error) => break Some((source.failure(&error), "the rest of the recording")),
        }
        let text = parse(&line).and_then(|access| match access {
            Some((strand, first, second)) => {
                text.push(strand, first)?;
                second.map_or(Ok(()), |second| text.push(strand, second))
            }
            None => Ok(()),
        });
        if let Err(expected) = text {
            break Some((quoted(line.trim_ascii_end()), expected));
        }
    };
    if let Some((found, expected)) = failed {
        return Err(RecordingError {
            line: Some(number),
            ..RecordingError::in_file(&source.name, found, expected)
        });
    }
    if text.references == 0 {
        return Err(RecordingError::in_file(&source.name, "no memory reference", SOME));
    }
    let (strands, threads) = text
        .threads
        .into_iter()
        .map(|thread| {
            let pieces = thread.pieces.into_iter();
            let chunk = |piece: Piece| Chunk::new(piece.references, piece.order);
            (thread.strand, pieces.map(chunk).collect())
        })
        .unzip();
    Ok(MemoryReader { strands, progress: source.progress(), ..MemoryReader::new(threads) })
}

/// A line's strand, and its one or two references.
type Line = (StrandId, Reference, Option<Reference>);

/// Parses a line. Returns its strand and references; `None` for a line without a reference. The error says what was expected.
fn parse(line: &[u8]) -> Result<Option<Line>, &'static str> {
    let end = line.iter().position(|&byte| byte == b'#').unwrap_or(line.len());
    let mut words = line[..end].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let Some(strand) = words.next() else {
        return Ok(None);
    };
    let strand = strand.strip_prefix(b"P").or(strand.strip_prefix(b"p")).unwrap_or(strand);
    let strand =
        number(strand, 10, 3).and_then(|strand| StrandId::new(strand as usize)).ok_or(A_STRAND)?;
    let (kind, second, usual) = match words.next() {
        Some(b"r") => (Kind::Load, None, 8),
        Some(b"w") => (Kind::Store, None, 8),
        Some(b"m") => (Kind::Load, Some(Kind::Store), 8),
        Some(b"a") => (Kind::Modify, None, 8),
        Some(b"i") => (Kind::FetchOther, None, 4),
        _ => return Err(AN_OPERATION),
    };
    let address = words.next().ok_or(AN_ADDRESS)?;
    let digits = address.strip_prefix(b"0x").unwrap_or(address);
    let address = number(digits, 16, 16).ok_or(AN_ADDRESS)?;
    let size = match words.next() {
        Some(size) => number(size, 10, 4).filter(|size| (1..=4096).contains(size)).ok_or(A_SIZE)?,
        None => usual,
    };
    match words.next() {
        Some(_) => Err(AN_END),
        None => {
            let reference = |kind| Reference::new(address, size as u16, kind);
            Ok(Some((strand, reference(kind), second.map(reference))))
        }
    }
}

/// The threads read so far.
#[derive(Default)]
struct ParsedText {
    threads: Vec<TextThread>,
    references: u64,
    /// The thread of the latest reference.
    latest: Option<usize>,
    signals: u64,
}

struct TextThread {
    strand: StrandId,
    pieces: Vec<Piece>,
    /// The index of the latest fetch in the thread's last piece.
    fetch: Option<usize>,
}

/// A chunk that is being read.
#[derive(Default)]
struct Piece {
    references: Vec<Reference>,
    order: Vec<(usize, Order)>,
}

impl ParsedText {
    fn push(&mut self, strand: StrandId, reference: Reference) -> Result<(), &'static str> {
        self.references += 1;
        if self.references > MAX_REFERENCES {
            return Err(FEWER);
        }
        let known = self.threads.iter().position(|thread| thread.strand == strand);
        let thread = known.unwrap_or_else(|| {
            self.threads.push(TextThread { strand, pieces: vec![Piece::default()], fetch: None });
            self.threads.len() - 1
        });
        if let Some(before) = self.latest.replace(thread).filter(|before| *before != thread) {
            self.threads[before].order(Order::Signal(self.signals));
            self.threads[thread].order(Order::Wait(Cause::Wake, self.signals));
            self.signals += 1;
        }
        self.threads[thread].push(reference);
        Ok(())
    }
}

impl TextThread {
    fn last(&mut self) -> &mut Piece {
        self.pieces.last_mut().expect("a thread has a piece")
    }

    fn order(&mut self, order: Order) {
        let piece = self.last();
        piece.order.push((piece.references.len(), order));
    }

    fn push(&mut self, reference: Reference) {
        let begins = reference.kind.is_fetch() || self.fetch.is_none();
        if begins && self.last().references.len() >= BLOCK {
            self.pieces.push(Piece::default());
        }
        if reference.kind.is_fetch() {
            self.fetch = Some(self.last().references.len());
        } else if let Some(fetch) = self.fetch {
            self.last().references[fetch].accesses(reference.kind);
        }
        self.last().references.push(reference);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_a_bound() {
        let mut text = ParsedText { references: MAX_REFERENCES - 1, ..ParsedText::default() };
        let reference = Reference::new(0, 8, Kind::Load);
        let third = StrandId::new(3).unwrap();
        assert_eq!(text.push(third, reference), Ok(()));
        assert_eq!(text.push(third, reference), Err("at most 16777216 references"));
    }
}
