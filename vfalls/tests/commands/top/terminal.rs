//! Tests `top` in a real terminal. `cargo xtask test` runs these tests, which need tmux.

use std::env;
use std::fs;
use std::ops::ControlFlow;
use std::process::Command;

use platform::{Machine, Model};
use serde_json::Value;
use simulator::recording::Recording;
use simulator::replay::Setup;

use crate::program::PROGRAM;
use crate::top::tmux::Terminal;
use crate::top::two_threads;
use simulator::run::Run;
use vfalls::cmd::top::screen::Screen;

/// Returns the detailed JSON of a replay. Its guest reads the counters after every 100 references.
fn expected(terminal: &Terminal) -> Value {
    let machine = Machine::new(Model::Batoka, 4).unwrap();
    let setup = Setup::new(machine, Recording::open(terminal.path("program")).unwrap())
        .interval(Some(100))
        .details(true);
    let run = setup.check().unwrap();
    let replayed = run.run(|_| ControlFlow::Continue(())).unwrap();
    serde_json::from_str(&serde_json::to_string(&Run::from(replayed)).unwrap()).unwrap()
}

/// Opens a terminal, prints a line that must stay on the screen, and starts the program. The
/// terminal's settings are saved in the file `before`.
fn start(name: &str, (width, height): (usize, usize), options: &str) -> Terminal {
    let terminal = Terminal::new(name, width, height);
    fs::write(terminal.path("program"), two_threads()).unwrap();
    terminal.line("stty -g > before; echo this stays");
    terminal.wait(|screen| screen.contains("\nthis stays\nready$"));
    let program = terminal.path("program").display().to_string();
    terminal.line(&format!(
        "sh -c 'echo $$ > pid; exec {PROGRAM} top --interval 100 {options} {program}'; echo status $?"
    ));
    terminal.wait(|screen| screen.contains("1 Overview"));
    terminal
}

/// Asserts that the program has ended with this exit status, and that the terminal is as it was before.
fn is_as_before(terminal: &Terminal, status: &str) -> String {
    terminal.wait(|screen| screen.contains(status));
    let screen = terminal.history();
    assert!(screen.contains("\nthis stays"), "{screen}");
    assert_eq!(terminal.state(), "0 1\n", "{screen}");
    // A terminal may be checked twice. The file appears only when it is complete.
    let _ = fs::remove_file(terminal.path("after"));
    terminal.line("stty -g > now; mv now after");
    terminal.wait(|_| terminal.path("after").exists());
    assert_eq!(terminal.read("after"), terminal.read("before"));
    screen
}

/// Returns the number in one column of the row that starts with `row`. Columns are counted from 0.
fn cell(screen: &str, row: &str, column: usize) -> u64 {
    let found = screen.lines().find_map(|line| line.trim_start().strip_prefix(row));
    let cells = found.unwrap_or_else(|| panic!("{row}: {screen}"));
    let cell = cells.split_whitespace().nth(column).unwrap();
    cell.replace(',', "").parse().unwrap()
}

fn is_coloured(screen: &str) -> bool {
    (1..4).any(|colour| screen.contains(&format!("38;5;{colour}m")))
}

/// Steps through the replay. At the end, each view must show the same as after a replay without pauses.
#[test]
#[ignore = "needs tmux: cargo xtask test runs it"]
fn every_view_shows_the_results() {
    let terminal = start("top-views", (80, 24), "--paused --json results.json");
    terminal.wait(|screen| screen.contains("the last 100 references") && screen.contains("PAUSED"));
    terminal.keys(&["s"]);
    terminal.wait(|screen| screen.contains("  200 references"));
    // The test waits after each key. If two steps came quickly, the view would show both intervals together.
    terminal.keys(&["Right"]);
    terminal.wait(|screen| screen.contains("  300 references"));
    terminal.keys(&["s"]);
    let screen = terminal.wait(|screen| screen.contains("  400 references"));
    assert!(screen.contains("Shown: the last 100 references"), "{screen}");
    terminal.keys(&["t"]);
    terminal.wait(|screen| screen.contains("Shown: all since the start"));
    terminal.keys(&["t", "+", "+", "+", "+", "Space"]);
    let overview = terminal.wait(|screen| screen.contains("ENDED"));
    assert!(overview.contains("2,000 references"), "{overview}");
    assert!(is_coloured(&terminal.colours()), "{overview}");

    let expected = expected(&terminal);
    let (threads, calls) = (&expected["threads"], &expected["hypercalls"]);
    for (node, thread) in [("0  ", 0), ("1  ", 1)] {
        assert_eq!(cell(&overview, node, 0), threads[thread]["instructions"]);
    }
    assert_eq!(cell(&overview, "hypercalls:", 0), calls["total"]);
    terminal.keys(&["2"]);
    let screen = terminal.wait(|screen| screen.contains("thread  strand"));
    for thread in 0..2 {
        let served = &threads[thread]["served"];
        let row = format!("{thread}  {:>6}", 64 * thread);
        assert_eq!(cell(&screen, &row, 0), threads[thread]["instructions"], "{screen}");
        assert_eq!(cell(&screen, &row, 6), served["l2"], "{screen}");
    }
    terminal.keys(&["Tab"]);
    let screen = terminal.wait(|screen| screen.contains("DRAM channel"));
    let channel = &expected["channels"][0];
    assert_eq!(cell(&screen, "node 0 channel 0", 0), channel["reads"], "{screen}");
    terminal.keys(&["PageDown", "PageDown", "PageDown"]);
    let screen = terminal.wait(|screen| screen.contains("lines from"));
    let traffic = expected["traffic"].as_array().unwrap().iter();
    let mut c2c = traffic
        .filter(|one| (&one["from"], &one["to"]) == (&0.into(), &1.into()) && one["kind"] == "c2c");
    assert_eq!(cell(&screen, "node 0      node 1", 1), c2c.next().unwrap()["lines"]);
    terminal.keys(&["4"]);
    let screen = terminal.wait(|screen| screen.contains("cycles waited"));
    let code = expected["details"]["code"].as_array().unwrap();
    let waited: u64 = code.iter().map(|one| one["cycles"].as_u64().unwrap()).sum();
    let row = screen.lines().find(|line| line.contains("page 0x40000"));
    assert_eq!(cell(row.unwrap(), "", 0), waited, "{screen}");
    terminal.keys(&["6"]);
    let screen = terminal.wait(|screen| screen.contains("transfers"));
    let line = &expected["details"]["lines"]["hottest"][0];
    assert_eq!(cell(&screen, "0x1000 ", 1), line["transfers"], "{screen}");
    assert!(screen.contains(" false "), "each node has its own bytes: {screen}");
    terminal.keys(&["7"]);
    let screen = terminal.wait(|screen| screen.contains("EWOULDBLOCK"));
    assert_eq!(
        cell(&screen, "measuring  all calls", 0),
        expected["guests"][0]["hypercalls"]["total"]
    );
    terminal.keys(&["8"]);
    let screen = terminal.wait(|screen| screen.contains("measured"));
    assert_eq!(cell(&screen, "pic:Instr_cnt", 0), 1000);

    terminal.keys(&["q"]);
    let screen = is_as_before(&terminal, "status 0");
    assert!(screen.contains("Truth: all "), "the summary stays: {screen}");
    let results: Value = serde_json::from_str(&terminal.read("results.json")).unwrap();
    assert!(results == expected, "a pause changes nothing");
}

