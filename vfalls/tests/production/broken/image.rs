//! What the tests know of the image: addresses, and tables that the linker script collects.

use std::ops::Range;

use object::{Object, ObjectSection, ObjectSymbol};
use vfalls::cmd::boot::elf;

/// Addresses of the hypervisor's memory: the services' state, the blocks of all strands, the logger's state, and the stacks.
pub(super) struct Image {
    pub(super) services: Range<u64>,
    pub(super) blocks: Range<u64>,
    pub(super) log: Range<u64>,
    pub(super) stacks: u64,
}

impl Image {
    pub(super) fn new(elf: &elf::Elf<'_>) -> Self {
        let range = |part: &str| {
            let mut symbols = elf.symbols();
            let symbol =
                symbols.find(|symbol| symbol.name().is_ok_and(|name| name.ends_with(part)));
            let symbol = symbol.unwrap();
            symbol.address()..symbol.address() + symbol.size()
        };
        let stacks = elf::address(elf, "__bss_end").unwrap();
        let (services, blocks) = (range("5PLACE"), range("12SUN4V_BLOCKS"));
        Self { services, blocks, log: range("12OPERATOR_LOG"), stacks }
    }
}

/// Returns the words between two symbols of the image's constants.
pub(super) fn table(elf: &elf::Elf<'_>, symbols: [&str; 2]) -> Vec<u64> {
    let [first, end] = symbols.map(|name| elf::address(elf, name).unwrap());
    let section = elf.section_by_name(".rodata").unwrap();
    let bytes = section.data_range(first, end - first).unwrap().unwrap();
    bytes.as_chunks().0.iter().map(|word| u64::from_be_bytes(*word)).collect()
}

/// Returns the ranges of instructions in which a call of the fast path has no answer.
pub(super) fn unanswered(elf: &elf::Elf<'_>) -> Vec<Range<u64>> {
    let words = table(elf, ["__sun4v_unanswered", "__sun4v_unanswered_end"]);
    words.as_chunks().0.iter().map(|[first, end]| *first..*end).collect()
}
