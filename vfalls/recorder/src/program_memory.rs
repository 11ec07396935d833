//! Reads numbers and strings from the recorded program's memory.

use std::ffi::CString;
use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::decode::Architecture;

/// The maximum number of a program's arguments, and of its environment strings.
const MAX_STRINGS: u64 = 1 << 16;

/// The maximum length of a string: Linux's limit for a program's argument.
const MAX_STRING_BYTES: usize = 1 << 17;

/// Returns the C string at `address`. The program may pass a bad address, so memory is read through /proc/self/mem.
pub(crate) fn string_at(address: u64) -> Option<CString> {
    string(&File::open("/proc/self/mem").ok()?, address)
}

fn string(memory: &File, address: u64) -> Option<CString> {
    let mut bytes = Vec::new();
    while bytes.len() <= MAX_STRING_BYTES {
        let at = address.checked_add(bytes.len() as u64)?;
        let mut page = [0; 4096];
        let most = 4096 - (at % 4096) as usize;
        let read = memory.read_at(&mut page[..most], at).ok().filter(|read| *read > 0)?;
        let end = page[..read].iter().position(|byte| *byte == 0);
        bytes.extend_from_slice(&page[..end.unwrap_or(read)]);
        if end.is_some() {
            return CString::new(bytes).ok();
        }
    }
    None
}

impl Architecture {
    /// Reads a time from the program's memory, where it consists of two 64-bit numbers: seconds and nanoseconds. Returns it in nanoseconds.
    pub(crate) fn time(self, address: u64) -> Option<u64> {
        let mut bytes = [0; 16];
        File::open("/proc/self/mem").ok()?.read_exact_at(&mut bytes, address).ok()?;
        let [seconds, nanoseconds] =
            [&bytes[..8], &bytes[8..]].map(|half| self.number(half.try_into().unwrap_or_default()));
        // The seconds are clamped to 2^32, because a program can ask for a time whose nanoseconds do not fit into 64 bits.
        (nanoseconds < 1_000_000_000).then(|| seconds.min(1 << 32) * 1_000_000_000 + nanoseconds)
    }

    /// Returns the 32-bit number at an address in the program's memory. The address may be bad, so memory is read through /proc/self/mem.
    pub(crate) fn word(self, address: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        File::open("/proc/self/mem").ok()?.read_exact_at(&mut bytes, address).ok()?;
        Some(match self {
            Self::X86 => u32::from_le_bytes(bytes),
            Self::Sparc => u32::from_be_bytes(bytes),
        })
    }

    /// Returns the strings of a list that ends with a null pointer, such as a program's arguments; `None` if the list cannot be read.
    pub(crate) fn strings(self, list: u64) -> Option<Vec<CString>> {
        let memory = File::open("/proc/self/mem").ok()?;
        let mut strings = Vec::new();
        for number in 0..MAX_STRINGS {
            let mut bytes = [0; 8];
            memory.read_exact_at(&mut bytes, list.checked_add(8 * number)?).ok()?;
            match self.number(bytes) {
                0 => return Some(strings),
                address => strings.push(string(&memory, address)?),
            }
        }
        None
    }

    fn number(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::X86 => u64::from_le_bytes(bytes),
            Self::Sparc => u64::from_be_bytes(bytes),
        }
    }

    /// Returns the low half of the 64-bit number at an address; 0 if it cannot be read.
    pub(crate) fn low_word(self, address: u64) -> u32 {
        let low = match self {
            Self::X86 => address,
            Self::Sparc => address + 4,
        };
        self.word(low).unwrap_or(0)
    }
}
