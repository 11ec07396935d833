//! The memory of a random walk (`walk.rs`), at the start of the partition's memory.

use std::ops::Range;

use simulator::interpreter::{At, CounterRegister, Environment, Instruction, Level, Trap};

/// The first address of the memory. Execution begins there.
pub(crate) const BASE: u64 = 0x8000_0000;
/// The address of the random values for registers.
pub(crate) const VALUES: u64 = BASE + 0x8000;
/// The address of the memory that random instructions access.
pub(crate) const SCRATCH: u64 = BASE + 0xc000;
/// The hypervisor's trap tables, 16 KB each. The guest's trap tables, 32 KB each, follow.
pub(crate) const HTBAS: [u64; 2] = [BASE + 0x1_0000, BASE + 0x1_4000];
pub(crate) const TBAS: [u64; 2] = [BASE + 0x1_8000, BASE + 0x2_0000];
/// The addresses of the code, after the trap tables.
pub(crate) const CODE: Range<u64> = BASE + 0x2_8000..BASE + 0x6_8000;

pub(crate) struct Memory {
    pub(crate) bytes: Vec<u8>,
    scratchpad: [u64; 8],
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; (CODE.end - BASE) as usize], scratchpad: [0; 8] }
    }

    /// Returns the word at an address, or 0 (an illegal instruction) if no word has been written there.
    pub(crate) fn word(&self, address: u64) -> u32 {
        let at = address.wrapping_sub(BASE) as usize;
        let bytes = self.bytes.get(at..at.wrapping_add(4));
        bytes.map_or(0, |bytes| u32::from_be_bytes(bytes.try_into().expect("4 bytes")))
    }

    pub(crate) fn put(&mut self, address: u64, bytes: &[u8]) {
        let at = (address - BASE) as usize;
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn at(&mut self, at: At, shift: u8) -> &mut [u8] {
        let from = at.address.wrapping_sub(BASE) as usize;
        assert!((VALUES..HTBAS[0]).contains(&at.address), "{at:x?}");
        &mut self.bytes[from..from + (1 << shift)]
    }

    /// Returns the scratchpad register that an access reaches, or `None` if it accesses memory.
    fn pad(&mut self, at: At) -> Option<&mut u64> {
        let number = at.address as usize / 8;
        [0x20, 0x4f].contains(&at.space).then(|| &mut self.scratchpad[number])
    }
}

impl Environment for Memory {
    fn fetch(&mut self, address: u64, _: Level) -> Result<Instruction, Trap> {
        Ok(Instruction::decode(self.word(address)))
    }

    fn load(&mut self, at: At, shift: u8) -> Result<u64, Trap> {
        if let Some(pad) = self.pad(at) {
            return Ok(*pad);
        }
        let bytes = self.at(at, shift);
        Ok(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn store(&mut self, at: At, shift: u8, value: u64) -> Result<(), Trap> {
        if let Some(pad) = self.pad(at) {
            *pad = value;
            return Ok(());
        }
        let bytes = self.at(at, shift);
        bytes.copy_from_slice(&value.to_be_bytes()[8 - (1 << shift)..]);
        Ok(())
    }

    fn read(&mut self, register: CounterRegister, _: Level) -> Result<u64, Trap> {
        panic!("{register:?} is not part of a walk")
    }

    fn write(&mut self, register: CounterRegister, _: u64, _: Level) -> Result<(), Trap> {
        panic!("{register:?} is not part of a walk")
    }
}
