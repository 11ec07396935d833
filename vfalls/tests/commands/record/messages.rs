//! Tests the messages about programs that cannot be recorded.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::{HOST, record};
use crate::program::TestDirectory;

/// Asserts that `record` refuses a file with this content. The error must contain `says`.
#[track_caller]
fn refused(name: &str, content: &[u8], says: &str) {
    let place = TestDirectory::new(&format!("refused-{name}"));
    let path = place.file("it", content);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    place.run("record -o refs -- ./it a b").assert_failure(says);
    assert!(!place.path().join("refs").exists());
}

fn elf(class: u8, order: u8, machine: u16) -> Vec<u8> {
    let mut header = vec![0; 64];
    header[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, order, 1]);
    let bytes = |number: u16| {
        if order == 2 { number.to_be_bytes() } else { number.to_le_bytes() }
    };
    header[16..18].copy_from_slice(&bytes(2));
    header[18..20].copy_from_slice(&bytes(machine));
    header[52..54].copy_from_slice(&bytes(64));
    header[54..56].copy_from_slice(&bytes(56));
    header
}

#[test]
fn a_script_names_its_interpreter() {
    let record = "./it is a script; record its interpreter: vfalls record --";
    for (line, interpreter) in [
        ("#!/bin/sh\necho\n", "/bin/sh"),
        ("#! /bin/sh -e\n", "/bin/sh -e"),
        ("#!/usr/bin/env python3\n", "python3"),
        ("#!/usr/bin/env -S python3 -u", "python3 -u"),
    ] {
        refused("script", line.as_bytes(), &format!("{record} {interpreter} ./it a b\n"));
    }
}

#[test]
fn what_is_no_program_for_these_machines_is_named() {
    let expected = "expected one for x86-64 or SPARC V9";
    for (name, content, found) in [
        ("text", b"text".to_vec(), "not an ELF file"),
        ("empty", Vec::new(), "not an ELF file"),
        ("x86", elf(1, 1, 3), "a 32-bit program"),
        ("arm", elf(2, 1, 183), "a program for AArch64"),
        ("power", elf(2, 2, 21), "a program for machine 21 of ELF"),
    ] {
        refused(name, &content, &format!("'./it' is {found}, {expected}"));
    }
    refused("cut", &elf(2, 2, 43)[..20], "./it cannot be read");
}

#[test]
fn what_is_not_there_is_named() {
    let place = TestDirectory::new("refused-nothing");
    place.run("record nosuch").assert_failure("there is no program 'nosuch', expected one to run");
    place
        .run("record -o /dev/null sh")
        .assert_failure("/dev/null: exists and is not a regular file");
    let nowhere = place.run("record -o /nonexistent/refs sh");
    nowhere.assert_failure("/nonexistent/refs: cannot be written: No such file");
    place.file("mine.refs", "mine");
    place
        .run("record -o mine.refs sh")
        .assert_failure("mine.refs: already exists; --force replaces it");
}

/// A note announces the cost of a large mapping before the emulator creates the mapping.
#[test]
fn a_large_mapping_is_announced() {
    // The address is not aligned to a page, so the emulator refuses the mapping. Otherwise, the test would take minutes.
    let source = r#"
        #include <stdio.h>
        #include <sys/mman.h>
        int main(void) {
            int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
            void *at = mmap((void *)0x100000000001, 16ul << 40, PROT_NONE, flags, -1, 0);
            puts(at == MAP_FAILED ? "refused" : "mapped");
            return 0;
        }
    "#;
    let place = TestDirectory::new("record-large-mapping");
    HOST.compile(&place, "reserve", source, &[]);
    let ended = record(&place, "-- ./reserve");
    assert_eq!((ended.status, &*ended.stdout), (0, "refused\n"), "{}", ended.stderr);
    // QEMU 8 tracks ranges of pages, so the mapping takes no time.
    let old = Command::new("qemu-x86_64").arg("--version").output().unwrap();
    let old = String::from_utf8_lossy(&old.stdout).contains("version 7.");
    let note = "./reserve maps 16.00 TiB: the emulator needs about 3 minutes and 96.00 GiB of memory for this mapping\n";
    assert_eq!(ended.stderr.contains(note), old, "{}", ended.stderr);
}
