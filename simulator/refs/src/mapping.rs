//! Mapped files.

/// A file that was mapped into the memory of the recorded program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Mapping {
    /// The address of its first byte.
    pub start: u64,
    /// The address after its last byte.
    pub end: u64,
    /// The position of the first byte in the file.
    pub offset: u64,
    /// The path of the file.
    pub path: String,
    /// The build id of the file; empty if it has none.
    pub build_id: Vec<u8>,
}
