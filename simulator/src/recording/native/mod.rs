//! The recordings that `cargo xtask record` makes: what the recorder writes, and how it is read.
//!
//! A recorder has one [`Log`] and one [`Encoder`] for each thread, and [`Definitions`] for all. Callbacks write the log; when
//! it [is full](Log::is_full), the encoder makes a [`Frame`] of it.
//!
//! # The file
//!
//! Numbers are little-endian. A *varint* is a number of up to 64 bits in 1 to 10 bytes: 7 bits each, the lowest first, bit 7
//! set in all but the last. A *signed* varint has twice the number, or one less than twice the negative of a negative one. A
//! *text* is a varint with its length and so many bytes of UTF-8.
//!
//! The file begins with [`FILE_HEADER`]: `8f 56 46 52 45 46 53 0a`, the version 1 in 4 bytes, 4 bytes of 0. Frames follow,
//! each with a header of 32 bytes:
//!
//! | bytes | |
//! |---|---|
//! | 0 | the [kind](FrameKind) |
//! | 1 | how the content is [stored](Stored) |
//! | 2-3 | 0 |
//! | 4-7 | the thread, below 65536, of references; otherwise 0 |
//! | 8-11 | the length of the content, at most 2<sup>24</sup> |
//! | 12-15 | the length of the data that follow this header |
//! | 16-23 | how many references the frame has (at most 2<sup>28</sup>), or all frames, if this one is the end |
//! | 24-27 | the checksum of bytes 0 to 23 |
//! | 28-31 | the checksum of the data |
//!
//! A checksum takes bytes as words of 8, the last one filled up with zeros. It begins with the number of bytes; each word is
//! added by exclusive or, and the sum is then multiplied by `9e3779b97f4a7c15` (modulo 2<sup>64</sup>) and rotated left by 29.
//! The checksum is bits 63:32 of the last sum, added to bits 31:0 by exclusive or.
//!
//! A frame with definitions comes before every frame of references that needs them. The frames of one thread are in the order
//! of its program; those of different threads, in any. Nothing follows the end. A file without an end is cut off, or grows still:
//! it is read up to its last whole frame, and a [note](super::Recording::notes) says so.
//!
//! # What frames contain
//!
//! **Program** (1): a text with the machine that the program is for; a varint with the number of words of the command line;
//! as many texts.
//!
//! **Mappings** (2): a varint with their number; for each of them varints with its first address, its length, and the position
//! in the file, a text with the path, a varint with the length of the build id, and the build id.
//!
//! **Definitions** (3): varints with the number of blocks and of shapes; the blocks; the shapes. Both are numbered through the
//! file in the order in which they come: shapes from 0, blocks from 1. Block 0 has no instruction, and stands for data
//! that no block accesses.
//!
//! - A block: a signed varint with its address minus the end of the block defined before (0 for the first); a varint with the
//!   number of its instructions, 1 to 1024; the size of each, a byte that is not 0; a byte that says how control leaves it:
//!   0 to the next instruction, 1 by a conditional branch, 2 a jump, 3 a call, 4 a return, 5 a trap. If that is not 0, a varint
//!   follows with the number of the instruction that does it; and if it is 1, a signed varint with the address where control goes
//!   if the branch is not taken, minus the block's end.
//! - A shape is one way in which a block executes: a varint with the block; a varint with twice the number of accesses (at most
//!   2048), and 1 more if its branch is taken; the accesses, 2 bytes each: in bits 2:0 the binary logarithm of the size,
//!   in bit 3 that it stores, in bits 13:4 the number of the instruction, in bit 14 that it loads and stores in one place.
//!   Accesses are in the order of the instructions. All blocks together, and all shapes, have at most 2<sup>25</sup> references.
//!
//! **References** (4), of one thread: varints with the number of executions of blocks, the length of the events, and the
//! length of the literals; the events; the literals; the orders, up to the end.
//!
//! - An execution is *expected* if the shape and all addresses are as expected. Each event is for one that is not: a
//!   byte with, in bits 7:5, the number of expected executions before it, or 7 if there are at least 7 (a varint with how many
//!   more follows); in bit 4, that the shape is not as expected (a varint with the shape follows); in bits 1:0 and 3:2 the codes of the
//!   first two accesses. For each further four accesses of the shape a byte follows with their codes, the first in the low
//!   bits. A code says how many bytes of the literals are the difference of the address to the one expected: 0 none, 1 one,
//!   2 three, 3 six. They are the low bytes of a number with a sign. Addresses of data have 48 bits and a sign.
//!   After the last event all executions are expected.
//! - An order: a varint with how many executions are between the order before (or the beginning of the frame) and it; a varint with
//!   twice its number, and 1 more if it is a [wait](super::Order::Wait).
//!
//! **Note** (5): a text without its length.
//!
//! **End** (6): the status with which the program exited, a byte, if it did by itself.
//!
//! # What is expected
//!
//! Expectations of a thread begin with zeros, and go on from frame to frame.
//!
//! The shape that is expected is the one that came last in the same context, of 2<sup>14</sup>. A word of 32 bits has the history:
//! after each shape it is shifted left by 11, and the product of the shape with `85ebca6b` is added by exclusive or. The context is
//! in bits 31:18 of its product with `9e3779b9`.
//!
//! Each access has a slot, of 2<sup>14</sup>. The first shape of a block to be defined gives the block as many slots as it
//! has accesses, from where the slots of the blocks before end; the accesses of all shapes of the block have these slots and those behind.
//! A slot has the latest address, the stride (32 bits), the latest difference (its low 16 bits), and a score from -2 to 1. The
//! region of an address is bits 27:20, added by exclusive or to bits 35:28; of each region the latest difference is known.
//!
//! The address that is expected is the latest of the slot and, if the score is not below 0, the stride, otherwise the
//! difference of the region of the latest address. Once the address is known, the score goes up by 1 if the stride was right,
//! and down by 1 if the region was. The difference of the address to the latest is noted for that region; if its
//! low 16 bits are those of the difference before, it becomes the stride.

mod bytes;
mod cursor;
mod definitions;
mod encoder;
mod frame;
mod log;
mod predictor;
mod reader;
mod templates;

pub use definitions::{BlockDefinition, Definitions, Exit, MOST_INSTRUCTIONS, TooMuchCode};
pub use encoder::Encoder;
pub(super) use frame::MAGIC;
pub use frame::{FILE_HEADER, FRAME_HEADER, Frame, FrameKind, Program, Stored};
pub use log::Log;
pub(super) use reader::NativeReader;
