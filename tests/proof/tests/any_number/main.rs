//! Claims that hold for any number of strands and any clock. z3 decides the claims in `smt/*.smt2`. Tests compare the definitions in the
//! claims with the shipped functions.
//!
//! Each claim asks two questions: can the premises be met (`sat`), and can they be met while the conclusion is false (`unsat`)?

mod judgement;
mod turns;

use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tests::random::Random;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("smt")
}

fn read(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn z3(text: &str) -> String {
    let mut z3 = Command::new("z3");
    z3.arg("-in").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = z3.spawn().expect("z3 cannot be run; install package z3");
    let mut input = child.stdin.take().unwrap();
    // A separate thread writes the text, because z3 answers before it has read everything.
    let text = text.to_owned();
    let writes = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writes.join().unwrap().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The first line of a claims file lists the files to give to z3, of which the claims file itself is the last. For each question, the
/// claims file states the answer that z3 must give.
#[test]
#[ignore = "needs z3: cargo xtask test runs it"]
fn all_claims_hold() {
    let mut asked = 0;
    let mut names: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| read(name).starts_with("; cat "))
        .collect();
    names.sort();
    for name in &names {
        let text = read(name);
        let command = text.lines().next().unwrap().split(' ');
        let needed: Vec<&str> = command.filter(|word| word.ends_with(".smt2")).collect();
        assert_eq!(needed.last(), Some(&&**name));
        let all: String = needed.into_iter().map(read).collect();
        let expected: String = text
            .lines()
            .filter_map(|line| line.strip_prefix("(check-sat) ; "))
            .map(|answer| answer.to_owned() + "\n")
            .collect();
        assert_eq!(z3(&all), expected, "{name}");
        let questions = expected.lines().count();
        println!("{name}: {questions}");
        asked += questions;
    }
    assert!(asked > 0);
}

/// Returns random numbers, and prints their seed. The environment variable `PROOF_SEED` chooses the seed. Without it, each run has a
/// different seed.
fn random() -> Random {
    let drawn = || RandomState::new().hash_one(0);
    let seed = std::env::var("PROOF_SEED").map_or_else(|_| drawn(), |seed| seed.parse().unwrap());
    println!("PROOF_SEED={seed}");
    Random(seed)
}

/// Asserts that each step's formula is true with the definitions in these files.
fn all_are_true<T: std::fmt::Debug>(definitions: &[&str], steps: &[(T, String)]) {
    let mut text: String = definitions.iter().map(|name| read(name)).collect();
    for (_, formula) in steps {
        text += &format!("(simplify {formula})\n");
    }
    let answers = z3(&text);
    let answers: Vec<&str> = answers.lines().collect();
    for (answer, (step, _)) in answers.iter().zip(steps) {
        assert_eq!(*answer, "true", "{step:?}");
    }
    assert_eq!(answers.len(), steps.len());
}
