//! Native recordings, which `vfalls record` writes.
//!
//! A recorder has one [`Log`] and one [`Encoder`] for each thread, and one [`Definitions`] for all threads. QEMU's callbacks write the log.
//! When the log [is full](Log::FULL), the encoder turns it into a [`Frame`].
//!
//! # The file
//!
//! Numbers are little-endian. A *varint* is a number of up to 64 bits in 1 to 10 bytes. Each byte has 7 bits of the number, the lowest
//! first. Bit 7 is set in all bytes except the last. A *signed* varint stores a number n as the varint 2n if n is 0 or more, and as the
//! varint -2n - 1 if n is negative. A *string* is a varint with the length in bytes, followed by the string in UTF-8.
//!
//! The file begins with [`FILE_HEADER`]: `8f 56 46 52 45 46 53 0a`, the [version](VERSION) 2 in 4 bytes, 4 bytes of 0. Frames follow, each
//! with a header of 32 bytes:
//!
//! | bytes | |
//! |---|---|
//! | 0 | the [kind](FrameKind) |
//! | 1 | how the content is [stored](Stored) |
//! | 2-3 | 0 |
//! | 4-7 | in a frame of references, the thread's number, below 65536; otherwise 0 |
//! | 8-11 | the length of the content, at most 2<sup>24</sup> |
//! | 12-15 | the length of the data that follow this header |
//! | 16-23 | the number of references in the frame (at most 2<sup>28</sup>); in the end frame, the number in all frames |
//! | 24-27 | the checksum of bytes 0 to 23 |
//! | 28-31 | the checksum of the data |
//!
//! A checksum is computed from 8-byte words. Zeros fill the last word. The sum begins with the number of bytes. For each word, the sum is
//! combined with the word by exclusive or, multiplied by `9e3779b97f4a7c15` (modulo 2<sup>64</sup>), and rotated left by 29. The checksum
//! is the exclusive or of bits 63:32 and bits 31:0 of the last sum.
//!
//! A frame of references comes after the frames that define its blocks and shapes. The frames of one thread are in program order. Frames of
//! different threads are in any order. After the end frame, the recording of another process can follow, which again begins with the file
//! header. A file without an end frame was cut off, or the recorder is still writing the file. A reader reads such a file up to the last
//! complete frame, and adds a note that says why the recording ends there.
//!
//! # What frames contain
//!
//! **Program** (1): a string with the program's architecture, a varint with the number of words in the command line, and the words as
//! strings.
//!
//! **Mappings** (2): a varint with the number of mappings. Each mapping has varints with its first address, its length, and its position in
//! the file; a string with the path; a varint with the length of the build id; and the build id.
//!
//! **Definitions** (3): varints with the number of blocks and the number of shapes, then the blocks, then the shapes. Throughout the file,
//! shapes are numbered from 0 and blocks from 1. Block 0 has no instruction, and stands for accesses outside all blocks.
//!
//! - A block has a signed varint with its address minus the end of the previously defined block (0 for the first block); a varint with the
//!   number of its instructions, 1 to 1024; for each instruction, a byte with its size, which is not 0; and a byte with the exit. The exit
//!   is 0 for the next instruction, 1 a conditional branch, 2 a jump, 3 a call, 4 a return, 5 a trap. Exits other than 0 are followed by a
//!   varint with the index of the instruction that transfers control. Exit 1 is also followed by a signed varint: the address of the next
//!   instruction if the branch is not taken, minus the end of the block. Then comes a varint with the number of instructions that have a
//!   [class](Class) other than 0. Each such instruction has a varint and a byte with the class. The varint is the number of instructions
//!   between the previous such instruction (or the start of the block) and this one.
//! - A shape is one way in which a block executes. It has a varint with the block; a varint with twice the number of accesses (at most
//!   2048), plus 1 if the block's branch is taken; and 2 bytes for each access. Bits 2:0 of an access are the binary logarithm of the size.
//!   Bit 3 marks a store. Bits 13:4 are the instruction's index. Bits 14 and 3 together mark a load and store of one location in one step,
//!   by an instruction of the class [`Atomic`](Class::Atomic). An instruction that is not atomic and changes a memory location has two
//!   accesses: a load and a store. Accesses are in the order of the instructions. All blocks together have at most 2<sup>25</sup>
//!   instructions, and all shapes together at most 2<sup>25</sup> references.
//!
//! **References** (4), of one thread: varints with the number of block executions, the length of the events, and the length of the
//! literals. The events, the literals, and the orders up to the end follow.
//!
//! - An execution is *expected* if its shape and all its addresses are the expected ones. An event describes an execution that is not
//!   expected. Its first byte has three parts:
//!   - Bits 7:5 are the number of expected executions before the event. If the number is 7 or more, the bits are 7, and a varint with the
//!     number minus 7 follows.
//!   - Bit 4 marks an unexpected shape. A varint with the shape follows.
//!   - Bits 1:0 and 3:2 are the codes of the first two accesses. Another byte follows for every four further accesses, with the first code
//!     in the low bits.
//! - The codes 0, 1, 2 and 3 mean 0, 1, 3 and 6 bytes in the literals. These bytes are the low bytes of a signed number: the address minus
//!   the expected address. Data addresses are signed 48-bit numbers. All executions after the last event are expected.
//! - An [order](Order) has two varints: the number of executions since the previous order (or the start of the frame), and 16 * number +
//!   kind, with the number and the kind from the table below. An order that concerns an object also has a signed varint: the object's
//!   address minus the address in the frame's previous such order (0 for the first). Orders of kinds 6 and 7 also have a signed varint with
//!   the [site](Acquire::site) minus the frame's previous site.
//!
//!   | kind | order | number | object |
//!   |---|---|---|---|
//!   | 0 | [`Signal`](Order::Signal) | the signal | |
//!   | 1 to 5 | [`Wait`](Order::Wait), 1 plus the [cause](Cause) | the signal | |
//!   | 6, 7 | [`Acquire`](Order::Acquire), 7 if the lock is shared | 0 | the lock |
//!   | 8 | [`Release`](Order::Release) | the signal | the lock |
//!   | 9, 10 | [`Take`](Order::Take), [`Post`](Order::Post) | the first value | the semaphore |
//!   | 11 | [`Arrive`](Order::Arrive) | the threads of a round | the barrier |
//!   | 12 | [`Sleep`](Order::Sleep) | nanoseconds | |
//!   | 13 | [`Call`](Order::Call) | the index of the call in [`BLOCKING_CALLS`] | |
//!   | 14 | [`LeftOut`](Order::LeftOut) | references | |
//!   | 15 | [`Start`](Order::Start) | the signal | |
//!
//! **Note** (5): a string without its length.
//!
//! **End** (6): a byte with the program's exit status, if it exited by itself.
//!
//! **Process** (7): varints with the number of the [process](Process) and 1 plus the number of the process that ends with it (0 if none
//! does), and a varint with the number of shared ranges. Each range has varints with its first address, its length, the number of the
//! process that first mapped it, and the first address there. A recording without this frame is of process 0, which shares no memory.
//!
//! **Missing** (8): a string without its length, about something that the program did and that is not in the recording.
//!
//! Threads of different processes wait for each other through signals that mark the [start](process_begins) or the [end](process_ends) of a
//! process. All other signals belong to one process.
//!
//! # Expectations
//!
//! The expectations depend on state that is zero when a thread starts, and that is kept from one frame of the thread to the next.
//!
//! There are 2<sup>14</sup> contexts. The expected shape is the latest shape in the same context. A 32-bit word holds the history. After
//! each shape, the history is shifted left by 11 and then combined with the product of the shape's number and `85ebca6b` by exclusive or.
//! The context is bits 31:18 of the product of the history and `9e3779b9`.
//!
//! Each access has one of 2<sup>14</sup> slots. The first shape of a block gives the block as many slots as the shape has accesses, after
//! the slots of earlier blocks. The accesses of all shapes of the block have these slots and the following ones. A slot holds the latest
//! address, the stride (32 bits), the low 16 bits of the latest difference, and a score from -2 to 1. The region of an address is the
//! exclusive or of its bits 27:20 and 35:28. For each region, the latest difference is kept.
//!
//! The expected address is the slot's latest address plus a difference. If the score is at least 0, the difference is the stride.
//! Otherwise, the difference is the one that is kept for the region of the latest address. The score rises by 1 if only the stride leads to
//! the real address, and falls by 1 if only the region's difference leads to it. The real address minus the latest address becomes the
//! difference of that region. If the low 16 bits of two differences in a row are equal, the difference becomes the stride.
#![forbid(unsafe_code)]

mod bytes;
mod class;
mod definitions;
mod encoder;
mod frame;
mod log;
mod order;
mod predictor;
mod written;

pub use bytes::{Rest, hash, literal, sign_extended};
pub use class::Class;
pub use definitions::{
    BlockDefinition, Definitions, Exit, MOST_DEFINED, MOST_INSTRUCTIONS, Slots, TooMuchCode,
};
pub use encoder::{Encoder, MOST_ACCESSES};
pub use frame::{
    FILE_HEADER, FRAME_HEADER, Frame, FrameKind, Mapping, Process, Program, SharedRange, Stored,
    VERSION, with_data,
};
pub use log::{
    BlockAccess, Describe, INSTRUCTION_SHIFT, Log, LoggedAccess, Placeholder, access_word,
    block_word,
};
pub use order::{
    Acquire, BLOCKING_CALLS, Cause, Order, OrderCode, Semaphore, is_of_process, process_begins,
    process_ends,
};
pub use predictor::{PackedPredictor, Predictor};
pub use written::{LONG_RUN, RUN_SHIFT, WRONG_SHAPE};
