use super::*;

fn choice(text: &str, part: &str) -> Option<Choice> {
    let start = text.find(part).unwrap();
    let edit = Edit { rule: "", range: start..start + part.len(), with: "W".to_owned() };
    Roles::parse(text).unwrap().choice(&edit)
}

#[test]
fn what_the_compiler_computes_has_no_choice() {
    for text in [
        "const fn f() -> u8 { 1 + 2 }",
        "const A: u8 = 1 + 2;",
        "static A: u8 = 1 + 2;",
        "impl A { const B: u8 = 1 + 2; const fn f() -> u8 { 1 + 2 } }",
        "fn f(a: [u8; 1 + 2]) { let a = [0; 1 + 2]; const { 1 + 2 } }",
        "enum E { A = 1 + 2 }",
    ] {
        assert_eq!(choice(text, "+"), None, "{text}");
    }
}

#[test]
fn the_names_of_a_let_remain() {
    let text = "fn f() { if let Some(a) = b && a < 1 && c {} }";
    assert_eq!(choice(text, "&& a"), None);
    let less = Choice::Expression { whole: 31..36, part: 33..34, with: "W".to_owned() };
    assert_eq!(choice(text, "<"), Some(less));
}
