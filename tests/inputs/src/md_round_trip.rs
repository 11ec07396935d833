//! Checks round trips of machine descriptions. A description, with its machine and its guests, must not change when it is built and read
//! again, or printed and parsed again.

use platform::md::Md;
use simulator::machine::description::{Described, Description, Property, parse, print};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The input is neither a description nor a source.
    Nothing,
    /// The input is a description with this number of nodes.
    Description(usize),
    /// The input is the source of a description with this number of nodes.
    Source(usize),
}

/// Reads these bytes as a description and as a source.
pub fn check(bytes: &[u8]) -> Read {
    if let Ok(md) = Md::new(bytes) {
        let description = Description::read(md);
        let again = built(&description);
        // Unlike the input, the new bytes have no gaps and no repeated names.
        assert_eq!(meaning(&again), meaning(bytes));
        check_round_trip(&description);
        return Read::Description(description.nodes.len());
    }
    let Ok(text) = str::from_utf8(bytes) else {
        return Read::Nothing;
    };
    match parse(text) {
        Ok(description) => {
            built(&description);
            check_round_trip(&description);
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

/// Builds a description's bytes. Asserts that reading them gives the same description.
fn built(description: &Description) -> Vec<u8> {
    let bytes = description.build().expect("a description that was read can be built");
    let md = Md::new(&bytes).expect("what was built is a description");
    assert_eq!(Description::read(md), *description);
    bytes
}

/// Prints a description. Asserts that parsing the text gives the same description.
fn check_round_trip(description: &Description) {
    let text = print(description);
    let again = parse(&text).unwrap_or_else(|error| panic!("{error}, in\n{text}"));
    assert_eq!(again, together(description.clone()), "{text}");
    assert_eq!(print(&again), text);
    let meanings = [&again, description].map(|description| meaning(&built(description)));
    assert_eq!(meanings[0], meanings[1], "{text}");
}

/// Returns the machine and the guests that the bytes describe.
fn meaning(bytes: &[u8]) -> Option<Described> {
    Described::new(bytes).ok()
}

/// Moves each node's properties of the same name next to the first of them. A source has them in this order.
fn together(mut description: Description) -> Description {
    for node in &mut description.nodes {
        let names: Vec<String> =
            (node.properties.iter()).map(|property| property.name.clone()).collect();
        let first = |property: &Property| names.iter().position(|name| *name == property.name);
        node.properties.sort_by_key(first);
    }
    description
}
