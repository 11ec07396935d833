//! Machine descriptions ("MDs"): how sun4v firmware says what a machine is and who gets what of it (FWARC/2005/115).
//!
//! An MD is a list of nodes with properties: numbers, strings, data, and arcs to other nodes. In memory it is a header
//! of 16 bytes and three blocks, all big-endian:
//!
//! | block | content |
//! |---|---|
//! | header | `u32` transport version (major in the upper half, 1), and the sizes of the three blocks in bytes |
//! | nodes | elements of 16 bytes: `u8` tag, `u8` length of the name, `u16` 0, `u32` offset of the name, 8 bytes by tag |
//! | names | names of nodes and properties, each ended by a NUL |
//! | data | strings, each ended by a NUL, and data |
//!
//! | tag | element | 8 bytes |
//! |---|---|---|
//! | `N` | a node begins | `u64` index of the element of the next node |
//! | `E` | it ends | |
//! | `a` | arc | `u64` index of the element of a node |
//! | `v` | number | `u64` |
//! | `s` | string | `u32` length with its NUL, `u32` offset in the data block |
//! | `d` | data | `u32` length, `u32` offset in the data block |
//! | 0x20 | nothing: skipped | |
//! | 0 | the list ends | |
//!
//! [`Md::new`] checks all of it once, in one pass; what is read later is there and what it should be. It borrows the
//! bytes, copies and allocates nothing, and whatever the bytes are, it ends and stays within them.
//!
//! [`Md::platform`] and [`Md::machine`] say what the nodes mean, as far as they are about hardware; those names stand
//! in the documentation of [`machine`]. What an MD says of guests and their rights is not known here.

#![forbid(unsafe_code)]

mod error;
pub mod machine;
mod node;
mod reader;

pub use error::{Defect, MdError, NodeError, Problem};
pub use machine::Platform;
pub use node::{Node, Property, Value};
pub use reader::Md;

/// The name of the arcs from a node to those that belong to it.
pub const FORWARD: &str = "fwd";
/// The name of the arcs from a node to those that it belongs to.
pub const BACK: &str = "back";
/// The name of the node from which arcs lead to all others.
pub const ROOT: &str = "root";

#[cfg(test)]
mod tests;
