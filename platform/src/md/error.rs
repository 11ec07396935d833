//! The errors of a machine description.

use core::fmt;

use crate::MachineError;

/// The error of [`Md::new`](super::Md::new): the bytes are not a machine description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MdError {
    /// The offset of the defective header field or element from the first byte of the description.
    pub offset: usize,
    /// The defect.
    pub what: Defect,
}

/// A violation of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Defect {
    /// There are fewer bytes than a header has.
    NoHeader,
    /// The transport version, given as major and minor, is not 1.x.
    Version(u16, u16),
    /// The size of the node block, given in bytes, is not a multiple of the size of an element.
    NodeBlockSize(u32),
    /// A block, of this size in bytes, extends past the end of the bytes.
    BlockSize(u32),
    /// The node block has no element that ends the list.
    NoListEnd,
    /// The tag of the element is unknown.
    Tag(u8),
    /// The two reserved bytes of the element are not 0.
    Reserved,
    /// The name extends past the end of the name block.
    NameOutside,
    /// The length of the name is not the distance to its NUL.
    NameLength,
    /// The name is not UTF-8.
    NameText,
    /// The string or data extends past the end of the data block.
    DataOutside,
    /// The length of the string is not the distance to its NUL, inclusive.
    StringLength,
    /// The string is not UTF-8.
    StringText,
    /// The node begins inside another node.
    NodeInNode,
    /// The node has no end.
    NodeOpen,
    /// The property, or the end of a node, is outside of all nodes.
    OutsideNode,
    /// The node holds a wrong index of the next node, which begins at this element.
    NextNode(usize),
    /// The arc leads to this element, which is not the first of a node.
    ArcTarget(u64),
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHeader => f.write_str("shorter than a header of 16 bytes"),
            Self::Version(major, minor) => {
                write!(
                    f,
                    "transport version {major}.{minor}, expected 1.0: not a machine description"
                )
            }
            Self::NodeBlockSize(size) => {
                write!(f, "a node block of {size} bytes, expected a multiple of 16")
            }
            Self::BlockSize(size) => {
                write!(f, "a block of {size} bytes, more than the description has")
            }
            Self::NoListEnd => f.write_str("the list of nodes has no end"),
            Self::Tag(tag) => write!(f, "unknown element tag {tag:#04x}"),
            Self::Reserved => f.write_str("the reserved bytes of the element are not 0"),
            Self::NameOutside => f.write_str("the name is outside of the name block"),
            Self::NameLength => f.write_str("the length of the name is wrong"),
            Self::NameText => f.write_str("the name is not UTF-8"),
            Self::DataOutside => f.write_str("the value is outside of the data block"),
            Self::StringLength => f.write_str("the length of the string is wrong"),
            Self::StringText => f.write_str("the string is not UTF-8"),
            Self::NodeInNode => f.write_str("the node begins inside another node"),
            Self::NodeOpen => f.write_str("the node has no end"),
            Self::OutsideNode => f.write_str("the element is outside of all nodes"),
            Self::NextNode(element) => {
                write!(f, "wrong index of the next node, expected {element}")
            }
            Self::ArcTarget(element) => {
                write!(f, "an arc to element {element}, where no node begins")
            }
        }
    }
}

impl fmt::Display for MdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {:#x}: {}", self.offset, self.what)
    }
}

impl core::error::Error for MdError {}

/// The error of a node whose content is not as expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeError<'a> {
    /// The name of the node.
    pub node: &'a str,
    /// The offset of the wrong property, or else of the node, from the first byte of the description.
    pub offset: usize,
    /// The problem.
    pub problem: Problem<'a>,
}

/// A problem with the content of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem<'a> {
    /// The node lacks the required property with this name.
    Missing(&'a str),
    /// The property with this name is not a number.
    NotANumber(&'a str),
    /// The property with this name is not a string.
    NotAString(&'a str),
    /// The node has several properties with this name.
    DuplicateProperty(&'a str),
    /// The node has several children with this name.
    DuplicateChild(&'a str),
    /// The description has processors, but no platform.
    NoPlatform,
    /// No platform with Victoria Falls processors has this name.
    UnknownPlatform(&'a str),
    /// The property `id` is this number, which is not below the limit that follows.
    Id(u64, usize),
    /// Another node of the same kind has this number as its `id` too.
    DuplicateId(u64),
    /// The processors are not numbered from 0 without a gap: none has this number.
    MissingId(usize),
    /// The family of machines has none with this number of processors.
    Machine(MachineError),
    /// The property with this name, a frequency, is 0.
    ZeroFrequency(&'a str),
}

impl fmt::Display for Problem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "has no property {name}"),
            Self::NotANumber(name) => write!(f, "property {name} is not a number"),
            Self::NotAString(name) => write!(f, "property {name} is not a string"),
            Self::DuplicateProperty(name) => write!(f, "property {name} is there twice"),
            Self::DuplicateChild(name) => write!(f, "has two arcs to nodes {name}, expected one"),
            Self::NoPlatform => {
                f.write_str("describes processors, but the root has no node platform")
            }
            Self::UnknownPlatform(name) => {
                let name = name.escape_default();
                write!(f, "platform {name} has no Victoria Falls processors")
            }
            Self::Id(id, count) => {
                write!(f, "id {id}, expected 0 to {}", count.saturating_sub(1))
            }
            Self::DuplicateId(id) => write!(f, "id {id} is there twice"),
            Self::MissingId(id) => write!(f, "id {id} is missing"),
            Self::Machine(error) => error.fmt(f),
            Self::ZeroFrequency(name) => write!(f, "property {name} is 0"),
        }
    }
}

impl fmt::Display for NodeError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            node,
            offset,
            problem,
        } = self;
        let node = node.escape_default();
        write!(f, "offset {offset:#x}: node {node}: {problem}")
    }
}

impl core::error::Error for NodeError<'_> {}
