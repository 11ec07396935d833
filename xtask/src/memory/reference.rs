//! What is replayed.

/// One reference to memory: an instruction fetch, or data read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The virtual address of the first byte.
    pub address: u64,
    /// How many bytes.
    pub size: u16,
    /// What is done to them.
    pub kind: Kind,
}

/// What a reference does. A fetch says what its instruction will do to data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The fetch of an instruction that touches no data.
    FetchOther = 0,
    /// The fetch of an instruction that loads.
    FetchLoad = 1,
    /// The fetch of an instruction that stores.
    FetchStore = 2,
    /// The fetch of an instruction that loads and stores, in one place or in two.
    FetchModify = 3,
    /// Data is read.
    Load = 4,
    /// Data is written.
    Store = 5,
    /// Data is read and written back by one instruction.
    Modify = 6,
}
