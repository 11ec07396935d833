//! Attaches gdb to `vfalls boot`.

mod interrupted;
mod wire;

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use vfalls::cmd::boot::elf;
use xtask::tools::{self, GDB};

use crate::interrupts::{send, wait_for};
use crate::program::{TestDirectory, command};

/// A guest that adds 1 to the word at 0x80002000 until %g3 is not 0. Then it exits.
///
/// sethi %hi(0x80002000), %g1; ldx [%g1], %g2; add %g2, 1, %g2; stx %g2, [%g1]; brz %g3, -3; nop;
/// mov 0, %o0; mov 2, %o5; ta 0xff
const COUNTER: [u32; 9] = [
    0x0320_0008,
    0xc458_6000,
    0x8400_a001,
    0xc470_6000,
    0x02f8_fffd,
    0x0100_0000,
    0x9010_2000,
    0x9a10_2002,
    0x91d0_20ff,
];

/// A `vfalls boot` process that waits for a debugger.
struct Debuggee {
    run: Child,
    port: u16,
    stderr: BufReader<ChildStderr>,
}

impl Debuggee {
    fn start(arguments: &[&str]) -> Self {
        let mut run = command(&[&["boot", "--gdb", "0"], arguments].concat());
        run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut run = run.spawn().unwrap();
        let mut stderr = BufReader::new(run.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let port = line.trim_end().trim_end_matches('\'').rsplit_once(':').unwrap().1;
        Self { port: port.parse().unwrap(), run, stderr }
    }

    /// Starts the guest [`COUNTER`] on a machine with one node.
    fn counter(name: &str) -> Self {
        let place = TestDirectory::new(name);
        let guest = place.file("counter.elf", elf::program(0x8000_0000, &COUNTER));
        Self::start(&[&guest, "--nodes", "1", "--fast"])
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Types lines into gdb, and then lets gdb detach. ` | ` separates the lines in `typed`. Returns gdb's output.
    fn gdb(&self, typed: &str) -> String {
        self.gdb_before("set endian big", typed)
    }

    /// Works like [`gdb`](Self::gdb), and asserts that gdb [`says`] what is expected.
    #[track_caller]
    fn answers(&self, typed: &str, expected: &str) -> String {
        let said = self.gdb(typed);
        says(&said, expected);
        said
    }

    /// Works like [`gdb`](Self::gdb), but types `before` before gdb connects.
    fn gdb_before(&self, before: &str, typed: &str) -> String {
        let mut gdb = Command::new("timeout");
        gdb.arg("60").arg(tools::path(&GDB).unwrap()).args(["-nx", "-batch"]);
        let connect = format!("target remote :{}", self.port);
        for line in before.split(" | ").chain([&*connect]).chain(typed.split(" | ")) {
            gdb.args(["-ex", line]);
        }
        let said = gdb.stdin(Stdio::null()).output().unwrap();
        [said.stdout, said.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat()
    }

    /// Asserts that the signal `signal` ends the run immediately.
    fn ends_by(mut self, signal: &str) {
        assert_eq!(self.run.try_wait().unwrap(), None, "it has ended before");
        let sent = Instant::now();
        send(signal, &self.run);
        assert_eq!(wait_for(|| self.run.try_wait().unwrap()).code(), Some(130), "{signal}");
        assert!(sent.elapsed() < Duration::from_secs(2), "{signal}: {:?}", sent.elapsed());
        assert_eq!(self.rest().1, "error: interrupted, nothing was written\n");
    }

    /// Waits until the run ends with status 0. Returns its standard output.
    fn ends_well(mut self) -> String {
        let (stdout, stderr) = self.rest();
        assert_eq!(self.run.wait().unwrap().code(), Some(0), "{stderr}");
        stdout
    }

    /// Returns what the run still prints to standard output and standard error.
    fn rest(&mut self) -> (String, String) {
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.run.stdout.as_mut().unwrap().read_to_string(&mut stdout).unwrap();
        self.stderr.read_to_string(&mut stderr).unwrap();
        (stdout, stderr)
    }
}

/// Ends the run if a test fails.
impl Drop for Debuggee {
    fn drop(&mut self) {
        let _ = self.run.kill().and_then(|()| self.run.wait());
    }
}

/// Asserts that `said` contains all parts of `expected` in the same order. ` | ` separates the parts.
#[track_caller]
fn says(said: &str, expected: &str) {
    expected.split(" | ").fold(said, |rest, text| match rest.split_once(text) {
        Some((_, rest)) => rest,
        None => panic!("{text:?} is missing: {said}"),
    });
}

#[test]
#[ignore = "needs gdb-multiarch"]
fn a_debugger_stops_and_goes_on() {
    let run = Debuggee::start(&["--strands", "0,64"]);
    run.answers(
        "set scheduler-locking on | thread 2 | continue | thread 1 | set scheduler-locking off \
         | info threads | x/i $pc | stepi | print/x $npc - $pc | print/x $pc | set var $g3 = 0x1234567890 \
         | print/x $g3 | break *$pc + 8 | continue | delete | continue",
        "Thread 2 stopped | (strand 0 of guest: runs) | (strand 64 of guest: halted) | => 0x80000000: | $1 = 0x4\n \
         | $2 = 0x80000004\n | $3 = 0x1234567890\n | Breakpoint 1, 0x0000000080000 | exited normally",
    );
    let stdout = run.ends_well();
    assert!(stdout.starts_with("2 strands, 60000 loads each\n"), "{stdout}");
}

#[test]
#[ignore = "needs gdb-multiarch"]
fn one_strand_executes_while_the_others_are_locked() {
    let run = Debuggee::counter("gdb-locked");
    run.answers(
        "set scheduler-locking on | stepi | print/x $pc | break *0x8000000c | continue | continue | print $g2 \
         | set scheduler-locking step | stepi | print/x $pc | set scheduler-locking off | continue | print $g2",
        "$1 = 0x80000004 | Breakpoint 1, | Breakpoint 1, | $2 = 2 | $3 = 0x80000010 | $4 = 3",
    );
    run.ends_by("INT");
}

/// The bundled guest's second strand executes until it halts. With scheduler locking, no other strand executes, so gdb reports that the
/// strand waits.
#[test]
#[ignore = "needs gdb-multiarch"]
fn a_locked_strand_that_waits_is_reported() {
    let run = Debuggee::start(&["--strands", "0,64"]);
    run.answers(
        "set scheduler-locking on | thread 2 | continue | stepi | continue | print 1",
        "Thread 2 stopped | Thread 2 stopped | Thread 2 stopped | $1 = 1",
    );
    run.ends_by("INT");
}

/// An old gdb does not use `vCont`, but sends `Hc`, `c` and `s` instead.
#[test]
#[ignore = "needs gdb-multiarch"]
fn an_old_debugger_steps_and_continues() {
    let run = Debuggee::counter("gdb-old");
    let said = run.gdb_before(
        "set endian big | set remote verbose-resume-packet off",
        "stepi | stepi | print/x $pc | break *0x8000000c | continue | continue | print $g2 \
         | set scheduler-locking on | stepi | print/x $pc | continue | print $g2 \
         | delete | set var $g3 = 1 | continue",
    );
    says(
        &said,
        "$1 = 0x80000008 | Breakpoint 1, | Breakpoint 1, | $2 = 2 | $3 = 0x80000010 | $4 = 3 | exited normally",
    );
    run.ends_well();
}

/// gdb replaces one of the guest's instructions with another one, which adds 100.
#[test]
#[ignore = "needs gdb-multiarch"]
fn memory_and_registers_are_written() {
    let run = Debuggee::counter("gdb-writes");
    let said = run.answers(
        "set var *(long *) 0x80002000 = 0x7fffffff24235d7d | set var *(char *) 0x80002000 = 0x11 \
         | print/x *(long *) 0x80002000 | set var $y = 0x12345678 | print/x $y \
         | set var $i5 = 0xfedcba9876543210 | set var $state = $state + ((long) 0x99 << 32) | print/x $ccr \
         | set var $f0 = 1.5 | set var *(int *) 0 = 1 | set var *(int *) 0x80000008 = 0x8400a064 \
         | break *0x8000000c | continue | print/x $g2 | print/x $i5 | print/x $ccr \
         | set var $pc = 0x80000018 | set var $npc = 0x8000001c | delete | continue",
        "$1 = 0x11ffffff24235d7d | $2 = 0x12345678 | $3 = 0x99 | Breakpoint 1, \
         | $4 = 0x11ffffff24235de1 | $5 = 0xfedcba9876543210 | $6 = 0x99 | exited normally",
    );
    says(&said, "Could not write registers | Cannot access memory at address 0x0");
    run.ends_well();
}

#[test]
#[ignore = "needs gdb-multiarch"]
fn watchpoints_stop_at_loads_and_stores() {
    let run = Debuggee::counter("gdb-watches");
    run.answers(
        "watch *(long *) 0x80002000 | continue | print/x $pc | continue | delete \
         | rwatch *(char *) 0x80002007 | continue | print/x $pc | delete \
         | awatch *(char *) 0x80002007 | continue | print/x $pc | continue | print/x $pc | delete \
         | watch *(char *) 0x80002008 | set var $g3 = 1 | continue",
        "Hardware watchpoint 1 | Old value = 0 | New value = 1 | $1 = 0x80000010 | Old value = 1 | New value = 2 \
         | Hardware read watchpoint 2 | Value = 2 | $2 = 0x80000008 | Hardware access (read/write) watchpoint 3 \
         | New value = 3 | $3 = 0x80000010 | Value = 3 | $4 = 0x80000008 | exited normally",
    );
    run.ends_well();
}

#[test]
#[ignore = "needs gdb-multiarch"]
fn a_debugger_detaches_and_another_attaches() {
    let run = Debuggee::counter("gdb-detach");
    // The first debugger sets a breakpoint and a watchpoint, and detaches. Both are removed then.
    run.gdb("break *0x8000000c | continue | watch *(long *) 0x80002000 | detach");
    run.answers(
        "print *(long *) 0x80002000 > 1 | info threads | stepi",
        "$1 = 1 | (strand 0 of counter: runs)",
    );
    run.answers("set var $g3 = 1 | continue", "exited normally");
    run.ends_well();
}

#[test]
#[ignore = "needs gdb-multiarch"]
fn a_debugger_ends_the_execution() {
    let mut run = Debuggee::counter("gdb-kill");
    run.answers("stepi | kill", "[Inferior 1 (Remote target) killed]");
    assert_eq!(run.run.wait().unwrap().code(), Some(2));
    assert_eq!(run.rest().1, "error: the debugger ended the execution\n");
}

#[test]
#[ignore = "needs gdb-multiarch"]
fn a_debugger_that_dies_leaves_the_machine_as_it_was() {
    let run = Debuggee::counter("gdb-dies");
    run.gdb("break *0x8000000c | continue | set var $g4 = 0x1234 | shell kill -9 $PPID");
    run.answers(
        "print/x $pc | print/x $g4 | print $g2 | set var $g3 = 1 | continue",
        "$1 = 0x8000000c | $2 = 0x1234 | $3 = 1 | exited normally",
    );
    run.ends_well();
}

#[test]
#[ignore = "needs gdb-multiarch"]
fn a_debugger_goes_on_after_a_wrong_packet() {
    const WRONG: &str = "m mzz,1 M80002000,8:12 Z2,80002000 vCont;x vCont;s:fff Hg41 T41 H \
                         qThreadExtraInfo,41 G00 Z0,, c1x";
    let run = Debuggee::counter("gdb-wrong");
    let wrong: Vec<_> = WRONG.split(' ').map(|wrong| format!("maint packet {wrong}")).collect();
    let typed = "maint packet no-packet | maint packet g | stepi | print/x $pc";
    let said = run.gdb(&format!("{} | {typed}", wrong.join(" | ")));
    assert_eq!(said.matches("received: \"E01\"").count(), wrong.len(), "{said}");
    says(&said, "received: \"\" | sending: g | $1 = 0x80000004");
    run.ends_by("INT");
}
