//! Converts descriptions to and from the binary format (see `platform::md`).

use std::collections::HashMap;

use platform::md::{self, Md};

use super::{Description, Node, Property, Value};

const NAMES_ALIGN: usize = 16;
const DATA_ALIGN: usize = 8;

/// The error for a description that has no binary form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A name of more than 255 bytes.
    #[error("the name '{}...' has {} bytes, expected at most 255", start(.0), .0.len())]
    LongName(String),
    /// A name or string that contains a NUL.
    #[error("'{}' contains a NUL, which ends a string", .0.escape_default())]
    Nul(String),
    /// An arc to a node that does not exist.
    #[error("an arc to node {0}, which does not exist")]
    Arc(usize),
    /// A block of 4 GB or more.
    #[error("a block of the description has 4 GB or more")]
    Size,
}

/// Returns the first characters of a name, escaped for an error message.
fn start(name: &str) -> String {
    let start: String = name.chars().take(20).collect();
    start.escape_default().to_string()
}

impl Description {
    /// Reads a binary description. Skips removed nodes and properties.
    pub fn read(md: Md<'_>) -> Self {
        let numbers: HashMap<usize, usize> = md.nodes().map(md::Node::index).zip(0..).collect();
        let value = |value: md::Value<'_>| match value {
            md::Value::Arc(node) => Value::Arc(numbers[&node.index()]),
            md::Value::Number(number) => Value::Number(number),
            md::Value::String(string) => Value::String(string.to_owned()),
            md::Value::Data(data) => Value::Data(data.to_owned()),
        };
        let mut nodes = Vec::new();
        for node in md.nodes() {
            let properties = node.properties().map(|property| Property {
                name: property.name().to_owned(),
                value: value(property.value()),
            });
            nodes.push(Node { name: node.name().to_owned(), properties: properties.collect() });
        }
        Self { nodes }
    }

    /// Builds the binary description.
    ///
    /// # Errors
    /// The binary format cannot hold the description.
    pub fn build(&self) -> Result<Vec<u8>, BuildError> {
        let mut starts = Vec::new();
        let mut elements = 0;
        for node in &self.nodes {
            starts.push(elements);
            elements += 1 + node.properties.len() + 1;
        }
        let mut blocks = Blocks::default();
        for (node, start) in self.nodes.iter().zip(&starts) {
            let next = start + 1 + node.properties.len() + 1;
            blocks.element(b'N', &node.name, next as u64)?;
            for Property { name, value } in &node.properties {
                match value {
                    Value::Arc(node) => {
                        let target = starts.get(*node).ok_or(BuildError::Arc(*node))?;
                        blocks.element(b'a', name, *target as u64)?;
                    }
                    Value::Number(number) => blocks.element(b'v', name, *number)?,
                    Value::String(string) => {
                        let place = blocks.data(&terminated(string)?)?;
                        blocks.element(b's', name, place)?;
                    }
                    Value::Data(data) => {
                        let place = blocks.data(data)?;
                        blocks.element(b'd', name, place)?;
                    }
                }
            }
            blocks.bare(b'E');
        }
        blocks.bare(0);
        blocks.finish()
    }
}

/// The blocks of a binary description under construction.
#[derive(Default)]
struct Blocks {
    elements: Vec<u8>,
    names: Vec<u8>,
    data: Vec<u8>,
    offsets: HashMap<String, u32>,
}

impl Blocks {
    /// Appends an element that has only a tag.
    fn bare(&mut self, tag: u8) {
        self.elements.push(tag);
        self.elements.extend([0; 15]);
    }

    fn element(&mut self, tag: u8, name: &str, value: u64) -> Result<(), BuildError> {
        let length = u8::try_from(name.len()).map_err(|_| BuildError::LongName(name.to_owned()))?;
        let offset = self.name(name)?;
        self.elements.extend([tag, length, 0, 0]);
        self.elements.extend(offset.to_be_bytes());
        self.elements.extend(value.to_be_bytes());
        Ok(())
    }

    fn name(&mut self, name: &str) -> Result<u32, BuildError> {
        if let Some(offset) = self.offsets.get(name) {
            return Ok(*offset);
        }
        let offset = size(&self.names)?;
        self.names.extend(terminated(name)?);
        self.offsets.insert(name.to_owned(), offset);
        Ok(offset)
    }

    /// Appends `bytes`. Returns their length and offset, encoded as the value of an element.
    fn data(&mut self, bytes: &[u8]) -> Result<u64, BuildError> {
        let place = u64::from(size(bytes)?) << 32 | u64::from(size(&self.data)?);
        self.data.extend(bytes);
        pad(&mut self.data, DATA_ALIGN);
        Ok(place)
    }

    fn finish(mut self) -> Result<Vec<u8>, BuildError> {
        pad(&mut self.names, NAMES_ALIGN);
        let blocks = [self.elements, self.names, self.data];
        let mut bytes = vec![0, 1, 0, 0];
        for block in &blocks {
            bytes.extend(size(block)?.to_be_bytes());
        }
        bytes.extend(blocks.concat());
        Ok(bytes)
    }
}

fn pad(bytes: &mut Vec<u8>, align: usize) {
    bytes.resize(bytes.len().next_multiple_of(align), 0);
}

fn size(bytes: &[u8]) -> Result<u32, BuildError> {
    u32::try_from(bytes.len()).map_err(|_| BuildError::Size)
}

fn terminated(text: &str) -> Result<Vec<u8>, BuildError> {
    if text.contains('\0') {
        return Err(BuildError::Nul(text.to_owned()));
    }
    Ok(text.bytes().chain([0]).collect())
}
