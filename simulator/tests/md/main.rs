//! Tests machine descriptions: their sources, their binary format, and the machines and guests that
//! they describe.

mod format;
mod guests;
mod lists;
mod machines;
mod properties;
mod source;

use std::fs;
use std::path::Path;

use simulator::machine::description::parse;

/// Returns the source of a machine in `simulator/machines`, without its comments.
pub(crate) fn machine(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../machines/{name}.toml"));
    let text = fs::read_to_string(path).unwrap();
    let start = text.find("\n[root]").unwrap() + 1;
    assert!(text[..start].lines().all(|line| line.is_empty() || line.starts_with("# ")));
    text[start..].to_owned()
}

pub(crate) fn built(text: &str) -> Vec<u8> {
    parse(text).unwrap().build().unwrap()
}

pub(crate) const MACHINES: [&str; 9] = [
    "maramba-1",
    "maramba-2",
    "batoka-1",
    "batoka-2",
    "batoka-3",
    "batoka-4",
    "batoka-4-disabled",
    "guest",
    "t1",
];
