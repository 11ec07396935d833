mod both;
mod bundled;
mod debugger;
mod events;
mod interfaces;
mod scenario;

use std::fs;
use std::process::Command;

use vfalls::cmd::boot::elf;
use xtask::tools::{self, SPARC_GCC};

use crate::program::{ProgramOutput, TestDirectory, vfalls};

fn run(arguments: &[&str]) -> ProgramOutput {
    vfalls(&[&["boot"], arguments].concat())
}

const THREE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../simulator/machines/batoka-2.toml");

#[test]
fn the_bundled_guest() {
    let place = TestDirectory::new("bundled-guest");
    let ended = place.run("boot --strands 0,64 --json out.json --events-out events");
    let said = ended.assert_success();
    let mut lines = said.lines();
    assert_eq!(lines.next(), Some("2 strands, 60000 loads each"));
    for cpu in 0..2 {
        let line = lines.next().unwrap();
        assert!(line.starts_with(&format!("cpu {cpu}: 60000 loads, ")), "{line}");
    }

    let json = place.json("out.json");
    let strands = json["strands"].as_array().unwrap().iter();
    let strands: Vec<_> = strands.map(|strand| strand["strand"].as_u64()).collect();
    assert_eq!(strands, [Some(0), Some(64)]);
    assert_eq!(json["guests"][0]["state"]["exited"], 0);
    assert_eq!(json["guests"][0]["hypercalls"], json["hypercalls"]);
    let metadata = fs::read(place.path().join("events/metadata")).unwrap();
    assert!(String::from_utf8_lossy(&metadata).contains("get_perfreg"));
}

#[test]
fn guests_of_a_description() {
    let said = run(&["--md", THREE]).assert_success();
    for (guest, strands) in [("primary", 3), ("ldg1", 2), ("ldg2", 1)] {
        let mut lines = said.lines();
        let line = format!("{guest}: {strands} strands, 60000 loads each");
        assert!(lines.any(|other| other == line), "{said}");
    }
    // Only the second guest has a right to the memory channels.
    assert!(said.contains("primary: 16384 lines read, 0 reads in 0 memory channels\n"));
    assert!(said.contains(" reads in 2 memory channels\n"));
}

#[test]
fn a_fatal_trap_says_where() {
    let place = TestDirectory::new("fatal-trap");
    // The program is `nop; ldx [%g0 + 1], %g1`. The address is misaligned, and the guest has no
    // trap table.
    let program = elf::program(0x8000_0000, &[0x0100_0000, 0xc258_2001]);
    let path = place.file("trap.elf", program);
    let json = place.path().join("out.json");
    let ended = run(&[&path, "--json", json.to_str().unwrap()]);
    assert_eq!(ended.status, 1);
    assert_eq!(ended.stderr, "error: trap was ended by a trap\n");
    let console = place.json("out.json")["hypervisor"]["console"].as_str().unwrap().to_owned();
    let told = "] warning: guest trap is ended by trap 0x34 (memory address not aligned) at 0x80000004 on strand 0\n";
    assert!(console.ends_with(told), "{console}");
    assert!(ended.stdout.contains(&format!("\nhypervisor: {console}")), "{}", ended.stdout);
    let said = ended.stdout;
    assert!(said.starts_with("guest: trap 0x34 at 0x80000004, TL 1\n"), "{said}");
    let last = said.lines().last();
    assert_eq!(last, Some("trap: %tpc 0x80000004 0xc2582001 (ldx [%g0 + 1], %g1)"));
}

/// The program has symbols and source lines, and traps in a procedure. The test knows every register's value.
#[test]
#[ignore = "needs a compiler for SPARC"]
fn a_fatal_trap_has_registers_symbols_and_lines() {
    /// The guest starts with its address in %o0 and %o1. It calls a procedure, which executes in window 1 (%tstate, bits 4:0) with PRIV and
    /// PEF (bits 12 and 10). In the procedure, %o7 is the address of the call.
    const REGISTERS: &str = "\
guest: trap 0x34 at 0x8000001c, TL 1
%tpc 000000008000001c  %tnpc 0000000080000020  %tstate 0000000000001401
%g0 0000000000000000 0000000000000011 0000000000000000 0000000000000000
%g4 0000000000000000 0000000000000000 0000000000000000 0000000000000000
%o0 0000000000000000 0000000000000000 0000000000000000 0000000000000000
%o4 0000000000000000 0000000000000000 ffffffffffffff50 0000000080000014
%l0 0000000000000000 0000000000000000 0000000000000000 0000000000000000
%l4 0000000000000000 0000000000000055 0000000000000000 0000000000000000
%i0 0000000080000000 0000000080000000 0000000000000000 0000000000000000
%i4 0000000000000044 0000000000000000 0000000000000000 0000000000000000
called from:
%l0 0000000000000000 0000000000000000 0000000000000000 0000000000000033
%l4 0000000000000000 0000000000000000 0000000000000000 0000000000000000
%i0 0000000000000000 0000000000000000 0000000000000000 0000000000000000
%i4 0000000000000000 0000000000000000 0000000000000000 0000000000000000
";
    const PROGRAM: &str = "\
        .globl _start
_start: mov 0x11, %g1
        mov 0x33, %l3
        mov 0x44, %o4
        save %sp, -176, %sp
        mov 0x55, %l5
        call inner
         nop
        .type inner, #function
inner:  ldx [%g0 + 1], %g1
        .size inner, . - inner
";
    let place = TestDirectory::new("registers");
    let (source, program) = (place.file("trap.s", PROGRAM), place.file("trap.elf", ""));
    let mut gcc = Command::new(tools::path(&SPARC_GCC).unwrap());
    gcc.args("-g -nostdlib -static -no-pie -mcpu=v9 -Wa,-Av9".split(' '))
        .args(["-Wl,-N,--build-id=none,-Ttext=0x80000000", "-o"])
        .args([&program, &source]);
    assert!(gcc.status().unwrap().success());
    let ended = run(&[&program]);
    assert_eq!(ended.status, 1);
    let said = ended.stdout;
    assert!(said.starts_with(REGISTERS), "{said}");
    let last: Vec<_> = said.lines().rev().take(2).collect();
    let places = [
        format!("trap: %o7 0x80000014 {source}:7"),
        format!("trap: %tpc 0x8000001c inner at {source}:10: 0xc2582001 (ldx [%g0 + 1], %g1)"),
    ];
    assert_eq!(last, places);
}

