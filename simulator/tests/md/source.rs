//! Tests what a source may contain, and the messages about everything else.

use simulator::machine::description::{Description, Node, Property, Value, parse, print};

fn node(name: &str, properties: Vec<(&str, Value)>) -> Node {
    let property = |(name, value): (&str, Value)| Property { name: name.to_owned(), value };
    Node { name: name.to_owned(), properties: properties.into_iter().map(property).collect() }
}

fn string(text: &str) -> Value {
    Value::String(text.to_owned())
}

/// A source exactly as the tool prints it.
const SOURCE: &str = r#"[z]
first = 0
big = 0x100000000
largest = 0xffffffffffffffff
small = 4294967295
text = "a \"b\"\n\u001B"
empty = ""
arcs = ["unit-1", "z"]
bytes = { data = "00 ff" }
none = { data = "" }
list = { strings = ["sun4v", "a b"] }
mixed = [1, "unit-0", { string = "x" }, { data = "0a" }, { strings = ["y"] }]
"odd key" = 1
"" = 2

[unit-0]

["odd name"]

[unit-1]

[a-7-0]
"#;

#[test]
fn every_kind_of_value_is_parsed() {
    let z = vec![
        ("first", Value::Number(0)),
        ("big", Value::Number(1 << 32)),
        ("largest", Value::Number(u64::MAX)),
        ("small", Value::Number(0xffff_ffff)),
        ("text", string("a \"b\"\n\u{1b}")),
        ("empty", string("")),
        ("arcs", Value::Arc(3)),
        ("arcs", Value::Arc(0)),
        ("bytes", Value::Data(vec![0, 0xff])),
        ("none", Value::Data(vec![])),
        ("list", Value::Data(b"sun4v\0a b\0".to_vec())),
        ("mixed", Value::Number(1)),
        ("mixed", Value::Arc(1)),
        ("mixed", string("x")),
        ("mixed", Value::Data(vec![10])),
        ("mixed", Value::Data(b"y\0".to_vec())),
        ("odd key", Value::Number(1)),
        ("", Value::Number(2)),
    ];
    let expected = Description {
        nodes: vec![
            node("z", z),
            node("unit", vec![]),
            node("odd name", vec![]),
            node("unit", vec![]),
            node("a-7", vec![]),
        ],
    };
    assert_eq!(parse(SOURCE).unwrap(), expected);
    assert_eq!(print(&expected), SOURCE);
}

#[test]
fn other_ways_to_write_it() {
    let text = r#"
        # A comment.
        root.fwd = ["cpu-64", "cpu-9"] # in front of both
        [cpu-9]
        pid = 0b1001
        name = { string = 'nine' }
        isalist = { data = "7375 6E"  } # not pairs
        [cpu-64]
    "#;
    assert!(parse(text).is_err());
    let description = parse(&text.replace("7375 6E", "73 75 6E 00")).unwrap();
    let names: Vec<&str> = description.nodes.iter().map(|node| &*node.name).collect();
    assert_eq!(names, ["root", "cpu", "cpu"]);
    assert_eq!(
        print(&description),
        "[root]\nfwd = [\"cpu-1\", \"cpu-0\"]\n\n[cpu-0]\npid = 9\nname = \"nine\"\nisalist = { strings = [\"sun\"] }\n\n[cpu-1]\n"
    );
}

#[test]
fn properties_of_one_name_come_together() {
    let description = Description {
        nodes: vec![node(
            "root",
            vec![
                ("fwd", Value::Arc(0)),
                ("id", Value::Number(1)),
                ("fwd", Value::Arc(0)),
                ("id", string("1")),
            ],
        )],
    };
    assert_eq!(
        print(&description),
        "[root]\nfwd = [\"root\", \"root\"]\nid = [1, { string = \"1\" }]\n"
    );
}

#[test]
fn long_arrays_are_broken() {
    let arcs = |name: &str, count| Description {
        nodes: vec![node("root", vec![(name, Value::Arc(0)); count])],
    };
    // With the property's name, the line has exactly 100 characters: 13 before the elements, 8 for each element but the last, and 7 for the
    // last element and the bracket.
    assert_eq!(
        print(&arcs("nine_char", 11)),
        format!("[root]\nnine_char = [{}\"root\"]\n", "\"root\", ".repeat(10))
    );
    let eleven = ["\"root\","; 11].join(" ");
    assert_eq!(
        print(&arcs("characters", 11)),
        format!("[root]\ncharacters = [\n    {eleven}\n]\n")
    );
    let lines = print(&arcs("fwd", 13));
    assert_eq!(lines, format!("[root]\nfwd = [\n    {eleven} \"root\",\n    \"root\",\n]\n"));
    assert_eq!(parse(&lines).unwrap(), arcs("fwd", 13));
}

#[test]
fn errors_name_their_line() {
    let name = "n".repeat(256);
    for (text, says) in [
        ("[root]\nfwd = [", "2: "),
        ("[root]\nid = 1\nid = 2", "3: duplicate key"),
        ("[root]\n[root]", "2: duplicate key"),
        ("id = 1", "1: 'id' is outside of all nodes"),
        (
            "[root]\nfwd = [\n\"root\",\n\"cpu\"]\n[cpu-0]",
            "4: there is no node 'cpu'; did you mean cpu-0?",
        ),
        ("[root]\n\nfwd = []", "3: an empty array"),
        ("[root.id]\nfwd = 1", "2: expected a number, a string"),
        ("[[root]]", "1: 'root' is outside of all nodes"),
        ("[root]\n\"\\u0000\" = 1", "2: a name with a NUL in it"),
        ("[\"\\u0000\"]", "1: a name with a NUL in it"),
        (&format!("[root]\n{name} = 1"), "2: a name of 256 bytes, expected at most 255"),
        (&format!("\n\n[{name}-1]"), "3: a name of 256 bytes, expected at most 255"),
    ] {
        wrong(text, says);
    }
    for row in [
        "-1 | found '-1', expected a 64-bit number",
        "0x10000000000000000 | found '0x10000000000000000', expected a 64-bit number",
        "1.5 | expected a number, a string, an array",
        "true | expected a number, a string",
        "2000-01-01 | expected a number, a string",
        "{} | expected a number, a string",
        "{ hex = \"00\" } | expected a number, a string",
        "{ data = 1 } | expected a number, a string",
        "{ data = \"00\", string = \"\" } | expected a number, a string",
        "[[1]] | expected a number, a string",
        "{ data = \"0\" } | expected pairs",
        "{ data = \"+1\" } | expected pairs",
        "{ data = \"é\" } | expected pairs",
        "{ strings = [1] } | expected a string",
        "{ strings = [\"\\u0000\"] } | a string with a NUL in it",
        "\"\\u0000\" | a string with a NUL in it",
    ] {
        let (value, says) = row.split_once(" | ").unwrap();
        wrong(&format!("[root]\nid = {value}"), &format!("2: {says}"));
    }
}

/// Asserts that a source is refused with a one-line message that begins with `says`.
#[track_caller]
fn wrong(text: &str, says: &str) {
    let error = parse(text).unwrap_err().to_string();
    assert!(error.starts_with(says), "{text}\n{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}
