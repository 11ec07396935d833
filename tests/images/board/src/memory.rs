//! Replaces the device registers that QEMU lacks with words of memory. The entry code is the shipped code.
//!
//! Before the service is created, the image replaces the register addresses in the service's table with addresses of words. If a register
//! must not answer, the address is misaligned, so that an access traps.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use conform::Cell;
use conform::modelled::Hardware;
use guest_abi::{Hub, Node, PerfReg, RegisterKind, StrandId};
use platform::address::{self, L2_BANKS, l2_control};
use platform::memory_map::escape::NOT_STARTED;
use platform::models::FaultyUnit;
use platform::sparc64::{Mmio, StrandRegs};
use platform::{AccessError, Machine, PhysicalAddress, StrandRegisters};

use crate::static_cell::StaticCell;

/// The bus. The service's table contains addresses of memory words, so no access reaches a device.
pub struct Bus(Mmio);

/// The registers of all strands. The processor holds one strand's registers, and memory holds those of all others.
pub struct Registers(StrandRegs);

const NODES: usize = Node::ALL.len();
const HUBS: usize = Hub::ALL.len();

/// The number of registers without an address. They come before all others.
const FIRST: usize = 2;
const ADDRESSED: usize = PerfReg::COUNT - FIRST;
/// The distance in cells between two consecutive banks of L2 control, whose addresses are 0x40 bytes apart.
const BANK: usize = 0x40 / 16;
const L2_CELLS: usize = NODES * L2_BANKS * BANK;
const CELLS: usize = L2_CELLS + ADDRESSED;

/// Every second word is a register. If a word between two registers changes, an access was wrong.
static WORDS: [AtomicU64; 2 * CELLS + 1] = [const { AtomicU64::new(0) }; _];
static PCRS: [AtomicU64; StrandId::COUNT] = [const { AtomicU64::new(0) }; _];
/// The strand whose registers are in the processor.
static STRAND: AtomicUsize = AtomicUsize::new(0);
/// Whether time passes for the service.
static CLOCK: AtomicBool = AtomicBool::new(false);
static CROSS_CALLS: [AtomicBool; StrandId::COUNT] = [const { AtomicBool::new(false) }; _];
static BUSY: [AtomicBool; HUBS] = [const { AtomicBool::new(false) }; _];
static FAULTY_HUBS: [AtomicBool; HUBS] = [const { AtomicBool::new(false) }; _];
static FAULTY_CHANNELS: [AtomicBool; 2 * NODES] = [const { AtomicBool::new(false) }; _];
/// For each node, the first L2 bank that faults.
static FAULTY_BANKS: [AtomicUsize; NODES] = [const { AtomicUsize::new(L2_BANKS) }; _];
/// For each register and node, a pointer to the entry of the service's table that holds the register's address.
static TABLE: StaticCell<Table> = StaticCell::new();

type Table = [[*mut u64; NODES]; ADDRESSED];

/// For each node, a pointer to the entry of the service's table that holds the address of bank 0 of L2 control.
static BANKS: StaticCell<[*mut u64; NODES]> = StaticCell::new();

/// The function to call at each access on the slow path.
static AT_ACCESS: StaticCell<fn()> = StaticCell::new();

/// A bit that misaligns a register's address so that the register does not answer.
const ABSENT: u64 = 4;

/// Returns the bus and the registers of a machine that has just been switched on.
pub fn new(_: Machine) -> (Bus, Registers) {
    if TABLE.get().is_none() {
        let (table, banks) = find_table().unzip();
        TABLE.set(table);
        BANKS.set(banks);
    }
    let zero = |words: &[AtomicU64]| words.iter().for_each(|word| word.store(0, Relaxed));
    zero(&WORDS);
    zero(&PCRS);
    for flag in CROSS_CALLS.iter().chain(&BUSY).chain(&FAULTY_HUBS).chain(&FAULTY_CHANNELS) {
        flag.store(false, Relaxed);
    }
    FAULTY_BANKS.iter().for_each(|bank| bank.store(L2_BANKS, Relaxed));
    // SAFETY: this is a hypervisor with the MMU off. The service uses the addresses of words.
    let bus = Bus(unsafe { Mmio::new() });
    bus.answer();
    if let Some(strand) = StrandId::new(STRAND.load(Relaxed)) {
        own().set_pcr(strand, 0);
    }
    (bus, Registers(own()))
}

/// Makes the processor act as another strand.
pub fn become_strand(strand: StrandId) {
    let registers = own();
    if let Some(before) = StrandId::new(STRAND.swap(strand.index(), Relaxed)) {
        PCRS[before.index()].store(registers.pcr(before), Relaxed);
    }
    registers.set_pcr(strand, PCRS[strand.index()].load(Relaxed));
}

/// Calls `function`. Meanwhile, each access on the slow path calls `at_access`.
pub fn with_accesses(at_access: fn(), function: impl FnOnce()) {
    AT_ACCESS.set(Some(at_access));
    function();
    AT_ACCESS.set(None);
}

