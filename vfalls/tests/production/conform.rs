//! The check of images (`vfalls conform`): the shipped image passes, and each defect of an image is found, and no other.

use std::env;
use std::fs;

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

/// A difference: call, registers, rights, versions, demand, finding.
type Shown = [&'static str; 6];

/// The defects in the order of the image's numbers, and what the check says of each.
const DEFECTS: [(&str, &[Shown]); 11] = [
    ("none", &[]),
    ("a mask", &[]),
    ("a status", &[]),
    ("an order of checks", &[]),
    ("a leak", &[]),
    ("a right", &[]),
    ("a scrub", &[]),
    ("an arbitration", &[]),
    ("HT", &[]),
    ("PERF_CONFIG's other bits", &[]),
    ("a version", &[]),
];

/// With `PRODUCTION_LONG` in the environment, makes all checks of each image.
#[test]
#[ignore = "builds images"]
fn each_defect_is_found_alone() {
    let path = defects(&Toolchain::find().unwrap()).unwrap();
    let image = fs::read(path).unwrap();
    let word = elf::address(&elf::parse(&image).unwrap(), "DEFECT").unwrap();
    let quick = env::var_os("PRODUCTION_LONG").is_none();
    let mut wrong = Vec::new();
    for (number, (name, expected)) in (0..).zip(DEFECTS) {
        let defective = with_word(&image, word, number);
        let report = check(&defective, quick);
        let shown = |row: &Row| {
            let Row { call, subjects, rights, versions, expected, found, .. } = row.clone();
            [call.to_owned(), subjects, rights, versions, expected, found]
        };
        let found: Vec<_> = report.rows.iter().map(shown).collect();
        if found != expected {
            wrong.push((name, report.rows));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The shipped image has all of the contract, and everything was checked.
#[test]
#[ignore = "builds images"]
fn the_shipped_image_passes() {
    let report = check(&image(Production::Shipped), false);
    assert_eq!((&*report.rows, &*report.unchecked), (&[][..], &[][..]));
    assert_eq!(report.served, ["group 0x3", "group 0x300"]);
    assert!(report.calls > 500_000, "{}", report.calls);
}
