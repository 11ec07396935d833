//! Puts a deceptive name into every kind of input, and gives these inputs to every command.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use clap::CommandFactory;
use serde_json::Value;
use vfalls::cmd::Cli;

use crate::hostile::recording;
use crate::program::{PROGRAM, TestDirectory, command, run_with_input};
use crate::top::tmux::Terminal;

/// A name that sets the terminal's title, clears the screen, starts a line, and reverses and isolates the writing direction.
const NAME: &str = "a\u{1b}]0;title\u{7}\u{9b}2J\r\nFORGED\u{202e}b\u{2066}c\u{7f}";

/// The name with its special characters escaped.
const SHOWN: &str = r"a\u{1b}]0;title\u{7}\u{9b}2J\r\nFORGED\u{202e}b\u{2066}c\u{7f}";

/// The name as a JSON or TOML string.
const QUOTED: &str = r"a\u001b]0;title\u0007\u009b2J\r\nFORGED\u202eb\u2066c\u007f";

/// The characters that change the writing direction, and the line and paragraph breaks.
const DIRECTIONS: [char; 14] = [
    '\u{61c}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{2029}', '\u{202a}', '\u{202b}', '\u{202c}',
    '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}',
];

/// Asserts that `text` cannot control a terminal, and that no line of it starts inside the name.
fn is_harmless(text: &str, whence: &str) {
    let bad = |c: char| c.is_control() && c != '\n' || DIRECTIONS.contains(&c);
    assert_eq!(
        text.find(bad).map(|at| text[at..].chars().take(60).collect::<String>()),
        None,
        "{whence}"
    );
    let forged = text.lines().find(|line| line.trim_start().starts_with("FORGED"));
    assert_eq!(forged, None, "{whence}");
}

/// Compiles and records a program whose function, source file and source line contain [`NAME`].
fn program(place: &TestDirectory) {
    let plain = "q".repeat(NAME.len());
    let source = format!("int main(int n) {{ return 3 * n; }} // {NAME}\n");
    place.file(&format!("{plain}.c"), source.replace(NAME, ""));
    place.file(&format!("{NAME}.c"), source);
    let mut cc = Command::new("cc");
    cc.args(["-g", "-O1", "-no-pie", "-nostdlib", "-Wl,-e,main", "-Wl,-Ttext=0x1000"]);
    cc.args(["-Wl,--build-id=none", "-o", "elf", &format!("-Dmain={plain}")]);
    cc.arg(format!("{plain}.c")).current_dir(place.path());
    assert!(cc.output().unwrap().status.success());
    let mut elf = fs::read(place.at("elf")).unwrap();
    for at in 0..elf.len() - plain.len() {
        if elf[at..].starts_with(plain.as_bytes()) {
            elf[at..at + plain.len()].copy_from_slice(NAME.as_bytes());
        }
    }
    let elf = place.file(&format!("{NAME}.elf"), elf);
    place.file("refs", recording(NAME, &elf, &[NAME]));
    place.file("stranger", recording(NAME, &format!("/{NAME}"), &[NAME]));
}

/// Creates inputs of every kind that can contain a name.
fn inputs(place: &TestDirectory) {
    program(place);
    let guests =
        format!("[[guest]]\nname = \"{QUOTED}\"\nstrands = \"0-63\"\ngrant = \"global+strand\"\n");
    place.file("guests.toml", &guests);
    let step = "[[step]]\nat = 50\ndo = \"reset\"\nguest = 0\n";
    place.file("scenario.toml", format!("{guests}{step}"));
    let source = include_str!("../../../../simulator/machines/batoka-2.toml");
    let hostile = source.lines().map(|line| match line.strip_prefix("name = \"") {
        Some(name) if !name.contains("T5440") => format!("name = \"{QUOTED}\"\n"),
        _ => format!("{line}\n"),
    });
    place.file("md.toml", hostile.collect::<String>());
    for line in [
        "md build md.toml -o md.bin",
        "stat --guests guests.toml --details --events-out events --json shown.json --interval 10 refs",
        "report -c 10 --json shown-profile.json refs",
    ] {
        let ended = place.run(line);
        assert_eq!(ended.status, 0, "{line}: {}", ended.stderr);
    }
    // In this tool's files, the name is escaped. Other tools' files may contain the name itself.
    let (shown, quoted) = (SHOWN.replace('\\', "\\\\"), QUOTED);
    for (name, wild) in [("shown.json", "run.json"), ("shown-profile.json", "profile.json")] {
        let text = fs::read_to_string(place.at(name)).unwrap();
        assert!(text.contains(&shown), "{text}");
        place.file(wild, text.replace(&shown, quoted));
    }
    let metadata = fs::read_to_string(place.at("events/metadata")).unwrap();
    assert!(metadata.contains(&shown), "{metadata}");
    fs::write(place.at("events/metadata"), metadata.replace(&shown, NAME)).unwrap();
    place.file("script", format!("0 fast {NAME}\n"));
}

