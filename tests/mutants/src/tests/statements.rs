use super::*;

/// Returns each edit's rule, and the file after the edit.
fn all(text: &str) -> Vec<(Rule, String)> {
    edits(text).unwrap().iter().map(|edit| (edit.rule, edit.apply(text))).collect()
}

#[test]
fn statements_change_places_and_are_left_out() {
    let made = all("fn f() { a.store(1, O); b(); Ok(()) }");
    let expected = [
        (SWAP, "fn f() { b(); a.store(1, O); Ok(()) }"),
        (DROP, "fn f() {  b(); Ok(()) }"),
        (DROP, "fn f() { a.store(1, O);  Ok(()) }"),
    ];
    assert_eq!(made, expected.map(|(rule, text)| (rule, text.to_owned())));
}

#[test]
fn lines_stay_where_they_are() {
    let made = all("fn f() {\n    a(\n        1,\n    );\n    if b { c }\n}");
    assert_eq!(made[0], (DROP, "fn f() {\n    \n\n\n    if b { c }\n}".to_owned()));
}

#[test]
fn what_cannot_matter_stays() {
    // The rules change nothing here: values that have no effect, values that the next statement uses, macros, constants, code that does not
    // ship, and documentation.
    for text in [
        "fn f() { let x = a + 1; let y = c(2); }",
        "fn f() { let x = a.load(O); let y = x.load(O); }",
        "fn f() { debug_assert!(a); log!(1); }",
        "const A: () = { b(); c(); };",
        "#[cfg(test)] mod tests { fn f() { a(); b(); } }",
        "#[cfg(any(loom, shuttle))] fn f() { a(); b(); }",
        "/// a(); b();\nfn f() {}",
    ] {
        assert_eq!(all(text), [], "{text}");
    }
    assert_eq!(all("#[cfg(not(loom))] fn f() { a(); }").len(), 1);
}

#[test]
fn orderings_are_weaker() {
    let weaker = |call: &str| {
        let text = format!("fn f() {{ {call} }}");
        let made = edits(&text).unwrap().into_iter();
        made.map(|edit| edit.apply(&text)[9..].trim_end_matches(" }").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(weaker("a.load(Ordering::Acquire)"), ["a.load(Ordering::Relaxed)"]);
    assert_eq!(weaker("a.load(Release)"), ["a.load(core::sync::atomic::Ordering::Relaxed)"]);
    assert_eq!(
        weaker("a.swap(1, Ordering::AcqRel)"),
        ["a.swap(1, Ordering::Acquire)", "a.swap(1, Ordering::Release)"]
    );
    assert_eq!(weaker("sync::fence(Ordering::SeqCst)"), ["sync::fence(Ordering::AcqRel)"]);
    assert_eq!(weaker("fence(Ordering::Acquire)"), [""; 0]);
    assert_eq!(weaker("a.load(Ordering::Relaxed)"), [""; 0]);
}
