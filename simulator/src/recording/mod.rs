//! Recordings of a program's references to memory, thread by thread.
//!
//! A [`Recording`] has one of three formats, which its content tells, whatever its name. Each may be plain or compressed with
//! gzip or zstd, in several members or frames, too.
//!
//! # Our own
//! What `cargo xtask record` writes: [all threads](native), with what orders them. A file in this format is read
//! where it is. If it is compressed as a whole, or comes from a stream, it is first decompressed to a temporary file
//! without a name. Memory: what the code of the program takes, for each thread one frame, and the
//! chunks that are [read ahead](Recording::read_ahead).
//!
//! # Lackey
//! What `valgrind --tool=lackey --trace-mem=yes` writes: one thread, read in constant memory.
//!
//! ```text
//! I  04001090,3        an instruction of 3 bytes is fetched
//!  L 1ffeffe7c8,8      it loads 8 bytes,
//!  S 1ffeffe7c0,8      or stores 8 bytes,
//!  M 0421c7cc,4        or does both to one place
//! ==1234== ...         a message of valgrind: skipped, like empty lines
//! ```
//!
//! Addresses are 1 to 16 hexadecimal digits, sizes 1 to 4096 bytes.
//!
//! # By hand
//! Lines of a strand (0 to 255), an operation, an address and, if it is not the usual one, a size: of the strand's
//! own thread. They take place one after the other: a line of another strand begins when the line before has ended.
//!
//! ```text
//! # Two strands share a line.
//! 0 w 0x1000           strand 0 writes 8 bytes
//! 9 r 1000 4           strand 9 reads 4 bytes there
//! 9 m 1004 4           and modifies the next 4
//! 0 i 40000            strand 0 fetches an instruction of 4 bytes
//! ```
//!
//! A comment begins with `#`. Addresses are 1 to 16 hexadecimal digits, `0x` before them or not, sizes 1 to
//! 4096 bytes: 8 by default, 4 of instructions. All is kept in memory, at most 16,777,216 references.

mod ahead;
mod bundled;
mod chunk;
mod code;
mod error;
mod line;
pub mod native;
mod reader;
#[allow(clippy::module_inception, reason = "the type of this name")]
mod recording;
mod runs;
mod source;
mod text;
mod threads;
mod zstd;

pub use bundled::{BUNDLED_PROGRAM, bundled};
pub use chunk::{Chunk, Order, References};
pub(crate) use chunk::{Position, Whole};
pub(crate) use code::{Action, ByKind, Done, FETCH_SHIFT, Step};
pub use error::RecordingError;
pub use reader::{BLOCK, BLOCK_SLACK};
pub use recording::{Mapping, Recording};
pub use source::Progress;

/// One reference to memory: an instruction fetch, or data read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The virtual address of the first byte.
    pub address: u64,
    /// How many bytes, 1 to 4096.
    pub size: u16,
    /// What is done to them.
    pub kind: Kind,
    /// How an instruction passes control on. [`Flow::Next`] for data.
    pub flow: Flow,
}

impl Reference {
    /// Returns a reference of data, or the fetch of an instruction that passes control to the next.
    #[must_use]
    pub const fn new(address: u64, size: u16, kind: Kind) -> Self {
        Self {
            address,
            size,
            kind,
            flow: Flow::Next,
        }
    }
}

/// How an instruction passes control on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Flow {
    /// To the instruction after it. In a recording [without flow](Recording::has_flow) all instructions do.
    #[default]
    Next = 0,
    /// It is a conditional branch that is not taken.
    NotTaken = 1,
    /// It is a conditional branch that is taken.
    Taken = 2,
    /// It goes elsewhere always: a branch without a condition, or a jump to an address in a register.
    Jump = 3,
    /// It calls a procedure.
    Call = 4,
    /// It returns from a procedure.
    Return = 5,
    /// It enters the operating system.
    Trap = 6,
}

impl Flow {
    /// Returns `true` if the instruction goes elsewhere.
    #[inline(always)]
    pub(crate) const fn is_elsewhere(self) -> bool {
        self as u8 >= Self::Taken as u8
    }

    /// Returns what the instruction is to counters of branches.
    #[inline(always)]
    pub(crate) const fn branch(self) -> Branch {
        match self {
            Self::Next | Self::Trap => Branch::None,
            Self::NotTaken => Branch::NotTaken,
            Self::Taken | Self::Jump | Self::Call | Self::Return => Branch::Taken,
        }
    }
}

/// Whether an instruction is a branch. A trap is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Branch {
    None,
    NotTaken,
    Taken,
}

impl Branch {
    pub(crate) const COUNT: usize = 3;
}

/// What a reference does.
///
/// A fetch says already what its instruction will do to data, so that no consumer has to look ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The fetch of an instruction that touches no data.
    FetchOther = 0,
    /// The fetch of an instruction that loads.
    FetchLoad = 1,
    /// The fetch of an instruction that stores.
    FetchStore = 2,
    /// The fetch of an instruction that loads and stores, in one place or in two.
    FetchModify = 3,
    /// Data is read.
    Load = 4,
    /// Data is written.
    Store = 5,
    /// Data is read and written back by one instruction.
    Modify = 6,
}

impl Kind {
    /// Whether this is an instruction fetch, of any class.
    #[must_use]
    pub const fn is_fetch(self) -> bool {
        (self as u8) < Self::Load as u8
    }

    /// The fetches, by what their instruction does to data: bit 0 says that it loads, bit 1 that it stores.
    pub(crate) const FETCHES: [Self; 4] = [
        Self::FetchOther,
        Self::FetchLoad,
        Self::FetchStore,
        Self::FetchModify,
    ];

    /// Returns the kind of this fetch if its instruction does `data`, too.
    const fn with(self, data: Self) -> Self {
        Self::FETCHES[(self as usize | (data as usize - Self::FetchModify as usize)) & 3]
    }
}
