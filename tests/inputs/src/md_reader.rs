//! Checks the reader of machine descriptions. If it accepts an input, all its functions must work on that input, and return only parts of
//! the input. An error must name its cause and its offset.

use perfctr_service::description::{self, GuestError};
use perfctr_service::policy;
use platform::Machine;
use platform::md::{Md, MdError, Node, NodeError, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The input is not a description.
    Nothing,
    /// The input is a description, but contradicts itself.
    Contradiction,
    /// The input describes this machine and this number of guests.
    Description(Option<Machine>, usize),
}

pub fn check(bytes: &[u8]) -> Read {
    let md = match Md::new(bytes) {
        Ok(md) => md,
        Err(error) => {
            assert_error_message(&error, error.offset, bytes);
            let MdError { offset, .. } = error;
            assert!(
                offset % 16 == 0 || [4, 8, 12].contains(&offset),
                "{error}: neither an element nor a field of the header"
            );
            return Read::Nothing;
        }
    };
    let properties: usize = md.nodes().map(|node| check_node(md, node, bytes)).sum();
    assert!(
        properties + 2 * md.nodes().count() <= bytes.len() / 16,
        "more elements than there is room for"
    );
    let platform = md.platform();
    let machine = md.machine();
    let error_of = |error: &NodeError<'_>| {
        is_within(error.node.as_bytes(), bytes);
        assert_error_message(error, error.offset, bytes);
    };
    let _ = platform.as_ref().inspect_err(|error| error_of(error));
    let _ = machine.as_ref().inspect_err(|error| error_of(error));
    if let Ok(Some(platform)) = platform {
        is_within(platform.name.as_bytes(), bytes);
        assert_ne!(platform.stick_frequency, Some(0));
    }
    // When the list of guests is checked against the machine, there can be additional errors, but never different guests.
    let all = guests(md, None, bytes);
    match machine {
        Ok(machine) => match guests(md, machine, bytes) {
            Ok(count) => {
                assert_eq!(all, Ok(count));
                Read::Description(machine, count)
            }
            Err(_) => Read::Contradiction,
        },
        Err(_) => Read::Contradiction,
    }
}

/// Returns the number of guests if the reader accepts them. In that case, the service must accept them too.
fn guests<'a>(md: Md<'a>, machine: Option<Machine>, bytes: &[u8]) -> Result<usize, GuestError<'a>> {
    let guests = description::guests(md, machine).inspect_err(|error| {
        is_within(error.node.as_bytes(), bytes);
        assert_error_message(error, error.offset, bytes);
    })?;
    let mut configs = Vec::new();
    for guest in guests {
        if let Some(name) = guest.name {
            is_within(name.as_bytes(), bytes);
        }
        assert_eq!(guest.node.name(), "guest");
        configs.push(guest.config);
    }
    let list = md.root_child("guests").expect("one list or none");
    let nodes = list.map_or(0, |list| list.children("guest").count());
    assert_eq!(configs.len(), nodes, "a guest is missing");
    if let Some(machine) = machine {
        assert_eq!(policy::check(machine, &configs), Ok(()));
    }
    Ok(configs.len())
}

/// Looks up every property of a node. Returns the number of properties.
fn check_node<'a>(md: Md<'a>, node: Node<'a>, bytes: &[u8]) -> usize {
    assert_eq!(md.node(node.index()), Some(node));
    is_text(node.name(), bytes);
    assert!(md.nodes_named(node.name()).any(|named| named == node));
    assert!(node.offset() + 16 <= bytes.len());
    let mut count = 0;
    for property in node.properties() {
        count += 1;
        let name = property.name();
        is_text(name, bytes);
        assert!(property.offset() > node.offset() && property.offset() + 16 <= bytes.len());
        let of_name = (node.properties()).filter(|other| other.name() == name).count();
        assert_eq!(node.property(name).is_ok(), of_name == 1, "{name}");
        let value = property.value();
        assert_eq!(node.number(name).is_ok(), of_name == 1 && matches!(value, Value::Number(_)));
        assert_eq!(node.string(name).is_ok(), of_name == 1 && matches!(value, Value::String(_)));
        match value {
            Value::Arc(target) => {
                assert_eq!(md.node(target.index()), Some(target));
                assert!(node.arcs(name).any(|other| other == target));
                let _ = node.child(target.name());
            }
            Value::Number(_) => {}
            Value::String(string) => is_text(string, bytes),
            Value::Data(data) => is_within(data, bytes),
        }
    }
    count
}

/// Asserts that a name or a string is in the description, without the final NUL.
fn is_text(text: &str, bytes: &[u8]) {
    is_within(text.as_bytes(), bytes);
    assert!(!text.contains('\0'), "{text:?}");
}

/// Asserts that `part` points into `bytes` and is not a copy.
fn is_within(part: &[u8], bytes: &[u8]) {
    let (part, bytes) = (part.as_ptr_range(), bytes.as_ptr_range());
    assert!(
        part.is_empty() || bytes.start <= part.start && part.end <= bytes.end,
        "outside of the description"
    );
}

/// Asserts that an error's message is one line, and that its offset is in the description.
fn assert_error_message(error: &impl ToString, offset: usize, bytes: &[u8]) {
    let text = error.to_string();
    assert!(!text.contains(char::is_control), "{text:?}");
    assert!(offset == 0 || offset < bytes.len(), "{text}");
}
