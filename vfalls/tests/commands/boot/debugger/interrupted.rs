//! Interrupts a run to which a debugger is attached, and a run that still waits for a debugger.

use std::io::Write;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use vfalls::cmd::boot::elf;

use super::Debuggee;
use crate::interrupts::{ended, handles_term, send, wait_for};
use crate::program::{TestDirectory, command};

const SIGNALS: [&str; 3] = ["INT", "TERM", "HUP"];

#[test]
fn while_no_debugger_is_connected() {
    for signal in SIGNALS {
        Debuggee::counter("interrupted-waits").ends_by(signal);
    }
}

#[test]
fn while_a_debugger_is_connected() {
    for signal in SIGNALS {
        for sent in ["", "$", "$?#3f", "$?#3f$c#63", "$?#3f$D#44"] {
            let run = Debuggee::counter("interrupted-connected");
            let mut stream = run.connect();
            stream.write_all(sent.as_bytes()).unwrap();
            thread::sleep(Duration::from_millis(50));
            run.ends_by(signal);
        }
    }
}

/// The hypervisor never starts its guest, so the run never begins to wait for a debugger.
#[test]
fn before_the_guest_begins() {
    let place = TestDirectory::new("interrupted-before");
    // The hypervisor is `ba .; nop`.
    let forever = place.file("forever.elf", elf::program(0x10_0000, &[0x1080_0000, 0x0100_0000]));
    for signal in SIGNALS {
        let mut run = command(&["boot", "--gdb", "0", "--hypervisor", &forever]);
        let run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for(|| handles_term(&run).then_some(()));
        thread::sleep(Duration::from_millis(300));
        let sent = Instant::now();
        send(signal, &run);
        assert_eq!(ended(run), Some(130), "{signal}");
        assert!(sent.elapsed() < Duration::from_secs(2), "{signal}: {:?}", sent.elapsed());
    }
}
