use super::*;
use crate::mutant::{DROP, Edit, SWAP};

#[test]
fn tables_count_each_verdict() {
    let tested = |file: &str, rule, verdict| {
        let edit = Edit { rule, range: 4..8, with: String::new() };
        Tested { mutant: Mutant::new(file, "fn\n a();", edit), verdict }
    };
    let all = [
        tested("hv-core/src/a.rs", DROP, Verdict::Caught("t".to_owned())),
        tested("hv-core/src/a.rs", DROP, Verdict::Missed),
        tested("platform/src/sparc64/b.rs", SWAP, Verdict::Same),
    ];
    let text = tables(&[DROP, SWAP], &all);
    let row = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().map(|cell| cell.parse().unwrap()).collect::<Vec<u32>>()
    };
    assert_eq!(row("a statement is left out"), [2, 0, 0, 1, 0, 1]);
    assert_eq!(row("statements change places"), [1, 0, 1, 0, 0, 0]);
    assert_eq!(row("hv-core"), [2, 0, 0, 1, 0, 1]);
    assert_eq!(row("all"), [3, 0, 1, 1, 0, 1]);
    assert!(
        text.ends_with("missed: hv-core/src/a.rs:2\n  original: a();\n  change:   \n"),
        "{text}"
    );
}
