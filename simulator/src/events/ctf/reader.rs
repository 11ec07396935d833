//! Reads this program's traces, even if another program has rewritten them.

use std::path::Path;
use std::{fs, io};

use guest_abi::StrandId;
use hv_core::trace::put;

use super::metadata;
use super::types::{BitCursor, Type, Values};
use super::{Format, MAGIC, METADATA, file_name};
use crate::events::kinds::EventKinds;
use crate::events::{Stream, StreamEntry, Trace, TracedEvent};
use crate::input::{self, InputError, MAX_PROGRAM_BYTES};

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ReadError {
    #[error("{0}: is not a directory, expected a trace directory")]
    NoDirectory(String),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("{directory}: cannot be read")]
    Unreadable { directory: String, source: io::Error },
    /// The content of a file is wrong. `problem` says where, and what was found and expected there.
    #[error("{file}: {problem}")]
    Wrong { file: String, problem: String },
}

/// Reads a trace in the Common Trace Format from a directory.
///
/// # Errors
/// The directory does not hold a trace of this program, or the trace is malformed. The message names the file and the packet.
pub fn read(directory: &Path) -> Result<Trace, ReadError> {
    let name = |path: &Path| path.display().to_string();
    let wrong = |path: &Path, problem| ReadError::Wrong { file: name(path), problem };
    if !directory.is_dir() {
        return Err(ReadError::NoDirectory(name(directory)));
    }
    let path = directory.join(METADATA);
    let text = input::read_ordinary_text(&path)?;
    let (mut trace, format) = metadata::read(&text).map_err(|problem| wrong(&path, problem))?;
    let files = fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let unreadable = |source| ReadError::Unreadable { directory: name(directory), source };
    for file in files.map_err(unreadable)? {
        let path = file.path();
        if file.file_name().as_encoded_bytes().starts_with(b".") || file.file_name() == METADATA {
            continue;
        }
        let bytes = input::read_ordinary(&path, MAX_PROGRAM_BYTES)?;
        let stream = stream(&bytes, &format, &trace.kinds);
        let Some(stream) = stream.map_err(|problem| wrong(&path, problem))? else {
            continue;
        };
        let (strand, expected) = (stream.strand, file_name(stream.strand));
        if file.file_name() != *expected {
            let found = format!("holds the events of strand {strand}");
            return Err(wrong(&path, format!("{found}, expected them in the file {expected}")));
        }
        trace.streams.push(stream);
    }
    trace.streams.sort_by_key(|stream| stream.strand);
    Ok(trace)
}

/// Returns an error with `problem` unless `holds` is `true`.
fn check(holds: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(problem()) }
}

struct PacketHeader<'a> {
    begin: u64,
    end: u64,
    /// A cursor that starts at the packet's first event.
    events: BitCursor<'a>,
    bytes: usize,
    number: u64,
    lost: u64,
    strand: StrandId,
}

impl PacketHeader<'_> {
    /// Checks that the packet continues the stream: the strand and the packet's number are as expected, and the time and the count of lost
    /// events do not decrease.
    fn follows(&self, strand: StrandId, number: u64, lost: u64, now: u64) -> Result<(), String> {
        check(self.strand == strand, || {
            format!(
                "is of strand {}, but the packets before it are of strand {strand}",
                self.strand
            )
        })?;
        check(self.number == number, || format!("has number {}, expected {number}", self.number))?;
        check(self.lost >= lost, || {
            format!("counts {} lost events, but the packet before it counts {lost}", self.lost)
        })?;
        let (begin, end) = (self.begin, self.end);
        check(now <= begin && begin <= end, || {
            format!("is from {begin} to {end}, but the packet before it ends at {now}")
        })
    }
}

