use super::*;

#[test]
fn cargo_names_programs_and_errors() {
    let messages = r#"   Compiling a v1.0.0
{"reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml","target":{"name":"t","kind":["lib"]},"profile":{"test":true},"executable":"/w/t-1"}
{"reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml","target":{"name":"a"},"profile":{"test":false},"executable":"/w/a"}
{"reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml","target":{"name":"a"},"profile":{"test":true},"executable":null}
{"reason":"compiler-message","message":{"level":"warning","rendered":"w","spans":[]}}
{"reason":"compiler-message","message":{"level":"error","rendered":"e","spans":[{"file_name":"a/src/b.rs","byte_start":3,"byte_end":5,"is_primary":true},{"file_name":"a/src/b.rs","byte_start":7,"byte_end":9,"is_primary":false}]}}
"#;
    let program = Program {
        folder: "/w/a".into(),
        target: "t".to_owned(),
        is_unit: true,
        path: "/w/t-1".into(),
    };
    assert_eq!(programs(messages), [program]);
    let error = Error { text: "e".to_owned(), places: vec![("a/src/b.rs".to_owned(), 3..5)] };
    assert_eq!(errors(messages), [error]);
}
