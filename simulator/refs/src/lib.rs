//! Native recordings, which `vfalls record` writes.
//!
//! A recorder has one [`Log`] and one [`Encoder`] for each thread, and [`Definitions`] for all. Callbacks write the log. When it
//! [is full](Log::is_full), the encoder turns it into a [`Frame`].
//!
//! # The file
//!
//! Numbers are little-endian. A *varint* is a number of up to 64 bits in 1 to 10 bytes: 7 bits each, the lowest first, with bit 7
//! set in all but the last. A *signed* varint holds twice the number, or twice its absolute value less one if it is negative. A
//! *text* is a varint with its length and that number of bytes of UTF-8.
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
//! | 16-23 | the number of references in the frame (at most 2<sup>28</sup>); in the end, of all frames |
//! | 24-27 | the checksum of bytes 0 to 23 |
//! | 28-31 | the checksum of the data |
//!
//! A checksum is computed from words of 8 bytes; zeros fill the last word. The sum begins with the number of bytes. For each word,
//! the sum takes the word by exclusive or, is multiplied by `9e3779b97f4a7c15` (modulo 2<sup>64</sup>) and rotated left by 29. The
//! checksum is the exclusive or of bits 63:32 and bits 31:0 of the last sum.
//!
//! A frame of definitions precedes every frame of references that needs it. The frames of one thread are in the order of its
//! program; frames of different threads are in any order. Nothing follows the end. A file without an end is cut off or still grows:
//! it is read up to its last whole frame, and a [note](Frame::note) says so.
//!
//! # What frames contain
//!
//! **Program** (1): a text with the architecture of the program; a varint with the number of words of the command line; the words
//! as texts.
//!
//! **Mappings** (2): a varint with their number; for each of them varints with its first address, its length, and the position
//! in the file, a text with the path, a varint with the length of the build id, and the build id.
//!
//! **Definitions** (3): varints with the number of blocks and of shapes; the blocks; the shapes. Both are numbered through the
//! whole file: shapes from 0, blocks from 1. Block 0 has no instruction, and stands for data that no block accesses.
//!
//! - A block: a signed varint with its address minus the end of the block defined before (0 for the first); a varint with the
//!   number of its instructions, 1 to 1024; the size of each, a byte that is not 0; a byte with the exit: 0 to the next
//!   instruction, 1 by a conditional branch, 2 a jump, 3 a call, 4 a return, 5 a trap. If the exit is not 0, a varint follows with
//!   the number of the instruction that passes control on. If it is 1, a signed varint follows with the address of the next
//!   instruction if the branch is not taken, minus the block's end.
//! - A shape is one way in which a block executes: a varint with the block; a varint with twice the number of accesses (at most
//!   2048), plus 1 if its branch is taken; the accesses, 2 bytes each: the binary logarithm of the size in bits 2:0, a store in
//!   bit 3, the number of the instruction in bits 13:4, a load and store of one place in bit 14. Accesses are in the order of the
//!   instructions. All blocks together, and all shapes, have at most 2<sup>25</sup> references.
//!
//! **References** (4), of one thread: varints with the number of executions of blocks, the length of the events, and the
//! length of the literals; the events; the literals; the orders, up to the end.
//!
//! - An execution is *expected* if its shape and all its addresses are the expected ones. An event describes an execution that is
//!   not expected. Its first byte has in bits 7:5 the number of expected executions before it, or 7 if there are at least 7 (a
//!   varint follows with the number beyond 7); in bit 4, that the shape is not the expected one (a varint with the shape follows);
//!   in bits 1:0 and 3:2 the codes of the first two accesses. A further byte follows with the codes of each further four accesses,
//!   the first in the low bits. A code gives the number of bytes in the literals that hold the difference between the address and
//!   the expected address: 0 none, 1 one, 2 three, 3 six. They are the low bytes of a signed number. Addresses of data are signed
//!   numbers of 48 bits. All executions after the last event are expected.
//! - An order: a varint with the number of executions since the order before (or the start of the frame); a varint with twice its
//!   number, plus 1 if it is a [wait](Order::Wait).
//!
//! **Note** (5): a text without its length.
//!
//! **End** (6): the exit status of the program, a byte, if it exited by itself.
//!
//! # Expectations
//!
//! The expectations of a thread begin with zeros, and continue from frame to frame.
//!
//! The expected shape is the latest one in the same context, of 2<sup>14</sup> contexts. A word of 32 bits holds the history: after
//! each shape it is shifted left by 11, and takes the product of the shape and `85ebca6b` by exclusive or. The context is bits 31:18
//! of the product of the history and `9e3779b9`.
//!
//! Each access has one of 2<sup>14</sup> slots. The first shape defined for a block gives the block as many slots as the shape has
//! accesses, after the slots of earlier blocks; the accesses of all shapes of the block have these slots and the following ones.
//! A slot has the latest address, the stride (32 bits), the latest difference (its low 16 bits), and a score from -2 to 1. The
//! region of an address is the exclusive or of its bits 27:20 and 35:28. Each region has its latest difference.
//!
//! The expected address is the latest address of the slot plus the stride if the score is at least 0, and otherwise plus the
//! difference of the region of the latest address. The real address raises the score by 1 if only the stride was right, and lowers
//! it by 1 if only the region was. Its difference to the latest address becomes the difference of that region. If the low 16 bits of
//! two differences in a row are equal, the difference becomes the stride.
#![forbid(unsafe_code)]

mod bytes;
mod definitions;
mod encoder;
mod frame;
mod log;
mod predictor;

pub use bytes::{Rest, hash, literal, sign_extended};
pub use definitions::{
    BlockDefinition, Definitions, Exit, MOST_DEFINED, MOST_INSTRUCTIONS, Slots, TooMuchCode,
};
pub use encoder::{Encoder, LONG_RUN, MOST_ACCESSES, RUN_SHIFT, WRONG_SHAPE};
pub use frame::{FILE_HEADER, FRAME_HEADER, Frame, FrameKind, Mapping, Program, Stored, with_data};
pub use log::{BlockAccess, Log, Order};
pub use predictor::{PackedPredictor, Predictor};
