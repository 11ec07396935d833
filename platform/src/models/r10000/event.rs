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

            /// Its name: what `perfex` calls it, with underscores. Both counters have events of the names `cycles` and
            /// `graduated_instructions`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$event => $name,)* }
            }
        }
    };
}

events! {
    /// Cycles.
    Cycles0 = 0, "cycles";
    /// Instructions issued to a functional unit.
    Issued = 1, "issued_instructions";
    /// Loads, prefetches, SYNCs and CACHE operations issued.
    LoadsIssued = 2, "issued_loads";
    /// Stores issued.
    StoresIssued = 3, "issued_stores";
    /// Store conditionals issued.
    ConditionalsIssued = 4, "issued_store_conditionals";
    /// Store conditionals that failed.
    ConditionalsFailed = 5, "failed_store_conditionals";
    /// Branches decoded, those included that an older misprediction nullifies.
    BranchesDecoded = 6, "decoded_branches";
    /// Quadwords written back from the L2 cache.
    L2QuadwordsWritten = 7, "quadwords_written_back_from_scache";
    /// Correctable ECC errors of the data of the L2 cache.
    L2EccErrors = 8, "correctable_scache_data_array_ecc_errors";
    /// Misses of the L1 instruction cache.
    L1InstructionMisses = 9, "primary_instruction_cache_misses";
    /// Misses of the L2 cache by instruction fetches.
    L2InstructionMisses = 10, "secondary_instruction_cache_misses";
    /// Mispredictions of the L2's way, of instruction fetches.
    L2InstructionWayMispredicted = 11, "instruction_misprediction_from_scache_way_prediction_table";
    /// Interventions from outside.
    Interventions = 12, "external_interventions";
    /// Invalidations from outside.
    Invalidations = 13, "external_invalidations";
    /// Virtual coherency conditions.
    VirtualCoherency = 14, "virtual_coherency_conditions";
    /// Instructions graduated, on counter 0. Multiplies and divides count twice.
    Graduated0 = 15, "graduated_instructions";
    /// Cycles.
    Cycles1 = 16, "cycles";
    /// Instructions graduated. Multiplies and divides count twice.
    Graduated1 = 17, "graduated_instructions";
    /// Loads, prefetches, SYNCs and CACHE operations graduated.
    LoadsGraduated = 18, "graduated_loads";
    /// Stores graduated.
    StoresGraduated = 19, "graduated_stores";
    /// Store conditionals graduated.
    ConditionalsGraduated = 20, "graduated_store_conditionals";
    /// Instructions graduated that set bits of the FP status register.
    FloatingPointGraduated = 21, "graduated_floating_point_instructions";
    /// Quadwords written back from the L1 data cache.
    L1QuadwordsWritten = 22, "quadwords_written_back_from_primary_data_cache";
    /// TLB refills, within the TLB handler too.
    TlbRefills = 23, "tlb_misses";
    /// Branches mispredicted, without those that an older misprediction has nullified.
    BranchesMispredicted = 24, "mispredicted_branches";
    /// Misses of the L1 data cache.
    L1DataMisses = 25, "primary_data_cache_misses";
    /// Misses of the L2 cache by loads and stores.
    L2DataMisses = 26, "secondary_data_cache_misses";
    /// Mispredictions of the L2's way, of loads and stores.
    L2DataWayMispredicted = 27, "data_misprediction_from_scache_way_prediction_table";
    /// Interventions from outside that hit the L2 cache.
    InterventionHits = 28, "external_intervention_hits_in_scache";
    /// Invalidations from outside that hit the L2 cache.
    InvalidationHits = 29, "external_invalidation_hits_in_scache";
    /// Stores and exclusive prefetches to a clean block of the L2 cache.
    StoresToClean = 30, "store_prefetch_exclusive_to_clean_block_in_scache";
    /// Stores and exclusive prefetches to a shared block of the L2 cache.
    StoresToShared = 31, "store_prefetch_exclusive_to_shared_block_in_scache";
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

    /// The events of that name, at most one of each counter. Capitals and small letters are alike, and so are
    /// underscores, spaces, hyphens and slashes.
    pub fn named(name: &str) -> impl Iterator<Item = Self> {
        let alike = |(ours, theirs): (u8, u8)| match theirs {
            b' ' | b'-' | b'/' => ours == b'_',
            _ => ours == theirs.to_ascii_lowercase(),
        };
        Self::ALL.iter().copied().filter(move |event| {
            event.name().len() == name.len() && event.name().bytes().zip(name.bytes()).all(alike)
        })
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
