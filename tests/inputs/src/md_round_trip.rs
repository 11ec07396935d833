//! Machine descriptions there and back: what is read from bytes or from a source is the same after it was built, and
//! after it was printed, and so is what it says of the machine and its guests.

use platform::md::Md;
use simulator::md::{Described, Description, Property, parse, print};

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// Neither a description nor a source.
    Nothing,
    /// A description of so many nodes.
    Description(usize),
    /// The source of a description of so many nodes.
    Source(usize),
}

/// Reads these bytes as a description and as a source.
///
/// # Panics
/// If something does not hold.
pub fn check(bytes: &[u8]) -> Read {
    if let Ok(md) = Md::new(bytes) {
        let description = Description::read(md);
        let again = built(&description);
        // It may have had names twice and gaps; now it has not.
        assert_eq!(meaning(&again), meaning(bytes));
        there_and_back(&description);
        return Read::Description(description.nodes.len());
    }
    let Ok(text) = str::from_utf8(bytes) else {
        return Read::Nothing;
    };
    match parse(text) {
        Ok(description) => {
            built(&description);
            there_and_back(&description);
            Read::Source(description.nodes.len())
        }
        Err(error) => {
            let lines = 1 + text.matches('\n').count();
            assert!((1..=lines).contains(&error.line), "{error}");
            assert!(!error.message.contains(char::is_control), "{error:?}");
            Read::Nothing
        }
    }
}

/// The bytes of a description, from which it can be read.
fn built(description: &Description) -> Vec<u8> {
    let bytes = description.build().expect("what was read fits");
    let md = Md::new(&bytes).expect("what was built is a description");
    assert_eq!(Description::read(md), *description);
    bytes
}

/// The source of a description, from which it can be read.
fn there_and_back(description: &Description) {
    let text = print(description);
    let again = parse(&text).unwrap_or_else(|error| panic!("{error}, in\n{text}"));
    assert_eq!(again, together(description.clone()), "{text}");
    assert_eq!(print(&again), text);
    assert_eq!(
        meaning(&built(&again)),
        meaning(&built(description)),
        "{text}"
    );
}

/// What the service learns from it.
fn meaning(bytes: &[u8]) -> Option<Described> {
    Described::new(bytes).ok()
}

/// The same with the properties of one name together, at the place of the first: a source can have them only so.
fn together(mut description: Description) -> Description {
    for node in &mut description.nodes {
        let names: Vec<String> = (node.properties.iter())
            .map(|property| property.name.clone())
            .collect();
        let first = |property: &Property| names.iter().position(|name| *name == property.name);
        node.properties.sort_by_key(first);
    }
    description
}
