use refs::Class;

use super::images::CodeImage;

/// A memory reference: an instruction's fetch, or a data access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The virtual address of the first byte.
    pub address: u64,
    /// The number of bytes, 1 to 4096.
    pub size: u16,
    /// Whether the reference is a fetch, a load or a store. A fetch's kind also says how the instruction accesses data.
    pub kind: Kind,
    /// How a fetched instruction passes control on; [`Flow::Next`] for data.
    pub flow: Flow,
    /// What a fetched instruction does; [`Class::Other`] for data, and in recordings without classes.
    pub class: Class,
}

impl Reference {
    /// Returns a data access, or the fetch of an instruction that passes control to the next instruction.
    pub const fn new(address: u64, size: u16, kind: Kind) -> Self {
        Self { address, size, kind, flow: Flow::Next, class: Class::Other }
    }

    /// Returns a copy of this reference. If the reference is a fetch, the copy has the instruction's
    /// [address in this image](super::CodeImage::address).
    #[inline(always)]
    #[must_use]
    pub(crate) const fn in_image(self, image: CodeImage) -> Self {
        match self.kind.is_fetch() {
            true => Self { address: image.address(self.address), ..self },
            false => self,
        }
    }

    /// Notes that the fetched instruction also accesses `data`. If its class is [`Class::Other`] and the access is atomic, the
    /// instruction becomes atomic.
    #[inline(always)]
    pub(super) fn accesses(&mut self, data: Kind) {
        self.kind =
            Kind::FETCHES[(self.kind as usize | (data as usize - Kind::FetchModify as usize)) & 3];
        if data == Kind::Modify && self.class == Class::Other {
            self.class = Class::Atomic;
        }
    }

    /// Returns how this fetched instruction accesses data.
    #[inline(always)]
    pub(crate) const fn data(&self) -> DataAccess {
        DATA_ACCESSES[matches!(self.class, Class::Atomic) as usize][self.kind as usize]
    }

    /// Returns the group in which instruction counters count this fetched instruction.
    #[inline(always)]
    pub(crate) const fn group(&self) -> Group {
        match self.class {
            Class::FloatingPoint | Class::Vector => Group::Fgu,
            _ => GROUPS[self.flow as usize],
        }
    }
}

/// How fetched instructions access data, in the order of [`Kind`]: instructions that are not atomic, and atomic ones. Data references
/// have no such access.
const DATA_ACCESSES: [[DataAccess; 7]; 2] = {
    let (none, load, store) = (DataAccess::None, DataAccess::Load, DataAccess::Store);
    [
        [none, load, store, DataAccess::Both, none, none, none],
        [none, load, store, DataAccess::Atomic, none, none, none],
    ]
};

/// The groups of instructions that are not of the floating-point and graphics unit, in the order of [`Flow`].
const GROUPS: [Group; 7] = {
    let (other, taken) = (Group::Other, Group::Taken);
    [other, Group::NotTaken, taken, taken, taken, taken, other]
};

/// How an instruction passes control on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Flow {
    /// Control passes to the next instruction in memory. All instructions in a recording [without flow](super::Recording::has_flow)
    /// have this value.
    #[default]
    Next = 0,
    /// A conditional branch is not taken.
    NotTaken = 1,
    /// A conditional branch passes control to its target.
    Taken = 2,
    /// Control passes to the target of an unconditional branch, or to an address in a register.
    Jump = 3,
    /// A call instruction passes control to a procedure.
    Call = 4,
    /// Control returns to the caller of a procedure.
    Return = 5,
    /// Control passes to the operating system.
    Trap = 6,
}

impl Flow {
    /// Returns `true` if control does not pass to the next instruction in memory.
    #[inline(always)]
    pub(crate) const fn is_elsewhere(self) -> bool {
        self as u8 >= Self::Taken as u8
    }
}

/// The groups that instruction counters distinguish, apart from data accesses. A trap does not count as a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Other,
    /// A conditional branch that is not taken.
    NotTaken,
    /// Any other branch.
    Taken,
    /// An instruction of the floating-point and graphics unit (FGU) that is not a branch.
    Fgu,
}

impl Group {
    pub(crate) const COUNT: usize = 4;
}

/// How an instruction accesses data, as far as instruction counters distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataAccess {
    None,
    Load,
    Store,
    /// The instruction loads and stores, but not in one step.
    Both,
    Atomic,
}

impl DataAccess {
    pub(crate) const COUNT: usize = 5;
}

/// The kind of a reference.
///
/// A fetch's kind says whether the instruction loads or stores, so that readers need not look ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The fetch of an instruction that accesses no data.
    FetchOther = 0,
    /// The fetch of an instruction that loads data and does not store.
    FetchLoad = 1,
    /// The fetch of an instruction that stores data and does not load.
    FetchStore = 2,
    /// The fetch of an instruction that loads and stores, in one step or not, at one memory location or at two.
    FetchModify = 3,
    /// A data load. It follows its instruction's fetch, if the recording has instructions.
    Load = 4,
    /// A data store. It follows its instruction's fetch, if the recording has instructions.
    Store = 5,
    /// A load and a store of the same memory location in one step, by an atomic instruction. An instruction that changes a location
    /// but is not atomic (x86-64's `addq $3,(mem)`) has a [`Load`](Self::Load) and a [`Store`](Self::Store).
    Modify = 6,
}

impl Kind {
    /// Returns `true` for an instruction's fetch.
    pub const fn is_fetch(self) -> bool {
        (self as u8) < Self::Load as u8
    }

    /// The fetch kinds. Bit 0 of the index stands for a load, and bit 1 for a store.
    pub(crate) const FETCHES: [Self; 4] =
        [Self::FetchOther, Self::FetchLoad, Self::FetchStore, Self::FetchModify];
}
