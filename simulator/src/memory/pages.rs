//! Models where an operating system puts programs' pages.

use std::fmt;
use std::str::FromStr;

use guest_abi::Node;
use platform::{Homes, Machine};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The binary logarithm of the size of sun4v's base page, which is 8 KB.
pub(super) const PAGE_SHIFT: u32 = 13;

/// The size of sun4v's largest page: 256 MB.
const MAX_PAGE_BYTES: u64 = 256 << 20;

/// The rule that places programs' pages on nodes. Programs do not share pages.
///
/// The rule determines only a line's home node. The cache sets, the L2 bank, the channel within the node and the hub follow from
/// the physical address alone, as if the operating system gave each page a frame of the page's color.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pages {
    /// The machine's [interleave](platform::homes) maps each address to a node, so parts of one page can be on different nodes.
    #[default]
    Hardware,
    /// An 8 KB page is on the node of the strand that touches it first, in the order of the strands' turns. If that node has no
    /// memory, the page is on a node with memory.
    FirstTouch,
    /// All pages are on one node.
    Node(Node),
    /// The nodes take turns: each gets one page of this size, in address order.
    Interleave(PageSize),
}

/// A page size: a power of two, from 8 KB to 256 MB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSize {
    shift: u32,
}

impl PageSize {
    /// Returns a page size of this number of bytes; `None` if pages cannot have this size.
    #[must_use]
    pub fn new(bytes: u64) -> Option<Self> {
        let fits = bytes.is_power_of_two() && (1 << PAGE_SHIFT..=MAX_PAGE_BYTES).contains(&bytes);
        fits.then(|| Self { shift: bytes.trailing_zeros() })
    }

    /// Returns the size of a page in bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        1 << self.shift
    }

    /// Returns the binary logarithm of the size in bytes.
    pub(super) const fn shift(self) -> u32 {
        self.shift
    }
}

/// Prints the size with the suffix K or M.
impl fmt::Display for PageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes() {
            bytes if bytes < 1 << 20 => write!(f, "{}K", bytes >> 10),
            bytes => write!(f, "{}M", bytes >> 20),
        }
    }
}

/// Why a text cannot be parsed as a rule for page placement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum ParsePagesError {
    #[error("found '{0}', expected hardware, first-touch, node:N or interleave:SIZE")]
    Unknown(String),
    #[error("found node '{0}', expected 0 to 3")]
    Node(String),
    #[error(
        "found a page of '{0}' bytes, expected a power of two from 8K to 256M, such as 8192, 64K or 4M"
    )]
    Size(String),
}

/// The error for a rule that puts all pages on a node without memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the machine has no memory on node {}, expected another node for all pages", .0.index())]
pub struct NoMemoryOnNode(pub Node);

impl Pages {
    /// Checks that, if the rule puts all pages on one node, the machine has memory on that node. All other rules suit every
    /// machine.
    pub(super) fn check(self, machine: &Machine) -> Result<(), NoMemoryOnNode> {
        match (self, Homes::new(*machine)) {
            (Self::Node(node), Some(homes)) if !homes.nodes().contains(&node) => {
                Err(NoMemoryOnNode(node))
            }
            _ => Ok(()),
        }
    }
}

/// The node of each page that has been touched. Each page takes one byte, in blocks that are allocated when they are needed. Even
/// if a program touches all memory that a physical address can reach, the blocks take only 64 MB of the host's memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    /// The blocks of pages, up to the last block in which a page has been touched.
    blocks: Vec<Option<Box<Block>>>,
}

type Block = [Option<Node>; PAGES_PER_BLOCK];

const PAGES_PER_BLOCK: usize = 4096;

impl Touched {
    /// Returns the node of a page; `None` if the page has not been touched.
    #[inline]
    pub(super) fn get(&self, page: u64) -> Option<Node> {
        let block = self.blocks.get(page as usize / PAGES_PER_BLOCK)?.as_ref()?;
        block[page as usize % PAGES_PER_BLOCK]
    }

    /// Puts a page on a node, unless the page has been touched before.
    #[inline]
    pub(super) fn touch(&mut self, page: u64, node: Node) {
        let number = page as usize / PAGES_PER_BLOCK;
        if number >= self.blocks.len() {
            self.blocks.resize(number + 1, None);
        }
        let block = self.blocks[number].get_or_insert_with(|| Box::new([None; PAGES_PER_BLOCK]));
        block[page as usize % PAGES_PER_BLOCK].get_or_insert(node);
    }
}

