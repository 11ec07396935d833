//! Sends bytes that no real debugger sends, and checks the answers.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::{Debuggee, says};

/// Sends bytes, and returns the answer without a leading `+`. The answer is a packet with its checksum, or `-`.
fn ask(stream: &mut TcpStream, bytes: &[u8]) -> String {
    stream.write_all(bytes).unwrap();
    let mut said = Vec::new();
    while said.len() < 4 || said[said.len() - 3] != b'#' {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        said.extend(byte);
        if said == b"+" {
            said.clear();
        } else if said == b"-" {
            break;
        }
    }
    String::from_utf8(said).unwrap()
}

/// Asserts that gdb can attach, and that the guest is still at its first instruction.
fn waits_at_the_entry(run: Debuggee) {
    run.answers("print/x $pc | print/x *(long *) 0x80002000", "$1 = 0x80000000 | $2 = 0x0");
    run.ends_by("TERM");
}

#[test]
#[ignore = "needs gdb-multiarch"]
fn a_probe_of_the_port_is_no_debugger() {
    let run = Debuggee::counter("gdb-probe");
    drop(run.connect());
    run.connect().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    run.connect().write_all(b"\x03\x03+-").unwrap();
    // A connection that sends nothing does not block other connections.
    let silent = run.connect();
    waits_at_the_entry(run);
    drop(silent);
}

#[test]
#[ignore = "needs gdb-multiarch"]
fn a_connection_is_lost_in_a_packet() {
    let run = Debuggee::counter("gdb-lost");
    run.connect().write_all(b"$m80000").unwrap();
    run.connect().write_all(b"$m80000000,4#").unwrap();
    // These packets are complete, but the connection is closed without reading their answers.
    run.connect().write_all(b"$?#3f$g#67$vCont;c").unwrap();
    waits_at_the_entry(run);
}

#[test]
#[ignore = "needs gdb-multiarch"]
fn a_machine_stops_when_the_connection_is_lost() {
    let run = Debuggee::counter("gdb-lost-running");
    let mut stream = run.connect();
    // When the connection ends, its breakpoint is removed, too.
    stream.write_all(b"$Z0,80000004,4#a2").unwrap();
    assert_eq!(ask(&mut stream, b"$c#63"), "$OK#9a");
    assert_eq!(ask(&mut stream, b""), "$T05thread:1;#d7");
    stream.write_all(b"$c#63").unwrap();
    drop(stream);
    let first = run.gdb("print *(long *) 0x80002000 | shell kill -9 $PPID");
    let second = run.gdb(
        "print *(long *) 0x80002000 | break *0x8000000c | continue | continue | delete \
         | set var $g3 = 1 | continue",
    );
    let count = first.rsplit_once("$1 = ").unwrap().1.lines().next().unwrap();
    says(&second, &format!("$1 = {count}\n | Breakpoint 1, | Breakpoint 1, | exited normally"));
    run.ends_well();
}

#[test]
fn a_session_goes_on_after_wrong_packets() {
    let run = Debuggee::counter("gdb-packets");
    let mut stream = run.connect();
    let stream = &mut stream;
    assert_eq!(ask(stream, b"$?#3f"), "$T05thread:1;#d7");
    // In each of these packets, the checksum is wrong or is not a number.
    for wrong in ["$g#66", "$g#zz", "$g#6\n"] {
        assert_eq!(ask(stream, wrong.as_bytes()), "-", "{wrong}");
    }
    // A `$` starts a new packet, and the incomplete packet before it is dropped.
    assert_eq!(ask(stream, b"$m8000$qC#b4"), "$QC1#c5");
    // A `-` requests the previous answer again.
    assert_eq!(ask(stream, b"-"), "$QC1#c5");
    // The text of this packet is too long.
    stream.write_all(&[b"$m".as_slice(), &[b'0'; 100_000]].concat()).unwrap();
    assert_eq!(ask(stream, b"#00"), "-");
    // The machine has 64 strands. Thread 0x40 is strand 63, and thread 0x41 does not exist.
    assert_eq!(ask(stream, b"$Hg41#14"), "$E01#a6");
    assert_eq!(ask(stream, b"$Hg40#13"), "$OK#9a");
    let registers = ask(stream, b"$g#67");
    assert_eq!(registers.len(), 1 + 2 * (32 * 8 + 32 * 4 + 16 * 8 + 6 * 8) + 3);
    assert_eq!(ask(stream, b"$Hg1#e0"), "$OK#9a");
    assert_eq!(ask(stream, b"$m80000000,4#55"), "$03200008#8d");
    assert_eq!(ask(stream, b"$unknown#10"), "$#00");
    run.ends_by("HUP");
}
