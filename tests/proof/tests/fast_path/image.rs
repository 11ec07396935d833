//! The image that ships, as it is linked: its instructions and its symbols.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;

use flate2::read::GzDecoder;
use simulator::interpreter::Instruction;
use vfalls::cmd::boot::elf;

/// The offsets of words in a strand's block, behind those of the fast path: the number of failed stores, the table of functions with a
/// service, and the address of the byte for traced calls. Where a change of the block moves them, `cargo xtask qemu` still measures the
/// same calls, and the numbers here follow the image.
const REPORTS: u64 = 0xd28;
const SERVED: u64 = 0x138;
const TRACED: u64 = 0x148;

/// The image.
#[derive(Debug)]
pub(crate) struct Image {
    words: BTreeMap<u64, u32>,
    /// The trap table.
    pub(crate) table: u64,
    /// The first instruction of the slow path.
    pub(crate) general: u64,
    /// The instructions of the fast path.
    pub(crate) fast: Range<u64>,
    /// Where the fast path begins after a fault, and after a fault while it reads the banks of an L2 control.
    pub(crate) faulted: [u64; 2],
    pub(crate) reports: u64,
    pub(crate) served: u64,
    pub(crate) traced: u64,
    /// The size of the part of a strand's block that the fast path uses.
    pub(crate) block: u64,
    /// The data of the image: addresses and bytes.
    data: Vec<(u64, Vec<u8>)>,
}

impl Image {
    pub(crate) fn bundled() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let compressed = fs::read(root.join("vfalls/bundled/hypervisor.elf.gz")).unwrap();
        let mut file = Vec::new();
        GzDecoder::new(&*compressed).read_to_end(&mut file).unwrap();
        let elf = elf::parse(&file).unwrap();
        let symbol = |name| elf::address(&elf, name).unwrap();
        Self {
            words: elf::instructions(&elf).unwrap().into_iter().collect(),
            table: symbol("sun4v_trap_table"),
            general: symbol("sun4v_general"),
            fast: symbol("perfctr_get")..symbol("perfctr_end"),
            faulted: [symbol("perfctr_faulted"), symbol("perfctr_unread_l2")],
            reports: REPORTS,
            served: SERVED,
            traced: TRACED,
            block: REPORTS + 8,
            data: elf::loaded(&file).unwrap(),
        }
    }

    /// Returns the word of an instruction.
    pub(crate) fn code(&self, address: u64) -> Option<u32> {
        self.words.get(&address).copied()
    }

    pub(crate) fn instruction(&self, address: u64) -> Option<Instruction> {
        self.code(address).map(Instruction::decode)
    }

    /// Returns the addresses of the instructions of a call of trap 0x80: those in the trap table, and the fast path.
    pub(crate) fn instructions(&self) -> Vec<u64> {
        let entry = self.table + 0x180 * 32;
        (entry..entry + 32).step_by(4).chain(self.fast.clone().step_by(4)).collect()
    }

    /// Returns `true` for an instruction of a call of trap 0x80.
    pub(crate) fn is_of_call(&self, address: u64) -> bool {
        let entry = self.table + 0x180 * 32;
        (entry..entry + 32).contains(&address) || self.fast.contains(&address)
    }

    /// Returns the image's data from its first byte on, as words of eight bytes with their addresses.
    pub(crate) fn words(&self) -> impl Iterator<Item = (u64, u64)> {
        self.data.iter().flat_map(|(start, bytes)| {
            let (words, _) = bytes.as_chunks();
            (*start..).step_by(8).zip(words.iter().map(|word| u64::from_be_bytes(*word)))
        })
    }
}
