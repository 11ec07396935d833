//! Tests images with one defect each. On each image, at least one of the random runs in module `drawn` must fail.

use std::ops::RangeInclusive;

use object::{Object, ObjectSymbol};
use platform::memory_map::MAILBOX;
use platform::memory_map::mailbox::POWER;
use simulator::interpreter::Level;
use tests::assembler::{
    ADD, ANDN, BA_ANNULLED, G1, G2, G3, NOP, OR, RDHPR, RDPR, STX, SUB, SUBCC, TNPC, TPC, TSTATE,
    WR, WRPR, accesses, branch, computes, mov, number, set,
};
use vfalls::cmd::boot::elf;
use xtask::qemu::build::Production;

use super::super::attacks::with_word;
use super::super::{failures, image, strand};
use super::Ready;
use super::drawn::{Table, run_seed};
use super::image::{table, unanswered};

/// The seeds that are tried. On each image, a run from at least one of them must fail.
const SEEDS: RangeInclusive<u64> = 1..=300;
/// The first seed for the defect that the runs find most rarely. Earlier seeds do not find it, and trying them would take a minute.
const FIRST_OF_RARE: u64 = 150;
const RARE: &str = "no wait for stores before Rust is called for an interrupt";

/// Unused words of the image, in front of the trap table.
const ROOM: u64 = 0x10_2000;

/// The opcode (op3) of `sllx`, and the bit that makes a shift operate on 64 bits.
const SLLX: u32 = 0x25;
const LONG: u32 = 1 << 12;

/// Branches on %xcc: if not equal, and if less (unsigned). They have no target.
const BNE: u32 = 0x1260_0000;
const BLU: u32 = 0x0a60_0000;

/// The instruction `rdhpr %htstate, %g3`.
const READ_HTSTATE: u32 = computes(RDHPR, G3, 1, 0);
const CLEAR_G3: u32 = computes(OR, G3, 0, 0);
const MEMBAR: u32 = 0x8143_e040;
/// The instruction `mov %g0, %g2`, after which the report handler examines the interrupted code.
const HOOK: u32 = 0x8410_0000;

/// The shipped image with changed instructions.
pub(crate) struct Changed {
    pub(crate) file: Vec<u8>,
    pub(crate) instructions: Vec<(u64, u32)>,
}

impl Changed {
    pub(crate) fn symbol(&self, name: &str) -> u64 {
        elf::address(&elf::parse(&self.file).unwrap(), name).unwrap()
    }

    /// Returns the addresses of all instructions between two symbols that equal `code`.
    fn all(&self, code: u32, [first, end]: [&str; 2]) -> Vec<u64> {
        let range = self.symbol(first)..self.symbol(end);
        let of_range = self.instructions.iter().filter(|(address, _)| range.contains(address));
        let all: Vec<_> =
            of_range.filter(|(_, found)| *found == code).map(|(address, _)| *address).collect();
        assert!(!all.is_empty(), "{code:#x} behind {first}");
        all
    }

    pub(crate) fn put(&mut self, address: u64, code: u32) {
        self.file = with_word(&self.file, address, code);
    }

    fn replace(&mut self, code: u32, by: u32, within: [&str; 2]) {
        self.all(code, within).into_iter().for_each(|address| self.put(address, by));
    }

    /// Inserts the instructions `more` before the instruction at an address. The branches [`BNE`] and [`BLU`] in `more` get the target
    /// `sun4v_trapped`.
    fn insert(&mut self, address: u64, more: &[u32]) {
        let (_, original) = *self.instructions.iter().find(|(at, _)| *at == address).unwrap();
        let trapped = self.symbol("sun4v_trapped");
        self.put(address, branch(BA_ANNULLED, address, ROOM));
        let mut at = ROOM;
        for code in more {
            let code = if [BNE, BLU].contains(code) { branch(*code, at, trapped) } else { *code };
            self.put(at, code);
            at += 4;
        }
        self.put(at, original);
        self.put(at + 4, branch(BA_ANNULLED, at + 4, address + 4));
    }

