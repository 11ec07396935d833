//! Machine descriptions (MDs), in which sun4v firmware describes a machine and its partitions (FWARC/2005/115).
//!
//! An MD is a list of nodes with properties: numbers, strings, data and arcs to other nodes. Its format is a header and three blocks,
//! big-endian:
//!
//! | block | content |
//! |---|---|
//! | header | `u32` transport version (major, which is 1, in the upper half), `u32` size in bytes of each block |
//! | nodes | elements of 16 bytes: `u8` tag, `u8` length of the name, `u16` 0, `u32` offset of the name, 8 bytes of value |
//! | names | names of nodes and properties, each terminated by a NUL |
//! | data | strings, each terminated by a NUL, and data |
//!
//! | tag | element | value |
//! |---|---|---|
//! | `N` | start of a node | `u64` index of the first element of the next node |
//! | `E` | end of a node | |
//! | `a` | arc | `u64` index of the first element of the target node |
//! | `v` | number | `u64` |
//! | `s` | string | `u32` length including the NUL, `u32` offset in the data block |
//! | `d` | data | `u32` length, `u32` offset in the data block |
//! | 0x20 | no-op: readers skip it | |
//! | 0 | end of the list | |
//!
//! [`Md::new`] checks the whole description in one pass, so lookups cannot meet a malformed element. The reader borrows the
//! bytes, allocates nothing, and handles any bytes without a panic. [`Md::platform`] and [`Md::machine`] interpret the nodes that
//! describe hardware; [`machine`] documents these nodes. This crate does not interpret the nodes that describe guests.

#![forbid(unsafe_code)]

mod error;
pub mod machine;
mod node;
mod reader;

pub use error::{Defect, MdError, NodeError, Problem};
pub use machine::Platform;
pub use node::{Node, Property, Value};
pub use reader::Md;

/// The name of the arcs from a node to its children.
pub const FORWARD: &str = "fwd";
/// The name of the arcs from a node to its parents.
pub const BACK: &str = "back";
/// The name of the root, from which `fwd` arcs lead to all other nodes.
pub const ROOT: &str = "root";

#[cfg(test)]
mod tests;
