//! Tests that bad input leads to one clear line on standard error, and to exit status 2.

use std::fs::File;
use std::process::Command;

use crate::program::{TestDirectory, run_with_input, with_input};

#[test]
fn arguments() {
    let place = TestDirectory::new("arguments");
    for (arguments, says) in [
        ("smi", "smi"),
        ("regs --format xml", "json"),
        ("regs --frmat json", "--format"),
        ("regs --machine batok", "there is no machine 'batok'; did you mean batoka?"),
        ("regs --nodes 0", "a batoka has 1 to 4 nodes, not 0"),
        ("regs --nodes two", "two"),
        ("regs --machine maramba --nodes 3", "a maramba has 1 to 2 nodes, not 3"),
        (
            "regs NODE0_MCU0_PRC",
            "there is no register 'NODE0_MCU0_PRC'; did you mean NODE0_MCU0_PCR",
        ),
        ("call --nodes 5", "a batoka has 1 to 4 nodes, not 5"),
        ("call none", "none: cannot be read: No such file"),
        ("call .", "cannot be read: Is a directory"),
        ("call --guest 0-127", "expected STRANDS:GRANT"),
        ("call --guest 0-127:root", "expected none, strand, htstrand, global"),
        ("call --guest 0-127:strand+htstrand", "expected none, strand, htstrand, global"),
        ("call --guest 0-127:none:1.0", "found '1.0', expected compat"),
        ("call --guest 0-256:none", "0 to 255"),
        ("call --guest 9-8:none", "9-8"),
        ("call --nodes 1 --guest 0,64:none", "guest 0 has strand 64"),
        ("call --guest 0-7:none --guest 7:none", "guests 0 and 1 have a strand in common"),
        ("call --guest 0:global --guest 1:global", "guests 0 and 1 both have global"),
        ("regs json", "json"),
    ] {
        place.run(arguments).assert_failure_without_output(says);
    }
}

#[test]
fn lines() {
    let place = TestDirectory::new("lines");
    let call = "STRAND fast|core FUNCTION [ARG0 .. ARG4], or STRAND trap NUMBER [ARG0 .. ARG5]";
    let number = "a 64-bit number, decimal or 0x hexadecimal";
    let strand = "a strand of a guest";
    let long = format!("{} fast 1", "9".repeat(100));
    let long_found = format!("{}...", "9".repeat(60));
    let endless = "0".repeat(70_000);
    let endless_found = format!("{}...", "0".repeat(60));
    for (line, found, expected) in [
        (&b"0"[..], "0", call),
        (b"0 core # 1", "0 core", call),
        (b"0 core 1 2 3 4 5 6 7", "0 core 1 2 3 4 5 6 7", call),
        (b"0, core, 1", "0,", number),
        (b"0 hyperfast 0x83", "hyperfast", "fast, core or trap"),
        (b"0 fast get", "get", number),
        (b"0 fast 0x106 -2", "-2", number),
        (b"0 fast 0x106 1.5", "1.5", number),
        (b"0 fast 0x106 0x", "0x", number),
        (b"0 fast 0x106 106h", "106h", number),
        (b"0 fast 18446744073709551616", "18446744073709551616", number),
        (b"0 fast 0 0x10000000000000000", "0x10000000000000000", number),
        (b"0 fast 0 0 0 0 0 x", "x", number),
        (b"0 \xff 1", "\u{fffd}", "fast, core or trap"),
        (b"0 \x1b[1m 1", "\\u{1b}[1m", "fast, core or trap"),
        (long.as_bytes(), &long_found, number),
        (endless.as_bytes(), &endless_found, "a line of fewer than 65536 bytes"),
        (b"8 fast 0x106", "8", strand),
        (b"64 fast 0x106", "64", strand),
        (b"256 fast 0x106", "256", strand),
        (b"0x100000000 fast 0x106", "4294967296", strand),
    ] {
        let script = [b"# comment\n0 core 3 0x205\n", line, b"\n0 core 3 0x205\n"].concat();
        let arguments = ["call", "--nodes", "1", "--guest", "0-7:none"];
        let ended = with_input(&arguments, &script);
        ended.assert_failure(&format!(
            "error: standard input:3: found '{found}', expected {expected}"
        ));
        assert_eq!(ended.stdout, "0x0 0x0 0x0 0x0 0x0 0x3\n");

        let file = place.file("script", &script);
        let ended = with_input(&[&arguments[..], &[&file]].concat(), "");
        ended.assert_failure_without_output(&format!(
            "error: {file}:3: found '{found}', expected {expected}"
        ));
    }
}

