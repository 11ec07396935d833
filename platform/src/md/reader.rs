//! Checks the bytes of a description, and decodes its elements.

use bitfield_struct::bitfield;

use super::error::{Defect, MdError};

/// The size of an element in bytes. The header has the same size.
const ELEMENT: usize = 16;

mod tag {
    pub(super) const LIST_END: u8 = 0;
    pub(super) const NOOP: u8 = 0x20;
    pub(super) const NODE: u8 = b'N';
    pub(super) const NODE_END: u8 = b'E';
    pub(super) const ARC: u8 = b'a';
    pub(super) const NUMBER: u8 = b'v';
    pub(super) const STRING: u8 = b's';
    pub(super) const DATA: u8 = b'd';
}

/// A machine description whose format [`new`](Self::new) has checked.
#[derive(Clone, Copy, Debug)]
pub struct Md<'a> {
    /// The elements before the end of the list.
    elements: &'a [[u8; ELEMENT]],
    names: &'a [u8],
    data: &'a [u8],
}

pub(super) enum Element<'a> {
    Noop,
    Node { next: u64 },
    NodeEnd,
    Property(&'a str, Content<'a>),
}

/// The value of a property. An arc holds the index of the first element of its target.
pub(super) enum Content<'a> {
    Arc(usize),
    Number(u64),
    String(&'a str),
    Data(&'a [u8]),
}

/// The header. The sizes of the blocks are in bytes.
#[bitfield(u128, order = Msb)]
struct Header {
    major: u16,
    minor: u16,
    nodes: u32,
    names: u32,
    data: u32,
}

#[bitfield(u128, order = Msb)]
struct Raw {
    tag: u8,
    name_length: u8,
    reserved: u16,
    name_offset: u32,
    value: u64,
}

impl Raw {
    const fn from_bytes(bytes: [u8; ELEMENT]) -> Self {
        Self::from_bits(u128::from_be_bytes(bytes))
    }
}

/// Returns the offset of an element from the first byte of the description.
pub(super) const fn offset(index: usize) -> usize {
    ELEMENT.saturating_add(index.saturating_mul(ELEMENT))
}

impl<'a> Md<'a> {
    /// Checks that `bytes` begin with a machine description. Ignores bytes after the description. The error is the first defect.
    pub fn new(bytes: &'a [u8]) -> Result<Self, MdError> {
        let header_error = |offset, what| MdError { offset, what };
        let (header, rest) =
            bytes.split_first_chunk::<ELEMENT>().ok_or(header_error(0, Defect::NoHeader))?;
        let header = Header::from_bits(u128::from_be_bytes(*header));
        if header.major() != 1 {
            let version = Defect::Version(header.major(), header.minor());
            return Err(header_error(0, version));
        }
        if !(header.nodes() as usize).is_multiple_of(ELEMENT) {
            return Err(header_error(4, Defect::NodeBlockSize(header.nodes())));
        }
        let block = |rest: &'a [u8], size: u32, field| {
            rest.split_at_checked(size as usize).ok_or(header_error(field, Defect::BlockSize(size)))
        };
        let (node_block, rest) = block(rest, header.nodes(), 4)?;
        let (names, rest) = block(rest, header.names(), 8)?;
        let (data, _) = block(rest, header.data(), 12)?;
        let (elements, _) = node_block.as_chunks::<ELEMENT>();
        let elements = elements
            .iter()
            .position(|element| Raw::from_bytes(*element).tag() == tag::LIST_END)
            .and_then(|end| elements.get(..end))
            .ok_or(header_error(4, Defect::NoListEnd))?;
        let md = Self { elements, names, data };
        md.check()?;
        Ok(md)
    }

    /// Checks three rules: every element is valid; all properties are in nodes, and no node is in another node; and each node holds the
    /// index of the next node.
    fn check(self) -> Result<(), MdError> {
        /// The position of the scan. `end` is the index of the element that ends the node.
        enum At {
            BeforeFirst,
            In { node: usize, next: u64 },
            Behind { node: usize, end: usize, next: u64 },
        }
        let error = |index, what| MdError { offset: offset(index), what };
        // The stated index of the next node may also be the index of a no-op between the two nodes.
        let check_next = |at: &At, found: usize| match *at {
            At::Behind { node, end, next } if next <= end as u64 || next > found as u64 => {
                Err(error(node, Defect::NextNode(found)))
            }
            _ => Ok(()),
        };
        let mut at = At::BeforeFirst;
        for index in 0..self.elements.len() {
            let element = self.element(index).map_err(|what| error(index, what))?;
            at = match (element, at) {
                (Element::Noop, at) => at,
                (Element::Node { .. }, At::In { .. }) => {
                    return Err(error(index, Defect::NodeInNode));
                }
                (Element::Node { next }, at) => {
                    check_next(&at, index)?;
                    At::In { node: index, next }
                }
                (Element::NodeEnd, At::In { node, next }) => {
                    let end = index;
                    At::Behind { node, end, next }
                }
                (Element::Property(..), at @ At::In { .. }) => at,
                (Element::NodeEnd | Element::Property(..), _) => {
                    return Err(error(index, Defect::OutsideNode));
                }
            };
        }
        match at {
            At::In { node, .. } => Err(error(node, Defect::NodeOpen)),
            at => check_next(&at, self.elements.len()),
        }
    }

    /// Decodes the element with this index. Beyond the last element, returns a no-op.
    pub(super) fn element(self, index: usize) -> Result<Element<'a>, Defect> {
        let Some(raw) = self.raw(index) else {
            return Ok(Element::Noop);
        };
        match raw.tag() {
            tag::NOOP => return Ok(Element::Noop),
            tag::NODE_END => return Ok(Element::NodeEnd),
            tag::NODE | tag::ARC | tag::NUMBER | tag::STRING | tag::DATA => {}
            unknown => return Err(Defect::Tag(unknown)),
        }
        if raw.reserved() != 0 {
            return Err(Defect::Reserved);
        }
        let name = self.name(raw)?;
        let content = match raw.tag() {
            tag::NODE => return Ok(Element::Node { next: raw.value() }),
            tag::ARC => Content::Arc(self.target(raw)?),
            tag::NUMBER => Content::Number(raw.value()),
            tag::STRING => Content::String(self.string(raw)?),
            _ => Content::Data(self.data(raw)?),
        };
        Ok(Element::Property(name, content))
    }

    fn raw(self, index: usize) -> Option<Raw> {
        self.elements.get(index).copied().map(Raw::from_bytes)
    }

    fn name(self, raw: Raw) -> Result<&'a str, Defect> {
        let length = u32::from(raw.name_length()) + 1;
        let name = part(self.names, raw.name_offset(), length).ok_or(Defect::NameOutside)?;
        let name = until_nul(name).ok_or(Defect::NameLength)?;
        core::str::from_utf8(name).map_err(|_| Defect::NameText)
    }

    fn string(self, raw: Raw) -> Result<&'a str, Defect> {
        let string = until_nul(self.data(raw)?).ok_or(Defect::StringLength)?;
        core::str::from_utf8(string).map_err(|_| Defect::StringText)
    }

    fn data(self, raw: Raw) -> Result<&'a [u8], Defect> {
        let (length, offset) = ((raw.value() >> 32) as u32, raw.value() as u32);
        part(self.data, offset, length).ok_or(Defect::DataOutside)
    }

    fn target(self, raw: Raw) -> Result<usize, Defect> {
        usize::try_from(raw.value())
            .ok()
            .filter(|index| self.is_node(*index))
            .ok_or(Defect::ArcTarget(raw.value()))
    }

    pub(super) fn is_node(self, index: usize) -> bool {
        self.raw(index).is_some_and(|raw| raw.tag() == tag::NODE)
    }

    pub(super) fn node_name(self, index: usize) -> &'a str {
        self.raw(index).and_then(|raw| self.name(raw).ok()).unwrap_or_default()
    }

    pub(super) fn elements(self) -> usize {
        self.elements.len()
    }

    /// Returns `true` if both descriptions are the same bytes in memory.
    pub(super) fn is(self, other: Self) -> bool {
        core::ptr::eq(self.elements, other.elements)
    }
}

/// Returns the bytes from `offset` to `offset + length` of a block; `None` if the block is too short.
fn part(block: &[u8], offset: u32, length: u32) -> Option<&[u8]> {
    block.get(offset as usize..)?.get(..length as usize)
}

/// Returns the bytes before the terminating NUL. Returns `None` if the last byte is not NUL, or another byte is NUL.
fn until_nul(bytes: &[u8]) -> Option<&[u8]> {
    match bytes.split_last() {
        Some((0, text)) if !text.contains(&0) => Some(text),
        _ => None,
    }
}
