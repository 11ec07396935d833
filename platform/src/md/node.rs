//! Looks up nodes, properties and arcs in a checked description.

use core::fmt;

use super::FORWARD;
use super::error::{NodeError, Problem};
use super::reader::{Content, Element, Md, offset};

/// A node of a machine description: a name, and properties in order.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    md: Md<'a>,
    index: usize,
}

/// A named value of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Property<'a> {
    name: &'a str,
    value: Value<'a>,
    index: usize,
}

/// The value of a property: one of the four kinds in the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// An arc: the node to which it leads.
    #[doc(alias = "MDET_PROP_ARC")]
    Arc(Node<'a>),
    /// An unsigned 64-bit number.
    #[doc(alias = "MDET_PROP_VAL")]
    Number(u64),
    /// A string, without the terminating NUL.
    #[doc(alias = "MDET_PROP_STR")]
    String(&'a str),
    /// Bytes that need not be text.
    #[doc(alias = "MDET_PROP_DAT")]
    Data(&'a [u8]),
}

impl<'a> Property<'a> {
    /// Returns the name of the property. Several properties of a node may have the same name.
    pub const fn name(self) -> &'a str {
        self.name
    }

    /// Returns the value: an arc, a number, a string or data. [`Node::number`] and [`Node::string`] also check the kind of value.
    pub const fn value(self) -> Value<'a> {
        self.value
    }

    /// Returns the offset of the property's element from the first byte of the description.
    pub const fn offset(self) -> usize {
        offset(self.index)
    }
}

impl<'a> Md<'a> {
    /// Returns the node whose first element has this index; `None` if there is none.
    pub fn node(self, index: usize) -> Option<Node<'a>> {
        self.is_node(index).then_some(Node { md: self, index })
    }

    /// Returns all nodes, in the order of the description.
    pub fn nodes(self) -> impl Iterator<Item = Node<'a>> {
        (0..self.elements()).filter_map(move |index| self.node(index))
    }

    /// Returns the nodes with this name, in the order of the description.
    pub fn nodes_named(self, name: &str) -> impl Iterator<Item = Node<'a>> {
        self.nodes().filter(move |node| node.name() == name)
    }

    /// Returns the first node with this name; `None` if there is none.
    pub fn node_named(self, name: &str) -> Option<Node<'a>> {
        self.nodes_named(name).next()
    }
}

impl<'a> Node<'a> {
    /// Returns the name of the node. Several nodes may have the same name.
    pub fn name(self) -> &'a str {
        self.md.node_name(self.index)
    }

    /// Returns the index of the node's first element. [`Md::node`] takes this index, and arcs hold it.
    pub const fn index(self) -> usize {
        self.index
    }

    /// Returns the offset of the node's first element from the first byte of the description.
    pub const fn offset(self) -> usize {
        offset(self.index)
    }

    /// Returns the properties in the order of their elements.
    pub fn properties(self) -> impl Iterator<Item = Property<'a>> {
        let md = self.md;
        (self.index.saturating_add(1)..md.elements())
            .map_while(move |index| match md.element(index) {
                Ok(Element::Property(name, content)) => {
                    let value = match content {
                        Content::Arc(index) => Value::Arc(Node { md, index }),
                        Content::Number(number) => Value::Number(number),
                        Content::String(string) => Value::String(string),
                        Content::Data(data) => Value::Data(data),
                    };
                    Some(Some(Property { name, value, index }))
                }
                Ok(Element::Noop) => Some(None),
                _ => None,
            })
            .flatten()
    }

    /// Returns the property with this name; `None` if there is none. Fails if there are several.
    pub fn property(self, name: &str) -> Result<Option<Property<'a>>, NodeError<'a>> {
        let mut named = self.properties().filter(|property| property.name == name);
        let first = named.next();
        match named.next() {
            Some(second) => Err(self.error_at(second, Problem::DuplicateProperty(second.name))),
            None => Ok(first),
        }
    }

    /// Calls `pick` with the value of the property named `name`. If `pick` returns `None`, the error is `problem`.
    fn picked<T>(
        self,
        name: &str,
        pick: impl Fn(Value<'a>) -> Option<T>,
        problem: fn(&'a str) -> Problem<'a>,
    ) -> Result<Option<T>, NodeError<'a>> {
        let wrong = |property: Property<'a>| self.error_at(property, problem(property.name));
        self.property(name)?
            .map(|property| pick(property.value).ok_or_else(|| wrong(property)))
            .transpose()
    }

    /// Returns the number with this name; `None` if there is no such property. Fails if there are several, or if the value is not a number.
    pub fn number(self, name: &str) -> Result<Option<u64>, NodeError<'a>> {
        let number = |value| match value {
            Value::Number(number) => Some(number),
            _ => None,
        };
        self.picked(name, number, Problem::NotANumber)
    }

    /// Returns the string with this name; `None` if there is no such property. Fails if there are several, or if the value is not a string.
    pub fn string(self, name: &str) -> Result<Option<&'a str>, NodeError<'a>> {
        let string = |value| match value {
            Value::String(string) => Some(string),
            _ => None,
        };
        self.picked(name, string, Problem::NotAString)
    }

    /// Returns the number with this name. Like [`number`](Self::number), but also fails if there is no such
    /// property.
    pub fn required_number(self, name: &'static str) -> Result<u64, NodeError<'a>> {
        self.number(name)?.ok_or(self.error(Problem::Missing(name)))
    }

    /// Returns the targets of the arcs with this name, in the order of the arcs.
    pub fn arcs(self, name: &str) -> impl Iterator<Item = Node<'a>> {
        self.properties().filter(move |property| property.name == name).filter_map(|property| {
            match property.value {
                Value::Arc(target) => Some(target),
                _ => None,
            }
        })
    }

    /// Returns the children with this name: the nodes that this node's `fwd` arcs lead to.
    pub fn children(self, name: &str) -> impl Iterator<Item = Node<'a>> {
        self.arcs(FORWARD).filter(move |node| node.name() == name)
    }

    /// Returns the only child with this name; `None` if there is none. Fails if there are several.
    pub fn child(self, name: &str) -> Result<Option<Node<'a>>, NodeError<'a>> {
        let mut children = self.children(name);
        let first = children.next();
        match children.next() {
            Some(second) => Err(self.error(Problem::DuplicateChild(second.name()))),
            None => Ok(first),
        }
    }

    /// Returns an error about the node as a whole, for code that interprets its properties.
    pub fn error(self, problem: Problem<'a>) -> NodeError<'a> {
        NodeError { node: self.name(), offset: self.offset(), problem }
    }

    fn error_at(self, property: Property<'a>, problem: Problem<'a>) -> NodeError<'a> {
        NodeError { offset: property.offset(), ..self.error(problem) }
    }
}

/// Two nodes are equal if they are the same node in the same bytes of memory.
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
