use super::*;

#[test]
fn a_mutant_is_at_its_bytes() {
    let json = r#"[{"name": "a/src/b.rs:2:11: replace + with - in f", "package": "a", "file": "a/src/b.rs",
        "function": null, "replacement": "-", "genre": "BinaryOperator",
        "span": {"start": {"line": 2, "column": 11}, "end": {"line": 2, "column": 12}}}]"#;
    let text = "fn f() {\n    'ä';1 + 2\n}\n";
    let read = |_: &str| Ok(text.to_owned());
    let [mutant] = &parsed(json.as_bytes(), read).unwrap()[..] else { panic!("one mutant") };
    assert_eq!(&text[mutant.edit.range.clone()], "+");
    assert_eq!((mutant.line, &*mutant.original), (2, "'ä';1 + 2"));
    assert_eq!(mutant.change, "replace + with - in f");
    let unknown = json.replace("BinaryOperator", "Other");
    let error = parsed(unknown.as_bytes(), read).unwrap_err().to_string();
    assert!(error.ends_with("the genre Other is unknown"), "{error}");
}
