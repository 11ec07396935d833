//! Traces in the Common Trace Format 1.8, which `babeltrace2` and Trace Compass read.
//!
//! A trace is a directory with `metadata` and a file for each ring. Event headers are about as compact as in the
//! rings (`header`); fields have the order of [`hv_core::trace::Field`]s, each aligned to a byte. The packet after a gap counts
//! the missing events (`events_discarded`), so each gap starts a packet. A gap at the start or end of a stream adds an empty
//! packet.
//!
//! Traces can be merged. The identifiers of a trace and its clock are computed from its content, so that equal traces have
//! equal files. The metadata state the [epoch](crate::events::Trace::epoch), if it is known, so that times of different clocks
//! can be compared.
//!
//! `babeltrace2` prints a trace event by event. The [reader](read()) here exists because `vfalls events` sums calls, durations and
//! conflicts up, and has to work with no other program installed.

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

/// The magic number at the start of each packet.
const MAGIC: u64 = 0xc1fc_1fc1;

/// The bytes of a packet's header: magic number, number of the stream class, and context.
const PACKET_HEADER: usize = 4 + 4 + 6 * 8 + 4;

const METADATA: &str = "metadata";

/// Returns the name of the file of a stream.
fn file_name(strand: StrandId) -> String {
    format!("strand_{:03}", strand.index())
}

/// Returns whether a directory holds a trace of this program, according to its metadata.
#[must_use]
pub fn is_ours(directory: &Path) -> bool {
    input::read_found_text(&directory.join(METADATA)).is_ok_and(|text| metadata::is_ours(&text))
}
