//! gdb attached to `vfalls boot`.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use xtask::tools::{self, GDB};

use crate::program::command;

/// The script for gdb, with `PORT` in place of the port.
const COMMANDS: [&str; 14] = [
    "set pagination off",
    "set endian big",
    "target remote :PORT",
    "info threads",
    "x/i $pc",
    "stepi",
    "print/x $npc - $pc",
    "print/x $pc",
    "set var $g3 = 0x1234567890",
    "print/x $g3",
    "break *$pc + 8",
    "continue",
    "delete",
    "continue",
];

#[test]
#[ignore = "needs gdb-multiarch"]
fn a_debugger_stops_and_goes_on() {
    let gdb = tools::path(&GDB).unwrap();
    let mut run = command(&["boot", "--gdb", "0", "--strands", "0,64"]);
    run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = run.spawn().unwrap();
    let mut stderr = BufReader::new(run.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let port = line.trim_end().trim_end_matches('\'');
    let port = port.rsplit_once(':').unwrap().1;

    let mut gdb = Command::new(gdb);
    gdb.args(["-nx", "-batch"]);
    for typed in COMMANDS {
        gdb.args(["-ex", &typed.replace("PORT", port)]);
    }
    let said = gdb.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&said.stdout).into_owned();

    let mut stdout = String::new();
    run.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    assert!(run.wait().unwrap().success(), "{said}");
    assert!(stdout.starts_with("2 strands, 60000 loads each\n"), "{stdout}");
    for expected in [
        "(strand 0 of guest: runs)",
        "(strand 64 of guest: halted)",
        "=> 0x80000000:",
        "$1 = 0x4\n",
        "$2 = 0x80000004\n",
        "$3 = 0x1234567890\n",
        "Breakpoint 1, 0x0000000080000",
        "exited normally",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}
