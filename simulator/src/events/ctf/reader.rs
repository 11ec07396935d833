//! Reading a trace that this program wrote.

use std::path::Path;
use std::{fs, io};

use guest_abi::StrandId;
use hv_core::trace::put;

use super::{EVENT_HEADER, Endian, MAGIC, METADATA, PACKET_HEADER, file_name, metadata};
use crate::events::{Entry, Event, Stream, Trace, TracedEvent};
use crate::input::{self, InputError, LONGEST_PROGRAM};

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is no directory.
    #[error("{0}: is no directory, expected one with a trace")]
    NoDirectory(String),
    /// A file cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The directory cannot be read.
    #[error("{directory}: cannot be read")]
    Unreadable {
        /// The directory.
        directory: String,
        /// Why.
        source: io::Error,
    },
    /// A file is not what this program writes.
    #[error("{file}: {problem}")]
    Wrong {
        /// The file.
        file: String,
        /// Where in it, what was found, and what was expected.
        problem: String,
    },
}

/// Reads a trace.
///
/// # Errors
/// The directory is no trace of this program, or it is broken. The message has the file and the packet.
pub fn read(directory: &Path) -> Result<Trace, ReadError> {
    let name = |path: &Path| path.display().to_string();
    let wrong = |path: &Path, problem| ReadError::Wrong {
        file: name(path),
        problem,
    };
    if !directory.is_dir() {
        return Err(ReadError::NoDirectory(name(directory)));
    }
    let path = directory.join(METADATA);
    let text = input::read_text(&path)?;
    let (mut trace, endian) = metadata::read(&text).map_err(|problem| wrong(&path, problem))?;
    let files = fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let unreadable = |source| ReadError::Unreadable {
        directory: name(directory),
        source,
    };
    for file in files.map_err(unreadable)? {
        let path = file.path();
        if file.file_name().as_encoded_bytes().starts_with(b".") || file.file_name() == METADATA {
            continue;
        }
        let bytes = input::read(&path, LONGEST_PROGRAM)?;
        let Some(stream) = stream(&bytes, endian).map_err(|problem| wrong(&path, problem))? else {
            continue;
        };
        let (strand, expected) = (stream.strand, file_name(stream.strand));
        if file.file_name() != *expected {
            let problem = format!(
                "holds the events of strand {strand}, expected them in the file {expected}"
            );
            return Err(wrong(&path, problem));
        }
        trace.streams.push(stream);
    }
    trace.streams.sort_by_key(|stream| stream.strand);
    Ok(trace)
}

/// Fails with a problem unless something holds.
fn check(holds: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(problem()) }
}

/// The header of a packet.
struct Header {
    begin: u64,
    end: u64,
    /// Number of bytes of events.
    events: usize,
    number: u64,
    lost: u64,
    strand: StrandId,
}

impl Header {
    /// Checks that the packet has this strand and number, and does not go back behind what was lost until now, and now.
    fn follows(&self, strand: StrandId, number: u64, lost: u64, now: u64) -> Result<(), String> {
        check(self.strand == strand, || {
            format!("is of strand {}, the ones before of {strand}", self.strand)
        })?;
        check(self.number == number, || {
            format!("has the number {}", self.number)
        })?;
        check(self.lost >= lost, || {
            format!("counts {} lost events, the one before {lost}", self.lost)
        })?;
        let (begin, end) = (self.begin, self.end);
        check(now <= begin && begin <= end, || {
            format!("is from {begin} to {end}, the one before to {now}")
        })
    }
}

fn header(bytes: &mut &[u8], endian: Endian) -> Result<Header, String> {
    let length = bytes.len();
    let mut take = |bits| {
        endian
            .take(bytes, bits)
            .ok_or_else(|| format!("is cut off: {length} bytes, expected {PACKET_HEADER} at least"))
    };
    let (magic, stream) = (take(32)?, take(32)?);
    check(magic == MAGIC, || {
        format!("begins with {magic:#010x}, expected {MAGIC:#010x}")
    })?;
    check(stream == 0, || {
        format!("is of stream class {stream}, expected 0")
    })?;
    let (begin, end, content, size) = (take(64)?, take(64)?, take(64)?, take(64)?);
    let (number, lost, cpu_id) = (take(64)?, take(64)?, take(32)?);
    let fits = content == size && size % 8 == 0 && size / 8 <= length as u64;
    check(fits, || {
        format!("has {size} bits, {content} of them used, but there are {length} bytes")
    })?;
    let events = (size as usize / 8)
        .checked_sub(PACKET_HEADER)
        .ok_or_else(|| format!("has {size} bits, expected at least {}", 8 * PACKET_HEADER))?;
    let strand = usize::try_from(cpu_id).ok().and_then(StrandId::new);
    Ok(Header {
        begin,
        end,
        events,
        number,
        lost,
        strand: strand.ok_or_else(|| format!("there is no strand {cpu_id}"))?,
    })
}

/// Reads a whole stream; `None` if there is no packet.
fn stream(mut bytes: &[u8], endian: Endian) -> Result<Option<Stream>, String> {
    let mut read: Option<Stream> = None;
    let (mut number, mut lost, mut now) = (0, 0, 0);
    while !bytes.is_empty() {
        let within = |problem| format!("packet {number}: {problem}");
        let header = header(&mut bytes, endian).map_err(within)?;
        let stream = read.get_or_insert(Stream {
            strand: header.strand,
            entries: Vec::new(),
        });
        header
            .follows(stream.strand, number, lost, now)
            .map_err(within)?;
        if header.lost > lost {
            stream.entries.push(Entry::Lost(header.lost - lost));
        }
        let (events, rest) = bytes.split_at(header.events);
        let read = events_of(events, &header, endian).map_err(within)?;
        stream.entries.extend(read.into_iter().map(Entry::Event));
        bytes = rest;
        (number, lost, now) = (number + 1, header.lost, header.end);
    }
    Ok(read)
}

fn events_of(
    mut bytes: &[u8],
    header: &Header,
    endian: Endian,
) -> Result<Vec<TracedEvent>, String> {
    let mut events = Vec::new();
    let mut now = header.begin;
    while !bytes.is_empty() {
        let number = events.len();
        let event =
            event(&mut bytes, endian).map_err(|problem| format!("event {number}: {problem}"))?;
        check((now..=header.end).contains(&event.time), || {
            let (time, end) = (event.time, header.end);
            format!("event {number} is at {time}, expected {now} to {end}")
        })?;
        now = event.time;
        events.push(event);
    }
    Ok(events)
}

fn event(bytes: &mut &[u8], endian: Endian) -> Result<TracedEvent, String> {
    let cut = || format!("is cut off: expected {EVENT_HEADER} bytes and its fields");
    let id = endian.take(bytes, 16).ok_or_else(cut)? as u16;
    let time = endian.take(bytes, 64).ok_or_else(cut)?;
    let class = Event::class(id).ok_or_else(|| format!("is of the unknown kind {id}"))?;
    let mut payload = vec![0; class.words()];
    let mut at = 0;
    for field in class.fields {
        let value = endian.take(bytes, field.bits).ok_or_else(cut)?;
        put(&mut payload, at, field.bits, value);
        at += field.bits;
    }
    Ok(TracedEvent {
        time,
        id,
        payload: payload.into(),
    })
}
