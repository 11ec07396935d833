//! Tests of recording, with scripts in place of valgrind.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Parser;

use super::*;
use crate::tools::tests::program;
use simulator::recording::{Chunk, Recording};

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

fn args(line: &[&str]) -> Result<Args, clap::Error> {
    Line::try_parse_from([&["record"], line].concat()).map(|line| line.args)
}

/// A directory for one test: a script in place of valgrind, and the file to write.
struct Place(PathBuf);

impl Place {
    /// The script finds the name of the log in `$log`, and of this directory in `$here`.
    fn new(name: &str, script: &str) -> Self {
        let path = std::env::temp_dir().join(format!("xtask-record-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        let place = Self(path);
        let script = format!(
            "here={}\nfor word in \"$@\"; do case $word in --log-file=*) log=${{word#*=}};; esac; done\n{script}",
            place.0.display()
        );
        program(&place.script(), &script);
        place
    }

    fn script(&self) -> PathBuf {
        self.0.join("valgrind")
    }

    fn output(&self) -> PathBuf {
        self.0.join("recording.gz")
    }

    /// Returns the summary that `record` prints, or its error.
    fn record(&self, options: &[&str], command: &[&str]) -> Result<String, String> {
        let output = self.output();
        let args =
            args(&[&["-o", output.to_str().unwrap()], options, &["--"], command].concat()).unwrap();
        let recorded = (args.force.create(&args.output))
            .and_then(|output| record(&self.script(), &args, output));
        recorded
            .map(|recorded| recorded.summary(&args))
            .map_err(|error| format!("{error:#}"))
    }

    fn recorded(&self) -> Vec<Reference> {
        let (mut all, mut block) = (Vec::new(), Chunk::default());
        let mut reader = Recording::open(self.output()).unwrap();
        while reader.next_chunk(0, &mut block).unwrap() {
            all.append(&mut block.references);
        }
        all
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Returns whether the process whose id is in the file `name` still runs.
    fn runs(&self, name: &str) -> bool {
        let id = fs::read_to_string(self.0.join(name)).unwrap();
        let stat = fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SAMPLE: &str = "printf '==7== Command: secret\\nI  04001090,3\\n L 1ffeffe7c8,8\\n M 0421c7cc,4\\n\
                      I  04001093,5\\n S 1ffeffe7c0,8\\n==7== end\\n' > $log";

#[test]
fn the_command_line() {
    let named = args(&["-o", "x.gz", "--limit", "5", "--", "ls", "-l"]).unwrap();
    assert_eq!((named.output, named.limit), ("x.gz".into(), Some(5)));
    assert_eq!(named.command, ["ls", "-l"]);
    let plain = args(&["sort", "--output", "y", "-n"]).unwrap();
    assert_eq!(
        (plain.output, plain.limit),
        ("recording.lackey.gz".into(), None)
    );
    assert_eq!(plain.command, ["sort", "--output", "y", "-n"]);
    for wrong in [
        &[][..],
        &["--limit", "0", "ls"],
        &["--limit", "many", "ls"],
        &["-x", "ls"],
    ] {
        assert!(args(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn records_what_lackey_writes() {
    let place = Place::new("sample", &format!("echo \"$*\" > $here/words\n{SAMPLE}"));
    let said = place.record(&[], &["ls", "-l"]).unwrap();
    let expected = format!(
        "5 references (2 fetches, 1 loads, 1 stores, 1 modifies) in {} (",
        place.output().display()
    );
    assert!(
        said.starts_with(&expected) && said.ends_with(" B)"),
        "{said}"
    );
    let kinds: Vec<_> = place
        .recorded()
        .iter()
        .map(|reference| (reference.kind, reference.address))
        .collect();
    let expected = [
        (Kind::FetchModify, 0x0400_1090),
        (Kind::Load, 0x1f_feff_e7c8),
        (Kind::Modify, 0x0421_c7cc),
        (Kind::FetchStore, 0x0400_1093),
        (Kind::Store, 0x1f_feff_e7c0),
    ];
    assert_eq!(kinds, expected);
    let words = fs::read_to_string(place.0.join("words")).unwrap();
    assert!(
        words.contains(" --tool=lackey --trace-mem=yes ") && words.ends_with(" -- ls -l\n"),
        "{words}"
    );
    assert_eq!(place.names(), ["recording.gz", "valgrind", "words"]);
}

#[test]
fn says_how_the_program_ended() {
    let place = Place::new("status", &format!("{SAMPLE}\nexit 3"));
    assert!(
        place
            .record(&[], &["ls"])
            .unwrap()
            .ends_with("; the program ended with exit status: 3")
    );
    let place = Place::new("signal", &format!("{SAMPLE}\nkill -TERM $$"));
    assert!(
        place
            .record(&[], &["ls"])
            .unwrap()
            .ends_with("; the program ended with signal: 15 (SIGTERM)")
    );
}

#[test]
fn ends_the_program_at_the_limit() {
    let place = Place::new(
        "limit",
        "echo $$ > $here/id; exec > $log; while :; do echo '==7== so'; echo 'I  04001090,3'; echo ' L 1000,8'; done",
    );
    let said = place.record(&["--limit", "1001"], &["ls"]).unwrap();
    assert!(
        said.starts_with("1,001 references (501 fetches, 500 loads, 0 stores, 0 modifies)"),
        "{said}"
    );
    assert!(said.ends_with("; the program was ended there"), "{said}");
    assert_eq!(place.recorded().len(), 1001);
    assert!(!place.runs("id"));
}

#[test]
fn needs_no_more_than_the_limit() {
    // The program makes as many references as the limit, and then sleeps.
    let place = Place::new(
        "wait",
        &format!("echo $$ > $here/id; {SAMPLE}; exec sleep 600"),
    );
    assert!(
        place
            .record(&["--limit", "5"], &["ls"])
            .unwrap()
            .ends_with("; the program was ended there")
    );
    assert_eq!(place.recorded().len(), 5);
    assert!(!place.runs("id"));
    let place = Place::new("fewer", SAMPLE);
    assert!(
        place
            .record(&["--limit", "6"], &["ls"])
            .unwrap()
            .ends_with(" B)")
    );
}

#[test]
fn does_not_wait_for_what_the_program_leaves_running() {
    let place = Place::new(
        "daemon",
        &format!(
            "{SAMPLE}\nexec 3> $log; sleep 600 > $here/null 2>&1 < /dev/null & echo $! > $here/id"
        ),
    );
    let said = place.record(&[], &["ls"]);
    assert!(place.runs("id"));
    Command::new("sh")
        .arg("-c")
        .arg("kill $(cat id)")
        .current_dir(&place.0)
        .status()
        .unwrap();
    assert!(said.unwrap().starts_with("5 references"));
}

#[test]
fn leaves_nothing_after_a_failure() {
    let cases = [
        (
            "exit 1",
            "ls under valgrind: found no memory reference, expected at least one, such as \"I  04001090,3\"",
        ),
        (
            "printf 'I  04001090,3\\nwhat?\\n' > $log",
            "ls under valgrind:2: found \"what?\", expected a line such as \"I  04001090,3\" or \" L 1ffeffe7c8,8\"",
        ),
    ];
    for (number, (script, expected)) in cases.into_iter().enumerate() {
        let place = Place::new(&format!("failure-{number}"), script);
        assert_eq!(place.record(&[], &["ls"]).unwrap_err(), expected);
        assert_eq!(place.names(), ["valgrind"]);
        fs::write(place.output(), "what was there").unwrap();
        assert_eq!(place.record(&["--force"], &["ls"]).unwrap_err(), expected);
        assert_eq!(fs::read(place.output()).unwrap(), b"what was there");
    }
}

#[test]
fn replaces_no_recording_without_force() {
    // The program itself writes a file of that name.
    let comes = Place::new(
        "comes",
        &format!("{SAMPLE}; echo mine > $here/recording.gz"),
    );
    let error = comes.record(&[], &["ls"]).unwrap_err();
    let stays = "recording.gz: has come meanwhile, and stays; nothing was written";
    assert!(error.ends_with(stays), "{error}");
    assert_eq!(fs::read(comes.output()).unwrap(), b"mine\n");
    assert_eq!(comes.names(), ["recording.gz", "valgrind"]);

    let there = Place::new("there", SAMPLE);
    fs::write(there.output(), "what was there").unwrap();
    let error = there.record(&[], &["ls"]).unwrap_err();
    assert!(
        error.ends_with("recording.gz: is there; --force replaces it"),
        "{error}"
    );
    assert_eq!(fs::read(there.output()).unwrap(), b"what was there");
    there.record(&["--force"], &["ls"]).unwrap();
    assert_eq!(there.recorded().len(), 5);
}

#[test]
fn bad_arguments_are_named() {
    let message = |line: &[&str]| format!("{:#}", run(args(line).unwrap()).unwrap_err());
    assert_eq!(
        message(&["no-such-program-at-all"]),
        "there is no program 'no-such-program-at-all', expected one to run"
    );
    assert_eq!(
        message(&["-o", "/dev/null", "sh"]),
        "/dev/null: is there and is no ordinary file"
    );
    let missing = message(&["-o", "/nonexistent/recording.gz", "sh"]);
    assert!(
        missing.starts_with("/nonexistent/recording.gz: cannot be written: No such file"),
        "{missing}"
    );
}

/// Starts this test again as another process, and interrupts it.
#[test]
fn an_interrupt_leaves_nothing() {
    const INSIDE: &str = "XTASK_TEST_RECORDS_INTO";
    const NAME: &str = "cmd::record::tests::an_interrupt_leaves_nothing";
    if let Some(path) = std::env::var_os(INSIDE) {
        let place = std::mem::ManuallyDrop::new(Place(path.into()));
        assert_eq!(
            place.record(&[], &["ls"]).unwrap_err(),
            "interrupted, nothing was written"
        );
        return;
    }
    for signal in ["INT", "TERM"] {
        let script = format!("{SAMPLE}; trap '' INT; echo $$ > $here/id; exec sleep 600");
        let place = Place::new(&format!("interrupt-{signal}"), &script);
        let mut inside = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", NAME])
            .env(INSIDE, &place.0)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while fs::read_to_string(place.0.join("id"))
            .is_ok_and(|id| id.ends_with('\n'))
            .eq(&false)
        {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(place.names().len(), 3);
        let kill = format!("kill -{signal} {}", inside.id());
        assert!(
            Command::new("sh")
                .args(["-c", &kill])
                .status()
                .unwrap()
                .success()
        );
        assert!(inside.wait().unwrap().success());
        assert_eq!(place.names(), ["id", "valgrind"]);
        assert!(!place.runs("id"));
    }
}
