//! The linked image that ships: its instructions and its symbols.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;

use flate2::read::GzDecoder;
use object::read::elf::ElfSymbol64;
use object::{BigEndian, Object as _, ObjectSection as _, ObjectSymbol as _};
use simulator::interpreter::Instruction;
use vfalls::cmd::boot::elf;

/// Offsets in a strand's block (`platform::sparc64::layout`), after the words of the fast path. At these offsets are the number of failed
/// stores, the address of the table of functions with a service, and the address of the byte for traced calls.
const REPORTS: u64 = 0xd28;
const SERVED: u64 = 0x138;
const TRACED: u64 = 0x148;

/// The image's instructions, and the addresses of its parts.
#[derive(Debug)]
pub(crate) struct Image {
    words: BTreeMap<u64, u32>,
    /// The address of the trap table.
    pub(crate) table: u64,
    /// The address of the first instruction of the slow path.
    pub(crate) general: u64,
    /// The addresses of the Rust function that the slow path calls, and of the instruction to which the function returns.
    pub(crate) rust: [u64; 2],
    /// The addresses of the instructions of the fast path.
    pub(crate) fast: Range<u64>,
    /// The addresses at which the fast path continues after a fault. The second is for a fault while it reads the banks of an L2 control.
    pub(crate) faulted: [u64; 2],
    pub(crate) reports: u64,
    pub(crate) served: u64,
    pub(crate) traced: u64,
    /// The size of the part of a strand's block that the fast path uses.
    pub(crate) block: u64,
    /// The words of each row of the service's table. The rows are sorted by the node from which a call comes, then by the register's
    /// number.
    pub(crate) rows: Vec<[u64; 4]>,
}

impl Image {
    /// Returns the bundled image, or the image that the environment variable `FAST_PATH_IMAGE` names.
    pub(crate) fn bundled() -> Self {
        let named = std::env::var_os("FAST_PATH_IMAGE").map(|path| fs::read(path).unwrap());
        let file = named.unwrap_or_else(|| {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            let compressed = fs::read(root.join("vfalls/bundled/hypervisor.elf.gz")).unwrap();
            let mut file = Vec::new();
            GzDecoder::new(&*compressed).read_to_end(&mut file).unwrap();
            file
        });
        let elf = elf::parse(&file).unwrap();
        let symbol = |name| elf::address(&elf, name).unwrap();
        let words: BTreeMap<u64, u32> = elf::instructions(&elf).unwrap().into_iter().collect();
        let called = words.range(symbol("sun4v_general_wait")..).find_map(|(at, word)| {
            match Instruction::decode(*word) {
                Instruction::Call { displacement } => {
                    Some([at.wrapping_add_signed(displacement.into()), at + 8])
                }
                _ => None,
            }
        });
        Self {
            words,
            rust: called.unwrap(),
            table: symbol("sun4v_trap_table"),
            general: symbol("sun4v_general"),
            fast: symbol("perfctr_get")..symbol("perfctr_end"),
            faulted: [symbol("perfctr_faulted"), symbol("perfctr_unread_l2")],
            reports: REPORTS,
            served: SERVED,
            traced: TRACED,
            block: REPORTS + 8,
            rows: rows(&elf),
        }
    }

    /// Returns the 32-bit word of the instruction at an address.
    pub(crate) fn code(&self, address: u64) -> Option<u32> {
        self.words.get(&address).copied()
    }

    pub(crate) fn instruction(&self, address: u64) -> Option<Instruction> {
        self.code(address).map(Instruction::decode)
    }

    /// Returns the addresses of all instructions that a call of trap 0x80 can execute in the trap table and in the fast path.
    pub(crate) fn instructions(&self) -> Vec<u64> {
        let entry = self.table + 0x180 * 32;
        (entry..entry + 32).step_by(4).chain(self.fast.clone().step_by(4)).collect()
    }

    /// Returns `true` if a call of trap 0x80 can execute an instruction at this address.
    pub(crate) fn is_of_call(&self, address: u64) -> bool {
        let entry = self.table + 0x180 * 32;
        (entry..entry + 32).contains(&address) || self.fast.contains(&address)
    }
}

/// The end of the symbol name that the compiler gives to the service's table.
const ROWS: &str = "5table4ROWS";

fn rows(elf: &elf::Elf<'_>) -> Vec<[u64; 4]> {
    let is_table = |symbol: &ElfSymbol64<'_, '_, BigEndian>| {
        symbol.name().is_ok_and(|name| name.ends_with(ROWS))
    };
    let table = elf.symbols().find(is_table).expect("the table of registers");
    let section = elf.section_by_index(table.section_index().unwrap()).unwrap();
    let bytes = section.data_range(table.address(), table.size()).unwrap().unwrap();
    let (words, _) = bytes.as_chunks();
    let words: Vec<u64> = words.iter().map(|word| u64::from_be_bytes(*word)).collect();
    words.as_chunks().0.to_vec()
}
