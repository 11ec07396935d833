//! Memory and a console where QEMU's machine `niagara` has them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::control::Level;
use super::environment::{At, Counting, Environment};
use super::instruction::Instruction;

use super::trap::Trap;

/// The hypervisor's memory.
pub const HYPERVISOR: Range<u64> = 0x10_0000..0x400_0000;

/// The partition's memory.
pub const PARTITION: Range<u64> = 0x8000_0000..0x8800_0000;

/// The memory in which execution begins after power on.
pub const ROM: Range<u64> = 0xff_f000_0000..0xff_f040_0000;

/// The first instruction after power on.
pub const RESET: u64 = ROM.start + 0x20;

/// The console, a 16550 UART.
const UART: Range<u64> = 0x1f_1000_0000..0x1f_1000_0008;

/// The UART's registers: what is sent, and the status of the line.
const TRANSMIT: u64 = 0;
const LINE_STATUS: u64 = 5;

/// What it is sent has been sent.
const TRANSMITTED: u64 = 0x60;

/// A page of memory, in bytes as a power of two.
const PAGE_SHIFT: u32 = 13;
const PAGE: usize = 1 << PAGE_SHIFT;

/// Memory, a console, and the words that diagnostic spaces hold.
#[derive(Debug)]
pub struct Board {
    memory: [Memory; 3],
    console: Vec<u8>,
    spaces: BTreeMap<(u8, u64), u64>,
    ticks: u64,
    pcr: u64,
    pic: u64,
}

/// A range of memory, of which the pages are made when they are used.
#[derive(Debug)]
struct Memory {
    range: Range<u64>,
    pages: Vec<Option<Box<Page>>>,
}

#[derive(Debug)]
struct Page {
    bytes: [u8; PAGE],
    /// The instructions that the bytes are, if some have been executed.
    instructions: Option<Box<[Instruction; PAGE / 4]>>,
}

/// What is at an address.
enum Place<'b> {
    Memory(&'b mut Page, usize),
    Uart(u64),
    Nothing,
}

impl Board {
    /// Returns a board whose memory is zero.
    #[must_use]
    pub fn new() -> Self {
        Self {
            memory: [HYPERVISOR, PARTITION, ROM].map(Memory::new),
            console: Vec::new(),
            spaces: BTreeMap::new(),
            ticks: 0,
            pcr: 0,
            pic: 0,
        }
    }

    /// Writes bytes to memory; those that are for no memory are lost.
    pub fn load_bytes(&mut self, address: u64, bytes: &[u8]) {
        for (address, byte) in (address..).zip(bytes) {
            if let Place::Memory(page, at) = self.place(address, Level::Hyperprivileged) {
                page.write(at, &[*byte]);
            }
        }
    }

    /// Returns what has been written to the console since this was asked last.
    pub fn console(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.console)
    }

    /// An instruction has been executed.
    pub fn tick(&mut self) {
        self.ticks += 1;
    }

    /// Only the hypervisor reaches more than the partition's memory.
    #[inline(always)]
    fn place(&mut self, address: u64, level: Level) -> Place<'_> {
        let [hypervisor, partition, rom] = &mut self.memory;
        let memory = if PARTITION.contains(&address) {
            partition
        } else if level < Level::Hyperprivileged {
            return Place::Nothing;
        } else if HYPERVISOR.contains(&address) {
            hypervisor
        } else if ROM.contains(&address) {
            rom
        } else if UART.contains(&address) {
            return Place::Uart(address - UART.start);
        } else {
            return Place::Nothing;
        };
        let at = (address - memory.range.start) as usize;
        let page = memory.pages[at >> PAGE_SHIFT].get_or_insert_with(Page::new);
        Place::Memory(page, at % PAGE)
    }
}

impl Default for Board {
    fn default() -> Self {
        Self::new()
    }
}

impl Environment for Board {
    #[inline(always)]
    fn fetch(&mut self, address: u64, level: Level) -> Result<Instruction, Trap> {
        match self.place(address, level) {
            Place::Memory(page, at) => Ok(page.instruction(at)),
            _ if level < Level::Hyperprivileged => Err(Trap::INSTRUCTION_REAL_TRANSLATION_MISS),
            _ => Err(Trap::INSTRUCTION_ACCESS_ERROR),
        }
    }

