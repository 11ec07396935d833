//! Finds addresses in the image, and the tables that the linker script collects there.

use std::ops::Range;

use object::{Object, ObjectSection, ObjectSymbol};
use vfalls::cmd::boot::elf;

/// Addresses in the hypervisor's memory: the ranges of the services' state, of all strands' blocks, and of the logger's state, and the
/// address at which the stacks start.
pub(crate) struct Image {
    pub(super) services: Range<u64>,
    pub(crate) blocks: Range<u64>,
    pub(super) log: Range<u64>,
    pub(super) stacks: u64,
}

impl Image {
    pub(crate) fn new(elf: &elf::Elf<'_>) -> Self {
        let range = |part: &str| {
            let mut symbols = elf.symbols();
            let symbol =
                symbols.find(|symbol| symbol.name().is_ok_and(|name| name.ends_with(part)));
            let symbol = symbol.unwrap();
            symbol.address()..symbol.address() + symbol.size()
        };
        let stacks = elf::address(elf, "__bss_end").unwrap();
        let (services, blocks) = (range("7STORAGE"), range("12SUN4V_BLOCKS"));
        Self { services, blocks, log: range("12OPERATOR_LOG"), stacks }
    }
}

/// Returns the words between two symbols in the image's section `.rodata`.
pub(super) fn table(elf: &elf::Elf<'_>, symbols: [&str; 2]) -> Vec<u64> {
    let [first, end] = symbols.map(|name| elf::address(elf, name).unwrap());
    let section = elf.section_by_name(".rodata").unwrap();
    let bytes = section.data_range(first, end - first).unwrap().unwrap();
    bytes.as_chunks().0.iter().map(|word| u64::from_be_bytes(*word)).collect()
}

/// Returns the ranges of instructions in which a fast-path call does not have its answer yet.
pub(super) fn unanswered(elf: &elf::Elf<'_>) -> Vec<Range<u64>> {
    let words = table(elf, ["__sun4v_unanswered", "__sun4v_unanswered_end"]);
    words.as_chunks().0.iter().map(|[first, end]| *first..*end).collect()
}
