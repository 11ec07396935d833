//! Reads a linked hypervisor image, by default the shipped one: its instructions, symbols and constants.

use std::fs;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;

use flate2::read::GzDecoder;
use object::read::elf::ElfSymbol64;
use object::{BigEndian, Object as _, ObjectSection as _, ObjectSymbol as _};
use simulator::interpreter::Instruction;
use vfalls::cmd::boot::elf;

/// The instruction `wrhpr 0, %hpstate`.
const LEAVE: u32 = 0x8198_2000;

/// An image's constants: the address of the first one, and the words.
type Constants = (u64, Vec<u64>);

/// An image's instructions, and the addresses of its parts.
#[derive(Debug)]
pub(crate) struct Image {
    /// The address of the first instruction.
    text: u64,
    /// All instructions as 32-bit words, in the order of their addresses.
    words: Vec<u32>,
    /// The same instructions, decoded.
    instructions: Vec<Instruction>,
    constants: Constants,
    pub(crate) table: u64,
    /// The address of the first instruction of the slow path.
    pub(crate) general: u64,
    /// The addresses of the Rust functions that the trap handlers call.
    pub(crate) rust: Rust,
    pub(crate) handlers: Handlers,
    /// The software traps that the image claims.
    claims: Vec<u16>,
    /// The addresses of the fast path's instructions.
    pub(crate) fast: Range<u64>,
    /// The addresses at which the fast path continues after a fault. The second address is for faults while the fast path reads the banks
    /// of an L2 control.
    pub(crate) faulted: [u64; 2],
    /// The rows of the service's table, as words. The rows are sorted by the calling node, then by the register's id.
    pub(crate) rows: Vec<[u64; 4]>,
}

/// The addresses of Rust functions (`platform::sparc64`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rust {
    /// `trap_entry`, which serves a call on the slow path.
    pub(crate) trap: u64,
    /// `core_entry`, the leaf function that serves a call of trap 0xff.
    pub(crate) core: u64,
    /// `recover_entry`, which serves all other traps.
    pub(crate) recover: u64,
    /// `fatal_entry`, which ends the strand's guest.
    pub(crate) fatal: u64,
}

/// The addresses of the handlers' symbols, and the tables that the handlers search.
#[derive(Clone, Debug)]
pub(crate) struct Handlers {
    /// All handlers except the fast path.
    pub(crate) all: Range<u64>,
    /// The handlers that spill and fill the hypervisor's windows.
    pub(crate) windows: Range<u64>,
    /// The code that enters the guest.
    pub(crate) enter: Range<u64>,
    pub(crate) trapped: u64,
    pub(crate) late: u64,
    pub(crate) with_all_windows: u64,
    pub(crate) abandon: u64,
    /// The addresses of the device access functions: `sun4v_load`, `sun4v_store`, `sun4v_load_word`, `sun4v_store_word` and `sun4v_halt`.
    pub(crate) accesses: [u64; 5],
    /// The address of the `membar #Sync` at which `sun4v_store` and `sun4v_store_word` wait until their store is complete.
    pub(crate) store_wait: u64,
    /// The address at which a device access function continues after a fault.
    pub(crate) access_failed: u64,
    /// The section `.sun4v.faults`. Each entry has the address of an instruction that can fault, and the address at which the hypervisor
    /// continues after this fault.
    pub(crate) faults: Vec<[u64; 2]>,
    /// The section `.sun4v.restarts`. Each entry describes a sequence of instructions by three addresses: that of its first instruction,
    /// the address after its last instruction, and the address at which the sequence restarts if a report interrupts it.
    pub(crate) restarts: Vec<[u64; 3]>,
    /// The address of the section `.sun4v.restarts`.
    pub(crate) restarts_at: u64,
}

impl Handlers {
    /// Returns the addresses of the report handler.
    pub(crate) const fn report_range(&self) -> Range<u64> {
        self.late..self.accesses[0]
    }
}