/// The arguments of each command. `NAME` stands for the deceptive name.
const RUNS: &[(&str, &[&str])] = &[
    ("record", &["-- NAME", "-o NAME/NAME -- true"]),
    (
        "stat",
        &[
            "refs --html h.html --json j.json --details --force --events-chrome c.json",
            "--guests guests.toml refs",
            "--scenario scenario.toml refs",
            "--md md.toml refs",
            "--md md.bin refs",
            "NAME",
            "--guests NAME",
            "-e NAME",
            "--scenario run.json refs",
            "--md refs refs",
        ],
    ),
    (
        "report",
        &[
            "-c 10 refs --html h.html --svg s.svg --folded f.txt --callgrind g.txt --json j.json --force",
            "-c 10 stranger",
            "-e NAME refs",
            "--symbols NAME refs",
            "--symbols md.toml refs",
        ],
    ),
    (
        "annotate",
        &["-c 10 SHOWN refs", "-c 10 SHOWN --asm refs", "NAME refs", "-c 10 main stranger"],
    ),
    ("c2c", &["refs --json j.json --force", "NAME"]),
    ("conform", &["--hypervisor NAME", "--hypervisor run.json --md NAME"]),
    ("top", &["refs --interval 10", "NAME"]),
    (
        "diff",
        &["run.json run.json", "profile.json profile.json", "run.json profile.json", "NAME NAME"],
    ),
    (
        "table",
        &[
            "run.json profile.json --html h.html --json j.json --csv t.csv --force",
            "run.json NAME",
            "run.json -e NAME",
            "run.json --sort NAME",
            "run.json --base NAME",
        ],
    ),
    (
        "boot",
        &[
            "--fast --limit 2000000 --md md.toml --json j.json --html h.html --log --force",
            "--fast --limit 1000 --md md.bin",
            "--md guests.toml",
            "--scenario scenario.toml",
            "NAME",
        ],
    ),
    (
        "page",
        &[
            "run.json",
            "profile.json -o h.html --force",
            "run.json --picture NAME",
            "NAME",
            "script",
        ],
    ),
    ("call", &["script", "NAME", "--guest NAME"]),
    ("regs", &["NAME"]),
    (
        "md",
        &["check md.toml", "check md.bin --json", "dump md.bin", "build NAME -o x", "check NAME"],
    ),
    ("events", &["events", "events --json j.json --chrome c.json --force", "NAME"]),
    ("clocks", &["NAME"]),
    ("completions", &["NAME"]),
    ("man", &["NAME/NAME"]),
    ("new-image", &["mine-NAME", "mine-NAME", "NAME/NAME"]),
];

#[test]
fn a_hostile_name_is_escaped_by_every_command() {
    let place = TestDirectory::new("hostile-names");
    inputs(&place);
    let tool = Cli::command();
    let commands: BTreeSet<&str> = tool.get_subcommands().map(|one| one.get_name()).collect();
    assert_eq!(RUNS.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>(), commands);
    let (mut shown, mut files) = (BTreeSet::new(), BTreeSet::new());
    for (name, runs) in RUNS {
        for line in *runs {
            let words = line.split(' ').map(|word| match word {
                "SHOWN" => SHOWN.to_owned(),
                word => word.replace("NAME", NAME),
            });
            let words: Vec<String> = words.collect();
            let words: Vec<&str> = [*name].into_iter().chain(words.iter().map(|w| &**w)).collect();
            let mut run = command(&words);
            run.current_dir(place.path());
            let ended = run_with_input(run, b"");
            let whence = format!("{name} {line}");
            is_harmless(&ended.stdout, &whence);
            is_harmless(&ended.stderr, &whence);
            // clap wraps a line at the name's line break.
            let part = r"FORGED\u{202e}b\u{2066}c";
            if ended.stdout.contains(part) || ended.stderr.contains(part) {
                shown.insert(*name);
            }
            for file in ["h.html", "s.svg", "f.txt", "g.txt", "t.csv"] {
                if let Ok(text) = fs::read_to_string(place.at(file)) {
                    is_harmless(&text, &format!("{whence}: {file}"));
                    files.insert(file);
                }
            }
            for file in ["j.json", "c.json"] {
                if let Ok(text) = fs::read_to_string(place.at(file)) {
                    is_harmless(&text, &format!("{whence}: {file}"));
                    let _: Value = serde_json::from_str(&text).unwrap();
                    files.insert(file);
                }
            }
        }
    }
    // Each command has read the name and shown it.
    assert_eq!(shown, commands);
    assert_eq!(files.len(), 7, "{files:?}");
    // `dump` and `build` leave the description unchanged.
    let dumped = place.run("md dump md.bin").assert_success();
    place.file("dumped.toml", dumped);
    assert_eq!(place.run("md build dumped.toml -o dumped.bin").status, 0);
    assert_eq!(fs::read(place.at("dumped.bin")).unwrap(), fs::read(place.at("md.bin")).unwrap());
}

/// `top` itself writes control characters, so the test uses a terminal. The terminal's title must not change, and no line may start inside
/// the name.
#[test]
#[ignore = "needs tmux: cargo xtask test runs it"]
fn a_hostile_name_is_escaped_in_every_view_of_top() {
    let terminal = Terminal::new("hostile-top", 200, 40);
    let title = terminal.title();
    let refs = recording(NAME, &format!("/{NAME}"), &[NAME]);
    fs::write(terminal.path("refs"), refs).unwrap();
    let guests =
        format!("[[guest]]\nname = \"{QUOTED}\"\nstrands = \"0-255\"\ngrant = \"global+strand\"\n");
    fs::write(terminal.path("guests.toml"), guests).unwrap();
    terminal.line(&format!("{PROGRAM} top --interval 10 --guests guests.toml refs"));
    terminal.wait(|screen| screen.contains("ENDED"));
    for view in ["1", "2", "3", "4"] {
        terminal.keys(&[view]);
        is_harmless(&terminal.history(), &format!("view {view}"));
    }
    terminal.keys(&["q"]);
    let screen = terminal.wait(|screen| screen.contains("Truth: all"));
    is_harmless(&screen, "the end");
    assert!(screen.contains("FORGED"), "the name is shown: {screen}");
    assert_eq!(terminal.title(), title);
}
