//! Identifiers of a trace and of the trace's clock.

use std::fmt;

use crate::events::{StreamEntry, Trace};

/// A UUID that is a hash of a trace's content (RFC 9562, version 8). Equal traces have equal UUIDs, so their files are
/// also equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Uuid(u128);

impl Uuid {
    /// Returns a trace's identifier, which does not depend on the byte order of the files.
    pub(super) fn for_trace(trace: &Trace) -> Self {
        let Trace { hz, layout, began, epoch, missed, guests, streams, .. } = trace;
        let mut hash = Hash::new();
        let about = format!("{hz} {began} {missed} {epoch:?} {} {guests:?}", layout.name());
        hash.add(about.as_bytes());
        for stream in streams {
            hash.add(&stream.strand.number().to_be_bytes());
            for entry in &stream.entries {
                match entry {
                    StreamEntry::Event(event) => {
                        hash.add(&event.id.to_be_bytes());
                        hash.add(&event.time.to_be_bytes());
                        let words = event.payload.iter();
                        words.for_each(|word| hash.add(&word.to_be_bytes()));
                    }
                    // A gap is hashed as kind 0, because no event has this kind.
                    StreamEntry::Lost(lost) => {
                        hash.add(&[0; 2]);
                        hash.add(&lost.to_be_bytes());
                    }
                }
            }
        }
        hash.uuid()
    }

    /// Returns the identifier of the trace's clock. Every trace has its own clock.
    pub(super) fn for_clock(self) -> Self {
        let mut hash = Hash::new();
        hash.add(b"clock of ");
        hash.add(&self.0.to_be_bytes());
        hash.uuid()
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:032x}", self.0);
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
        f.write_str(&parts.join("-"))
    }
}

/// The 128-bit hash function FNV-1a.
struct Hash(u128);

impl Hash {
    const fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 ^= u128::from(*byte);
            self.0 = self.0.wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
    }

    /// Returns the hash with the version field set to 8 and the variant field set to 2.
    const fn uuid(&self) -> Uuid {
        let free = self.0 & !(0xf << 76 | 3 << 62);
        Uuid(free | 8 << 76 | 2 << 62)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_function() {
        let of = |bytes: &[u8]| {
            let mut hash = Hash::new();
            hash.add(bytes);
            hash.0
        };
        // The test vectors of the Internet draft draft-eastlake-fnv.
        assert_eq!(of(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(of(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_eq!(of(b"foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }

    #[test]
    fn versions_and_variants_are_in_their_places() {
        let text = |bits| Hash(bits).uuid().to_string();
        assert_eq!(text(0), "00000000-0000-8000-8000-000000000000");
        assert_eq!(text(u128::MAX), "ffffffff-ffff-8fff-bfff-ffffffffffff");
        let any = 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef;
        assert_eq!(text(any), "01234567-89ab-8def-8123-456789abcdef");
    }
}
