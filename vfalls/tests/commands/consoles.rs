//! Tests guests' consoles and exits, which are CORE functions 1 and 2.

use crate::program::{TestDirectory, with_input};

#[test]
fn a_console_is_standard_error() {
    let calls = "0 core 1 0x41 1 2 3 4\n255 core 1 10\n0 core 1 0x9f\n0 core 1 0\n0 core 1 256 1 2\n\
         0 core 1 0xffffffffffffffff\n";
    let place = TestDirectory::new("console");
    let mut command = crate::program::command(&["call", &place.file("calls", calls)]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stderr, b"A\n\x9f\0(break)");
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "0x0 0x1 0x2 0x3 0x4 0x1\n0x0 0x0 0x0 0x0 0x0 0x1\n0x0 0x0 0x0 0x0 0x0 0x1\n0x0 0x0 0x0 0x0 0x0 0x1\n\
         0x6 0x1 0x2 0x0 0x0 0x1\n0x0 0x0 0x0 0x0 0x0 0x1\n"
    );
}

#[test]
fn an_exit_stops_its_guest_alone() {
    let arguments = ["call", "--guest", "0-3:strand", "--guest", "4-7:strand"];
    let calls = "1 core 2 9 8 7 6 5\n4 core 0 0x205 1 1\n4 fast 0x106 0 1\n";
    let answers = "0x9 0x8 0x7 0x6 0x5 0x2\n0x0 0x1 0x1 0x0 0x0 0x0\n0x0 0x0 0x0 0x0 0x0 0x106\n";
    assert_eq!(with_input(&arguments, calls).assert_success(), answers);

    // An exit also stops the guest's other strands.
    let calls = format!("{calls}0 fast 0x106 0\n");
    let wrong = ":4: found '0', expected a strand of a running guest (guest 0 stopped at line 1)\n";
    let ended = with_input(&arguments, &calls);
    ended.assert_failure(&format!("error: standard input{wrong}"));
    assert_eq!(ended.stdout, answers);

    // The tool checks the whole file before it makes the first call.
    let place = TestDirectory::new("exit");
    let file = place.file("calls", &calls);
    let ended = with_input(&[&arguments[..], &[&file]].concat(), "");
    ended.assert_failure_without_output(&format!("error: {file}{wrong}"));

    // Only CORE function 2 is an exit. All 64 bits of the function number are compared.
    let calls = "0 fast 2\n0 core 0x100000002\n0 core 2\n";
    let answers =
        "0x7 0x0 0x0 0x0 0x0 0x2\n0x7 0x0 0x0 0x0 0x0 0x100000002\n0x0 0x0 0x0 0x0 0x0 0x2\n";
    assert_eq!(with_input(&["call"], calls).assert_success(), answers);
}