    #[inline(always)]
    fn load(&mut self, at: At, shift: u8) -> Result<u64, Trap> {
        if !is_memory(at.space) {
            let word = self.spaces.get(&register(at));
            return Ok(word.copied().unwrap_or_default());
        }
        match self.place(at.address, at.level) {
            Place::Memory(page, at) => Ok(page.read(at, shift)),
            Place::Uart(LINE_STATUS) => Ok(TRANSMITTED),
            _ if at.level < Level::Hyperprivileged => Err(Trap::DATA_REAL_TRANSLATION_MISS),
            _ => Ok(0),
        }
    }

    #[inline(always)]
    fn store(&mut self, at: At, shift: u8, value: u64) -> Result<(), Trap> {
        if !is_memory(at.space) {
            self.spaces.insert(register(at), value);
            return Ok(());
        }
        match self.place(at.address, at.level) {
            Place::Memory(page, at) => {
                page.write(at, &value.to_be_bytes()[8 - (1 << shift)..]);
            }
            Place::Uart(TRANSMIT) => self.console.push(value as u8),
            _ if at.level < Level::Hyperprivileged => {
                return Err(Trap::DATA_REAL_TRANSLATION_MISS);
            }
            _ => {}
        }
        Ok(())
    }

    fn read(&mut self, register: Counting, _: Level) -> Result<u64, Trap> {
        Ok(match register {
            Counting::Tick | Counting::Stick => self.ticks * 1024 / 10,
            Counting::Pcr => self.pcr,
            Counting::Pic => self.pic,
            Counting::Status => 1,
        })
    }

    fn write(&mut self, register: Counting, value: u64, _: Level) -> Result<(), Trap> {
        match register {
            Counting::Tick | Counting::Stick => self.ticks = value,
            Counting::Pcr => self.pcr = value,
            Counting::Pic => self.pic = value,
            Counting::Status => {}
        }
        Ok(())
    }
}

/// Returns whether a space is memory: those of ordinary loads and stores, of real addresses, and without faults.
const fn is_memory(space: u8) -> bool {
    matches!(space, 0x04 | 0x10 | 0x11 | 0x14 | 0x15 | 0x24 | 0x80..)
}

/// Returns the number of a register in a space. Guests and the hypervisor share the scratchpad.
const fn register(at: At) -> (u8, u64) {
    let space = if at.space == 0x20 { 0x4f } else { at.space };
    (space, at.address)
}

impl Memory {
    fn new(range: Range<u64>) -> Self {
        let pages = (range.end - range.start) as usize >> PAGE_SHIFT;
        Self {
            range,
            pages: (0..pages).map(|_| None).collect(),
        }
    }
}

impl Page {
    fn new() -> Box<Self> {
        Box::new(Self {
            bytes: [0; PAGE],
            instructions: None,
        })
    }

    #[inline(always)]
    fn read(&self, at: usize, shift: u8) -> u64 {
        let bytes = &self.bytes[at..at + (1 << shift)];
        match *bytes {
            [a] => a.into(),
            [a, b] => u16::from_be_bytes([a, b]).into(),
            [a, b, c, d] => u32::from_be_bytes([a, b, c, d]).into(),
            _ => bytes
                .iter()
                .fold(0, |value, byte| (value << 8) | u64::from(*byte)),
        }
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        if let Some(instructions) = &mut self.instructions {
            for word in at / 4..(at + bytes.len()).div_ceil(4) {
                instructions[word] = decoded(&self.bytes, word);
            }
        }
    }

    #[inline(always)]
    fn instruction(&mut self, at: usize) -> Instruction {
        let Self {
            bytes,
            instructions,
        } = self;
        let instructions = instructions.get_or_insert_with(|| {
            let mut all = Box::new([Instruction::Illegal; PAGE / 4]);
            for (word, instruction) in all.iter_mut().enumerate() {
                *instruction = decoded(bytes, word);
            }
            all
        });
        instructions[at / 4 % (PAGE / 4)]
    }
}

fn decoded(bytes: &[u8; PAGE], word: usize) -> Instruction {
    let (words, _) = bytes.as_chunks();
    Instruction::decode(u32::from_be_bytes(words[word]))
}
