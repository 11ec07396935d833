use super::*;
use crate::tools::tests::program;

#[test]
fn says_what_to_type() {
    let name = format!("xtask-fuzz-{}", std::process::id());
    let rustup = std::env::temp_dir().join(name);
    for (script, expected) in [
        ("exit 1", Some("rustup toolchain install nightly --profile minimal")),
        (
            "test \"$*\" = \"run nightly rustc --version\"",
            Some("cargo install --locked cargo-fuzz@0.13.2"),
        ),
        ("exit 0", None),
    ] {
        program(&rustup, script);
        let error = Fuzz::under(rustup.clone()).err();
        let said = error.as_ref().map(ToString::to_string);
        let command = said.as_deref().and_then(|said| said.split(": ").nth(1));
        assert_eq!(command, expected, "{said:?}");
    }
    fs::remove_file(rustup).unwrap();
}

/// A fuzz target that is missing from the list would never run.
#[test]
fn every_target_is_known() {
    let mut files: Vec<String> = fs::read_dir(root().join("tests/fuzz/targets"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let known = TARGETS.map(|(name, _)| format!("{name}.rs"));
    assert_eq!(files, known);
}
