//! Attaches gdb to QEMU's machine.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Stdio};

use xtask::qemu::build;
use xtask::qemu::toolchain::Toolchain;
use xtask::tools::{self, GDB};

use crate::program::command;

#[test]
#[ignore = "builds images; needs QEMU and gdb-multiarch"]
fn a_debugger_stops_at_a_function_of_the_guest() {
    let guest = build::guest_to_copy(&Toolchain::find().unwrap()).unwrap();
    let guest = guest.to_str().unwrap();
    // The listener is dropped, so QEMU can use its port.
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .unwrap()
        .port()
        .to_string();
    let mut qemu = command(&["qemu", "--guest", guest, "--gdb", &port, "--timeout", "60"]);
    qemu.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut qemu = qemu.spawn().unwrap();
    let stderr = BufReader::new(qemu.stderr.take().unwrap());
    let said = stderr.lines().map_while(Result::ok);
    let waiting =
        format!("waiting for a debugger: gdb-multiarch GUEST -ex 'target remote :{port}'");
    assert!(said.into_iter().any(|line| line == waiting));

    let mut gdb = Command::new(tools::path(&GDB).unwrap());
    gdb.args(["-nx", "-batch", guest]);
    let target = format!("target remote :{port}");
    let typed = [&target, "break strand_main", "continue", "x/i $pc", "kill"];
    for typed in typed {
        gdb.args(["-ex", typed]);
    }
    let said = gdb.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    qemu.wait().unwrap();
    for expected in ["\nBreakpoint 1, ", "strand_main ()", "=> 0x8", "<strand_main"] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}
