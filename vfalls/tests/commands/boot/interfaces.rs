//! Boots images with and without the optional interfaces, and images with wrong notes.

use std::sync::atomic::{AtomicU32, Ordering};

use vfalls::cmd::boot::elf;

use crate::program::{ProgramOutput, TestDirectory};

/// Returns the instructions of a hypervisor that stores each value of `stores` at its address, writes the bytes of `text` to the first
/// guest's console, and then halts.
fn program(stores: &[(u32, u32)], text: &[u8]) -> Vec<u32> {
    let mut words = Vec::new();
    for (address, value) in stores {
        // sethi %hi(ADDRESS), %g3; or %g3, %lo(ADDRESS), %g3
        words.extend([0x0700_0000 | address >> 10, 0x8610_e000 | address & 0x3ff]);
        // mov VALUE, %g4; stx %g4, [%g3]
        words.extend([0x8810_2000 | value, 0xc870_e000]);
    }
    // mov 0x1f1, %g1; sllx %g1, 28, %g1
    words.extend([0x8210_21f1, 0x8328_701c]);
    for byte in text {
        // mov BYTE, %g2; stb %g2, [%g1]
        words.extend([0x8410_2000 | u32::from(*byte), 0xc428_6000]);
    }
    // wr %g0, 0, %asr26 (the strand status register); ba,a .-4
    words.extend([0xb580_2000, 0x30bf_ffff]);
    words
}

fn note(kind: u32, descriptor: &[u8]) -> Vec<u8> {
    let header = [6, descriptor.len() as u32, kind].map(u32::to_be_bytes).concat();
    [&header, &b"sun4v\0\0\0"[..], descriptor].concat()
}

fn descriptor(version: u32, address: u64) -> Vec<u8> {
    [&version.to_be_bytes()[..], &address.to_be_bytes()].concat()
}

/// Returns an image with these instructions and notes.
fn image(instructions: &[u32], notes: &[Vec<u8>]) -> Vec<u8> {
    const HEADERS: usize = 64 + 56;
    const PT_NOTE: u32 = 4;
    let mut file = elf::program(0x10_0000, instructions);
    let notes = notes.concat();
    // Insert a second program header after the first, and append the notes. The program's bytes move by the size of this header.
    let end = file.len() as u64 + 56;
    let size = notes.len() as u64;
    let header = [PT_NOTE, 4].map(u32::to_be_bytes).concat();
    let header = [header, [end, 0, 0, size, size, 4].map(u64::to_be_bytes).concat()].concat();
    file.splice(HEADERS..HEADERS, header);
    file[56..58].copy_from_slice(&2_u16.to_be_bytes());
    file[72..80].copy_from_slice(&(HEADERS as u64 + 56).to_be_bytes());
    file.extend(notes);
    file
}

fn boot(text: &[u8], notes: &[Vec<u8>], more: &str) -> ProgramOutput {
    boot_program(&program(&[], text), notes, more)
}

fn boot_program(instructions: &[u32], notes: &[Vec<u8>], more: &str) -> ProgramOutput {
    static BOOTS: AtomicU32 = AtomicU32::new(0);
    let place =
        TestDirectory::new(&format!("interfaces-{}", BOOTS.fetch_add(1, Ordering::Relaxed)));
    place.file("mine.elf", image(instructions, notes));
    // The guest's program is `ta 0x71`. No test in this module executes it.
    place.file("guest.elf", elf::program(0x8000_0000, &[0x91d0_2071]));
    place.file("steps.toml", "");
    place.run(&format!("boot --hypervisor mine.elf guest.elf --fast --limit 10000 {more}"))
}

/// A guest's text, and the bytes with which a hypervisor reports that the guest has ended with code 0.
const ENDS: &[u8] = b"hello\n\x10X0\n";

#[test]
fn what_an_image_lacks_is_said_in_one_line() {
    let ended = boot(ENDS, &[], "");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert_eq!(
        ended.stderr,
        "note: mine.elf has no mailbox, no log, no events (optional: see the module `interfaces` of the crate `platform`)\n"
    );
    assert!(ended.stdout.starts_with("hello\n\n"), "{}", ended.stdout);

    let log = note(2, &descriptor(1, 0x1f_1010_0000));
    let events = note(3, &descriptor(1, 0x20_0000));
    let ended = boot(ENDS, &[log, events], "");
    assert_eq!((ended.status, ended.stderr.matches("no mailbox").count()), (0, 1));
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
}

