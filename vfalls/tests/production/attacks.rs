//! Tests the attacks of `simulator::conform::attacks` on the production image. On images that lack a
//! guarding instruction, the attacks must succeed.

use std::env;
use std::ops::Range;

use object::{Object, ObjectSection};
use simulator::conform::attacks::{
    ADDRESSES, ALL, Failure, GUEST_PAIRS, JUMPS, Kind, STACKS, Tally, run_attacks,
};
use simulator::execute::{Observed, map};
use simulator::interpreter::Level;
use simulator::recording::Kind as Access;
use tests::assembler::NOP;
use vfalls::cmd::boot::elf;
use xtask::qemu::build::Production;

use crate::contract::{conformed, requests};
use crate::{MEMORY, image};

/// With `ALL` in the environment, the test performs all attacks of every kind. Otherwise it performs
/// every `stride`-th attack, which still covers every entry of every list.
#[test]
#[ignore = "builds images"]
fn attacks_reach_nothing() {
    // A row describes one kind of attack. Its first number is how many attacks of this kind exist. The other three are the expected results
    // of the short test:
    // - the number of attacks that it performs;
    // - the number of attacks whose outcome the architecture determines;
    // - the number of those in which the guest takes a trap.
    const TRIED: [(usize, [usize; 3]); 12] = [
        (113_152, [2135, 930, 915]),
        (7305, [1044, 1044, 1042]),
        (11_688, [1063, 1062, 1062]),
        (4992, [999, 994, 741]),
        (24_576, [1891, 1891, 452]),
        (2184, [437, 437, 0]),
        (626, [209, 209, 124]),
        (748, [19, 19, 0]),
        (600, [600, 600, 600]),
        (159_432, [1218, 1218, 0]),
        (672, [224, 43, 43]),
        (5000, [385, 0, 0]),
    ];
    let hypervisor = conformed(&image(Production::Shipped));
    let calls = requests(false);
    let long = env::var_os("ALL").is_some();
    for ((number, kind), (count, tried)) in ALL.iter().enumerate().zip(TRIED) {
        let (sides, guest) = &GUEST_PAIRS[if kind.has_rights { 2 } else { number % 2 }];
        let stride = if long { 1 } else { kind.stride };
        let numbers = (0..kind.count).step_by(stride);
        let outcome = run_attacks(&hypervisor, (sides, *guest), &calls, (*kind, numbers));
        let tally = outcome.unwrap_or_else(|failure| match failure {
            Failure::Forbidden(access) => panic!("{}: {access:x?}", kind.name),
            Failure::Neighbour(what) | Failure::Other(what) => panic!("{}: {what}", kind.name),
        });
        tests::print_line(format_args!("{}: {tally:?}", kind.name));
        assert_eq!(kind.count, count, "{}", kind.name);
        if long {
            assert_eq!(tally.tried, count, "{}", kind.name);
        } else {
            let Tally { tried: all, required, traps, .. } = tally;
            assert_eq!([all, required, traps], tried, "{}", kind.name);
        }
    }
}

/// On an image that lacks a guarding instruction, one kind of attack succeeds: it performs an access that the missing instruction would
/// prevent.
#[test]
#[ignore = "builds images"]
fn attacks_break_what_is_broken() {
    let hypervisor = image(Production::Shipped);
    for Broken { what, kind, first, step, address, word, reason } in broken(&hypervisor) {
        let image = conformed(&with_word(&hypervisor, address, word));
        // The second guest attacks.
        let (sides, guest) = &GUEST_PAIRS[2];
        // The neighbour makes no calls, because on this image its calls would fail, too.
        let numbers = (first..kind.count).step_by(step);
        let outcome = run_attacks(&image, (sides, *guest), &[], (kind, numbers));
        let Err(Failure::Forbidden(access)) = outcome else {
            panic!("{what} at {address:#x}: {outcome:x?}");
        };
        assert!(reason(&access), "{what} at {address:#x}: {access:x?}");
    }
}

