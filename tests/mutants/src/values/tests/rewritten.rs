use super::super::choices::Roles;
use super::*;
use crate::mutant::Edit;

/// Puts edits into a file. Each edit is given as a text in the file, which occurrence of it to
/// replace, and the replacement.
fn rewritten(text: &str, edits: &[(&str, usize, &str)]) -> Rewritten {
    let places = Roles::parse(text).unwrap();
    let choice = |(part, which, with): &(&str, usize, &str)| {
        let start = text.match_indices(part).nth(*which).unwrap().0;
        let range = start..start + part.len();
        places.choice(&Edit { rule: "", range, with: (*with).to_owned() }).unwrap()
    };
    let choices: Vec<_> = edits.iter().map(choice).enumerate().collect();
    Rewritten::new(text, &choices)
}

fn assert_becomes(text: &str, edits: &[(&str, usize, &str)], expected: &str) {
    let short = rewritten(text, edits).text.replace("crate::chosen::is", "is");
    assert_eq!(short, expected);
    syn::parse_file(&short).unwrap();
}

#[test]
fn a_body_returns_each_value() {
    assert_becomes(
        "fn f() -> u8 { a + b }",
        &[("a + b", 0, "0"), ("a + b", 0, "1"), ("+", 0, "-")],
        "fn f() -> u8 { if is(0) { return 0; } if is(1) { return 1; } \
         (if is(2) { a - b } else { a + b }) }",
    );
}

#[test]
fn operators_inside_each_other_are_all_there() {
    assert_becomes(
        "fn f() { x += a * b; }",
        &[("+=", 0, "-="), ("*", 0, "+"), ("*", 0, "/")],
        "fn f() { (if is(0) { x -= (if is(1) { a + b } else if is(2) { a / b } else { a * b }) } \
         else { x += (if is(1) { a + b } else if is(2) { a / b } else { a * b }) }); }",
    );
    assert_becomes(
        "fn f() { !a && b }",
        &[("!", 0, ""), ("&&", 0, "||")],
        "fn f() { (if is(1) { (if is(0) { a } else { !a }) || b } \
         else { (if is(0) { a } else { !a }) && b }) }",
    );
}

#[test]
fn arms_go_by_their_guards() {
    assert_becomes(
        "fn f() { match x { A => 1, B if b < c => 2, _ => 3 } }",
        &[("A => 1,", 0, ""), ("B if b < c => 2,", 0, ""), ("b < c", 0, "true"), ("<", 0, ">")],
        "fn f() { match x { A if !is(0) => 1, \
         B if (if is(1) { false } else if is(2) { true } else if is(3) { b > c } else { b < c }) => 2, _ => 3 } }",
    );
}

#[test]
fn a_field_is_left_to_the_base() {
    assert_becomes(
        "fn f() { S { a: 1, b: 2, ..d } }",
        &[("a: 1,", 0, "")],
        "fn f() { (if is(0) { S {  b: 2, ..d } } else { S { a: 1, b: 2, ..d } }) }",
    );
}

#[test]
fn an_error_is_about_the_innermost_mutant() {
    let text = "fn f() { x += a * b; }";
    let rewritten = rewritten(text, &[("+=", 0, "-="), ("*", 0, "/")]);
    let at = |part: &str| {
        let start = rewritten.text.find(part).unwrap();
        rewritten.at(&(start..start + part.len()))
    };
    assert_eq!(at("x -= "), [0]);
    assert_eq!(at("a / b"), [1]);
    assert_eq!(rewritten.at(&(0..rewritten.text.len())), [1, 0, 1]);
}
