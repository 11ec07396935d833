//! The types that metadata describe, and values of these types.

use std::ops::RangeInclusive;

use super::Endian;

#[derive(Clone, Debug)]
pub(super) enum Type {
    Integer {
        bits: u32,
        align: u32,
        /// Whether the integer is a clock field, which has the lowest bits of the time.
        clock: bool,
        /// Whether the integer is shown as a hexadecimal number.
        hex: bool,
        /// In an enumeration, the name of each range of values.
        names: Vec<(String, RangeInclusive<u64>)>,
    },
    /// A value for each field, in order.
    Struct { fields: Vec<(String, Type)>, align: u32 },
    /// A value of one of several types. An earlier field, `tag`, has a value that names the type.
    Variant { tag: String, options: Vec<(String, Type)> },
    /// `length` values of one type.
    Array { of: Box<Type>, length: u64 },
}

impl Type {
    /// Returns the alignment in bits.
    pub(super) fn align(&self) -> u32 {
        match self {
            Self::Integer { align, .. } | Self::Struct { align, .. } => *align,
            Self::Variant { .. } => 1,
            Self::Array { of, .. } => of.align(),
        }
    }
}

/// The integers of a packet or event, in order: each has its field's name, its value and, in an enumeration, the value's name. If
/// several fields have the same name, a lookup finds the last one.
#[derive(Debug, Default)]
pub(super) struct Values<'a>(Vec<(&'a str, u64, Option<&'a str>)>);

impl Values<'_> {
    /// Returns a field's value; `None` if there is no such field.
    pub(super) fn find(&self, name: &str) -> Option<u64> {
        let found = self.0.iter().rev().find(|(field, ..)| *field == name);
        found.map(|(_, value, _)| *value)
    }

    /// Returns a field's value, or an error if there is no such field.
    pub(super) fn get(&self, name: &str) -> Result<u64, String> {
        self.find(name).ok_or_else(|| format!("has no {name}"))
    }

    fn name(&self, field: &str) -> Option<&str> {
        let found = self.0.iter().rev().find(|(name, ..)| *name == field);
        found.and_then(|(_, _, name)| *name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|(_, value, _)| *value)
    }
}

#[derive(Clone, Debug)]
pub(super) struct BitCursor<'a> {
    pub(super) bytes: &'a [u8],
    /// The current position in bits.
    pub(super) at: u64,
    /// The position at which the content ends, in bits.
    pub(super) end: u64,
    pub(super) endian: Endian,
    pub(super) now: u64,
}

impl BitCursor<'_> {
    /// Reads a value; `None` if the packet is too short, a tag is unknown, or the time overflows.
    pub(super) fn read<'t>(&mut self, of: &'t Type) -> Option<Values<'t>> {
        let mut values = Values::default();
        self.append(&mut values, "", of)?;
        Some(values)
    }

    fn append<'t>(&mut self, values: &mut Values<'t>, name: &'t str, of: &'t Type) -> Option<()> {
        self.at = self.at.next_multiple_of(of.align().into());
        match of {
            Type::Integer { bits, clock, names, .. } => {
                let mut value = self.integer(*bits)?;
                if *clock {
                    value = self.time(*bits, value)?;
                }
                let named = names.iter().find(|(_, range)| range.contains(&value));
                let named = named.map(|(name, _)| name.as_str());
                values.0.push((name, value, named));
            }
            Type::Struct { fields, .. } => {
                for (name, of) in fields {
                    self.append(values, name, of)?;
                }
            }
            Type::Variant { tag, options } => {
                let chosen = values.name(tag)?;
                let (_, of) = options.iter().find(|(name, _)| name == chosen)?;
                self.append(values, name, of)?;
            }
            Type::Array { of, length } => {
                for _ in 0..*length {
                    self.append(values, name, of)?;
                }
            }
        }
        Some(())
    }

    /// Advances the time to the next time whose lowest `bits` bits are `low`. Returns the new time.
    fn time(&mut self, bits: u32, low: u64) -> Option<u64> {
        let mask = u64::MAX >> (64 - bits);
        self.now = match bits {
            64 => low,
            _ => self.now.checked_add(low.wrapping_sub(self.now) & mask)?,
        };
        Some(self.now)
    }

    /// Reads an integer. In big-endian traces, a byte's first bit is its highest bit.
    fn integer(&mut self, bits: u32) -> Option<u64> {
        let end = self.at.checked_add(bits.into())?;
        if end > self.end {
            return None;
        }
        let (first, behind) = ((self.at / 8) as usize, end.div_ceil(8) as usize);
        let bytes = self.bytes.get(first..behind)?;
        let before = (self.at % 8) as u32;
        let value = match self.endian {
            Endian::Big => {
                let all = bytes.iter().fold(0, |all, byte| all << 8 | u128::from(*byte));
                all >> (8 * bytes.len() as u32 - before - bits)
            }
            Endian::Little => {
                let bytes = bytes.iter().rev();
                let all = bytes.fold(0, |all, byte| all << 8 | u128::from(*byte));
                all >> before
            }
        };
        self.at = end;
        Some(value as u64 & u64::MAX >> (64 - bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(bytes: &[u8], endian: Endian, at: u64) -> BitCursor<'_> {
        BitCursor { bytes, at, end: 8 * bytes.len() as u64, endian, now: 0 }
    }

    #[test]
    fn integers_of_any_bits() {
        let bytes = [0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 0x11];
        for (endian, at, bits, expected) in [
            (Endian::Big, 0, 5, 0b00010),
            (Endian::Big, 5, 27, 0x234_5678),
            (Endian::Little, 0, 5, 0b10010),
            (Endian::Little, 5, 27, 0x7856_3412 >> 5),
            (Endian::Big, 4, 64, 0x2345_6789_abcd_ef01),
            (Endian::Little, 4, 64, 0x1f0d_ebc9_a785_6341),
            (Endian::Big, 71, 1, 1),
            (Endian::Little, 64, 1, 1),
        ] {
            let mut cursor = cursor(&bytes, endian, at);
            let read = cursor.integer(bits);
            assert_eq!(read, Some(expected), "{endian:?} {at} {bits}");
            assert_eq!(cursor.at, at + u64::from(bits));
        }
        assert_eq!(cursor(&bytes, Endian::Big, 70).integer(3), None);
        assert_eq!(cursor(&bytes, Endian::Big, u64::MAX).integer(3), None);
    }

    #[test]
    fn times_wrap() {
        let mut cursor = cursor(&[], Endian::Big, 0);
        cursor.now = 0x1_0fff_ffff;
        assert_eq!(cursor.time(27, 0x7ff_ffff), Some(0x1_0fff_ffff));
        assert_eq!(cursor.time(27, 0), Some(0x1_1000_0000));
        assert_eq!(cursor.time(27, 1), Some(0x1_1000_0001));
        assert_eq!(cursor.time(27, 0), Some(0x1_1800_0000));
        assert_eq!(cursor.time(64, 5), Some(5));
        cursor.now = u64::MAX;
        assert_eq!(cursor.time(27, 0), None);
    }
}
