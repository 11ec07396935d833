//! Tests the image check (`vfalls conform`). The shipped image must pass. Each image with one defect must fail, and the report must show
//! only that defect.

use std::env;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};

use simulator::conform::{self, Options, Report, Row};
use vfalls::cmd::boot::elf;
use xtask::qemu::build::{Production, defects};
use xtask::qemu::toolchain::Toolchain;

use super::attacks::with_word;
use super::contract::conformed;
use super::image;

fn check(hypervisor: &[u8], quick: bool) -> Report {
    let ours = conformed(&image(Production::Shipped));
    let options = Options { quick, ..Options::default() };
    conform::check(&conformed(hypervisor), &ours, &options, &mut |_, _| true).unwrap()
}

/// A row of the report: the call, its registers, what the contract requires, and what the check found.
type Shown = [&'static str; 4];

const BEYOND: &str = "90-255,258,345,0x400,0x10000,0x10002,...";

/// The defects, sorted by their numbers in the image, each with the rows that a quick check reports.
const DEFECTS: [(&str, &[Shown]); 11] = [
    ("none", &[]),
    ("a mask", &[["set", "2,4,6,8,10,12", "stores the value's bits", "stores others"]]),
    (
        "a status",
        &[["get", BEYOND, "EINVAL", "ENOTSUPPORTED"], ["set", BEYOND, "EINVAL", "ENOTSUPPORTED"]],
    ),
    (
        "an order of checks",
        &[
            ["get", BEYOND, "EINVAL", "ENOACCESS"],
            ["get", "6-89", "ENOTSUPPORTED", "ENOACCESS"],
            ["set", BEYOND, "EINVAL", "ENOACCESS"],
            ["set", "6-89", "ENOTSUPPORTED", "ENOACCESS"],
        ],
    ),
    (
        "a leak",
        &[
            ["get", "0-255,258,345,0x400,0x10000,0x10002,...", "EBADTRAP, %o1 kept", "changed"],
            ["get", BEYOND, "EINVAL, %o1 kept", "changed"],
            ["get", "0-89", "ENOACCESS, %o1 kept", "changed"],
            ["get", "4-89", "ENOTSUPPORTED, %o1 kept", "changed"],
            ["get", "18,20,33,36,38,51,...", "EWOULDBLOCK, %o1 kept", "changed"],
        ],
    ),
    ("a right", &[["get", "1", "ENOACCESS", "EOK"]]),
    ("a scrub", &[["the machine", "3", "scrubbed when rights move", "keeps a value"]]),
    (
        "an arbitration",
        &[["get", "18", "served after at most 9 accesses of others", "served later"]],
    ),
    ("HT", &[["set", "0", "ENOACCESS", "EOK"]]),
    ("PERF_CONFIG's other bits", &[["set", "1", "L2 control's other bits kept", "changed"]]),
    ("a version", &[["set_version", "group 0x205", "the version", "another version"]]),
];

/// Checks every third defect, starting from a random one. With `ALL` in the environment, checks every defect.
#[test]
#[ignore = "builds images"]
fn each_defect_is_found_alone() {
    let (first, every) = match env::var_os("ALL") {
        Some(_) => (0, 1),
        None => (RandomState::new().hash_one(0) as usize % 3, 3),
    };
    tests::print_line(format_args!("defects {first}, {}, ...", first + every));
    let path = defects(&Toolchain::find().unwrap()).unwrap();
    let image = fs::read(path).unwrap();
    let word = elf::address(&elf::parse(&image).unwrap(), "DEFECT").unwrap();
    let mut wrong = Vec::new();
    for (number, (name, expected)) in (0..).zip(DEFECTS).skip(first).step_by(every) {
        let defective = with_word(&image, word, number);
        let report = check(&defective, true);
        let shown = |row: &Row| {
            let Row { call, subjects, expected, found, .. } = row.clone();
            [call.to_owned(), subjects, expected, found]
        };
        let found: Vec<_> = report.rows.iter().map(shown).collect();
        if found != expected {
            wrong.push((name, report.rows));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The shipped image serves the whole contract, and the check leaves nothing unchecked.
#[test]
#[ignore = "builds images"]
fn the_shipped_image_passes() {
    let report = check(&image(Production::Shipped), false);
    assert_eq!((&*report.rows, &*report.unchecked), (&[][..], &[][..]));
    assert_eq!(report.served, ["group 0x3", "group 0x300"]);
    assert!(report.calls > 500_000, "{}", report.calls);
}
