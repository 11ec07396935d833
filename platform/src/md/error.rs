//! What is wrong with a description, and where.

use core::fmt;

use crate::MachineError;

/// Bytes that are no machine description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MdError {
    /// Where: of the header's field or the element, from the first byte of the description.
    pub offset: usize,
    /// What is wrong there.
    pub what: Defect,
}

/// What is wrong with the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Defect {
    /// Not even a header.
    NoHeader,
    /// Another transport version, major and minor.
    Version(u16, u16),
    /// The node block is not made of elements of 16 bytes.
    NodeBlockSize(u32),
    /// A block ends behind the last byte.
    BlockSize(u32),
    /// No element ends the list.
    NoListEnd,
    /// An element that there is not.
    Tag(u8),
    /// The two bytes that are 0 are not.
    Reserved,
    /// A name that is outside of the name block.
    NameOutside,
    /// A name that does not end where its length says.
    NameLength,
    /// A name that is not UTF-8.
    NameText,
    /// A string or data outside of the data block.
    DataOutside,
    /// A string that does not end where its length says.
    StringLength,
    /// A string that is not UTF-8.
    StringText,
    /// A node that begins inside of another.
    NodeInNode,
    /// A node that does not end.
    NodeOpen,
    /// A property or the end of a node, outside of all nodes.
    OutsideNode,
    /// The next node is not where the node says, but at this element.
    NextNode(usize),
    /// An arc to an element that is no node.
    ArcTarget(u64),
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHeader => f.write_str("shorter than a header of 16 bytes"),
            Self::Version(major, minor) => {
                write!(
                    f,
                    "transport version {major}.{minor}, expected 1.0: no machine description"
                )
            }
            Self::NodeBlockSize(size) => {
                write!(f, "a node block of {size} bytes, expected a multiple of 16")
            }
            Self::BlockSize(size) => write!(f, "a block of {size} bytes, which are not all there"),
            Self::NoListEnd => f.write_str("the list of nodes does not end"),
            Self::Tag(tag) => write!(f, "there is no element with tag {tag:#04x}"),
            Self::Reserved => f.write_str("the reserved bytes of the element are not 0"),
            Self::NameOutside => f.write_str("the name is outside of the name block"),
            Self::NameLength => f.write_str("the name does not end where its length says"),
            Self::NameText => f.write_str("the name is not UTF-8"),
            Self::DataOutside => f.write_str("the value is outside of the data block"),
            Self::StringLength => f.write_str("the string does not end where its length says"),
            Self::StringText => f.write_str("the string is not UTF-8"),
            Self::NodeInNode => {
                f.write_str("a node begins before the one in front of it has ended")
            }
            Self::NodeOpen => f.write_str("the list ends before the node does"),
            Self::OutsideNode => f.write_str("the element is outside of all nodes"),
            Self::NextNode(element) => {
                write!(
                    f,
                    "the next node is at element {element}, which the node does not say"
                )
            }
            Self::ArcTarget(element) => write!(f, "an arc to element {element}, which is no node"),
        }
    }
}

impl fmt::Display for MdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {:#x}: {}", self.offset, self.what)
    }
}

impl core::error::Error for MdError {}

/// A node that does not say what it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeError<'a> {
    /// The name of the node.
    pub node: &'a str,
    /// Where the node is, or the property that is wrong, from the first byte of the description.
    pub offset: usize,
    /// What is wrong there.
    pub problem: Problem<'a>,
}

/// What is wrong with a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem<'a> {
    /// A property that it needs is not there.
    Missing(&'a str),
    /// The property should be a number.
    NoNumber(&'a str),
    /// The property should be a string.
    NoString(&'a str),
    /// The property is there more than once.
    PropertyTwice(&'a str),
    /// More than one arc to a node of this name.
    NodeTwice(&'a str),
    /// There are nodes of the processors, but no platform.
    NoPlatform,
    /// No machine with Victoria Falls processors has this name.
    UnknownPlatform(&'a str),
    /// A number that nothing of this kind has; and how many numbers there are.
    Number(u64, usize),
    /// Another of the same kind has the number.
    NumberTwice(u64),
    /// The processors are not numbered from 0 on: this one is missing.
    Gap(usize),
    /// Not as many processors as a machine of its family can have.
    Machine(MachineError),
    /// A clock that stands still.
    Stopped(&'a str),
}

impl fmt::Display for Problem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "has no property {name}"),
            Self::NoNumber(name) => write!(f, "property {name} is not a number"),
            Self::NoString(name) => write!(f, "property {name} is not a string"),
            Self::PropertyTwice(name) => write!(f, "property {name} is there twice"),
            Self::NodeTwice(name) => write!(f, "has two arcs to nodes {name}, expected one"),
            Self::NoPlatform => f.write_str("has processors, but the root no node platform"),
            Self::UnknownPlatform(name) => {
                let name = name.escape_default();
                write!(f, "platform {name} has no Victoria Falls processors")
            }
            Self::Number(number, count) => {
                write!(
                    f,
                    "number {number}, expected one of 0 to {}",
                    count.saturating_sub(1)
                )
            }
            Self::NumberTwice(number) => write!(f, "number {number} is there twice"),
            Self::Gap(number) => write!(f, "number {number} is missing"),
            Self::Machine(error) => error.fmt(f),
            Self::Stopped(name) => write!(f, "property {name} is 0"),
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
