//! The formats of recordings.

use super::{champsim, drmemtrace};

/// The format of the decompressed content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A recording written by `vfalls record`.
    Native,
    /// A one-thread recording written by DynamoRIO's drmemtrace.
    Drmemtrace,
    /// A recording for ChampSim.
    ChampSim,
    /// A recording written by valgrind's lackey.
    Lackey,
    /// A handwritten recording.
    Text,
}

/// The first bytes of a native recording.
pub(super) const MAGIC: [u8; 8] = *b"\x8fVFREFS\n";

impl Content {
    /// Determines the format from the first bytes of the decompressed content.
    pub(super) fn detect(head: &[u8]) -> Self {
        match head.trim_ascii_start() {
            _ if head.starts_with(&MAGIC) => Self::Native,
            _ if drmemtrace::is_header(head) => Self::Drmemtrace,
            _ if champsim::is_plausible(head) => Self::ChampSim,
            [b'#' | b'0'..=b'9', ..] | [b'P' | b'p', b'0'..=b'9', ..] => Self::Text,
            _ => Self::Lackey,
        }
    }
}
