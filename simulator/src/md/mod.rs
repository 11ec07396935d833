//! Machine descriptions on the host: as a person writes them ([`parse`], [`print()`]), as firmware reads them
//! ([`Description::build`], [`Description::read`]), and all of it in between.
//!
//! The source of a description is TOML. A table is a node; the order of tables, and of the properties in them, is that of
//! the description:
//!
//! ```toml
//! [root]
//! fwd = ["cpu-0", "cpu-1"]             # arcs, to the nodes with these labels
//!
//! [cpu-0]                              # the name of the node is cpu
//! pid = 0                              # a number of 64 bits
//! name = "first"                       # a string
//! key = { data = "00 ff" }             # data
//! compatible = { strings = ["sun4v"] } # data: strings, each ended by a NUL
//!
//! [cpu-1]
//! ```
//!
//! The label of a node is its name; with a number behind a `-` where several nodes have the name, or it ends in that way
//! itself. [`print()`] numbers those from 0 in their order. A property that is there more than once is an array, in which
//! strings are arcs, and a string is `{ string = "first" }`.
//!
//! [`print()`] of what [`parse`] has read gives the source back, but for comments and layout, if it uses these numbers.

mod binary;
mod described;
mod label;
mod parse;
mod print;

pub use binary::Unfit;
pub use described::{Described, DescribedError, FileError, Guest, Platform, build, load, read};
pub use parse::{SourceError, parse};
pub use print::print;

/// A machine description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Its nodes, the root first.
    pub nodes: Vec<Node>,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its properties.
    pub properties: Vec<Property>,
}

/// A property of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub value: Value,
}

/// What a property holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// An arc to the node with this index in [`Description::nodes`].
    Arc(usize),
    /// A number.
    Number(u64),
    /// A string.
    String(String),
    /// Bytes.
    Data(Vec<u8>),
}
