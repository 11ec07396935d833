//! Tests lookups of nodes and properties.

use std::string::ToString;
use std::vec::Vec;

use super::{Build, error};
use crate::md::{Md, Node, NodeError, Problem};

/// A root with two units and a note. The first unit has two properties named `twice`.
fn description() -> Build {
    let mut build = Build::default();
    build.node("root", |root| {
        root.arc("fwd", 5);
        root.arc("fwd", 13);
        root.arc("fwd", 15);
    });
    build.node("unit", |unit| {
        unit.number("id", 4);
        unit.number("twice", 1);
        unit.string("twice", "1");
        unit.string("name", "a");
        unit.arc("back", 0);
        unit.arc("fwd", 5);
    });
    build.node("unit", |_| {});
    build.node("note", |note| note.string("text", ""));
    build
}

#[test]
fn nodes_by_name() {
    let md = description().md();
    let indices = |name| md.nodes_named(name).map(Node::index).collect::<Vec<_>>();
    assert_eq!(indices("unit"), [5, 13]);
    assert_eq!(indices("note"), [15]);
    assert_eq!(indices("uni"), []);
    assert_eq!(md.node_named("unit").unwrap().index(), 5);
    assert_eq!(md.node_named("other"), None);
}

#[test]
fn nodes_by_arc() {
    let md = description().md();
    let root = md.root().unwrap();
    let unit = md.node(5).unwrap();
    assert!(root.arcs("fwd").map(Node::index).eq([5, 13, 15]));
    assert!(root.children("unit").map(Node::index).eq([5, 13]));
    assert_eq!(root.arcs("back").count(), 0);
    assert!(unit.arcs("back").eq([root]));
    assert_eq!(root.child("note"), Ok(md.node(15)));
    assert_eq!(root.child("other"), Ok(None));
    let two = error("root", 0x10, Problem::DuplicateChild("unit"));
    assert_eq!(root.child("unit"), Err(two));
    assert_eq!(md.root_child("note"), Ok(md.node(15)));
    // A node may be its own child, because a lookup does not follow chains of arcs.
    assert_eq!(unit.child("unit"), Ok(Some(unit)));
}

/// The same bytes at another place in memory are another description.
#[test]
fn nodes_of_two_descriptions_differ() {
    let [md, copy] = [description(), description()].map(|build| build.md());
    let (root, root_of_copy) = (md.root().unwrap(), copy.root().unwrap());
    assert_eq!(root.index(), root_of_copy.index());
    assert_ne!(root, root_of_copy);
    assert_eq!(root, md.root().unwrap());
}

#[test]
fn properties() {
    let md = description().md();
    let [unit, note] = [5, 15].map(|index| md.node(index).unwrap());
    assert_eq!(unit.number("id"), Ok(Some(4)));
    assert_eq!(unit.required_number("id"), Ok(4));
    assert_eq!(unit.number("none"), Ok(None));
    assert_eq!(unit.string("name"), Ok(Some("a")));
    assert_eq!(unit.string("none"), Ok(None));
    assert_eq!(note.string("text"), Ok(Some("")));
    use Problem::{DuplicateProperty, Missing, NotANumber, NotAString};
    let number = |name| unit.number(name).map(drop);
    let string = |name| unit.string(name).map(drop);
    let found: [(Result<(), NodeError<'_>>, _, _, _); 6] = [
        (number("name"), "unit", 0xa0, NotANumber("name")),
        (number("back"), "unit", 0xb0, NotANumber("back")),
        (number("twice"), "unit", 0x90, DuplicateProperty("twice")),
        (string("id"), "unit", 0x70, NotAString("id")),
        (string("twice"), "unit", 0x90, DuplicateProperty("twice")),
        (note.required_number("id").map(drop), "note", 0x100, Missing("id")),
    ];
    for (found, node, offset, problem) in found {
        assert_eq!(found, Err(error(node, offset, problem)));
    }
}

#[test]
fn roots() {
    let mut build = Build::default();
    build.node("unit", |unit| unit.arc("fwd", 5));
    build.node("other", |_| {});
    build.node("root", |root| root.arc("fwd", 3));
    build.node("root", |_| {});
    let md = build.md();
    assert_eq!(md.root().unwrap().index(), 5);
    assert_eq!(md.root_child("other"), Ok(md.node(3)));

    let mut build = Build::default();
    build.node("unit", |unit| unit.arc("fwd", 0));
    let md = build.md();
    assert_eq!(md.root(), None);
    assert_eq!(md.root_child("unit"), Ok(None));
}

#[test]
fn messages_of_errors() {
    let found = description().md().node(5).unwrap().string("id").unwrap_err().to_string();
    assert_eq!(found, "offset 0x70: node unit: property id is not a string");
    let found = Md::new(&description().bytes()[..20]).unwrap_err().to_string();
    assert_eq!(found, "offset 0x4: a block of 304 bytes, more than the description has");
}
