//! Bad input: one clear line on standard error, and exit status 2.

use std::fs::File;
use std::process::Command;

use xtask::qemu::elf;

use crate::program::{Place, end, with_input, xtask};

#[test]
fn arguments() {
    let place = Place::new("arguments");
    for (arguments, says) in [
        ("smi", "smi"),
        ("regs --format xml", "json"),
        ("regs --frmat json", "--format"),
        (
            "regs --machine batok",
            "there is no machine 'batok'; did you mean batoka?",
        ),
        ("regs --nodes 0", "a batoka has 1 to 4 nodes, not 0"),
        ("regs --nodes two", "two"),
        (
            "regs --machine maramba --nodes 3",
            "a maramba has 1 to 2 nodes, not 3",
        ),
        (
            "regs NODE0_MCU0_PRC",
            "there is no register 'NODE0_MCU0_PRC'; did you mean NODE0_MCU0_PCR",
        ),
        ("call --nodes 5", "a batoka has 1 to 4 nodes, not 5"),
        ("call none", "none: cannot be read: No such file"),
        ("call .", "cannot be read: Is a directory"),
        ("call --guest 0-127", "expected STRANDS:GRANT"),
        (
            "call --guest 0-127:root",
            "expected none, strand, htstrand, global",
        ),
        (
            "call --guest 0-127:strand+htstrand",
            "expected none, strand, htstrand, global",
        ),
        (
            "call --guest 0-127:none:1.0",
            "found '1.0', expected compat",
        ),
        ("call --guest 0-256:none", "0 to 255"),
        ("call --guest 9-8:none", "9-8"),
        ("call --nodes 1 --guest 0,64:none", "guest 0 has strand 64"),
        (
            "call --guest 0-7:none --guest 7:none",
            "guests 0 and 1 have a strand in common",
        ),
        (
            "call --guest 0:global --guest 1:global",
            "guests 0 and 1 both have global",
        ),
        ("test --fast", "--fast"),
        ("bench json", "json"),
    ] {
        let ended = place.run(arguments);
        ended.badly(says);
        assert_eq!(ended.stdout, "", "{arguments}");
    }
}

/// Files that are no guests for the machine. Nothing is built, installed or written before they are refused.
#[test]
fn guests() {
    let place = Place::new("guests");
    let json = place.path().join("report.json");
    let good = elf::program(0x8000_0000, &[0x3080_0000; 4]);
    let with = |offset: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[offset..offset + bytes.len()].copy_from_slice(bytes);
        file
    };
    let elsewhere = |address| elf::program(address, &[0x3080_0000]);
    let not_elf = "expected an ELF file for SPARC V9";
    let not_whole = "expected a whole ELF file";
    let no_entry = "expected the entry at an instruction of the program, found";
    for (file, says) in [
        (Vec::new(), not_elf),
        (b"#!/bin/sh\n".to_vec(), not_elf),
        // Of 32 bits; little-endian; for x86-64.
        (with(4, &[1]), not_elf),
        (with(5, &[1]), not_elf),
        (with(18, &[0, 62]), not_elf),
        (good[..20].to_vec(), not_whole),
        (good[..100].to_vec(), not_whole),
        (good[..good.len() - 1].to_vec(), not_whole),
        // Headers, or sections, far beyond the file; more bytes in the file than in memory.
        (with(32, &[0x7f; 8]), not_whole),
        (with(40, &[0x7f; 8]), not_whole),
        (with(64 + 40, &[0, 0, 0, 0, 0, 0, 0, 4]), not_whole),
        (
            with(56, &[0, 0]),
            "expected a program to load at 0x80000000 to 0x87ffffff, found none",
        ),
        (
            elsewhere(0x10_0000),
            "expected a program to load at 0x80000000 to 0x87ffffff, found one for 0x100000",
        ),
        (elsewhere(0x8800_0000), "found one for 0x88000000"),
        (elsewhere(0x87ff_fffe), "found one for 0x87fffffe"),
        (elsewhere(u64::MAX), not_whole),
        (
            with(24, &[0, 0, 0, 0, 0x80, 0, 0, 0x10]),
            "expected the entry at an instruction of the program, found 0x80000010",
        ),
        (with(24, &[0, 0, 0, 0, 0x80, 0, 0, 2]), no_entry),
        (with(24, &[0; 8]), no_entry),
    ] {
        let path = place.file("guest.elf", &file);
        let ended = xtask(&["qemu", "--guest", &path, "--json", json.to_str().unwrap()]);
        ended.badly(says);
        assert!(
            ended.stderr.starts_with(&format!("error: {path}: ")),
            "{}",
            ended.stderr
        );
        assert_eq!(ended.stdout, "");
        assert!(!json.exists());
    }
    let directory = place.path().to_str().unwrap();
    xtask(&["qemu", "--guest", directory]).badly("Is a directory");
    xtask(&["qemu", "--guest", "none.elf"]).badly("none.elf: cannot be read: No such file");
    xtask(&["qemu", "--timeout", "0"]).badly("--timeout");
}

