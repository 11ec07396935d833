//! How a machine spreads consecutive physical addresses over its nodes.

/// How many consecutive bytes are on one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Interleave {
    /// 512 bytes: every page is spread over all nodes.
    #[default]
    Bytes512,
    /// 1 GB: every page is on one node, so that an operating system can choose the node.
    Gigabyte,
}

impl Interleave {
    /// Both interleaves, the smaller one first.
    pub const ALL: [Self; 2] = [Self::Bytes512, Self::Gigabyte];

    /// Returns the binary logarithm of the number of bytes.
    pub const fn shift(self) -> u32 {
        match self {
            Self::Bytes512 => 9,
            Self::Gigabyte => 30,
        }
    }

    /// Returns the number of consecutive bytes that are on one node.
    pub const fn bytes(self) -> u64 {
        1 << self.shift()
    }

    /// Returns the interleave of this number of bytes; `None` if there is none.
    pub fn from_bytes(bytes: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|interleave| interleave.bytes() == bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaves_by_their_bytes() {
        assert_eq!(Interleave::from_bytes(512), Some(Interleave::Bytes512));
        assert_eq!(Interleave::from_bytes(1 << 30), Some(Interleave::Gigabyte));
        assert_eq!(Interleave::from_bytes(4096), None);
    }
}