impl Image {
    /// Returns the bundled image, or the image that the environment variable `FAST_PATH_IMAGE` names. The result claims no software traps.
    pub(crate) fn bundled() -> Self {
        let named = std::env::var_os("FAST_PATH_IMAGE").map(|path| fs::read(path).unwrap());
        let file = named.unwrap_or_else(|| {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            let compressed = fs::read(root.join("vfalls/bundled/hypervisor.elf.gz")).unwrap();
            let mut file = Vec::new();
            GzDecoder::new(&*compressed).read_to_end(&mut file).unwrap();
            file
        });
        Self::new(&file, Vec::new())
    }

    /// Returns the image in an ELF file. The image claims the given software traps.
    pub(crate) fn new(file: &[u8], claims: Vec<u16>) -> Self {
        let elf = elf::parse(file).unwrap();
        let symbol = |name: &str| elf::address(&elf, name).unwrap();
        let all = elf::instructions(&elf).unwrap();
        let text = all[0].0;
        assert!(all.iter().zip(0..).all(|((at, _), number)| *at == text + 4 * number));
        let words: Vec<u32> = all.into_iter().map(|(_, word)| word).collect();
        let constants = constants(&elf);
        let function = |name: &str| {
            let mut symbols = elf.symbols();
            let found = symbols.find(|symbol| symbol.name().is_ok_and(|all| all.contains(name)));
            found.unwrap_or_else(|| panic!("the image has no function {name}")).address()
        };
        // The guest entry ends with its first instruction that leaves the hypervisor.
        let enter = symbol("sun4v_enter");
        let left =
            (enter..).step_by(4).find(|at| words[(at - text) as usize / 4] == LEAVE).unwrap() + 4;
        let handlers = Handlers {
            all: symbol("sun4v_core")..symbol("perfctr_get"),
            windows: symbol("sun4v_spill")..symbol("sun4v_fill") + 24 * 4,
            enter: enter..left,
            trapped: symbol("sun4v_trapped"),
            late: symbol("sun4v_late"),
            with_all_windows: symbol("sun4v_with_all_windows"),
            abandon: symbol("sun4v_abandon"),
            accesses: ["load", "store", "load_word", "store_word", "halt"]
                .map(|name| symbol(&format!("sun4v_{name}"))),
            store_wait: symbol("sun4v_store_wait"),
            access_failed: symbol("sun4v_access_failed"),
            faults: table(&constants, symbol("__sun4v_faults")..symbol("__sun4v_faults_end")),
            restarts_at: symbol("__sun4v_restarts"),
            restarts: table(&constants, symbol("__sun4v_restarts")..symbol("__sun4v_restarts_end")),
        };
        Self {
            text,
            instructions: words.iter().copied().map(Instruction::decode).collect(),
            words,
            constants,
            rust: Rust {
                trap: function("10trap_entry"),
                core: function("10core_entry"),
                recover: function("13recover_entry"),
                fatal: function("11fatal_entry"),
            },
            handlers,
            claims,
            table: symbol("sun4v_trap_table"),
            general: symbol("sun4v_general"),
            fast: symbol("perfctr_get")..symbol("perfctr_end"),
            faulted: [symbol("perfctr_faulted"), symbol("perfctr_unread_l2")],
            rows: rows(&elf),
        }
    }

    fn index(&self, address: u64) -> usize {
        address.wrapping_sub(self.text) as usize / 4
    }

    /// Returns the 32-bit word of the instruction at an address.
    pub(crate) fn code(&self, address: u64) -> Option<u32> {
        self.words.get(self.index(address)).copied()
    }

    pub(crate) fn instruction(&self, address: u64) -> Option<Instruction> {
        self.instructions.get(self.index(address)).copied()
    }

    /// Changes the eight-byte constant at an address.
    pub(crate) fn set_constant(&mut self, address: u64, word: u64) {
        let (first, words) = &mut self.constants;
        words[(address - *first) as usize / 8] = word;
    }