fn header<'a>(bytes: &'a [u8], format: &Format) -> Result<PacketHeader<'a>, String> {
    let length = bytes.len() as u64;
    let mut cursor = BitCursor { bytes, at: 0, end: 8 * length, endian: format.endian, now: 0 };
    let mut read = |of| {
        let values = cursor.read(of);
        values.ok_or_else(|| format!("is cut off: {length} bytes are too few for its header"))
    };
    let (header, context) = (read(&format.packet_header)?, read(&format.packet_context)?);
    let magic = header.get("magic")?;
    check(magic == MAGIC, || format!("begins with {magic:#010x}, expected {MAGIC:#010x}"))?;
    let stream = header.find("stream_id").unwrap_or(0);
    check(stream == 0, || format!("is of stream class {stream}, expected 0"))?;
    let (content, size) = (context.get("content_size")?, context.get("packet_size")?);
    let fits = content <= size && size % 8 == 0 && size / 8 <= length;
    check(fits, || {
        format!("has {size} bits, {content} of them used, but there are {length} bytes")
    })?;
    let least = cursor.at;
    check(content >= least, || format!("has {content} bits, expected at least {least}"))?;
    let (begin, cpu_id) = (context.get("timestamp_begin")?, context.get("cpu_id")?);
    let strand = usize::try_from(cpu_id).ok().and_then(StrandId::new);
    (cursor.end, cursor.now) = (content, begin);
    Ok(PacketHeader {
        begin,
        end: context.get("timestamp_end")?,
        events: cursor,
        bytes: (size / 8) as usize,
        number: context.get("packet_seq_num")?,
        lost: context.get("events_discarded")?,
        strand: strand.ok_or_else(|| format!("there is no strand {cpu_id}"))?,
    })
}

/// Reads a whole stream; `None` if it has no packet.
fn stream(mut bytes: &[u8], format: &Format, kinds: &EventKinds) -> Result<Option<Stream>, String> {
    let mut read: Option<Stream> = None;
    let (mut number, mut lost, mut now) = (0, 0, 0);
    while !bytes.is_empty() {
        let within = |problem| format!("packet {number}: {problem}");
        let header = header(bytes, format).map_err(within)?;
        let stream = read.get_or_insert(Stream { strand: header.strand, entries: Vec::new() });
        header.follows(stream.strand, number, lost, now).map_err(within)?;
        if header.lost > lost {
            stream.entries.push(StreamEntry::Lost(header.lost - lost));
        }
        let read = events_of(&header, format, kinds).map_err(within)?;
        stream.entries.extend(read.into_iter().map(StreamEntry::Event));
        bytes = &bytes[header.bytes..];
        (number, lost, now) = (number + 1, header.lost, header.end);
    }
    Ok(read)
}

fn events_of(
    header: &PacketHeader<'_>,
    format: &Format,
    kinds: &EventKinds,
) -> Result<Vec<TracedEvent>, String> {
    let mut events = Vec::new();
    let mut cursor = header.events.clone();
    let mut now = header.begin;
    while cursor.at < cursor.end {
        let number = events.len();
        let within = |problem| format!("event {number}: {problem}");
        let event = event(&mut cursor, format, kinds).map_err(within)?;
        check((now..=header.end).contains(&event.time), || {
            let (time, end) = (event.time, header.end);
            format!("event {number} is at {time}, expected {now} to {end}")
        })?;
        now = event.time;
        events.push(event);
    }
    Ok(events)
}

fn event(
    cursor: &mut BitCursor<'_>,
    format: &Format,
    kinds: &EventKinds,
) -> Result<TracedEvent, String> {
    fn read<'t>(cursor: &mut BitCursor<'_>, of: &'t Type) -> Result<Values<'t>, String> {
        let values = cursor.read(of);
        values.ok_or_else(|| "is cut off: expected a header and its fields".to_owned())
    }
    let header = read(cursor, &format.event_header)?;
    let (id, time) = (header.get("id")?, header.get("timestamp")?);
    let (id, fields) =
        (format.events.get(&id)).ok_or_else(|| format!("is of the unknown kind {id}"))?;
    let values = read(cursor, fields)?;
    let kind = kinds.get(*id).ok_or_else(|| format!("is of the unknown kind {id}"))?;
    let mut payload = vec![0; kind.words()];
    let mut at = 0;
    for (field, value) in kind.fields.iter().zip(values.iter()) {
        put(&mut payload, at, field.bits, value);
        at += field.bits;
    }
    Ok(TracedEvent { time, id: *id, payload: payload.into() })
}
