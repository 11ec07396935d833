//! Gives `call` long scripts, and scripts that wait for an answer.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::program::{ProgramOutput, TestDirectory, command, start, wait, with_input};

#[test]
fn a_hundred_thousand_calls() {
    let mut calls = String::from("0 core 0 0x205 1 1\n");
    let mut answers = String::from("0x0 0x1 0x1 0x0 0x0 0x0\n");
    for number in 0..50_000_u64 {
        let (strand, value) = (number % 256, (number * 0x1_0000_0001) & 0x7fff_ffff_7fff_ffff);
        writeln!(calls, "{strand} fast 0x107 5 {value}\n{strand} fast 0x106 5 # back").unwrap();
        writeln!(answers, "0x0 {value:#x} 0x0 0x0 0x0 0x107\n0x0 {value:#x} 0x0 0x0 0x0 0x106")
            .unwrap();
    }
    let place = TestDirectory::new("long");
    let file = place.file("calls", &calls);
    assert!(with_input(&["call", &file], "").assert_success() == answers);
    assert!(with_input(&["call"], &calls).assert_success() == answers);

    // The tool finds an error at the end of a file before it makes the first call.
    let file = place.file("mistake", calls + "0 fast\n");
    let says = format!("{file}:100002: found '0 fast', expected STRAND fast|core FUNCTION");
    with_input(&["call", &file], "").assert_failure_without_output(&says);
}

#[test]
fn calls_are_answered_one_by_one() {
    let mut child = start(command(&["call"]));
    let mut input = child.stdin.take().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let (sender, answers) = mpsc::channel();
    thread::spawn(move || {
        for line in output.lines() {
            sender.send(line.unwrap()).unwrap();
        }
    });
    // Waits for an answer. Fails after a minute.
    let answer = || answers.recv_timeout(Duration::from_secs(60)).unwrap();

    input.write_all(b"0 core 0 0x205 1 1\n").unwrap();
    assert_eq!(answer(), "0x0 0x1 0x1 0x0 0x0 0x0");
    for value in 0..20 {
        writeln!(input, "0 fast 0x107 1 {value}").unwrap();
        assert_eq!(answer(), format!("0x0 {value:#x} 0x0 0x0 0x0 0x107"));
    }
    // An incomplete line does not delay the answer to the previous line.
    input.write_all(b"0 fast 0x106 1\n\n# next\n0 fast 0x1").unwrap();
    assert_eq!(answer(), "0x0 0x3 0x0 0x0 0x0 0x106");
    input.write_all(b"06 90").unwrap();
    drop(input);
    assert_eq!(answer(), "0x6 0x0 0x0 0x0 0x0 0x106");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_closed_pipe_is_no_error() {
    unread(&["call"], &"0 core 3 0\n".repeat(10_000)).assert_success();
}

/// Runs the program with a closed pipe as its standard output. The pipe is closed before the program starts, so the program can write
/// nothing to it.
fn unread(arguments: &[&str], input: &str) -> ProgramOutput {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut command = command(arguments);
    command.stdin(Stdio::piped()).stdout(writer).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The program may end before it has read all its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    wait(child)
}

#[test]
fn a_list_that_nobody_reads_is_no_error() {
    for format in ["table", "csv", "json"] {
        unread(&["regs", "--format", format], "").assert_success();
    }
}

/// The standard output is a closed pipe, so the program does not write the file either.
#[test]
fn a_closed_pipe_is_an_error_if_a_file_is_wanted() {
    let place = TestDirectory::new("closed-pipe");
    let ended = unread(&["events", "--layouts", "--json", &place.at("layouts.json")], "");
    ended.assert_failure("error: Broken pipe (os error 32); nothing was written\n");
    assert_eq!(place.names("."), [""; 0]);
}