#[test]
fn a_version_that_is_not_known_is_not_used() {
    let ended = boot(ENDS, &[note(1, &descriptor(7, 0x3fe_0000))], "");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let line = "note: mine.elf has version 7 of the interface mailbox, which is not used: this program knows version 1";
    assert!(ended.stderr.lines().any(|other| other == line), "{}", ended.stderr);
}

/// The tool ignores unknown interfaces, other owners' notes, and further bytes after a descriptor.
#[test]
fn other_notes_are_ignored() {
    let mut other = note(1, &descriptor(9, 0));
    other[12..17].copy_from_slice(b"build");
    let mut longer = descriptor(1, 0x3fe_0000);
    longer.extend([0xff; 4]);
    let ended = boot(ENDS, &[other, note(77, &[1]), vec![0; 0], note(1, &longer)], "");
    assert!(!ended.stderr.contains("mailbox"), "{}", ended.stderr);
}

#[test]
fn notes_that_are_wrong() {
    let mailbox = |address| note(1, &descriptor(1, address));
    boot(ENDS, &[mailbox(0x3fe_0000), mailbox(0x3fe_0000)], "")
        .assert_failure("mine.elf: it has two notes for its mailbox");
    boot(ENDS, &[note(1, &[0; 8])], "")
        .assert_failure("mine.elf: the note of its mailbox has fewer than 12 bytes");
    for address in [0x3fe_0008, 0x400_0000, 0x8000_0000, u64::MAX - 0x1fff] {
        boot(ENDS, &[mailbox(address)], "")
            .assert_failure("expected a multiple of 0x2000 in its memory");
    }
}

#[test]
fn without_a_mailbox_the_console_says_how_a_guest_ends() {
    for (text, line) in [
        (&b"\x10X3\n"[..], "error: guest ended with code 3"),
        (b"\x10X4294967297\n", "error: guest was ended by a trap"),
        (b"no disk\n\x10X4294967296\n", "error: the hypervisor has not started guest"),
        (b"", "error: the hypervisor has not reported that guest ended"),
    ] {
        let ended = boot(text, &[], "");
        assert_eq!((ended.status, ended.stderr.lines().last()), (1, Some(line)));
    }
}

/// The hypervisor reports that it cannot start, and then loops forever. The execution ends anyway.
#[test]
fn a_hypervisor_that_cannot_start_ends_the_run() {
    let place = TestDirectory::new("cannot-start");
    let mut instructions = program(&[], b"\x10X4294967296\n");
    // ba,a .
    *instructions.last_mut().unwrap() = 0x3080_0000;
    instructions.remove(instructions.len() - 2);
    place.file("mine.elf", image(&instructions, &[]));
    place.file("three.toml", include_str!("../../../../simulator/machines/batoka-2.toml"));
    let ended = place
        .run("boot --hypervisor mine.elf --md three.toml --fast --limit 100000000 --json out.json");
    assert_eq!(ended.stderr.lines().last(), Some("error: the hypervisor has not started primary"));
    let executed = place.json("out.json")["strands"][0]["instructions"]["hypervisor"].as_u64();
    assert!(executed.unwrap() < 10_000_000, "{executed:?}");
}

/// If the hypervisor has a mailbox but does not write to it, the tool reports that no guest has
/// started.
#[test]
fn with_a_mailbox_the_console_does_not_decide() {
    let ended = boot(b"hi\n", &[note(1, &descriptor(1, 0x3fe_0000))], "");
    let last = ended.stderr.lines().last();
    assert_eq!((ended.status, last), (1, Some("error: the hypervisor has not started guest")));
}

#[test]
fn a_mailbox_is_where_the_note_says() {
    // These words of the mailbox (version 1) hold the state of guest 0 (2: it has exited), its code, and the power (1: off).
    let words =
        |mailbox: u32| [(mailbox + 8 * 256, 2), (mailbox + 8 * 272, 5), (mailbox + 8 * 511, 1)];
    let note = [note(1, &descriptor(1, 0x20_2000))];
    let ended = boot_program(&program(&words(0x20_2000), b"never\n"), &note, "");
    assert_eq!(ended.stderr.lines().last(), Some("error: guest ended with code 5"));
    assert!(!ended.stdout.contains("never"), "{}", ended.stdout);
    // The tool reads these words only if a note gives the mailbox's address.
    for note in [&note[..], &[]] {
        let ended = boot_program(&program(&words(0x3fe_0000), ENDS), note, "");
        assert_eq!((ended.status, &ended.stdout[..6]), (0, "hello\n"));
    }
}

#[test]
fn an_operator_needs_a_mailbox() {
    boot(ENDS, &[], "--scenario steps.toml").assert_failure(
        "--scenario: an operator's steps need a mailbox, which mine.elf does not have",
    );
}