#[test]
#[cfg(debug_assertions)]
fn bench_measures_no_debug_build() {
    let place = Place::new("bench");
    let file = place.path().join("numbers.json");
    xtask(&["bench", "--json", file.to_str().unwrap()]).badly("this is a debug build");
    assert!(!file.exists());
}

#[test]
fn lines() {
    let place = Place::new("lines");
    let call = "STRAND fast|core FUNCTION [ARG0 .. ARG4], or STRAND trap NUMBER [ARG0 .. ARG5]";
    let number = "a number of 64 bits, decimal or 0x hexadecimal";
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
        (
            b"0 fast 18446744073709551616",
            "18446744073709551616",
            number,
        ),
        (
            b"0 fast 0 0x10000000000000000",
            "0x10000000000000000",
            number,
        ),
        (b"0 fast 0 0 0 0 0 x", "x", number),
        (b"0 \xff 1", "\u{fffd}", "fast, core or trap"),
        (b"0 \x1b[1m 1", "\\u{1b}[1m", "fast, core or trap"),
        (long.as_bytes(), &long_found, number),
        (
            endless.as_bytes(),
            &endless_found,
            "a line of less than 65536 bytes",
        ),
        (b"8 fast 0x106", "8", strand),
        (b"64 fast 0x106", "64", strand),
        (b"256 fast 0x106", "256", strand),
        (b"0x100000000 fast 0x106", "4294967296", strand),
    ] {
        let script = [b"# comment\n0 core 3 0x205\n", line, b"\n0 core 3 0x205\n"].concat();
        let arguments = ["call", "--nodes", "1", "--guest", "0-7:none"];
        let ended = with_input(&arguments, &script);
        ended.badly(&format!(
            "error: standard input:3: found '{found}', expected {expected}"
        ));
        assert_eq!(ended.stdout, "0x0 0x0 0x0 0x0 0x0 0x3\n");

        let file = place.file("script", &script);
        let ended = with_input(&[&arguments[..], &[&file]].concat(), "");
        ended.badly(&format!(
            "error: {file}:3: found '{found}', expected {expected}"
        ));
        assert_eq!(ended.stdout, "");
    }
}

/// The exit status is the same where nothing can be printed to standard error.
#[test]
fn standard_error_that_cannot_be_written() {
    let place = Place::new("full");
    let broken = place.file("broken.txt", "nonsense\n");
    for arguments in [
        &["smi"][..],
        &["regs", "--frmat", "json"],
        &["sim", "/nowhere/refs"],
        &["sim", &broken],
        &[
            "sim",
            "--machine",
            "maramba",
            "-e",
            "dram:mem_reads,lpu:none",
            "/nowhere/refs",
        ],
        &["record", "no-such-program-at-all"],
        &["md", "check", "/nowhere/x.md"],
    ] {
        for stderr in ["2>/dev/full", "2>&-"] {
            let line = format!("\"$@\" {stderr}");
            let mut shell = Command::new("sh");
            shell
                .args(["-c", &line, "sh", crate::PROGRAM])
                .args(arguments);
            assert_eq!(end(shell, b"").status, 2, "{arguments:?} {stderr}");
        }
    }
    // A note that is lost changes nothing.
    let refs = place.file("refs.txt", crate::sim::program(10));
    let mut shell = Command::new("sh");
    shell.args(["-c", "\"$@\" 2>/dev/full", "sh", crate::PROGRAM]);
    shell.args([
        "sim",
        "--machine",
        "maramba",
        "-e",
        "dram:mem_reads,lpu:none",
        &refs,
    ]);
    assert_eq!(end(shell, b"").status, 0);
}

/// Files without an end, and of any length.
#[test]
fn what_is_too_long() {
    let place = Place::new("too-long");
    for (name, length) in [("trace/metadata", 17 << 20), ("guest.elf", (1 << 30) + 1)] {
        // It has holes only.
        let path = place.file(name, "");
        let file = File::options().write(true).open(path).unwrap();
        file.set_len(length).unwrap();
    }
    for (arguments, says) in [
        (
            "sim --guests /dev/zero",
            "/dev/zero: longer than 16777216 bytes",
        ),
        (
            "sim --scenario /dev/zero",
            "/dev/zero: longer than 16777216 bytes",
        ),
        (
            "sim --md /dev/zero",
            "/dev/zero: longer than 16777216 bytes",
        ),
        ("call /dev/zero", "/dev/zero: longer than 16777216 bytes"),
        ("events trace", "trace/metadata: longer than 16777216 bytes"),
        (
            "qemu --guest guest.elf",
            "guest.elf: longer than 1073741824 bytes",
        ),
    ] {
        place.run(arguments).badly(says);
    }
}
