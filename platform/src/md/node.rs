//! Nodes and their properties.

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

/// The value of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// An arc to a node.
    #[doc(alias = "MDET_PROP_ARC")]
    Arc(Node<'a>),
    /// A number.
    #[doc(alias = "MDET_PROP_VAL")]
    Number(u64),
    /// A string, without the terminating NUL.
    #[doc(alias = "MDET_PROP_STR")]
    String(&'a str),
    /// Bytes.
    #[doc(alias = "MDET_PROP_DAT")]
    Data(&'a [u8]),
}

impl<'a> Property<'a> {
    pub(super) const fn new(name: &'a str, value: Value<'a>, index: usize) -> Self {
        Self { name, value, index }
    }

    /// Returns the name. Several properties of a node may have the same name.
    pub const fn name(self) -> &'a str {
        self.name
    }

    /// Returns the value.
    pub const fn value(self) -> Value<'a> {
        self.value
    }

    /// Returns the offset of its element from the first byte of the description.
    pub const fn offset(self) -> usize {
        offset(self.index)
    }
}

impl<'a> Node<'a> {
    pub(super) const fn new(md: Md<'a>, index: usize) -> Self {
        Self { md, index }
    }

    /// Returns the name. Several nodes may have the same name.
    pub fn name(self) -> &'a str {
        self.md.node_name(self.index)
    }

    /// Returns the index of its first element. [`Md::node`] takes this index, and arcs hold it.
    pub const fn index(self) -> usize {
        self.index
    }

    /// Returns the offset of its first element from the first byte of the description.
    pub const fn offset(self) -> usize {
        offset(self.index)
    }

    /// Returns the properties in the order of their elements.
    pub fn properties(self) -> impl Iterator<Item = Property<'a>> {
        (self.index.saturating_add(1)..self.md.elements())
            .map_while(move |index| match self.md.element(index) {
                Ok(Element::Property(property)) => Some(Some(property)),
                Ok(Element::Noop) => Some(None),
                _ => None,
            })
            .flatten()
    }

    /// Returns the property with this name; `None` if there is none.
    ///
    /// # Errors
    /// The node has several properties with this name.
    pub fn property(self, name: &str) -> Result<Option<Property<'a>>, NodeError<'a>> {
        let mut named = self.properties().filter(|property| property.name == name);
        let first = named.next();
        match named.next() {
            Some(second) => Err(self.error_at(second, Problem::DuplicateProperty(second.name))),
            None => Ok(first),
        }
    }

    /// Returns the value of the number with this name; `None` if there is no such property.
    ///
    /// # Errors
    /// The node has several properties with this name, or the property is not a number.
    pub fn number(self, name: &str) -> Result<Option<u64>, NodeError<'a>> {
        match self.property(name)? {
            None => Ok(None),
            Some(property) => match property.value {
                Value::Number(number) => Ok(Some(number)),
                _ => Err(self.error_at(property, Problem::NotANumber(property.name))),
            },
        }
    }

    /// Returns the value of the string with this name; `None` if there is no such property.
    ///
    /// # Errors
    /// The node has several properties with this name, or the property is not a string.
    pub fn string(self, name: &str) -> Result<Option<&'a str>, NodeError<'a>> {
        match self.property(name)? {
            None => Ok(None),
            Some(property) => match property.value {
                Value::String(string) => Ok(Some(string)),
                _ => Err(self.error_at(property, Problem::NotAString(property.name))),
            },
        }
    }

    /// Returns the value of the number with this name.
    ///
    /// # Errors
    /// The node has no property or several properties with this name, or the property is not a number.
    pub fn needed_number(self, name: &'static str) -> Result<u64, NodeError<'a>> {
        self.number(name)?.ok_or(self.error(Problem::Missing(name)))
    }

    /// Returns the targets of the arcs with this name, in the order of the arcs.
    pub fn arcs(self, name: &str) -> impl Iterator<Item = Node<'a>> {
        self.properties()
            .filter(move |property| property.name == name)
            .filter_map(|property| match property.value {
                Value::Arc(target) => Some(target),
                _ => None,
            })
    }

    /// Returns the children with this name: the nodes that `fwd` arcs of this node lead to.
    pub fn children(self, name: &str) -> impl Iterator<Item = Node<'a>> {
        self.arcs(FORWARD).filter(move |node| node.name() == name)
    }

    /// Returns the only child with this name; `None` if there is none.
    ///
    /// # Errors
    /// The node has several children with this name.
    pub fn child(self, name: &str) -> Result<Option<Node<'a>>, NodeError<'a>> {
        let mut children = self.children(name);
        let first = children.next();
        match children.next() {
            Some(second) => Err(self.error(Problem::DuplicateChild(second.name()))),
            None => Ok(first),
        }
    }

    /// Returns an error about the node as a whole, for those who interpret its properties.
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

/// Nodes are equal if they are the same node of the same bytes in memory.
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