#[test]
#[ignore = "builds the command that makes pages"]
fn a_page_has_what_happened() {
    let place = TestDirectory::new("page");
    let ended = place.run("boot --strands 0,9 --fast --html page.html");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let page = fs::read_to_string(place.path().join("page.html")).unwrap();
    for part in ["Consoles", "Strands", "Hypercalls"] {
        assert!(page.contains(&format!(">{part}</h2>")), "{part}");
    }
    // The page has a table of both strands, and a table of the guest's calls.
    for cell in ["guest's instructions", "hypervisor's", "CPI", "calls"] {
        assert!(page.contains(&format!("<th scope=\"col\">{cell}")), "{cell}");
    }
    assert!(page.contains("2 strands, 60000 loads each"), "the console");
    // An existing file is not overwritten.
    place.run("boot --fast --html page.html").assert_failure("page.html");
}

#[test]
fn what_is_no_instruction_here_is_named() {
    let place = TestDirectory::new("no-instruction");
    for (word, expected) in [
        (0x89a0_0842, "0x89a00842 needs the floating-point unit, which is not simulated: faddd"),
        (
            0x81b0_0300,
            "0x81b00300 needs the floating-point unit, which is not simulated: alignaddr",
        ),
        (0x0000_0005, "0x00000005 is not an instruction of this processor: illtrap 0x5"),
        (0x81f8_0000, "0x81f80000 is not an instruction of this processor: no known instruction"),
    ] {
        let program = elf::program(0x8000_0000, &[0x0100_0000, word]);
        let ended = run(&[&place.file("guest.elf", program), "--log"]);
        let line = format!("strand 0 at 0x80000004: {expected}\n");
        assert!(ended.stdout.contains(&line), "{line}: {}", ended.stdout);
    }
}

/// The guest writes the bytes with which an image without a mailbox reports that a guest has ended
/// with code 0.
#[test]
fn a_guest_cannot_forge_its_end() {
    let mut words = Vec::new();
    for byte in b"\x10X0\n" {
        // mov BYTE, %o0; mov 1, %o5 (cons_putchar); ta 0xff
        words.extend([0x9010_2000 | u32::from(*byte), 0x9a10_2001, 0x91d0_20ff]);
    }
    // sethi %hi(0x200000), %g1; subcc %g1, 1, %g1; bne .-4; nop; mov 3, %o0; mov 2, %o5 (exit); ta 0xff
    words.extend([0x0300_0800, 0x82a0_6001, 0x12bf_ffff, 0x0100_0000]);
    words.extend([0x9010_2003, 0x9a10_2002, 0x91d0_20ff]);
    let place = TestDirectory::new("forged-end");
    let guest = place.file("guest.elf", elf::program(0x8000_0000, &words));
    let ended = run(&[&guest, "--fast"]);
    assert_eq!((ended.status, &*ended.stderr), (1, "error: guest ended with code 3\n"));
}

#[test]
fn a_limit_ends_a_run() {
    let ended = run(&["--limit", "100000", "--fast"]);
    assert_eq!(ended.status, 1, "{}", ended.stderr);
    assert_eq!(ended.stderr, "error: the hypervisor has not started guest\n");
}

#[test]
fn bad_input() {
    let place = TestDirectory::new("bad-input");
    let text = place.file("text", "no program");
    run(&[&text]).assert_failure("text: expected an ELF file for SPARC V9");
    run(&["--hypervisor", &text]).assert_failure("text: expected an ELF file for SPARC V9");
    for (kind, found) in [
        (1, "an object file, which has not been linked"),
        (4, "a core file, which is a dump of a program's memory"),
        (0, "another type"),
        (0x104, "another type"),
    ] {
        // The program is `ta 0x71`. Its ELF header does not have the file type of a loadable program.
        let mut elf = elf::program(0x8000_0000, &[0x91d0_2071]);
        elf[16..18].copy_from_slice(&u16::to_be_bytes(kind));
        let elf = place.file("guest.elf", elf);
        let line = format!("{elf}: expected a program that can be loaded, found {found}\n");
        for arguments in [&[&*elf][..], &["--hypervisor", &elf]] {
            assert_eq!(run(arguments).stderr, format!("error: {line}"));
        }
    }
    run(&["missing.elf"]).assert_failure("missing.elf");
    run(&["--nodes", "1", "--strands", "64"])
        .assert_failure("strand 64: this machine has strands 0 to 63");
    run(&["--md", &text]).assert_failure("text");
    run(&["--md", THREE, "--strands", "0"]).assert_failure("--strands");
    run(&["--gdb", "0", "--limit", "5"]).assert_failure("--limit");
    run(&["--input", "missing"]).assert_failure("missing");
    run(&["-e", "dram:meme_reads"]).assert_failure("mem_reads");
}