    /// Returns all instructions except those of the handlers, the fast path, and the code from reset to the guest.
    pub(crate) fn compiled(&self) -> impl Iterator<Item = (u64, Instruction)> {
        let all = (self.text..).step_by(4).zip(self.instructions.iter().copied());
        let is_ours = |at| self.is_in_handler(at) || self.fast.contains(&at);
        all.filter(move |(at, _)| *at >= self.table && !is_ours(*at))
    }

    /// Returns `true` if the image claims the software trap with this number.
    pub(crate) fn claims(&self, number: u16) -> bool {
        self.claims.contains(&number)
    }

    /// Returns the eight-byte constant at an address.
    pub(crate) fn constant(&self, address: u64) -> Option<u64> {
        let (first, words) = &self.constants;
        words.get(address.wrapping_sub(*first) as usize / 8).copied()
    }

    /// Returns the addresses of all trap table and fast-path instructions that a call of trap 0x80 can execute.
    pub(crate) fn instructions(&self) -> Vec<u64> {
        let entry = self.table + 0x180 * 32;
        (entry..entry + 32).step_by(4).chain(self.fast.clone().step_by(4)).collect()
    }

    /// Returns `true` if a call of trap 0x80 can execute an instruction at this address.
    pub(crate) fn is_in_call(&self, address: u64) -> bool {
        let entry = self.table + 0x180 * 32;
        (entry..entry + 32).contains(&address) || self.fast.contains(&address)
    }

    /// Returns `true` if a handler can hand over to other code at this address: to a Rust function, to the guest entry, or to the slow
    /// path.
    pub(crate) fn is_end(&self, address: u64) -> bool {
        let Rust { trap, core, recover, fatal } = self.rust;
        [trap, core, recover, fatal, self.handlers.enter.start, self.general].contains(&address)
    }

    /// Returns the addresses of all instructions of the handlers and of the trap table, except the entry of trap 0x80. Omits unused words
    /// in the table: those between two entries, and those after code that never falls through to them.
    pub(crate) fn handled(&self) -> impl Iterator<Item = u64> {
        let Handlers { all, windows, enter, .. } = &self.handlers;
        let table = (0..512).flat_map(|number| {
            let entry = self.table + 32 * number;
            // An entry that consists of one branch has no delay slot. Spills and fills occupy four entries each.
            let is_branch = matches!(self.instruction(entry), Some(Instruction::Branch { .. }));
            let used = match number {
                0x180 => 0,
                0x80..0xe0 if number % 4 != 0 => 0,
                _ if is_branch => 1,
                0x181..=0x1fe if !self.claims(number as u16 - 0x100) => 2,
                0x3e | 0x3f | 0x1ff => 7,
                _ => 6,
            };
            (entry..).step_by(4).take(used)
        });
        let others = [all, windows, enter].map(|part| part.clone().step_by(4));
        table.chain(others.into_iter().flatten())
    }

    /// Returns `true` if the instruction at this address belongs to the trap table or to a handler. The fast path does not count as a
    /// handler.
    pub(crate) fn is_in_handler(&self, address: u64) -> bool {
        let Handlers { all, windows, enter, .. } = &self.handlers;
        let table = self.table..self.table + 512 * 32;
        [&table, all, windows, enter].into_iter().any(|part| part.contains(&address))
    }
}

/// Reads the section `.rodata`, which contains the constants.
fn constants(elf: &elf::Elf<'_>) -> Constants {
    let section = elf.section_by_name(".rodata").unwrap();
    let (words, _) = section.data().unwrap().as_chunks();
    (section.address(), words.iter().map(|word| u64::from_be_bytes(*word)).collect())
}

/// Returns the rows of a table in the constants.
fn table<const N: usize>((first, words): &Constants, at: Range<u64>) -> Vec<[u64; N]> {
    let [begins, ends] = [at.start, at.end].map(|at| (at - first) as usize / 8);
    let (rows, rest) = words[begins..ends].as_chunks();
    assert!(rest.is_empty());
    rows.to_vec()
}

/// The end of the compiler-generated symbol name of the service's table.
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
