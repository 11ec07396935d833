//! Traces in the Common Trace Format 1.8, which `babeltrace2` and Trace Compass read.
//!
//! A trace is a directory: `metadata`, and a file for each ring. Every event has its full time and the number of its kind
//! in front of it, whatever the layout of the ring was; fields stand in the order of [`hv_core::trace::Field`]s, each
//! at a whole byte. Events that are missing are counted by the packet behind the gap (`events_discarded`), so a packet begins
//! at each gap; at the beginning and the end of a stream, where there is no other, an empty one.

mod bytes;
mod metadata;
mod reader;
mod writer;

use std::path::Path;

use guest_abi::StrandId;

pub use bytes::Endian;
pub use reader::{ReadError, read};
pub use writer::write;

/// What each packet begins with.
const MAGIC: u64 = 0xc1fc_1fc1;

/// Bytes of a packet in front of the events: the magic number, the number of the stream class, and the context.
const PACKET_HEADER: usize = 4 + 4 + 6 * 8 + 4;

/// Bytes of an event in front of its fields: the number of its kind, and the time.
const EVENT_HEADER: usize = 2 + 8;

/// The name of the file that makes a directory a trace.
const METADATA: &str = "metadata";

/// The name of the file of a stream.
fn file_name(strand: StrandId) -> String {
    format!("strand_{:03}", strand.index())
}

/// Whether a directory is a trace of this program, as far as its metadata tells.
#[must_use]
pub fn is_ours(directory: &Path) -> bool {
    std::fs::read_to_string(directory.join(METADATA)).is_ok_and(|text| metadata::is_ours(&text))
}
