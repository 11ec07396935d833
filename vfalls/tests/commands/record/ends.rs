//! Records programs that are killed, and programs that start other programs which the emulator cannot execute.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use simulator::recording::Kind;

use super::{HOST, Read, printed, record, recordings};
use crate::interrupts::{ended, send, wait_for};
use crate::program::{PROGRAM, TestDirectory, command, run_with_input};

/// A program that stores 1000 words and prints their address. Its argument names what it does next.
const STORE: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long words[1000];
static void store(void) {
    for (int i = 0; i < 1000; i++)
        words[i] = i;
}
int main(int count, char **arguments) {
    const char *end = arguments[1];
    store();
    printf("words %p\n", (void *)words);
    fflush(stdout);
    if (!strcmp(end, "exec"))
        execl("./rights", "sh", "-c", "true", (char *)0);
    if (!strcmp(end, "shim"))
        execl("./rights", "sh", "-c", "exec /bin/sleep '0.5'", (char *)0);
    if (!strcmp(end, "no-exec"))
        execl("/nonexistent/true", "true", (char *)0), store();
    if (!strcmp(end, "fork")) {
        if (!fork())
            store(), execl("./rights", "sh", "-c", "true", (char *)0);
        wait(0);
        store();
    }
    if (!strcmp(end, "kill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(end, "abort"))
        abort();
    if (!strcmp(end, "pause"))
        pause();
    while (!strcmp(end, "loop"))
        store();
    return !strcmp(end, "three") ? 3 : 0;
}
"#;

fn place(name: &str) -> TestDirectory {
    let place = TestDirectory::new(&format!("record-{name}"));
    HOST.compile(&place, "store", STORE, &[]);
    // A program with this mode (set-user-ID) runs with its owner's rights. An emulator cannot give it these rights.
    let rights = place.path().join("rights");
    fs::copy("/bin/sh", &rights).unwrap();
    fs::set_permissions(rights, Permissions::from_mode(0o4755)).unwrap();
    place
}

/// Records the program with an argument. Returns how many times the program stored its words, the lines that `record` printed after its
/// summary, and the recording's notes.
#[track_caller]
fn stores(name: &str, line: &str) -> (usize, Vec<String>, Vec<String>) {
    let place = place(name);
    let ended = record(&place, line);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert_eq!(recordings(&place), ["refs"]);
    let words = printed(&ended, "words");
    let read = Read::from_place(&place);
    let stores = read.threads[0].references.iter().filter(|one| one.kind == Kind::Store);
    let stores = stores.filter(|one| (words..words + 8000).contains(&one.address)).count();
    assert_eq!(stores % 1000, 0);
    let said = ended.stderr.lines().skip_while(|line| !line.starts_with("recorded "));
    (stores / 1000, said.skip(1).map(str::to_owned).collect(), read.notes)
}

/// Records `./store` with an argument. Asserts that the program stores its words `times` times, that `record` prints `said`, and that
/// `said` is the recording's note.
fn ends(argument: &str, times: usize, said: &str) {
    let said = [said.to_owned()].to_vec();
    assert_eq!(stores(argument, &format!("-- ./store {argument}")), (times, said.clone(), said));
}

#[test]
#[ignore = "needs qemu-user"]
fn a_status_is_said() {
    ends("three", 1, "./store exited with status 3");
}

#[test]
#[ignore = "needs qemu-user"]
fn a_program_that_becomes_another_one_is_named() {
    let said = "./store turned into ./rights, which is not recorded: record ./rights instead";
    ends("exec", 1, said);
    // The program behaves like a version manager's shim: it first becomes a shell, and then another program.
    let sleep = fs::canonicalize("/bin/sleep").unwrap();
    let said = format!(
        "./store turned into ./rights and finally into another program; neither is recorded. To record the last one: \
         vfalls record -- {} 0.5",
        sleep.display()
    );
    ends("shim", 1, &said);
    // If `exec` finds no program, it fails, and the recorded program continues.
    assert_eq!(stores("no-exec", "-- ./store no-exec"), (2, vec![], vec![]));
}

#[test]
#[ignore = "needs qemu-user"]
fn a_program_that_is_started_is_named_and_not_recorded() {
    let said =
        "./store started ./rights, which is not recorded; to record it: vfalls record -- ./rights";
    ends("fork", 2, said);
}

#[test]
#[ignore = "needs qemu-user"]
fn what_a_killed_program_has_done_is_kept() {
    for (argument, signal) in [("kill", "SIGKILL"), ("abort", "SIGABRT")] {
        let said = format!(
            "./store was ended by {signal}, and its threads' last references may be missing"
        );
        ends(argument, 1, &said);
    }
}

#[test]
#[ignore = "needs qemu-user"]
fn the_limit_ends_a_program() {
    let place = place("limit");
    let ended = record(&place, "--limit 100000 -- ./store loop");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let last = "./store was ended: it had made as many references as --limit allows";
    assert!(ended.stderr.ends_with(&format!("\n{last}\n")), "{}", ended.stderr);
    let read = Read::from_place(&place);
    // A thread checks the limit only when it writes its log to the recording. The log is at most 1 MiB long. It contains an 8-byte word for
    // each block and each access. A block of this program has fewer than 8 references.
    assert!((100_000..1_200_000).contains(&read.references()), "{}", read.references());
    assert_eq!(read.notes, [last]);
}

#[test]
#[ignore = "needs qemu-user"]
fn a_recording_that_grows_can_be_read_and_an_interrupt_keeps_it() {
    let place = place("grows");
    let child = command(&["record", "-o", "refs", "--", "./store", "pause"])
        .current_dir(place.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let growing = wait_for(|| {
        let name = recordings(&place).into_iter().find(|name| name.starts_with(".refs."))?;
        let path: PathBuf = place.path().join(name);
        (fs::metadata(&path).ok()?.len() > 20_000).then_some(path)
    });
    let read = Read::new(&growing);
    assert!(read.notes[0].ends_with(" has no end: the recorder is still running or was killed"));
    assert!(read.references() > 1000);
    send("INT", &child);
    assert_eq!(ended(child), Some(0));
    assert_eq!(recordings(&place), ["refs"]);
    let notes = Read::from_place(&place).notes;
    let said = "./store was ended by SIGTERM, after an interrupt, and its threads' last references may be missing";
    assert_eq!(notes, [said]);
}

#[test]
#[ignore = "needs qemu-user"]
fn output_that_is_full_is_an_error_and_leaves_nothing() {
    let place = place("full");
    // `ulimit` counts 512-byte blocks. The limit also applies to the plug-in's file, but that file is smaller.
    assert_eq!(record(&place, "-- ./store three").status, 0);
    let record = format!("{PROGRAM} record -o full.refs -- ./store loop");
    let line = format!("trap '' XFSZ; ulimit -f 2048; exec {record}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).current_dir(place.path());
    let ended = run_with_input(shell, b"");
    assert_eq!(ended.status, 2, "{}", ended.stderr);
    let last = ended.stderr.lines().last().unwrap();
    assert!(last.ends_with(".partial: cannot be written: File too large (os error 27)"), "{last}");
    assert_eq!(recordings(&place), ["refs"]);
}
