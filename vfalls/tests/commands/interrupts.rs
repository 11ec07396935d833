//! Interrupts a run at any moment.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::program::{TestDirectory, command, start};

/// Returns the start of a recording. It is long enough for `stat` to identify the format.
fn begin() -> Vec<u8> {
    b"I  04001090,3\n".repeat(40)
}

/// Starts `stat` with `begin` as its input. `stat` waits for more input until its input is closed.
fn stat(arguments: &[&str], begin: &[u8]) -> Child {
    let mut child = start(command(&[&["stat", "-"], arguments].concat()));
    child.stdin.as_mut().unwrap().write_all(begin).unwrap();
    child
}

pub(crate) fn send(signal: &str, child: &Child) {
    let kill = format!("kill -{signal} {}", child.id());
    let sent = Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(sent.success());
}

/// Calls `look` every millisecond until it returns a value. Fails after a minute.
pub(crate) fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..60_000 {
        if let Some(found) = look() {
            return found;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("not within a minute");
}

/// Waits until the process ends, without closing its input. Returns the exit status; `None` if an unhandled signal ended the process.
pub(crate) fn ended(mut child: Child) -> Option<i32> {
    wait_for(|| child.try_wait().unwrap()).code()
}

#[test]
fn an_interrupted_replay_leaves_nothing() {
    let place = TestDirectory::new("interrupted-stat");
    for signal in ["INT", "TERM", "QUIT"] {
        let child = stat(&["--json", &place.at("results.json")], &begin());
        wait_for(|| (!place.names(".").is_empty()).then_some(()));
        send(signal, &child);
        assert_eq!(ended(child), Some(130));
        assert_eq!(place.names("."), [""; 0]);
    }
}

#[test]
fn an_interrupted_replay_shows_what_happened_so_far() {
    let place = TestDirectory::new("interrupted-shown");
    let arguments = ["stat", "--bundled", "--interval", "1000", "--json"];
    let mut child = start(command(&[&arguments[..], &[&place.at("results.json")]].concat()));
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut shown = String::new();
    while shown.lines().count() < 100 {
        output.read_line(&mut shown).unwrap();
    }
    send("INT", &child);
    output.read_to_string(&mut shown).unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(ended(child), Some(130));
    let truth = shown.lines().find(|line| line.starts_with("Truth:")).unwrap();
    assert!(truth.starts_with("Truth: all 72 counters show exactly what happened ("), "{truth}");
    let notes: Vec<_> = said.lines().collect();
    assert!(notes[0].starts_with("note: the replay was stopped after "), "{said}");
    assert_eq!(notes[1..], ["error: interrupted, nothing was written"]);
    assert_eq!(place.names("."), [""; 0]);
}

/// Returns `true` if the process handles SIGTERM, which is signal 15.
pub(crate) fn handles_term(child: &Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    u64::from_str_radix(mask.unwrap().trim(), 16).unwrap() & 1 << (15 - 1) != 0
}

/// The program installs its signal handlers before it creates any file. Without a handler, the kernel may ignore the signal, as it does for
/// a container's process 1.
#[test]
fn signals_are_handled_before_anything_is_written() {
    for signal in ["INT", "TERM", "HUP"] {
        // The program reads its input before it writes a file.
        let child = stat(&[], b"");
        wait_for(|| handles_term(&child).then_some(()));
        send(signal, &child);
        assert_eq!(ended(child), Some(130), "{signal}");
    }
}

/// A library that sends SIGTERM as soon as the kernel knows a handler for it. No earlier signal can reach the handler. At this moment, the
/// program has not yet stored what its handler must do.
const AT_ONCE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>

int sigaction(int signal, const struct sigaction *new, struct sigaction *old) {
    int (*next)(int, const struct sigaction *, struct sigaction *) = dlsym(RTLD_NEXT, "sigaction");
    int result = next(signal, new, old);
    if (signal == SIGTERM)
        raise(SIGTERM);
    return result;
}
"#;

#[test]
fn a_signal_ends_the_program_from_the_first_instant_that_has_a_handler() {
    let place = TestDirectory::new("interrupted-at-once");
    let source = place.file("at_once.c", AT_ONCE);
    let library = place.at("at_once.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o", &library, &source, "-ldl"]);
    assert!(compiler.status().expect("cc").success());
    let child =
        command(&["regs"]).env("LD_PRELOAD", &library).stdout(Stdio::null()).spawn().unwrap();
    assert_eq!(ended(child), Some(130));
}

#[test]
fn early_signals_end_the_replay() {
    let place = TestDirectory::new("interrupted-early");
    for instant in 0..200 {
        let child = stat(&["--json", &place.at("results.json")], &begin());
        // The delays are spread over 20 ms, in no particular order.
        thread::sleep(Duration::from_micros(instant * 7919 % 20_000));
        send("TERM", &child);
        // If the signal came before the program's first statement, there is no exit status.
        let status = ended(child);
        assert!(matches!(status, Some(130) | None), "{status:?}");
        assert_eq!(place.names("."), [""; 0]);
    }
}
