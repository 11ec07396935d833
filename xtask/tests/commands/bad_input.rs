use vfalls::cmd::boot::elf;

use crate::program::{place, xtask};

#[test]
fn arguments() {
    for (arguments, says) in [(&["test", "--fast"][..], "--fast"), (&["bench", "json"], "json")] {
        xtask(arguments).assert_failure(says);
    }
}

/// The command rejects an unsuitable guest before it builds, installs or writes anything.
#[test]
fn guests() {
    let place = place("guests");
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
    let no_entry = "expected the entry point at an instruction of the program, found";
    for (file, says) in [
        (Vec::new(), not_elf),
        (b"#!/bin/sh\n".to_vec(), not_elf),
        // A 32-bit file, a little-endian file, and a file for x86-64.
        (with(4, &[1]), not_elf),
        (with(5, &[1]), not_elf),
        (with(18, &[0, 62]), not_elf),
        (good[..20].to_vec(), not_whole),
        (good[..100].to_vec(), not_whole),
        (good[..good.len() - 1].to_vec(), not_whole),
        // The headers or the sections are far beyond the end of the file, or a segment has more
        // bytes in the file than in memory.
        (with(32, &[0x7f; 8]), not_whole),
        (with(40, &[0x7f; 8]), not_whole),
        (with(64 + 40, &[0, 0, 0, 0, 0, 0, 0, 4]), not_whole),
        (
            with(56, &[0, 0]),
            "expected a program that loads at 0x80000000 to 0x87ffffff, found none",
        ),
        (
            elsewhere(0x10_0000),
            "expected a program that loads at 0x80000000 to 0x87ffffff, found one that loads at 0x100000",
        ),
        (elsewhere(0x8800_0000), "found one that loads at 0x88000000"),
        (elsewhere(0x87ff_fffe), "found one that loads at 0x87fffffe"),
        (elsewhere(u64::MAX), not_whole),
        (
            with(24, &[0, 0, 0, 0, 0x80, 0, 0, 0x10]),
            "expected the entry point at an instruction of the program, found 0x80000010",
        ),
        (with(24, &[0, 0, 0, 0, 0x80, 0, 0, 2]), no_entry),
        (with(24, &[0; 8]), no_entry),
    ] {
        let path = place.file("guest.elf", &file);
        let ended = xtask(&["qemu", "--guest", &path, "--json", json.to_str().unwrap()]);
        ended.assert_failure(says);
        assert!(ended.stderr.starts_with(&format!("error: {path}: ")), "{}", ended.stderr);
        assert_eq!(ended.stdout, "");
        assert!(!json.exists());
    }
    let directory = place.path().to_str().unwrap();
    xtask(&["qemu", "--guest", directory]).assert_failure("Is a directory");
    xtask(&["qemu", "--guest", "none.elf"])
        .assert_failure("none.elf: cannot be read: No such file");
    xtask(&["qemu", "--timeout", "0"]).assert_failure("--timeout");
}

#[test]
#[cfg(debug_assertions)]
fn bench_measures_no_debug_build() {
    let place = place("bench");
    let file = place.path().join("numbers.json");
    xtask(&["bench", "--json", file.to_str().unwrap()]).assert_failure("this is a debug build");
    assert!(!file.exists());
}
