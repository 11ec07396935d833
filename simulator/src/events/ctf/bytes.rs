/// A trace's byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endian {
    /// Highest byte first, as on sun4v.
    Big,
    /// Lowest byte first.
    Little,
}

impl Endian {
    /// Both byte orders, in the order in which help texts list them.
    pub const ALL: [Self; 2] = [Self::Big, Self::Little];

    /// Returns the byte order's name in metadata, `be` or `le`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Big => "be",
            Self::Little => "le",
        }
    }

    /// Appends the lower `bits` bits of a number. `bits` is a multiple of 8.
    pub(super) fn put(self, bytes: &mut Vec<u8>, bits: u32, value: u64) {
        let count = bits as usize / 8;
        match self {
            Self::Big => bytes.extend(&value.to_be_bytes()[8 - count..]),
            Self::Little => bytes.extend(&value.to_le_bytes()[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders() {
        let mut bytes = Vec::new();
        Endian::Big.put(&mut bytes, 32, 0xff_1234_5678);
        Endian::Little.put(&mut bytes, 16, 0x9abc);
        assert_eq!(bytes, [0x12, 0x34, 0x56, 0x78, 0xbc, 0x9a]);
    }
}
