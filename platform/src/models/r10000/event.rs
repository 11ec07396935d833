//! What the R10000 counts: 16 events for each of its two counters.

use guest_abi::Counter;
use guest_abi::sampling::{CounterSet, UnitEvent};

macro_rules! events {
    ($($(#[$doc:meta])* $event:ident = $number:literal, $name:literal;)*) => {
        /// An event, by the number that `perfex` gives it: 0 to 15 are those of counter 0, 16 to 31 those of counter 1.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum R10000Event { $($(#[$doc])* $event = $number,)* }

        impl R10000Event {
            /// All of them, in order.
            pub const ALL: &'static [Self] = &[$(Self::$event),*];

            /// The event's name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$event => $name,)* }
            }
        }
    };
}

events! {
    /// Cycles.
    Cycles0 = 0, "cycles_0";
    /// Instructions issued to a functional unit.
    Issued = 1, "instructions_issued";
    /// Loads, prefetches, SYNCs and CACHE operations issued.
    LoadsIssued = 2, "loads_issued";
    /// Stores issued.
    StoresIssued = 3, "stores_issued";
    /// Store conditionals issued.
    ConditionalsIssued = 4, "store_conditionals_issued";
    /// Store conditionals that failed.
    ConditionalsFailed = 5, "store_conditionals_failed";
    /// Branches decoded, those included that an older misprediction nullifies.
    BranchesDecoded = 6, "branches_decoded";
    /// Quadwords written back from the L2 cache.
    L2QuadwordsWritten = 7, "l2_quadwords_written_back";
    /// Correctable ECC errors of the data of the L2 cache.
    L2EccErrors = 8, "l2_ecc_errors";
    /// Misses of the L1 instruction cache.
    L1InstructionMisses = 9, "l1_instruction_misses";
    /// Misses of the L2 cache by instruction fetches.
    L2InstructionMisses = 10, "l2_instruction_misses";
    /// Mispredictions of the L2's way, of instruction fetches.
    L2InstructionWayMispredicted = 11, "l2_instruction_way_mispredictions";
    /// Interventions from outside.
    Interventions = 12, "external_interventions";
    /// Invalidations from outside.
    Invalidations = 13, "external_invalidations";
    /// Virtual coherency conditions.
    VirtualCoherency = 14, "virtual_coherency_conditions";
    /// Instructions graduated, on counter 0. Multiplies and divides count twice.
    Graduated0 = 15, "instructions_graduated_0";
    /// Cycles.
    Cycles1 = 16, "cycles_1";
    /// Instructions graduated. Multiplies and divides count twice.
    Graduated1 = 17, "instructions_graduated";
    /// Loads, prefetches, SYNCs and CACHE operations graduated.
    LoadsGraduated = 18, "loads_graduated";
    /// Stores graduated.
    StoresGraduated = 19, "stores_graduated";
    /// Store conditionals graduated.
    ConditionalsGraduated = 20, "store_conditionals_graduated";
    /// Instructions graduated that set bits of the FP status register.
    FloatingPointGraduated = 21, "floating_point_graduated";
    /// Quadwords written back from the L1 data cache.
    L1QuadwordsWritten = 22, "l1_quadwords_written_back";
    /// TLB refills, within the TLB handler too.
    TlbRefills = 23, "tlb_refills";
    /// Branches mispredicted, without those that an older misprediction has nullified.
    BranchesMispredicted = 24, "branches_mispredicted";
    /// Misses of the L1 data cache.
    L1DataMisses = 25, "l1_data_misses";
    /// Misses of the L2 cache by loads and stores.
    L2DataMisses = 26, "l2_data_misses";
    /// Mispredictions of the L2's way, of loads and stores.
    L2DataWayMispredicted = 27, "l2_data_way_mispredictions";
    /// Interventions from outside that hit the L2 cache.
    InterventionHits = 28, "external_intervention_hits";
    /// Invalidations from outside that hit the L2 cache.
    InvalidationHits = 29, "external_invalidation_hits";
    /// Stores and exclusive prefetches to a clean block of the L2 cache.
    StoresToClean = 30, "stores_to_clean_l2_blocks";
    /// Stores and exclusive prefetches to a shared block of the L2 cache.
    StoresToShared = 31, "stores_to_shared_l2_blocks";
}

impl R10000Event {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// Event number 0 to 15 of a counter; `None` beyond.
    pub fn of(counter: Counter, number: u8) -> Option<Self> {
        if number > 15 {
            return None;
        }
        Self::ALL
            .get(16 * counter.index() + usize::from(number))
            .copied()
    }

    /// The counter that counts it.
    pub const fn counter(self) -> Counter {
        if (self as u8) < 16 {
            Counter::Pic0
        } else {
            Counter::Pic1
        }
    }

    /// Its number in the control register of its counter, 0 to 15.
    pub const fn number(self) -> u8 {
        self as u8 & 0xf
    }

    /// The event of that name. Capitals and small letters are alike.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|event| event.name().eq_ignore_ascii_case(name))
    }
}

impl core::fmt::Display for R10000Event {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

impl UnitEvent for R10000Event {
    fn counters(self) -> CounterSet {
        self.counter().into()
    }
}
