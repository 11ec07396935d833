use super::header::Form;
use super::{Endian, MAGIC, METADATA, PACKET_HEADER, file_name, metadata};
use crate::events::kinds::EventKinds;
use crate::events::{Stream, StreamEntry, Trace, TracedEvent};

/// A packet ends when it has at least this many bytes.
const LARGE: usize = 1 << 16;

/// Writes a trace: calls `put` with each file's name and content.
///
/// # Errors
/// `put` returns an error.
pub fn write<E>(
    trace: &Trace,
    endian: Endian,
    mut put: impl FnMut(&str, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    put(METADATA, metadata::write(trace, endian).as_bytes())?;
    let form = Form::for_layout(trace.layout);
    for stream in &trace.streams {
        let bytes = packets(stream, trace, form, endian);
        put(&file_name(stream.strand), &bytes)?;
    }
    Ok(())
}

/// A packet that is not yet complete.
struct Packet {
    begin: u64,
    end: u64,
    events: Vec<u8>,
}

/// A stream's file, while it is being written.
struct StreamFile {
    endian: Endian,
    cpu_id: u64,
    bytes: Vec<u8>,
    packets: u64,
    lost: u64,
}

fn packets(stream: &Stream, trace: &Trace, form: Form, endian: Endian) -> Vec<u8> {
    let cpu_id = stream.strand.index() as u64;
    let mut file = StreamFile { endian, cpu_id, bytes: Vec::new(), packets: 0, lost: 0 };
    let empty = |time| Packet { begin: time, end: time, events: Vec::new() };
    let mut packet: Option<Packet> = None;
    let mut now = trace.began;
    for entry in &stream.entries {
        match entry {
            StreamEntry::Event(event) => {
                now = event.time;
                let packet = packet.get_or_insert_with(|| empty(now));
                form.put(&mut packet.events, endian, event.id, packet.end, now);
                packet.end = now;
                put_fields(&mut packet.events, event, &trace.kinds, endian);
            }
            StreamEntry::Lost(lost) => {
                // A packet counts the events that were lost since the previous packet. So a gap
                // ends the current packet, and a gap at the start of the stream needs an empty
                // packet before it.
                if packet.is_some() || file.packets == 0 {
                    file.put(packet.take().unwrap_or_else(|| empty(now)));
                }
                file.lost += lost;
            }
        }
        if let Some(full) = packet.take_if(|packet| packet.events.len() >= LARGE) {
            file.put(full);
        }
    }
    let open_end = matches!(stream.entries.last(), Some(StreamEntry::Lost(_)));
    if let Some(last) = packet.or_else(|| open_end.then(|| empty(now))) {
        file.put(last);
    }
    file.bytes
}

impl StreamFile {
    fn put(&mut self, packet: Packet) {
        let bits = 8 * (PACKET_HEADER + packet.events.len()) as u64;
        let header = [
            (32, MAGIC),
            (32, 0),
            (64, packet.begin),
            (64, packet.end),
            (64, bits),
            (64, bits),
            (64, self.packets),
            (64, self.lost),
            (32, self.cpu_id),
        ];
        for (bits, value) in header {
            self.endian.put(&mut self.bytes, bits, value);
        }
        self.bytes.extend(packet.events);
        self.packets += 1;
    }
}

fn put_fields(bytes: &mut Vec<u8>, event: &TracedEvent, kinds: &EventKinds, endian: Endian) {
    for (field, value) in event.fields(kinds) {
        endian.put(bytes, field.bits, value);
    }
}