/// The screen follows the size of the terminal, which is 160 by 50 at first, and then 80 by 24.
#[test]
#[ignore = "needs tmux: cargo xtask test runs it"]
fn other_sizes_and_keys() {
    let terminal = start("top-sizes", (160, 50), "--paused");
    terminal.keys(&["2"]);
    let screen = terminal.wait(|screen| screen.contains("where cycles go"));
    assert!(screen.lines().nth(49).unwrap().starts_with("space pause"), "{screen}");
    terminal.keys(&["?"]);
    terminal.wait(|screen| screen.contains("one interval, then pause"));
    terminal.keys(&["?"]);
    terminal.wait(|screen| !screen.contains("one interval, then pause"));
    terminal.resize(80, 24);
    let screen = terminal
        .wait(|screen| screen.lines().nth(23).is_some_and(|line| line.starts_with("space pause")));
    assert!(!screen.contains("where cycles go"), "{screen}");
    // A shell can stop the program and continue it.
    terminal.keys(&["C-z"]);
    is_as_before(&terminal, "Stopped");
    terminal.line("fg; echo status $?");
    terminal.wait(|screen| screen.contains("1 Overview"));
    terminal.keys(&["C-c"]);
    let screen = is_as_before(&terminal, "status 0");
    assert!(screen.contains("stopped before the end"), "{screen}");
}

/// Sends one signal, or two signals in quick succession.
#[test]
#[ignore = "needs tmux: cargo xtask test runs it"]
fn a_signal_gives_the_terminal_back() {
    for signals in [&["INT"][..], &["TERM"], &["HUP"], &["QUIT"], &["TERM", "INT"]] {
        let name = format!("top-{}", signals.join("-"));
        let terminal = start(&name, (80, 24), "--paused");
        let pid = terminal.read("pid");
        for signal in signals {
            let mut kill = Command::new("kill");
            // The program may have ended before the second signal.
            let _ = kill.args([&format!("-{signal}"), pid.trim()]).output();
        }
        is_as_before(&terminal, "status 130");
    }
}

/// The next test runs this test in a terminal. The environment variable `PANICS` makes this test panic.
#[test]
#[ignore = "panics where a test wants it to"]
fn panics() {
    if env::var_os("PANICS").is_some() {
        let mut screen = Screen::open().unwrap();
        let drawn = screen.draw(|frame| {
            frame.render_widget("a view", frame.area());
            panic!("on purpose");
        });
        drawn.unwrap();
    }
}

#[test]
#[ignore = "needs tmux: cargo xtask test runs it"]
fn a_panic_gives_the_terminal_back_before_it_is_reported() {
    let terminal = Terminal::new("top-panic", 80, 50);
    terminal.line("stty -g > before; echo this stays");
    terminal.wait(|screen| screen.contains("\nthis stays\nready$"));
    let own = env::current_exe().unwrap();
    terminal.line(&format!(
        "PANICS=1 RUST_BACKTRACE=0 {} --ignored --exact top::terminal::panics --nocapture; echo status $?",
        own.display()
    ));
    let screen = is_as_before(&terminal, "status 101");
    assert!(screen.contains("on purpose"), "{screen}");
}

#[test]
#[ignore = "needs tmux: cargo xtask test runs it"]
fn no_colours() {
    let terminal = Terminal::new("top-colours", 80, 24);
    fs::write(terminal.path("program"), two_threads()).unwrap();
    terminal.line(&format!("NO_COLOR=1 {PROGRAM} top --interval 100 program"));
    terminal.wait(|screen| screen.contains("ENDED"));
    let screen = terminal.colours();
    assert!(!is_coloured(&screen), "{screen}");
    terminal.keys(&["q"]);
    terminal.wait(|screen| screen.contains("Truth: all"));
}
