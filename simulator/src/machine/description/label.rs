//! Computes the labels of nodes. A label is the node's name, followed by `-` and a number if the name alone would be ambiguous.

use std::collections::HashMap;

use super::Node;

pub(super) fn name(label: &str) -> &str {
    split(label).unwrap_or(label)
}

/// Returns a label without a final `-` and number; `None` if it does not end in this way.
fn split(label: &str) -> Option<&str> {
    let (name, number) = label.rsplit_once('-')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(name)
}

/// Returns each node's label, in the order of the nodes.
pub(super) fn labels(nodes: &[Node]) -> Vec<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for node in nodes {
        *counts.entry(&node.name).or_default() += 1;
    }
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut labels = Vec::new();
    for Node { name, .. } in nodes {
        if counts[&**name] == 1 && split(name).is_none() {
            labels.push(name.clone());
        } else {
            let number = numbers.entry(name).or_default();
            labels.push(format!("{name}-{number}"));
            *number += 1;
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_labels() {
        for (label, expected) in [
            ("root", "root"),
            ("cpu-0", "cpu"),
            ("cpu-", "cpu-"),
            ("vf-node-10", "vf-node"),
            ("vf-node", "vf-node"),
            ("a-1-2", "a-1"),
            ("a-x1", "a-x1"),
            ("a1", "a1"),
            ("-0", ""),
            ("-", "-"),
            ("", ""),
            ("0", "0"),
        ] {
            assert_eq!(name(label), expected, "{label}");
        }
    }

    #[test]
    fn labels_of_names() {
        let names = ["root", "cpu", "a-1", "cpu", "a", "a-1", "cpu", "-", "", "b-7"];
        let nodes = names.map(|name| Node { name: name.to_owned(), properties: Vec::new() });
        assert_eq!(
            labels(&nodes),
            ["root", "cpu-0", "a-1-0", "cpu-1", "a", "a-1-1", "cpu-2", "-", "", "b-7-0"]
        );
    }
}