#[test]
fn standard_error_that_cannot_be_written() {
    let place = TestDirectory::new("full");
    let broken = place.file("broken.txt", "nonsense\n");
    for arguments in [
        &["smi"][..],
        &["regs", "--frmat", "json"],
        &["stat", "/nowhere/refs"],
        &["stat", &broken],
        &["stat", "--machine", "maramba", "-e", "dram:mem_reads,lpu:none", "/nowhere/refs"],
        &["record", "no-such-program-at-all"],
        &["md", "check", "/nowhere/x.md"],
    ] {
        for stderr in ["2>/dev/full", "2>&-"] {
            let line = format!("\"$@\" {stderr}");
            let mut shell = Command::new("sh");
            shell.args(["-c", &line, "sh", crate::program::PROGRAM]).args(arguments);
            assert_eq!(run_with_input(shell, b"").status, 2, "{arguments:?} {stderr}");
        }
    }
    // A replay succeeds even if a note cannot be printed.
    let refs = place.file("refs.txt", crate::stat::program(10));
    let mut shell = Command::new("sh");
    shell.args(["-c", "\"$@\" 2>/dev/full", "sh", crate::program::PROGRAM]);
    shell.args(["stat", "--machine", "maramba", "-e", "dram:mem_reads,lpu:none", &refs]);
    assert_eq!(run_with_input(shell, b"").status, 0);
}

/// Endless and overlong files lead to an error.
#[test]
fn what_is_too_long() {
    let place = TestDirectory::new("too-long");
    for (name, length) in [("trace/metadata", 17 << 20), ("guest.elf", (1 << 30) + 1)] {
        // The file is sparse, so it takes no space.
        let path = place.file(name, "");
        let file = File::options().write(true).open(path).unwrap();
        file.set_len(length).unwrap();
    }
    for (arguments, says) in [
        ("stat --guests /dev/zero", "/dev/zero: is longer than 16777216 bytes"),
        ("stat --scenario /dev/zero", "/dev/zero: is longer than 16777216 bytes"),
        ("stat --md /dev/zero", "/dev/zero: is longer than 16777216 bytes"),
        ("call /dev/zero", "/dev/zero: is longer than 16777216 bytes"),
        ("page /dev/zero", "/dev/zero: is longer than 67108864 bytes"),
        ("diff /dev/zero /dev/null", "/dev/zero: is longer than 67108864 bytes"),
        ("boot /dev/zero", "/dev/zero: is longer than 67108864 bytes"),
        ("boot --input /dev/zero", "/dev/zero: is longer than 67108864 bytes"),
        ("boot --md /dev/zero", "/dev/zero: is longer than 16777216 bytes"),
        ("report --symbols /dev/zero", "/dev/zero: is not a regular file"),
        ("events trace", "trace/metadata: is longer than 16777216 bytes"),
        ("boot guest.elf", "guest.elf: is longer than 1073741824 bytes"),
    ] {
        // The shell limits the address space to 500 MB.
        let line = format!("ulimit -v 500000; exec \"$0\" {arguments}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &line, crate::program::PROGRAM]).current_dir(place.path());
        run_with_input(shell, b"").assert_failure(says);
    }
    let line = "ulimit -v 500000; yes | tr 'y\\n' '  ' | \"$0\"";
    for (command, says) in [
        ("page -", "-: is longer than 67108864 bytes"),
        ("boot --input -", "-: is longer than 67108864 bytes"),
    ] {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{line} {command}"), crate::program::PROGRAM]);
        run_with_input(shell, b"").assert_failure(says);
    }
}
