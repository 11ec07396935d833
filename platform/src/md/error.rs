//! The errors of a machine description.

use core::fmt;

use crate::MachineError;

/// Defines an enum whose variants each have a message.
macro_rules! messages {
    (
        $(#[$about:meta])*
        pub enum $name:ident $(<$life:lifetime>)? {
            $($(#[$doc:meta])* $variant:ident $(($($field:ident: $type:ty),*))? =
                $message:literal $(, $key:ident = $value:expr)?;)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name $(<$life>)? {
            $($(#[$doc])* #[doc = concat!("Message: `", $message, "`.")] $variant $(($($type),*))?,)*
        }

        impl $(<$life>)? fmt::Display for $name $(<$life>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant $(($($field),*))? => write!(f, $message $(, $key = $value)?),)*
                }
            }
        }
    };
}

/// The error of [`Md::new`](super::Md::new): the bytes are not a machine description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MdError {
    /// The offset of the defective header field or element from the first byte of the description.
    pub offset: usize,
    /// The format rule that the field or element violates.
    pub what: Defect,
}

messages! {
    /// A violation of the format. Sizes are in bytes. "The element" is the element at [`MdError::offset`].
    pub enum Defect {
        NoHeader = "shorter than a header of 16 bytes";
        Version(major: u16, minor: u16) =
            "transport version {major}.{minor}, expected 1.0: not a machine description";
        NodeBlockSize(size: u32) = "a node block of {size} bytes, expected a multiple of 16";
        BlockSize(size: u32) = "a block of {size} bytes, more than the description has";
        NoListEnd = "the list of nodes has no end";
        Tag(tag: u8) = "unknown element tag {tag:#04x}";
        Reserved = "the reserved bytes of the element are not 0";
        NameOutside = "the name is outside of the name block";
        /// The length is not the distance from the start of the name to its NUL.
        NameLength = "the length of the name is wrong";
        NameText = "the name is not UTF-8";
        DataOutside = "the value is outside of the data block";
        /// The length is not the size of the string with its NUL.
        StringLength = "the length of the string is wrong";
        StringText = "the string is not UTF-8";
        NodeInNode = "the node begins inside another node";
        NodeOpen = "the node has no end";
        OutsideNode = "the element is outside of all nodes";
        NextNode(element: usize) = "wrong index of the next node, expected {element}";
        ArcTarget(element: u64) = "an arc to element {element}, where no node begins";
    }
}

impl fmt::Display for MdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {:#x}: {}", self.offset, self.what)
    }
}

impl core::error::Error for MdError {}

/// The error of a node that lacks a property or has wrong content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeError<'a> {
    /// The name of the node whose content is wrong.
    pub node: &'a str,
    /// The offset of the wrong property from the first byte of the description. If no single property is wrong, this is the node's offset.
    pub offset: usize,
    /// What is wrong with the property or node.
    pub problem: Problem<'a>,
}

messages! {
    /// What can be wrong with the content of a node. A string is the name of a property, child or platform.
    pub enum Problem<'a> {
        Missing(name: &'a str) = "has no property {name}";
        NotANumber(name: &'a str) = "property {name} is not a number";
        NotAString(name: &'a str) = "property {name} is not a string";
        DuplicateProperty(name: &'a str) = "property {name} is there twice";
        DuplicateChild(name: &'a str) = "has two arcs to nodes {name}, expected one";
        NoPlatform = "describes processors, but the root has no node platform";
        UnknownPlatform(name: &'a str) = "platform {name} has no Victoria Falls processors",
            name = name.escape_default();
        /// The valid identifiers are 0 to `count` - 1.
        Id(id: u64, count: usize) = "id {id}, expected 0 to {last}", last = count.saturating_sub(1);
        /// Another node of the same kind has the same `id`.
        DuplicateId(id: u64) = "id {id} is there twice";
        /// There is a gap in the processor numbers, which start at 0.
        MissingId(id: usize) = "id {id} is missing";
        /// The machine family has no machine with this number of processors.
        Machine(error: MachineError) = "{error}";
        Interleave(bytes: u64) = "memory interleaves by {bytes} bytes, expected 512 or 1073741824";
        ZeroFrequency(name: &'a str) = "property {name} is 0";
    }
}

impl fmt::Display for NodeError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (node, Self { offset, problem, .. }) = (self.node.escape_default(), self);
        write!(f, "offset {offset:#x}: node {node}: {problem}")
    }
}

impl core::error::Error for NodeError<'_> {}
