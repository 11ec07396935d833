//! Traces in the Common Trace Format 1.8, which `babeltrace2` and Trace Compass read.
//!
//! A trace is a directory with `metadata` and a file for each ring. The headers of events are about as compact as those in the
//! rings (`header`); the fields stand in the order of [`hv_core::trace::Field`]s, each at a whole byte. The packet behind a gap
//! counts the missing events (`events_discarded`), so a packet begins at each gap. A gap at the beginning or the end of a stream
//! has an empty packet.
//!
//! A trace can be merged with others. It has an identifier, and so has its clock: both are computed from what the trace holds,
//! so that the same simulation always writes the same files. If the [epoch](crate::events::Trace::epoch) is known, the metadata
//! state it, and times can be compared with those of other clocks.

mod bytes;
mod header;
mod identity;
mod metadata;
mod reader;
mod tokens;
mod tsdl;
mod types;
mod writer;

use std::path::Path;

use guest_abi::StrandId;

use crate::input;

pub use bytes::Endian;
pub use reader::{ReadError, read};
pub use writer::write;

/// The number at the beginning of each packet.
const MAGIC: u64 = 0xc1fc_1fc1;

/// The size of a packet's header, in bytes: the magic number, the number of the stream class, and the context.
const PACKET_HEADER: usize = 4 + 4 + 6 * 8 + 4;

/// The name of the file that makes a directory a trace.
const METADATA: &str = "metadata";

/// Returns the name of the file of a stream.
fn file_name(strand: StrandId) -> String {
    format!("strand_{:03}", strand.index())
}

/// Returns whether the metadata of a directory says that this program wrote the trace.
#[must_use]
pub fn is_ours(directory: &Path) -> bool {
    input::read_text(&directory.join(METADATA)).is_ok_and(|text| metadata::is_ours(&text))
}