pub fn start_clock() {
    CLOCK.store(true, Relaxed);
}

/// Returns the processor's own registers.
fn own() -> StrandRegs {
    // SAFETY: this is a hypervisor with one strand.
    unsafe { StrandRegs::new(cross_call) }
}

fn cross_call(strand: StrandId) {
    CROSS_CALLS[strand.index()].store(true, Relaxed);
}

/// Finds the register addresses in the image's constants and data. Returns `None` unless every register is there exactly once for each
/// node.
///
/// A node's table has the local addresses of the node's own DRAM registers, which are the same for all nodes.
fn find_table() -> Option<(Table, [*mut u64; NODES])> {
    unsafe extern "C" {
        static mut __sun4v_traps_end: u8;
        static mut __bss_start: u8;
    }
    let mut table = [[core::ptr::null_mut(); NODES]; ADDRESSED];
    let mut found = [0; ADDRESSED];
    let mut local = [0; 4];
    let (mut banks, mut nodes) = ([core::ptr::null_mut(); NODES], 0);
    let mut word = (&raw mut __sun4v_traps_end as usize).next_multiple_of(8);
    while word < &raw mut __bss_start as usize {
        let place = word as *mut u64;
        // SAFETY: the address is in the memory of the image.
        let value = PhysicalAddress(unsafe { place.read_volatile() });
        if l2_control(0) == Some(value) {
            *banks.get_mut(nodes)? = place;
            nodes += 1;
        }
        for register in PerfReg::ALL.into_iter().skip(FIRST) {
            let of_node = match register.kind() {
                RegisterKind::Dram { node, mcu, role }
                    if address::local(register) == Some(value) =>
                {
                    let turn = &mut local[2 * mcu.index() + role as usize];
                    // All nodes have the same local addresses for their DRAM registers. The tables are in node order, so the number of
                    // earlier tables with an address (`turn`) is the node's number.
                    if *turn != node.index() {
                        continue;
                    }
                    Some(turn)
                }
                _ => None,
            };
            let at = register.index() - FIRST;
            if of_node.is_none() && address::global(register) != Some(value) {
                continue;
            }
            *table[at].get_mut(found[at])? = place;
            found[at] += 1;
            if let Some(turn) = of_node {
                *turn += 1;
                break;
            }
        }
        word += 8;
    }
    (found == [NODES; ADDRESSED] && nodes == NODES).then_some((table, banks))
}

fn number(cell: Cell) -> usize {
    match cell {
        Cell::L2(node, bank) => (node.index() * L2_BANKS + bank) * BANK,
        Cell::Register(register) => L2_CELLS + register.index() - FIRST,
    }
}

fn word(cell: Cell) -> &'static AtomicU64 {
    &WORDS[2 * number(cell) + 1]
}

fn is_faulty(cell: Cell) -> bool {
    match cell {
        Cell::L2(node, bank) => bank >= FAULTY_BANKS[node.index()].load(Relaxed),
        Cell::Register(register) => match register.kind() {
            RegisterKind::Dram { node, mcu, .. } => {
                FAULTY_CHANNELS[2 * node.index() + mcu.index()].load(Relaxed)
            }
            RegisterKind::Hub { hub, .. } => FAULTY_HUBS[hub.index()].load(Relaxed),
            RegisterKind::Strand | RegisterKind::L2 => false,
        },
    }
}

fn is_busy(cell: Cell) -> bool {
    match cell {
        Cell::Register(register) => match register.kind() {
            RegisterKind::Hub { hub, .. } => BUSY[hub.index()].load(Relaxed),
            _ => false,
        },
        Cell::L2(..) => false,
    }
}

impl Bus {
    /// Writes the words' addresses into the table. A faulty or busy word gets a misaligned address.
    fn answer(&self) {
        let (Some(table), Some(banks)) = (TABLE.get(), BANKS.get()) else {
            hypervisor::failed(&"no table of registers", NOT_STARTED)
        };
        for (node, place) in Node::ALL.iter().zip(banks) {
            let cell = Cell::L2(*node, 0);
            // All of a node's banks share one address in the table. If any bank faults, this address traps, and the slow path accesses the
            // banks one by one.
            let absent = if is_faulty(Cell::L2(*node, L2_BANKS - 1)) { ABSENT } else { 0 };
            // SAFETY: this is a word of the table, as in the loop below.
            unsafe { place.write_volatile(word(cell).as_ptr() as u64 | absent) };
        }
        for (register, places) in PerfReg::ALL.into_iter().skip(FIRST).zip(table) {
            let cell = Cell::Register(register);
            let absent = if is_faulty(cell) || is_busy(cell) { ABSENT } else { 0 };
            for place in places {
                // SAFETY: this is a word of the table. Rust reads the table through pointers only.
                unsafe { place.write_volatile(word(cell).as_ptr() as u64 | absent) };
            }
        }
    }

