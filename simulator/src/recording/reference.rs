/// A reference to memory: the fetch of an instruction, or an access to data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The virtual address of the first byte.
    pub address: u64,
    /// The number of bytes, 1 to 4096.
    pub size: u16,
    /// Whether the reference is a fetch, a load or a store. For a fetch, also what the instruction does.
    pub kind: Kind,
    /// How a fetched instruction passes control on; [`Flow::Next`] for data.
    pub flow: Flow,
}

impl Reference {
    /// Returns an access to data, or the fetch of an instruction that passes control to the next instruction.
    pub const fn new(address: u64, size: u16, kind: Kind) -> Self {
        Self { address, size, kind, flow: Flow::Next }
    }
}

/// How an instruction passes control on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Flow {
    /// To the next instruction in memory. All instructions of a recording [without flow](super::Recording::has_flow) have this value.
    #[default]
    Next = 0,
    /// Past a conditional branch that is not taken.
    NotTaken = 1,
    /// To the target of a conditional branch.
    Taken = 2,
    /// To the target of an unconditional branch, or to an address in a register.
    Jump = 3,
    /// To a procedure, by a call instruction.
    Call = 4,
    /// To the caller of a procedure.
    Return = 5,
    /// Into the operating system.
    Trap = 6,
}

impl Flow {
    /// Returns `true` if control passes elsewhere than to the next instruction in memory.
    #[inline(always)]
    pub(crate) const fn is_elsewhere(self) -> bool {
        self as u8 >= Self::Taken as u8
    }

    /// Returns the class of the instruction for counters of branches.
    #[inline(always)]
    pub(crate) const fn branch(self) -> Branch {
        match self {
            Self::Next | Self::Trap => Branch::None,
            Self::NotTaken => Branch::NotTaken,
            Self::Taken | Self::Jump | Self::Call | Self::Return => Branch::Taken,
        }
    }
}

/// The class of an instruction for counters of branches. A trap is not a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Branch {
    None,
    NotTaken,
    Taken,
}

impl Branch {
    pub(crate) const COUNT: usize = 3;
}

/// The kind of a reference.
///
/// The kind of a fetch says whether the instruction loads or stores, so readers need not look ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The fetch of an instruction without data.
    FetchOther = 0,
    /// The fetch of an instruction that loads.
    FetchLoad = 1,
    /// The fetch of an instruction that stores.
    FetchStore = 2,
    /// The fetch of an instruction that loads and stores, from the same place or from two places.
    FetchModify = 3,
    /// A load of data.
    Load = 4,
    /// A store of data.
    Store = 5,
    /// A load and a store of the same place by one instruction.
    Modify = 6,
}

impl Kind {
    /// Returns `true` for the fetch of an instruction.
    pub const fn is_fetch(self) -> bool {
        (self as u8) < Self::Load as u8
    }

    /// The kinds of fetches. Bit 0 of the index means a load, and bit 1 a store.
    pub(crate) const FETCHES: [Self; 4] =
        [Self::FetchOther, Self::FetchLoad, Self::FetchStore, Self::FetchModify];

    /// Returns the kind of this fetch if its instruction also accesses `data`.
    pub(super) const fn with(self, data: Self) -> Self {
        Self::FETCHES[(self as usize | (data as usize - Self::FetchModify as usize)) & 3]
    }
}
