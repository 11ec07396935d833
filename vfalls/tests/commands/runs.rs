//! Tests the JSON of every kind of run.

use std::fs;

use simulator::run::Run;

use crate::program::{TestDirectory, vfalls};

/// References of threads on two nodes, which take turns writing to one cache line.
const REFERENCES: &str =
    "0 i 0x4000 4\n0 w 0x1000 8\n64 i 0x4000 4\n64 w 0x1008 8\n0 w 0x1000 8\n64 w 0x1008 8\n";

const SCENARIO: &str = "[[step]]\nat = 2\ndo = \"transfer\"\nright = \"global\"\nfrom = \"measuring\"\nto = \"other\"\n";

#[test]
fn each_kind_is_read_back_as_it_was_written() {
    let place = TestDirectory::new("runs");
    let refs = place.file("a.refs", REFERENCES);
    let scenario = place.file("scenario.toml", SCENARIO);
    for (number, (kind, command)) in [
        ("replay", &["stat", &refs][..]),
        ("replay", &["stat", &refs, "--details", "--place", "0,64"]),
        ("replay", &["top", &refs]),
        ("scenario", &["stat", &refs, "--scenario", &scenario]),
        ("profile", &["report", &refs]),
        ("profile", &["report", "--waits", &refs]),
        ("profile", &["report", "--unit", "r10000", &refs]),
        ("sharing", &["c2c", &refs]),
        ("execution", &["boot", "--fast", "--strands", "0"]),
        ("execution", &["boot", "--strands", "0"]),
    ]
    .into_iter()
    .enumerate()
    {
        let file = place.at(&format!("{number}.json"));
        vfalls(&[command, &["--json", &file]].concat()).assert_success();
        let text = fs::read_to_string(file).unwrap();
        let head = format!("{{\n  \"version\": 1,\n  \"kind\": \"{kind}\",\n");
        assert!(text.starts_with(&head), "{command:?}: {text}");
        let run = Run::parse(text.as_bytes()).unwrap();
        let again = serde_json::to_string_pretty(&run).unwrap() + "\n";
        assert!(again == text, "{command:?}: {text}\n{again}");

        let other = text.replacen("\"version\": 1", "\"version\": 999", 1);
        assert_eq!(
            Run::parse(other.as_bytes()).unwrap_err().to_string(),
            "is a run of format version 999, expected version 1"
        );
        let error = serde_json::from_str::<Run>(&other).unwrap_err();
        assert!(error.to_string().contains("format version 999"), "{error}");
    }
}
