//! Recordings of a program's memory references, thread by thread.
//!
//! A [`Recording`] is in one of five formats, which its first bytes determine. The content may be plain, compressed with gzip
//! (in one or more members), compressed with zstd (in one or more frames), or a zip archive, whose members are read one after the
//! other. An archive that comes from a stream is first copied to a temporary file.
//!
//! `vfalls record` writes [all processes and threads](refs) and their order. Each process is a separate recording. A plain file is
//! read in place. A compressed file or a stream is first decompressed to a temporary file without a name. Memory holds the
//! program's code, one frame for each thread, and the chunks that are [read ahead](Recording::read_ahead).
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
//! an `M` is read as a load and a store.
//!
//! # drmemtrace
//! DynamoRIO's `drrun -t drmemtrace -offline` writes a directory, and `drraw2trace` writes a file for each thread into that
//! directory's folder `trace`: `*.trace.zip`, `*.trace.gz` or `*.trace`. [`Recording::open`] takes the directory, the folder or one
//! of the files. A file that was written for a core can hold several threads, but it is read as one thread. Each file is read
//! in constant memory, and stays open until its thread ends. So the number of threads is limited by the number of files that the
//! host lets a process open.
//!
//! A file consists of 12-byte records, little endian: 2 bytes of type, 2 bytes of size, 8 bytes of address. Types, markers and
//! versions are those in DynamoRIO's `clients/drcachesim/common/trace_entry.h`; versions 2 to 6 are known.
//!
//! - Reads, writes and fetches become references. A record of more than 4096 bytes becomes several. A data record of 0 bytes
//!   becomes none.
//! - Instruction types say how instructions pass control on. In versions before 5, a conditional branch is taken if the next
//!   instruction does not follow it in memory. An instruction before a system call marker is a trap.
//! - These records are skipped: prefetches, flushes, encodings, other markers, and repetitions of an instruction without a fetch.
//!   The data of a repetition belong to the latest fetch.
//! - Time stamps order the threads. A *part* of a thread consists of the records from a time stamp up to the next later one. Parts
//!   begin in the order of their time stamps; apart from that, threads execute concurrently. To find the order, all files of a
//!   directory are read once before the replay. There may be at most 33,554,432 parts. While they are put in order, each part takes
//!   8 bytes of memory. After that, each change of threads between successive parts takes 12 bytes.
//!
//! # ChampSim
//! A recording for ChampSim has 64 bytes for each instruction, and one thread, which is read in constant memory. The layout is that
//! of `input_instr` in ChampSim's `inc/trace_instruction.h`; the longer `cloudsuite_instr` is not supported. The format has no
//! magic number. A file is read in this format if up to four instructions at its beginning have flags of 0 or 1 and 48-bit
//! addresses. Most such files are compressed with xz, which `xz -dc FILE` decompresses into a pipe.
//!
//! - An instruction loads first, and then stores. An address of 0 stands for no access.
//! - Instructions and data have no sizes. An instruction extends to the next one if the distance is at most 15 bytes. If it is
//!   larger, or if the instruction does not pass control to the next one in memory, the instruction has 4 bytes. Data extend to the
//!   end of their aligned 8 bytes.
//! - As in ChampSim, the registers show which branches are conditional, and which are calls or returns.
//!
//! # By hand
//! Each line has a strand (0 to 255, or P0 to P255), an operation, an address and, if it is not the default, a size. Each strand is
//! a separate thread. Lines execute one after the other: when the strand changes, the next line begins after the previous line has
//! ended.
//!
//! ```text
//! # Two strands share a line.
//! 0 w 0x1000           strand 0 writes 8 bytes
//! 9 r 1000 4           strand 9 reads 4 bytes there
//! 9 m 1004 4           and modifies the next 4: a load and a store
//! 9 a 1004 4           and modifies them again, atomically
//! 0 i 40000            strand 0 fetches an instruction of 4 bytes
//! P9 r 0x1000          strand 9 reads 8 bytes
//! ```
//!
//! A comment begins with `#`. Addresses have 1 to 16 hexadecimal digits, with or without `0x`. Sizes are 1 to 4096 bytes; the
//! default is 8, or 4 for instructions. All references are kept in memory, and there may be at most 16,777,216 of them.

mod ahead;
mod bundled;
mod champsim;
mod chunk;
mod code;
mod content;
mod counted;
mod drmemtrace;
mod error;
mod expected;
mod formats;
mod images;
mod info;
mod lackey;
mod line;
mod native;
#[allow(clippy::module_inception, reason = "the type of this name")]
mod recording;
mod records;
mod reference;
mod references;
mod runs;
mod source;
mod text;
mod zip;
mod zstd;

pub use bundled::{BUNDLED_PROGRAM, BUNDLED_SOURCE, bundled};
pub use chunk::Chunk;
pub(crate) use chunk::{Position, ShapeMemo};
pub(crate) use code::{
    ByKind, Done, FETCH_SHIFT, InstructionCounts, MAX_WHOLE, Shape, ShapeStep, StepAction, Steps,
};
pub use error::RecordingError;
pub use images::{CodeImage, without_image};
pub use lackey::{BLOCK, BLOCK_SLACK};
pub use recording::Recording;
pub(crate) use reference::{DataAccess, Group};
pub use reference::{Flow, Kind, Reference};
pub use references::References;
pub(crate) use references::{Part, Whole};
pub use refs::{Acquire, Cause, Class, Mapping, Order, Process, Semaphore, SharedRange};
pub use source::BytesRead;