impl fmt::Display for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hardware => f.write_str("hardware"),
            Self::FirstTouch => f.write_str("first-touch"),
            Self::Node(node) => write!(f, "node:{}", node.index()),
            Self::Interleave(size) => write!(f, "interleave:{size}"),
        }
    }
}

impl FromStr for Pages {
    type Err = ParsePagesError;

    fn from_str(text: &str) -> Result<Self, ParsePagesError> {
        match text.split_once(':') {
            None if text == "hardware" => Ok(Self::Hardware),
            None if text == "first-touch" => Ok(Self::FirstTouch),
            Some(("node", number)) => {
                let node = number.parse().ok().and_then(Node::new);
                node.map(Self::Node).ok_or_else(|| ParsePagesError::Node(number.to_owned()))
            }
            Some(("interleave", size)) => {
                let size_of = size_of(size).and_then(PageSize::new).map(Self::Interleave);
                size_of.ok_or_else(|| ParsePagesError::Size(size.to_owned()))
            }
            _ => Err(ParsePagesError::Unknown(text.to_owned())),
        }
    }
}

/// Parses a number of bytes, with or without the suffix K or M. Returns `None` if the text is anything else.
fn size_of(text: &str) -> Option<u64> {
    let (number, unit) = match text.split_at_checked(text.len().checked_sub(1)?)? {
        (number, "K" | "k") => (number, 1 << 10),
        (number, "M" | "m") => (number, 1 << 20),
        _ => (text, 1),
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

impl Serialize for Pages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Pages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::Model;

    #[test]
    fn the_first_touch_counts() {
        let mut touched = Touched::default();
        let last = (1 << (39 - PAGE_SHIFT)) - 1;
        for (page, node) in [(5, Node::Node2), (last, Node::Node0), (5, Node::Node3)] {
            touched.touch(page, node);
        }
        assert_eq!([5, last].map(|page| touched.get(page)), [Some(Node::Node2), Some(Node::Node0)]);
        assert_eq!([0, 4, 4101, last - 1].map(|page| touched.get(page)), [None; 4]);
    }

    #[test]
    fn valid_texts_read_back() {
        for (text, pages) in [
            ("hardware", Pages::Hardware),
            ("first-touch", Pages::FirstTouch),
            ("node:3", Pages::Node(Node::Node3)),
            ("interleave:8K", Pages::Interleave(PageSize { shift: 13 })),
            ("interleave:4M", Pages::Interleave(PageSize { shift: 22 })),
            ("interleave:256M", Pages::Interleave(PageSize { shift: 28 })),
        ] {
            assert_eq!(text.parse(), Ok(pages), "{text}");
            assert_eq!(pages.to_string(), text);
        }
        assert_eq!("interleave:65536".parse::<Pages>().unwrap().to_string(), "interleave:64K");
    }

    #[test]
    fn invalid_texts_are_rejected() {
        for text in ["", "first", "node", "interleave", "hardware:1", "page:8K"] {
            assert_eq!(text.parse::<Pages>(), Err(ParsePagesError::Unknown(text.to_owned())));
        }
        for node in ["", "4", "-1", "x"] {
            let error = ParsePagesError::Node(node.to_owned());
            assert_eq!(format!("node:{node}").parse::<Pages>(), Err(error));
        }
        for size in ["", "K", "4K", "512M", "12K", "8Kß", "ß", "99999999999999999M"] {
            let error = ParsePagesError::Size(size.to_owned());
            assert_eq!(format!("interleave:{size}").parse::<Pages>(), Err(error));
        }
    }

    #[test]
    fn a_node_without_memory_has_no_pages() {
        let two = Machine::new(Model::Batoka, 2).unwrap();
        let on = |node| Pages::Node(node).check(&two);
        assert_eq!(on(Node::Node1), Ok(()));
        assert_eq!(on(Node::Node2), Err(NoMemoryOnNode(Node::Node2)));
        assert_eq!(Pages::FirstTouch.check(&two), Ok(()));
    }
}
