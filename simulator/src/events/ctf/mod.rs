//! Traces in the Common Trace Format 1.8, which `babeltrace2` and Trace Compass read.
//!
//! A trace is a directory with a file `metadata` and a file for each ring. Event headers have the rings' field widths (see `header`).
//! Payload fields are in the order of the [`hv_core::trace::Field`]s, each aligned to a byte. Each gap starts a new packet, which counts
//! the missing events (`events_discarded`). A gap at the start or end of a stream adds an empty packet.
//!
//! Traces can be merged. The identifiers of a trace and of its clock are computed from the trace's content, so equal traces have equal
//! files. If the [epoch](crate::events::Trace::epoch) is known, the metadata state it, and viewers can compare times of different clocks.
//!
//! `babeltrace2` prints a trace event by event. This module has its own [reader](read()) because `vfalls events` sums up calls, durations
//! and conflicts, and has to work without other programs.

mod bytes;
mod header;
mod identity;
mod metadata;
mod reader;
mod tokens;
mod tsdl;
mod types;
mod writer;

use std::collections::HashMap;
use std::path::Path;

use guest_abi::StrandId;

use crate::input;
use types::Type;

pub use bytes::Endian;
pub use reader::{ReadError, read};
pub use writer::write;

/// The magic number at the start of each packet.
const MAGIC: u64 = 0xc1fc_1fc1;

/// The length of a packet's header in bytes: magic number, stream class number, and context.
const PACKET_HEADER: usize = 4 + 4 + 6 * 8 + 4;

const METADATA: &str = "metadata";

/// The types of a trace's packets and events.
struct Format {
    endian: Endian,
    packet_header: Type,
    packet_context: Type,
    event_header: Type,
    events: Types,
}

/// Each event kind's new number and type. The key is the kind's number in this trace.
type Types = HashMap<u64, (u16, Type)>;

/// Returns the name of the file that holds a strand's stream, such as `strand_007`.
fn file_name(strand: StrandId) -> String {
    format!("strand_{:03}", strand.index())
}

/// Returns whether the metadata in a directory say that this program wrote the trace.
#[must_use]
pub fn is_ours(directory: &Path) -> bool {
    input::read_ordinary_text(&directory.join(METADATA)).is_ok_and(|text| metadata::is_ours(&text))
}
