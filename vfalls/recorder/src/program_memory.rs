//! Numbers in the recorded program's memory.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::decode::Target;

impl Target {
    /// Reads a time from the program's memory, where it is two 64-bit numbers: seconds and nanoseconds. Returns the time in nanoseconds.
    pub(crate) fn time(self, address: u64) -> Option<u64> {
        let mut bytes = [0; 16];
        File::open("/proc/self/mem").ok()?.read_exact_at(&mut bytes, address).ok()?;
        let [seconds, nanoseconds] = [&bytes[..8], &bytes[8..]].map(|half| {
            let half = half.try_into().unwrap_or_default();
            if self == Self::X86 { u64::from_le_bytes(half) } else { u64::from_be_bytes(half) }
        });
        // A program may ask for a time that does not fit into 64 bits of nanoseconds, so the seconds are clamped to 2^32.
        (nanoseconds < 1_000_000_000).then(|| seconds.min(1 << 32) * 1_000_000_000 + nanoseconds)
    }

    /// Returns the 32-bit number at an address of the program's memory. The address may be bad, so memory is read through
    /// /proc/self/mem.
    pub(crate) fn word(self, address: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        File::open("/proc/self/mem").ok()?.read_exact_at(&mut bytes, address).ok()?;
        Some(match self {
            Self::X86 => u32::from_le_bytes(bytes),
            Self::Sparc => u32::from_be_bytes(bytes),
        })
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
