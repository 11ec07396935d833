//! Tests images with one defect each, through which a guest can observe its neighbour. On each image, a pair of executions must find the
//! defect.

use std::fs;

use guest_abi::StrandId;
use tests::assembler::{G6, L0, LDX, OR, accesses, computes, number};
use vfalls::cmd::boot::elf;
use xtask::qemu::build::{self, Production};
use xtask::qemu::toolchain::Toolchain;

use super::super::attacks::with_word;
use super::super::broken::defects::{Changed, changed};
use super::super::broken::image::Image;
use super::super::image;
use super::pair::{self, Tally};
use super::{RIGHTS, Ready};

/// The number of seeds to try.
const SEEDS: u64 = 400;

/// Some defects of the image in `tests/images/defects`: each defect's number, and what goes wrong.
const IN_THE_IMAGE: [(u32, &str); 3] = [
    (5, "a guest without `global` may read L2 control"),
    (6, "a counter of a channel keeps its value when rights move"),
    (7, "while a strand asks for a hub, others are refused"),
];

/// In this image, the slow path leaves a value of strand 0 in one of strand 1's window registers. The value is the %o0 of strand 0's latest
/// slow call.
fn leaves_a_register(image: &mut Changed) {
    const CLEAR_L0: u32 = computes(OR, L0, 0, 0);
    /// The words of a block before %o0: see `platform::sparc64::StrandBlock`.
    const BEFORE: u64 = 22 + 3;
    let blocks = Image::new(&elf::parse(&image.file).unwrap()).blocks;
    let size = (blocks.end - blocks.start) / StrandId::COUNT as u64;
    let load = accesses(LDX, L0, G6, number((8 * BEFORE).wrapping_sub(size) as u32));
    let first = image.symbol("sun4v_general_wait");
    let is_clear = |(address, code): &&(u64, u32)| {
        (first..first + 0x200).contains(address) && *code == CLEAR_L0
    };
    let (address, _) = *image.instructions.iter().find(is_clear).unwrap();
    image.put(address, load);
}

/// Returns what the first failing pair finds.
fn found(hypervisor: &[u8]) -> Option<String> {
    let ready = RIGHTS.map(|rights| Ready::new(hypervisor, rights));
    (1..=SEEDS).find_map(|seed| {
        let ready = &ready[seed as usize % RIGHTS.len()];
        pair::run_seed(ready, seed, &mut Tally::default()).err()
    })
}

#[test]
#[ignore = "builds images"]
fn what_an_image_lets_through_is_found() {
    let defective = fs::read(build::defects(&Toolchain::find().unwrap()).unwrap()).unwrap();
    let defect = elf::address(&elf::parse(&defective).unwrap(), "DEFECT").unwrap();
    let numbered = IN_THE_IMAGE.map(|(number, what)| (what, with_word(&defective, defect, number)));
    let others = [
        ("a register keeps a value of the neighbour", changed(leaves_a_register)),
        ("nothing stops accesses beyond the guest's memory", image(Production::Unbounded)),
    ];
    let mut missing = Vec::new();
    for (what, hypervisor) in numbered.into_iter().chain(others) {
        match found(&hypervisor) {
            Some(why) => tests::print_line(format_args!("{what}: {why}")),
            None => {
                tests::print_line(format_args!("{what}: not found"));
                missing.push(what);
            }
        }
    }
    assert!(missing.is_empty(), "not found: {missing:?}");
    assert_eq!(found(&with_word(&defective, defect, 0)), None);
}