    /// Returns the register at this address: an L2 control register, or a register that a word of memory replaces.
    fn cell(&self, strand: StrandId, address: PhysicalAddress) -> Option<Cell> {
        let bank = (0..L2_BANKS).find(|bank| l2_control(*bank) == Some(address));
        if let Some(bank) = bank {
            return Some(Cell::L2(strand.node(), bank));
        }
        let first = WORDS.as_ptr() as u64;
        let index = (address.0 & !ABSENT).wrapping_sub(first) as usize / 16;
        let register = index.checked_sub(L2_CELLS)?;
        Some(Cell::Register(PerfReg::new((register + FIRST) as u64)?))
    }

    /// Returns the address of the word to access. For a faulty register, this is an address at which an access traps. For a busy hub,
    /// returns an error.
    fn place(
        &self,
        strand: StrandId,
        address: PhysicalAddress,
    ) -> Result<PhysicalAddress, AccessError> {
        match self.cell(strand, address) {
            Some(cell @ Cell::L2(..)) => {
                let absent = if is_faulty(cell) { ABSENT } else { 0 };
                Ok(PhysicalAddress(word(cell).as_ptr() as u64 | absent))
            }
            Some(cell) if is_busy(cell) && !is_faulty(cell) => Err(AccessError::Busy),
            Some(_) => Ok(address),
            None => Err(AccessError::Fault),
        }
    }
}

impl platform::Bus for Bus {
    fn read(&self, strand: StrandId, at: PhysicalAddress) -> Result<u64, AccessError> {
        if let Some(at_access) = AT_ACCESS.get() {
            at_access();
        }
        self.0.read(strand, self.place(strand, at)?)
    }

    fn write(&self, strand: StrandId, at: PhysicalAddress, value: u64) -> Result<(), AccessError> {
        let value = match self.cell(strand, at) {
            // The bit that clears the directory always reads as 0.
            Some(Cell::L2(..)) => value & !(1 << 22),
            _ => value,
        };
        self.0.write(strand, self.place(strand, at)?, value)
    }

    fn is_direct() -> bool {
        true
    }

    #[inline(always)]
    fn complete_writes(&self, strand: StrandId) {
        self.0.complete_writes(strand);
    }
}

impl StrandRegisters for Registers {
    fn pcr(&self, strand: StrandId) -> u64 {
        match STRAND.load(Relaxed) == strand.index() {
            true => self.0.pcr(strand),
            false => PCRS[strand.index()].load(Relaxed),
        }
    }

    fn set_pcr(&self, strand: StrandId, value: u64) {
        match STRAND.load(Relaxed) == strand.index() {
            true => self.0.set_pcr(strand, value),
            false => PCRS[strand.index()].store(value, Relaxed),
        }
    }

    fn set_pic(&self, strand: StrandId, value: u64) {
        self.0.set_pic(strand, value);
    }

    /// Returns 0 until [`start_clock`] is called. Until then, no time passes, so no hub stays busy for too long.
    fn ticks(&self, strand: StrandId) -> u64 {
        if CLOCK.load(Relaxed) { self.0.ticks(strand) } else { 0 }
    }

    fn cross_call(&self, strand: StrandId) {
        self.0.cross_call(strand);
    }
}

impl Hardware for Bus {
    fn occupy_hubs(&self, busy: [bool; HUBS]) {
        for (hub, busy) in BUSY.iter().zip(busy) {
            hub.store(busy, Relaxed);
        }
        self.answer();
    }

    fn set_faulty(&self, unit: FaultyUnit, faulty: bool) {
        let from = |node: Node, bank| {
            let bank = if faulty { bank } else { L2_BANKS };
            FAULTY_BANKS[node.index()].store(bank, Relaxed);
        };
        match unit {
            FaultyUnit::Mcu(node, mcu) => {
                FAULTY_CHANNELS[2 * node.index() + mcu.index()].store(faulty, Relaxed);
            }
            FaultyUnit::Hub(hub) => FAULTY_HUBS[hub.index()].store(faulty, Relaxed),
            FaultyUnit::L2(node) => from(node, 0),
            FaultyUnit::L2FromBank(node, bank) => from(node, bank),
        }
        self.answer();
    }

    fn put(&self, cell: Cell, value: u64) {
        word(cell).store(value, Relaxed);
    }

    /// Returns a register's value. If a word beside the register has been written, returns a wrong value on purpose, so that the test
    /// fails.
    fn holds(&self, cell: Cell) -> Option<u64> {
        let answers = !is_faulty(cell) && !is_busy(cell);
        let around = |at: usize| WORDS[at].load(Relaxed);
        let at = 2 * number(cell) + 1;
        let beside = around(at - 1) | around(at + 1);
        answers.then(|| word(cell).load(Relaxed) ^ beside)
    }

    fn pcr_of(&self, strand: StrandId) -> u64 {
        Registers(own()).pcr(strand)
    }

    fn take_cross_call(&self, strand: StrandId) -> bool {
        CROSS_CALLS[strand.index()].swap(false, Relaxed)
    }
}
