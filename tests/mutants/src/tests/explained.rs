use super::*;
use crate::mutant::{DROP, Edit};
use crate::sources;

fn mutant(text: &str, range: std::ops::Range<usize>, with: &str) -> Mutant {
    Mutant::new("a/src/b.rs", text, Edit { rule: DROP, range, with: with.to_owned() })
}

#[test]
fn an_entry_is_about_a_mutant() {
    let text = "a(\n  1);\nb();";
    let all = || vec![mutant(text, 0..8, ""), mutant(text, 9..13, "")];
    let entry =
        "[[mutant]]\nfile = \"a/src/b.rs\"\noriginal = \"a( 1);\"\nchange = \"\"\nreason = \"r\"\n";
    let (explained, others) = split(entry, all()).unwrap();
    assert_eq!((explained[0].line, &*explained[0].original), (1, "a( 1);"));
    assert_eq!((others[0].line, &*others[0].original, others.len()), (3, "b();", 1));
    let error = split(&entry.replace("1", "2"), all()).err().unwrap().to_string();
    assert_eq!(error, "explained.toml: a/src/b.rs: a( 2); -> : there is no such mutant");
    assert!(split(&entry.replace("reason", "why"), all()).is_err());
}

/// A change to a statement, or to a comment within it, invalidates the entries about it.
#[test]
fn each_explained_mutant_exists() {
    split(include_str!("../../explained.toml"), sources::mutants().unwrap()).unwrap();
}