    /// Inserts instructions into the report handler, before [`HOOK`].
    fn insert_late(&mut self, more: &[u32]) {
        self.insert(self.all(HOOK, LATE)[0], more);
    }
}

const LATE: [&str; 2] = ["sun4v_late", "sun4v_load"];
const KEEP: [&str; 2] = ["sun4v_keep", "sun4v_abandon"];

const fn read(register: u32, privileged: u32) -> u32 {
    computes(RDPR, register, privileged, 0)
}

const fn write(privileged: u32, register: u32) -> u32 {
    computes(WRPR, privileged, register, 0)
}

/// The instruction `wr %g0, 0x55, %y`.
const CHANGE_Y: u32 = computes(WR, 0, 0, number(0x55));

pub(crate) type Defect = (&'static str, fn(&mut Changed));

pub(crate) const DEFECTS: [Defect; 13] = [
    ("a report in a delay slot ends the guest", |image| {
        let is_slot = [read(G2, TPC), read(G3, TNPC), computes(SUB, G3, G3, G2)];
        image.insert_late(&[&is_slot[..], &[computes(SUBCC, 0, G3, number(4)), BNE, NOP]].concat());
    }),
    ("a report in a delay slot loses the branch", |image| {
        image.insert_late(&[read(G3, TPC), computes(ADD, G3, G3, number(4)), write(TNPC, G3)]);
    }),
    ("a second report ends the guest", |image| {
        let [high, low] = set(G3, image.symbol("sun4v_late") as u32);
        let size = image.symbol("sun4v_load") - image.symbol("sun4v_late");
        let is_late = [read(G2, TPC), high, low, computes(SUB, G2, G2, G3)];
        let size = computes(SUBCC, 0, G2, number(size as u32));
        image.insert_late(&[&is_late[..], &[size, BLU, NOP]].concat());
    }),
    ("a second report overwrites what the first has kept", |image| {
        image.replace(computes(ADD, 7, 7, number(32)), NOP, LATE);
        image.replace(computes(SUB, 7, 7, number(32)), NOP, LATE);
    }),
    ("a report changes %ccr", |image| {
        let clear = [
            read(G3, TSTATE),
            computes(OR, G2, 0, number(0xff)),
            computes(SLLX, G2, G2, number(32) | LONG),
            computes(ANDN, G3, G3, G2),
            write(TSTATE, G3),
        ];
        image.insert_late(&clear);
    }),
    ("a report changes %y", |image| image.insert_late(&[CHANGE_Y])),
    ("the type of a report is in other bits", |image| {
        image.replace(shift(60), shift(59), LATE);
    }),
    ("the entry of a report is in other bits", |image| {
        image.replace(shift(55), shift(56), LATE);
    }),
    (RARE, |image| {
        image.replace(MEMBAR, NOP, KEEP);
    }),
    ("Rust changes %y in the handler of an interrupt", |image| {
        change_y_in_rust(image);
        image.replace(computes(WR, 0, G1, number(0)), NOP, KEEP);
    }),
    ("a load of a hub that fails is not known", |image| {
        let load = image.symbol("perfctr_load_hub");
        let elf = elf::parse(&image.file).unwrap();
        let words = table(&elf, ["__sun4v_faults", "__sun4v_faults_end"]);
        let place = words.iter().position(|word| *word == load).unwrap() as u64;
        image.put(image.symbol("__sun4v_faults") + 8 * place + 4, 0);
    }),
    ("a call is answered as if no report had come", |image| {
        let [first, end] =
            ["__sun4v_unanswered", "__sun4v_unanswered_end"].map(|name| image.symbol(name));
        for range in (first..end).step_by(16) {
            image.put(range + 12, 0);
        }
    }),
    ("trap levels keep addresses", |image| {
        for register in [TPC, TNPC] {
            image.replace(computes(WRPR, register, 0, number(0)), NOP, KEEP);
        }
    }),
];

/// Returns `true` if there is a test for the defect with this name.
pub(in super::super) fn has_defect(name: &str) -> bool {
    DEFECTS.iter().any(|(what, _)| *what == name)
}

/// The instruction `srlx %g1, by, %g2`.
const fn shift(by: u32) -> u32 {
    computes(0x26, G2, G1, number(by) | LONG)
}

/// Changes %y just before the hypervisor calls the Rust interrupt handler, because compiled code may change %y.
fn change_y_in_rust(image: &mut Changed) {
    // The instruction at `wait - 8` sets a window register. The call into Rust follows.
    let wait = image.all(MEMBAR, KEEP)[0];
    image.insert(wait - 8, &[CHANGE_Y]);
}

pub(crate) fn changed(change: impl FnOnce(&mut Changed)) -> Vec<u8> {
    let file = image(Production::Shipped);
    let instructions = elf::instructions(&elf::parse(&file).unwrap()).unwrap();
    let mut changed = Changed { file, instructions };
    change(&mut changed);
    changed.file
}

/// Returns the first seed whose run fails, and the reason for the failure.
fn found(hypervisor: &[u8], seeds: RangeInclusive<u64>) -> Option<(u64, String)> {
    let mut ready = Ready::new(hypervisor);
    // A changed image may lack the table of unanswered calls, so the shipped image's table is used.
    ready.unanswered = unanswered(&elf::parse(&image(Production::Shipped)).unwrap());
    let mut made = seeds.map(|seed| (seed, run_seed(&ready, seed, &mut Table::new())));
    made.find_map(|(seed, made)| Some((seed, made.err()?)))
}

#[test]
#[ignore = "builds images"]
fn each_defect_is_found() {
    let room = elf::instructions(&elf::parse(&image(Production::Shipped)).unwrap()).unwrap();
    let is_room = |(address, _): &&(u64, u32)| (ROOM..ROOM + 64).contains(address);
    assert!(room.iter().filter(is_room).all(|(_, code)| *code == 0));
    assert_eq!(found(&changed(change_y_in_rust), 1..=20), None);
    for (what, change) in DEFECTS {
        let first = if what == RARE { FIRST_OF_RARE } else { 1 };
        match found(&changed(change), first..=*SEEDS.end()) {
            Some((_, why)) => {
                tests::print_line(format_args!("{what}: {}", why.lines().next().unwrap()))
            }
            None => panic!("not found: {what}"),
        }
    }
}

/// This image's hypervisor confuses the global level with the privilege level: it treats a trap at a handler's first instructions as a
/// guest's trap. The failure test must find this defect.
#[test]
#[ignore = "builds images"]
fn the_level_of_globals_is_not_the_hypervisors() {
    let image = changed(|image| image.replace(READ_HTSTATE, CLEAR_G3, KEEP));
    let mut booted = failures::running(&image);
    for is_guest in [false, true] {
        while (booted.0.strand(strand(0)).level() < Level::Hyperprivileged) == is_guest {
            booted.0.step(strand(0));
        }
    }
    let why = failures::wrong_after_trap(&booted.0, false).unwrap();
    assert!(why.starts_with("[Trapped, Runs]"), "{why}");
}

/// This image's hypervisor switches the machine off where it should handle an unexpected trap. The failure test must find this defect,
/// because the machine stops.
#[test]
#[ignore = "builds images"]
fn the_end_of_the_machine_is_found() {
    let image = changed(|image| {
        let elf = elf::parse(&image.file).unwrap();
        let is_failed = |name: &str| name.contains("7HandlerN") && name.contains("E6failed");
        let mut symbols = elf.symbols();
        let failed = symbols.find(|symbol| symbol.name().is_ok_and(is_failed)).unwrap().address();
        let [high, low] = set(G1, (MAILBOX + 8 * POWER as u64) as u32);
        image.insert(failed, &[high, low, mov(G2, 1), accesses(STX, G2, G1, number(0))]);
    });
    let mut booted = failures::running(&image);
    while booted.0.strand(strand(0)).level() < Level::Hyperprivileged {
        booted.0.step(strand(0));
    }
    let why = failures::wrong_after_trap(&booted.0, false);
    assert_eq!(why.as_deref(), Some("the machine stops"));
}
