//! Tests properties that hold for arbitrary descriptions and bytes.

use platform::md::Md;
use proptest::prelude::*;
use simulator::machine::description::{
    Described, Description, Node, Property, Value, parse, print,
};

use crate::{MACHINES, built, machine};

/// Generates names that real descriptions use, and names that need quotes or escapes in a source.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(
            ["root", "cpu", "guest", "guests", "fwd", "back", "id", "a-1", "a-1-0", "a", "-", "", "ü", "q\"\n"].as_slice()
        ).prop_map(str::to_owned),
        1 => "[^\0]{0,30}",
    ]
}

fn value(nodes: usize) -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => (0..nodes).prop_map(Value::Arc),
        2 => (any::<u64>(), 0..64u32).prop_map(|(number, shift)| Value::Number(number >> shift)),
        2 => "[^\0]{0,20}".prop_map(Value::String),
        1 => prop::collection::vec(any::<u8>(), 0..20).prop_map(Value::Data),
        1 => prop::collection::vec("[ -~]{0,5}\0", 0..4)
            .prop_map(|strings| Value::Data(strings.concat().into_bytes())),
    ]
}

fn node(nodes: usize) -> impl Strategy<Value = Node> {
    let property = (name(), value(nodes)).prop_map(|(name, value)| Property { name, value });
    (name(), prop::collection::vec(property, 0..12))
        .prop_map(|(name, properties)| Node { name, properties })
}

fn description() -> impl Strategy<Value = Description> {
    (1..12usize)
        .prop_flat_map(|nodes| prop::collection::vec(node(nodes), nodes))
        .prop_map(|nodes| Description { nodes })
}

/// Moves each node's properties of the same name next to the first of them. A source has them in this order.
fn together(mut description: Description) -> Description {
    for node in &mut description.nodes {
        let names: Vec<String> = node.properties.iter().map(|p| p.name.clone()).collect();
        let first = |property: &Property| names.iter().position(|name| *name == property.name);
        node.properties.sort_by_key(first);
    }
    description
}

/// Reads bytes with both readers. Asserts that a valid description stays the same when it is printed and parsed again.
fn read(bytes: &[u8]) {
    // An error is fine here, but a panic is not.
    let _ = Described::new(bytes);
    let Ok(md) = Md::new(bytes) else { return };
    let read = Description::read(md);
    let text = print(&read);
    let again = parse(&text).unwrap();
    assert_eq!(print(&again), text);
    assert_eq!(again, together(read));
}

proptest! {
    #[test]
    fn what_is_built_is_what_is_read(description in description()) {
        let bytes = description.build().unwrap();
        prop_assert_eq!(Description::read(Md::new(&bytes).unwrap()), description);
        read(&bytes);
    }

    #[test]
    fn real_descriptions_with_bytes_changed(
        machine_name in prop::sample::select(MACHINES.as_slice()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let mut bytes = built(&machine(machine_name));
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        read(&bytes);
    }

    #[test]
    fn real_descriptions_with_elements_exchanged(
        machine_name in prop::sample::select(MACHINES.as_slice()),
        exchanges in prop::collection::vec(any::<[prop::sample::Index; 2]>(), 1..5),
    ) {
        let mut bytes = built(&machine(machine_name));
        let size = u32::from_be_bytes(bytes[4..8].try_into().unwrap()) as usize;
        let elements = &mut bytes[16..16 + size];
        for places in exchanges {
            let [from, to] = places.map(|place| place.index(size / 16) * 16);
            elements.copy_within(from..from + 16, to);
        }
        read(&bytes);
    }

    #[test]
    fn any_text(text in "(\\[[a-c]{1,2}\\]\n|[a-c] = [0-9a-c\"\\[\\]{}, ]{0,6}\n|\\PC{0,4}\n?){0,8}") {
        if let Ok(description) = parse(&text) {
            prop_assert_eq!(Description::read(Md::new(&description.build().unwrap()).unwrap()), description);
        }
    }
}
