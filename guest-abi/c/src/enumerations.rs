//! The header's enumerations, as parameter types. C code may pass a number that the enumeration does not have.

use guest_abi::{Counter, PerfReg, Pmu};

macro_rules! enumerations {
    ($($name:ident)*) => { $(
        #[doc = concat!("`enum ", stringify!($name), "` of the header.")]
        #[repr(transparent)]
        #[derive(Clone, Copy)]
        pub struct $name(pub(crate) u32);
    )* };
}

enumerations! {
    vfperf_counter vfperf_perf_config vfperf_reg vfperf_sparc_event vfperf_unit vfperf_unit_event
}

impl vfperf_reg {
    /// The value that stands for "no register", higher than every register's number.
    pub(crate) const NONE: Self = Self(PerfReg::COUNT as u32);

    pub(crate) fn from_register(register: PerfReg) -> Self {
        Self(register.id() as u32)
    }
}

impl vfperf_unit {
    pub(crate) fn pmu(self) -> Option<Pmu> {
        Pmu::ALL.get(self.0 as usize).copied()
    }
}

impl vfperf_counter {
    pub(crate) fn get(self) -> Option<Counter> {
        Counter::new(self.0 as usize)
    }
}
