//! Counts of calls by function, register class and outcome. Each strand has its own counts, which any strand may read.

use guest_abi::{HvError, PerfReg, RegisterKind};
use hv_core::sync::{AtomicU64, Ordering, array_of, const_unless_loom};

/// A function of API group 0x205.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `VFALLS_GET_PERFREG` reads a register.
    Get,
    /// `VFALLS_SET_PERFREG` writes a register.
    Set,
}

/// The class of the register that a call reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Register 0, the strand's own PCR.
    Strand,
    /// Register 1, PERF_CONFIG of the L2 control.
    L2,
    /// Registers 2-17, of the memory channels.
    Dram,
    /// Registers 18-89, of the hubs.
    Hub,
    /// Any number that no register has.
    Invalid,
}

impl Class {
    /// Returns the class of a register number; [`Invalid`](Self::Invalid) if no register has this number.
    pub const fn from_id(id: u64) -> Self {
        match PerfReg::new(id) {
            None => Self::Invalid,
            Some(register) => Self::of(register),
        }
    }

    /// Returns the class of a register. Never returns [`Self::Invalid`].
    pub const fn of(register: PerfReg) -> Self {
        match register.kind() {
            RegisterKind::Strand => Self::Strand,
            RegisterKind::L2 => Self::L2,
            RegisterKind::Dram { .. } => Self::Dram,
            RegisterKind::Hub { .. } => Self::Hub,
        }
    }

    /// All classes, in the order of their declaration.
    pub const ALL: &'static [Self] =
        &[Self::Strand, Self::L2, Self::Dram, Self::Hub, Self::Invalid];

    /// Returns the name in lower case, as reports print it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strand => "strand",
            Self::L2 => "l2",
            Self::Dram => "dram",
            Self::Hub => "hub",
            Self::Invalid => "invalid",
        }
    }
}

/// Why a call was refused. The variants are in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// EBADTRAP: the guest has not negotiated API group 0x205.
    BadTrap,
    /// EINVAL: no register has this number.
    Invalid,
    /// ENOTSUPPORTED: the version or the machine does not have the register.
    NotSupported,
    /// ENOACCESS: the guest's grant does not cover the register, or its unit is out of service.
    NoAccess,
    /// EWOULDBLOCK: the register's hub, or the L2 control of the node, is in use now.
    WouldBlock,
}

impl Refusal {
    /// Returns the status that the guest gets.
    pub const fn error(self) -> HvError {
        match self {
            Self::BadTrap => HvError::BadTrap,
            Self::Invalid => HvError::Invalid,
            Self::NotSupported => HvError::NotSupported,
            Self::NoAccess => HvError::NoAccess,
            Self::WouldBlock => HvError::WouldBlock,
        }
    }
}

/// How a call of the service ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// EOK: the service has served the call.
    Ok,
    /// Any other status, with the reason for the refusal.
    Refused(Refusal),
}

impl Outcome {
    /// EOK first, then the refusals in the order of the checks.
    pub const ALL: &'static [Self] = &[
        Self::Ok,
        Self::Refused(Refusal::BadTrap),
        Self::Refused(Refusal::Invalid),
        Self::Refused(Refusal::NotSupported),
        Self::Refused(Refusal::NoAccess),
        Self::Refused(Refusal::WouldBlock),
    ];

    /// Returns the name that the specification gives the status.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "EOK",
            Self::Refused(refusal) => match refusal.error().name() {
                Some(name) => name,
                None => "",
            },
        }
    }

    const fn index(self) -> usize {
        match self {
            Self::Ok => 0,
            Self::Refused(refusal) => 1 + refusal as usize,
        }
    }
}

const OPERATIONS: usize = 2;
const CLASSES: usize = Class::ALL.len();
const OUTCOMES: usize = Outcome::ALL.len();

/// The counts of one strand. Only this strand changes them, and no other memory depends on them, so relaxed loads and stores suffice.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct CallCounts([[[AtomicU64; OUTCOMES]; CLASSES]; OPERATIONS]);

impl CallCounts {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self(array_of!(array_of!(array_of!(AtomicU64::new(0); OUTCOMES); CLASSES); OPERATIONS))
        }
    }

    #[inline(always)]
    pub(crate) fn add(&self, operation: Operation, class: Class, outcome: Outcome) {
        // The remainder equals the index, and shows the compiler that it is in bounds.
        let outcome = outcome.index() % OUTCOMES;
        let count = &self.0[operation as usize][class as usize][outcome];
        count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Subtracts 1 from the number of calls that returned EOK.
    pub(crate) fn uncount_ok(&self, operation: Operation, class: Class) {
        let count = &self.0[operation as usize][class as usize][Outcome::Ok.index()];
        count.store(count.load(Ordering::Relaxed).wrapping_sub(1), Ordering::Relaxed);
    }

    /// Returns the offset of a count from the start of a strand's counts, in bytes.
    pub(crate) const fn offset(operation: Operation, class: Class, outcome: Outcome) -> usize {
        let index = (operation as usize * CLASSES + class as usize) * OUTCOMES + outcome.index();
        index * size_of::<AtomicU64>()
    }

    pub(crate) fn add_to(&self, sum: &mut Statistics) {
        let sums = sum.0.iter_mut().flatten().flatten();
        for (sum, count) in sums.zip(self.0.iter().flatten().flatten()) {
            *sum = sum.wrapping_add(count.load(Ordering::Relaxed));
        }
    }
}

/// How many calls the service has had, by function, register class and outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics([[[u64; OUTCOMES]; CLASSES]; OPERATIONS]);

impl Statistics {
    /// Returns the number of calls of this function with this class and outcome that had ended when the service read its counts.
    pub const fn count(&self, operation: Operation, class: Class, outcome: Outcome) -> u64 {
        self.0[operation as usize][class as usize][outcome.index()]
    }

    /// Returns the number of calls with `outcome`, of all functions and register classes.
    pub fn outcome(&self, outcome: Outcome) -> u64 {
        let classes = self.0.iter().flatten();
        classes.map(|outcomes| outcomes[outcome.index()]).sum()
    }

    /// Returns the number of all calls, served or refused.
    pub fn total(&self) -> u64 {
        self.0.iter().flatten().flatten().sum()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::vec::Vec;

    use super::*;

    /// The counts are ordered by function, then class, then outcome, and have eight bytes each.
    #[test]
    fn each_count_is_at_its_offset() {
        let mut offsets = Vec::new();
        for operation in [Operation::Get, Operation::Set] {
            for class in Class::ALL {
                for outcome in Outcome::ALL {
                    let counts = CallCounts::new();
                    counts.add(operation, *class, *outcome);
                    let all = counts.0.iter().flatten().flatten();
                    let counted: Vec<_> = all.map(|count| count.load(Ordering::Relaxed)).collect();
                    let offset = CallCounts::offset(operation, *class, *outcome);
                    let told = (operation, class, outcome);
                    assert_eq!(counted.iter().sum::<u64>(), 1);
                    assert_eq!(counted[offset / 8], 1, "{told:?}");
                    offsets.push(offset);
                }
            }
        }
        assert!(offsets.into_iter().eq((0..480).step_by(8)));
    }
}
