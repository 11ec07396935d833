//! Recordings of a program's references to memory, thread by thread.
//!
//! A [`Recording`] has one of three formats. Its content, not its name, decides which. The content may be plain, or compressed with
//! gzip or zstd, in one or more members or frames.
//!
//! `vfalls record` writes [all threads](refs) and their order. A plain file is read in place. A compressed file or a stream is first
//! decompressed to a temporary file without a name. Memory holds the program's code, one frame for each thread, and the chunks that
//! are [read ahead](Recording::read_ahead).
//!
//! # Lackey
//! `valgrind --tool=lackey --trace-mem=yes` writes one thread, which is read in constant memory.
//!
//! ```text
//! I  04001090,3        an instruction of 3 bytes is fetched
//!  L 1ffeffe7c8,8      it loads 8 bytes,
//!  S 1ffeffe7c0,8      or stores 8 bytes,
//!  M 0421c7cc,4        or loads and then stores one location
//! ==1234== ...         a message of valgrind: skipped, like empty lines
//! ```
//!
//! Addresses have 1 to 16 hexadecimal digits. Sizes are 1 to 4096 bytes. Lackey does not tell atomic instructions from others, so
//! `M` is read as a load and a store.
//!
//! # By hand
//! Each line has a strand (0 to 255), an operation, an address and, if it is not the default, a size. Each strand is a separate
//! thread. Lines execute one after the other: when the strand changes, the next line begins after the previous line has ended.
//!
//! ```text
//! # Two strands share a line.
//! 0 w 0x1000           strand 0 writes 8 bytes
//! 9 r 1000 4           strand 9 reads 4 bytes there
//! 9 m 1004 4           and modifies the next 4: a load and a store
//! 9 a 1004 4           and modifies them again, atomically
//! 0 i 40000            strand 0 fetches an instruction of 4 bytes
//! ```
//!
//! A comment begins with `#`. Addresses have 1 to 16 hexadecimal digits, with or without `0x`. Sizes are 1 to 4096 bytes. The default
//! size is 8, or 4 for instructions. All references are kept in memory. There may be at most 16,777,216 of them.

mod about;
mod ahead;
mod bundled;
mod chunk;
mod code;
mod error;
mod formats;
mod lackey;
mod line;
mod native;
#[allow(clippy::module_inception, reason = "the type of this name")]
mod recording;
mod reference;
mod runs;
mod source;
mod text;
mod zstd;

pub use bundled::{BUNDLED_PROGRAM, BUNDLED_SOURCE, bundled};
pub use chunk::{Chunk, References};
pub(crate) use chunk::{Position, ShapeMemo, Whole};
pub(crate) use code::{ByKind, Done, FETCH_SHIFT, InstructionCounts, ShapeStep, StepAction};
pub use error::RecordingError;
pub use lackey::{BLOCK, BLOCK_SLACK};
pub use recording::Recording;
pub(crate) use reference::{DataAccess, Group};
pub use reference::{Flow, Kind, Reference};
pub use refs::{Acquire, Cause, Class, Mapping, Order, Semaphore};
pub use source::BytesRead;
