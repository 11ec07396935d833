use super::*;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn config(entry: &str) -> Config {
    Config { examine_globs: Vec::new(), exclude_globs: Vec::new(), exclude_re: names(&[entry]) }
}

#[test]
fn a_mutant_is_excluded_by_file_and_change() {
    let mut all = names(&[
        "a/b.rs:1:2: replace | with ^ in c",
        "a/b.rs:9:9: replace | with ^ in c",
        "a/b.rs:1:2: replace | with & in c",
        "a/c.rs:1:2: replace | with ^ in c",
    ]);
    let config = config(r"^a/b\.rs:.*: replace \| with \^ in c$");
    let many = config.excluded(&all).unwrap_err();
    assert_eq!(many.to_string(), ".cargo/mutants.toml excludes 2 of 4 mutants");
    all.extend((0..96).map(|line| format!("a/d.rs:{line}:1: replace e with ()")));
    let excluded = config.excluded(&all).unwrap();
    assert_eq!(excluded, BTreeSet::from([&*all[0], &*all[1]]));
    let old = config.excluded(&all[2..]).unwrap_err().to_string();
    assert!(old.ends_with("there is no such mutant"), "{old}");
}

#[test]
fn an_entry_of_another_form_is_refused() {
    for entry in ["a/b.rs", "^a/b.rs:1:2: x$", "a/b.rs:.*: x$"] {
        let error = config(entry).excluded(&[]).unwrap_err().to_string();
        assert!(error.contains("expected '^FILE"), "{error}");
    }
}

#[test]
fn every_entry_has_a_reason_above_it() {
    let text = fs::read_to_string(root().join(CONFIG)).unwrap();
    let (_, entries) = text.split_once("exclude_re = [\n").unwrap();
    let lines: Vec<&str> = entries.lines().map(str::trim).take_while(|line| *line != "]").collect();
    assert_eq!(lines.len(), 2 * Config::read().unwrap().exclude_re.len());
    for [reason, entry] in lines.as_chunks().0 {
        assert!(reason.starts_with("# ") && !entry.starts_with('#'), "{entry}");
    }
}

#[test]
fn files_directories_and_shares_are_chosen() {
    let all = names(&[
        "a/src/b/c.rs:1:1: x",
        "a/src/bd.rs:1:1: x",
        "e/src/f.rs:1:1: x",
        "e/src/g.rs:1:1: x",
    ]);
    let excluded = BTreeSet::from([&*all[3]]);
    let chosen = |files: &[&str], shard| {
        let file = files.iter().map(PathBuf::from).collect();
        let chosen = chosen(&all, &excluded, &MutantsArgs { shard, file });
        chosen.map(|names| names.into_iter().collect::<Vec<_>>())
    };
    assert_eq!(chosen(&[], (0, 1)).unwrap(), all[..3]);
    assert_eq!(chosen(&[], (1, 2)).unwrap(), all[1..2]);
    assert_eq!(chosen(&["a/src/b"], (0, 1)).unwrap(), all[..1]);
    assert_eq!(chosen(&["e", "a/src/bd.rs"], (0, 1)).unwrap(), all[1..3]);
    assert_eq!(
        chosen(&["e", "h"], (0, 1)).unwrap_err().to_string(),
        "h: has no mutants, expected a path such as hv-core/src/trace"
    );
    assert_eq!(shard("3/7"), Ok((3, 7)));
    for text in ["7/7", "1", "a/2", "0/0"] {
        assert!(shard(text).is_err(), "{text}");
    }
}

#[test]
fn the_last_suite_tests_all_files() {
    assert!(SUITES.last().unwrap().files.is_empty());
}

/// A wrong name would skip no test, or a future test that gets this name.
#[test]
fn skipped_tests_are_tests() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let sources = [
        "guest-abi/c/tests/c/main.rs",
        "tests/tests/negotiation_threads.rs",
        "tests/tests/operator_threads.rs",
        "tests/tests/rights_stopped.rs",
        "tests/tests/rights_threads.rs",
    ]
    .map(read)
    .concat();
    let arguments =
        SUITES.iter().filter(|suite| !suite.on_sparc).flat_map(|suite| suite.tests.split(' '));
    for name in arguments.filter_map(|argument| argument.strip_prefix("--skip=")) {
        assert!(sources.contains(&format!("#[test]\nfn {name}()")), "{name}");
    }
}
