//! Reading a trace that this program wrote.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use guest_abi::StrandId;
use hv_core::trace::put;

use super::{EVENT_HEADER, Endian, MAGIC, METADATA, PACKET_HEADER, file_name, metadata};
use crate::events::{Entry, Event, Recorded, Recording, Stream};

/// Reads a trace.
///
/// # Errors
/// The directory is no trace of this program, or it is broken. The message has the file and the packet.
pub fn read(directory: &Path) -> anyhow::Result<Recording> {
    let name = directory.display();
    ensure!(
        directory.is_dir(),
        "{name}: is no directory, expected one with a trace"
    );
    let path = directory.join(METADATA);
    let text =
        fs::read_to_string(&path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let (mut recording, endian) =
        metadata::read(&text).with_context(|| path.display().to_string())?;
    let mut streams = Vec::new();
    for entry in fs::read_dir(directory).with_context(|| format!("{name}: cannot be read"))? {
        let path = entry?.path();
        let hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if hidden || path.file_name() == Some(METADATA.as_ref()) {
            continue;
        }
        let bytes =
            fs::read(&path).with_context(|| format!("{}: cannot be read", path.display()))?;
        let context = || path.display().to_string();
        let stream = stream(&bytes, endian).with_context(context)?;
        if let Some(stream) = stream {
            let Stream { strand, .. } = stream;
            ensure!(
                path.file_name() == Some(file_name(strand).as_ref()),
                "{}: holds the events of strand {strand}, expected them in the file {}",
                path.display(),
                file_name(strand)
            );
            streams.push(stream);
        }
    }
    streams.sort_by_key(|stream| stream.strand);
    recording.streams = streams;
    Ok(recording)
}

/// What a packet says of itself.
struct Header {
    begin: u64,
    end: u64,
    /// Bytes of events.
    events: usize,
    number: u64,
    lost: u64,
    strand: StrandId,
}

fn header(bytes: &mut &[u8], endian: Endian) -> anyhow::Result<Header> {
    let length = bytes.len();
    let mut take = |bits| {
        endian.take(bytes, bits).with_context(|| {
            format!("is cut off: {length} bytes, expected {PACKET_HEADER} at least")
        })
    };
    let (magic, stream) = (take(32)?, take(32)?);
    ensure!(
        magic == MAGIC,
        "begins with {magic:#010x}, expected {MAGIC:#010x}"
    );
    ensure!(stream == 0, "is of stream class {stream}, expected 0");
    let (begin, end, content, size) = (take(64)?, take(64)?, take(64)?, take(64)?);
    let (number, lost, cpu_id) = (take(64)?, take(64)?, take(32)?);
    ensure!(
        content == size && size % 8 == 0 && size / 8 <= length as u64,
        "has {size} bits, {content} of them used, but there are {} bytes",
        length
    );
    let events = (size as usize / 8)
        .checked_sub(PACKET_HEADER)
        .with_context(|| format!("has {size} bits, expected at least {}", 8 * PACKET_HEADER))?;
    let strand = usize::try_from(cpu_id).ok().and_then(StrandId::new);
    Ok(Header {
        begin,
        end,
        events,
        number,
        lost,
        strand: strand.with_context(|| format!("there is no strand {cpu_id}"))?,
    })
}

/// A whole stream; `None` if there is no packet.
fn stream(mut bytes: &[u8], endian: Endian) -> anyhow::Result<Option<Stream>> {
    let mut read: Option<Stream> = None;
    let (mut number, mut lost, mut now) = (0, 0, 0);
    while !bytes.is_empty() {
        let context = || format!("packet {number}");
        let header = header(&mut bytes, endian).with_context(context)?;
        let stream = read.get_or_insert(Stream {
            strand: header.strand,
            entries: Vec::new(),
        });
        let problem = if header.strand != stream.strand {
            Some(format!(
                "is of strand {}, the ones before of {}",
                header.strand, stream.strand
            ))
        } else if header.number != number {
            Some(format!("has the number {}", header.number))
        } else if header.lost < lost {
            Some(format!(
                "counts {} lost events, the one before {lost}",
                header.lost
            ))
        } else if header.begin < now || header.end < header.begin {
            Some(format!(
                "is from {} to {}, the one before to {now}",
                header.begin, header.end
            ))
        } else {
            None
        };
        if let Some(problem) = problem {
            bail!("packet {number}: {problem}");
        }
        if header.lost > lost {
            stream.entries.push(Entry::Lost(header.lost - lost));
        }
        let (events, rest) = bytes.split_at(header.events);
        let read = events_of(events, &header, endian).with_context(context)?;
        stream.entries.extend(read.into_iter().map(Entry::Event));
        bytes = rest;
        (number, lost, now) = (number + 1, header.lost, header.end);
    }
    Ok(read)
}

fn events_of(mut bytes: &[u8], header: &Header, endian: Endian) -> anyhow::Result<Vec<Recorded>> {
    let mut events = Vec::new();
    let mut now = header.begin;
    while !bytes.is_empty() {
        let context = || format!("event {}", events.len());
        let event = event(&mut bytes, endian).with_context(context)?;
        ensure!(
            (now..=header.end).contains(&event.time),
            "event {} is at {}, expected {now} to {}",
            events.len(),
            event.time,
            header.end
        );
        now = event.time;
        events.push(event);
    }
    Ok(events)
}

fn event(bytes: &mut &[u8], endian: Endian) -> anyhow::Result<Recorded> {
    let cut = || format!("is cut off: expected {EVENT_HEADER} bytes and its fields");
    let id = endian.take(bytes, 16).with_context(cut)? as u16;
    let time = endian.take(bytes, 64).with_context(cut)?;
    let class = Event::class(id).with_context(|| format!("is of the unknown kind {id}"))?;
    let mut payload = vec![0; class.words()];
    let mut at = 0;
    for field in class.fields {
        let value = endian.take(bytes, field.bits).with_context(cut)?;
        put(&mut payload, at, field.bits, value);
        at += field.bits;
    }
    Ok(Recorded {
        time,
        id,
        payload: payload.into(),
    })
}
