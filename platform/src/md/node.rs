//! Nodes, and what is looked up in them.

use core::fmt;

use super::FORWARD;
use super::error::{NodeError, Problem};
use super::reader::{Element, Md, offset};

/// A node of a machine description.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    md: Md<'a>,
    index: usize,
}

/// A property of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Property<'a> {
    name: &'a str,
    value: Value<'a>,
    index: usize,
}

/// What a property holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// An arc to a node.
    Arc(Node<'a>),
    /// A number.
    Number(u64),
    /// A string, without its NUL.
    String(&'a str),
    /// Bytes.
    Data(&'a [u8]),
}

impl<'a> Property<'a> {
    pub(super) const fn new(name: &'a str, value: Value<'a>, index: usize) -> Self {
        Self { name, value, index }
    }

    /// Its name. Several properties of a node may have the same.
    pub const fn name(self) -> &'a str {
        self.name
    }

    /// What it holds.
    pub const fn value(self) -> Value<'a> {
        self.value
    }

    /// Where its element is, from the first byte of the description.
    pub const fn offset(self) -> usize {
        offset(self.index)
    }
}

impl<'a> Node<'a> {
    pub(super) const fn new(md: Md<'a>, index: usize) -> Self {
        Self { md, index }
    }

    /// Its name. Several nodes may have the same.
    pub fn name(self) -> &'a str {
        self.md.node_name(self.index)
    }

    /// The index of its first element, which [`Md::node`] takes and arcs hold.
    pub const fn index(self) -> usize {
        self.index
    }

    /// Where its first element is, from the first byte of the description.
    pub const fn offset(self) -> usize {
        offset(self.index)
    }

    /// Its properties, in their order.
    pub fn properties(self) -> impl Iterator<Item = Property<'a>> {
        (self.index.saturating_add(1)..self.md.elements())
            .map_while(move |index| match self.md.element(index) {
                Ok(Element::Property(property)) => Some(Some(property)),
                Ok(Element::Nothing) => Some(None),
                _ => None,
            })
            .flatten()
    }

    /// The property with this name; `None` if there is none.
    ///
    /// # Errors
    /// There are two.
    pub fn property(self, name: &str) -> Result<Option<Property<'a>>, NodeError<'a>> {
        let mut named = self.properties().filter(|property| property.name == name);
        let first = named.next();
        match named.next() {
            Some(second) => Err(self.error_at(second, Problem::PropertyTwice(second.name))),
            None => Ok(first),
        }
    }

    /// The number with this name; `None` if there is none.
    ///
    /// # Errors
    /// There are two properties with the name, or it is no number.
    pub fn number(self, name: &str) -> Result<Option<u64>, NodeError<'a>> {
        match self.property(name)? {
            None => Ok(None),
            Some(property) => match property.value {
                Value::Number(number) => Ok(Some(number)),
                _ => Err(self.error_at(property, Problem::NoNumber(property.name))),
            },
        }
    }

    /// The string with this name; `None` if there is none.
    ///
    /// # Errors
    /// There are two properties with the name, or it is no string.
    pub fn string(self, name: &str) -> Result<Option<&'a str>, NodeError<'a>> {
        match self.property(name)? {
            None => Ok(None),
            Some(property) => match property.value {
                Value::String(string) => Ok(Some(string)),
                _ => Err(self.error_at(property, Problem::NoString(property.name))),
            },
        }
    }

    /// The number with this name, which must be there.
    ///
    /// # Errors
    /// It is not there once, or no number.
    pub fn needed_number(self, name: &'static str) -> Result<u64, NodeError<'a>> {
        self.number(name)?.ok_or(self.error(Problem::Missing(name)))
    }

    /// The nodes that its arcs of this name lead to, in their order.
    pub fn arcs(self, name: &str) -> impl Iterator<Item = Node<'a>> {
        self.properties()
            .filter(move |property| property.name == name)
            .filter_map(|property| match property.value {
                Value::Arc(target) => Some(target),
                _ => None,
            })
    }

    /// The nodes of this name that belong to it: that its arcs `fwd` lead to.
    pub fn children(self, name: &str) -> impl Iterator<Item = Node<'a>> {
        self.arcs(FORWARD).filter(move |node| node.name() == name)
    }

    /// The node of this name that belongs to it; `None` if none does.
    ///
    /// # Errors
    /// Two do.
    pub fn child(self, name: &str) -> Result<Option<Node<'a>>, NodeError<'a>> {
        let mut children = self.children(name);
        let first = children.next();
        match children.next() {
            Some(second) => Err(self.error(Problem::NodeTwice(second.name()))),
            None => Ok(first),
        }
    }

    /// Something is wrong with the node.
    pub fn error(self, problem: Problem<'a>) -> NodeError<'a> {
        NodeError {
            node: self.name(),
            offset: self.offset(),
            problem,
        }
    }

    fn error_at(self, property: Property<'a>, problem: Problem<'a>) -> NodeError<'a> {
        NodeError {
            node: self.name(),
            offset: property.offset(),
            problem,
        }
    }
}

/// The same node of the same description.
impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index && self.md.is(other.md)
    }
}

impl Eq for Node<'_> {}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at element {}", self.name(), self.index)
    }
}