/// The physical addresses of the attacker's memory. The attacker is the second guest.
const OWN: Range<u64> = map::PARTITION + MEMORY..map::PARTITION + 2 * MEMORY;

/// An image in which one guarding instruction is replaced.
struct Broken {
    what: &'static str,
    /// The attacks that detect the change: their kind, the index of the first attack, and the distance to the index of the next one.
    kind: &'static Kind,
    first: usize,
    step: usize,
    /// The address of the changed instruction, and the instruction that replaces it.
    address: u64,
    word: u32,
    /// Returns `true` if the original instruction prevents this access.
    reason: fn(&Observed) -> bool,
}

/// Returns `true` if a guest performs this access, the access has this `kind`, and its address is outside the guest's memory.
fn is_outside(access: &Observed, kind: Access) -> bool {
    (access.level, access.kind) == (Level::Privileged, kind) && !OWN.contains(&access.physical)
}

/// Returns the broken images, each with one changed instruction.
fn broken(hypervisor: &[u8]) -> [Broken; 3] {
    let elf = elf::parse(hypervisor).unwrap();
    let symbol = |name| elf::address(&elf, name).unwrap();
    let (table, trapped) = (symbol("sun4v_trap_table"), symbol("sun4v_trapped"));
    let [fetch, data, end] =
        ["sun4v_miss_of_fetch", "sun4v_miss_of_data", "sun4v_interrupted"].map(symbol);
    let instructions = elf::instructions(&elf).unwrap();
    let target = |address: u64, code: u32| {
        let words = i64::from((code << 13).cast_signed() >> 13);
        address.wrapping_add_signed(4 * words)
    };
    let without_bound = |what, kind, code_of: Range<u64>, reason| {
        // The opcode of `bgeu,pn %xcc`.
        let is_bound = |(address, code): &&(u64, u32)| {
            let branches = code >> 19 == 0x1a60_0000 >> 19 && target(*address, *code) == trapped;
            branches && code_of.contains(address)
        };
        let bounds: Vec<_> = instructions.iter().filter(is_bound).collect();
        let [(address, _)] = bounds[..] else { panic!("{bounds:x?}") };
        Broken { what, kind, first: 0, step: 1, address: *address, word: NOP, reason }
    };
    let spill = table + 0x80 * 32;
    let (_, code) = instructions.iter().find(|(address, _)| *address == spill).unwrap();
    [
        without_bound("the bound of what a guest executes", &JUMPS, fetch..data, |access| {
            is_outside(access, Access::FetchOther)
        }),
        without_bound(
            "the bound of what a guest loads and stores",
            &ADDRESSES,
            data..end,
            |access| is_outside(access, Access::Load),
        ),
        // In this image, a spill of a guest's window branches to the code for the hypervisor's own windows. That code stores the window at
        // the address in the stack pointer, which the guest has chosen.
        Broken {
            what: "a spill",
            kind: &STACKS,
            // From attack 399 on, calls nest so deeply that the processor spills a window, and the stack pointer directs it into the
            // neighbour's memory.
            first: 399,
            step: 2 * 26,
            address: table + 0xa0 * 32,
            word: code - 0x20 * 32 / 4,
            reason: |access| {
                (access.level, access.kind) == (Level::Hyperprivileged, Access::Store)
                    && !OWN.contains(&access.physical)
            },
        },
    ]
}

/// Returns the image with one word replaced.
pub(crate) fn with_word(hypervisor: &[u8], address: u64, word: u32) -> Vec<u8> {
    let elf = elf::parse(hypervisor).unwrap();
    let at = elf.sections().find_map(|section| {
        let (offset, size) = section.file_range()?;
        let within = address.checked_sub(section.address())?;
        (within < size && section.address() != 0).then_some((offset + within) as usize)
    });
    let at = at.unwrap();
    let mut image = hypervisor.to_vec();
    image[at..at + 4].copy_from_slice(&word.to_be_bytes());
    image
}
