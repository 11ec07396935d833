use super::*;
use crate::tools::tests::program;

#[test]
fn what_libfuzzer_says_is_understood() {
    let mut seen = Seen::default();
    for (line, is_state) in [
        ("INFO: seed corpus: files: 9 min: 744b max: 3304b", false),
        ("#10\tINITED cov: 1055 ft: 2212 corp: 9/17Kb exec/s: 0 rss: 55Mb", true),
        (
            "#65536\tpulse  cov: 1211 ft: 4012 corp: 304/260Kb lim: 3304 exec/s: 3276 rss: 420Mb",
            true,
        ),
        ("#70000: of the target itself, cov: 1", false),
        ("artifact_prefix='found/'; Test unit written to found/crash-01", false),
    ] {
        assert_eq!(seen.hear(line), is_state, "{line}");
    }
    let expected = Seen {
        executions: 65536,
        edges: 1211,
        features: 4012,
        inputs: 304,
        found: Some("found/crash-01".into()),
    };
    assert_eq!(seen, expected);
}

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

/// A fuzz target that the list does not contain would never run.
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
