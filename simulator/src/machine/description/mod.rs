//! Machine descriptions: the TOML source ([`parse()`], [`print()`]), the binary form that firmware reads ([`Description::build`],
//! [`Description::read`]), and [`Description`], which both forms become.
//!
//! In the source, a table is a node. Tables, and the properties in a table, are in the order of the description:
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
//! A node's label is its name. If several nodes have the same name, or if the name itself ends in `-` and a number, the label is the
//! name followed by `-` and a number. [`print()`] counts these numbers from 0 for each name, in the order of the nodes. A property
//! that occurs more than once is written as an array. In an array, a plain string is an arc, and a string property is written as
//! `{ string = "first" }`.
//!
//! If a source numbers its nodes in this way, [`parse()`] and then [`print()`] return the same source, except for comments and layout.

mod binary;
mod builder;
mod described;
mod label;
mod parse;
mod print;

pub use binary::BuildError;
pub use builder::GuestMemory;
pub use described::{Described, DescribedError, GuestDescription, Platform, build, load, read};
pub use parse::{SourceError, parse};
pub use print::print;

/// A machine description, which consists of nodes with properties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The nodes. The first is the root.
    pub nodes: Vec<Node>,
}

/// A node, which has a name and properties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// The node's name. Other nodes may have the same name.
    pub name: String,
    /// The properties in order. Their names may repeat.
    pub properties: Vec<Property>,
}

/// A node's named value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// The name, such as `fwd`.
    pub name: String,
    /// The value: an arc, a number, a string or data.
    pub value: Value,
}

/// The value of a property: one of the four types of the binary form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// An arc to the node with this index in [`Description::nodes`].
    Arc(usize),
    /// A number. Its tag in the binary form is `v`.
    Number(u64),
    /// A string, without the NUL that ends it in the binary form.
    String(String),
    /// Bytes whose meaning depends on the property.
    Data(Vec<u8>),
}
