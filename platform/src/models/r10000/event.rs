//! The events of the R10000: 16 for each of its two counters.

use guest_abi::Counter;
use guest_abi::sampling::{CounterSet, UnitEvent};

macro_rules! events {
    ($($(#[$doc:meta])* $event:ident = $number:literal, $name:literal;)*) => {
        /// An event. Its discriminant is its number in `perfex`: counter 0 counts events 0 to 15, counter 1 events 16 to 31.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum R10000Event {
            $(#[doc = concat!("`", $name, "`.")] $(#[$doc])* $event = $number,)*
        }

        impl R10000Event {
            /// All events, in the order of their numbers in `perfex`.
            pub const ALL: &'static [Self] = &[$(Self::$event),*];

            /// Returns the event's name in `perfex`, with underscores. Both counters have events with the names `cycles` and
            /// `graduated_instructions`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$event => $name,)* }
            }
        }
    };
}

events! {
    Cycles0 = 0, "cycles";
    Issued = 1, "issued_instructions";
    /// Includes prefetches, SYNCs and CACHE operations.
    LoadsIssued = 2, "issued_loads";
    StoresIssued = 3, "issued_stores";
    ConditionalsIssued = 4, "issued_store_conditionals";
    ConditionalsFailed = 5, "failed_store_conditionals";
    /// Includes branches that an older misprediction nullifies.
    BranchesDecoded = 6, "decoded_branches";
    L2QuadwordsWritten = 7, "quadwords_written_back_from_scache";
    L2EccErrors = 8, "correctable_scache_data_array_ecc_errors";
    L1InstructionMisses = 9, "primary_instruction_cache_misses";
    /// Counts misses by instruction fetches.
    L2InstructionMisses = 10, "secondary_instruction_cache_misses";
    /// Counts mispredictions for instruction fetches.
    L2InstructionWayMispredicted = 11, "instruction_misprediction_from_scache_way_prediction_table";
    Interventions = 12, "external_interventions";
    Invalidations = 13, "external_invalidations";
    VirtualCoherency = 14, "virtual_coherency_conditions";
    /// Counts each multiply or divide as two instructions.
    Graduated0 = 15, "graduated_instructions";
    Cycles1 = 16, "cycles";
    /// Counts each multiply or divide as two instructions.
    Graduated1 = 17, "graduated_instructions";
    /// Includes prefetches, SYNCs and CACHE operations.
    LoadsGraduated = 18, "graduated_loads";
    StoresGraduated = 19, "graduated_stores";
    ConditionalsGraduated = 20, "graduated_store_conditionals";
    /// Counts instructions that set bits of the FP status register.
    FloatingPointGraduated = 21, "graduated_floating_point_instructions";
    L1QuadwordsWritten = 22, "quadwords_written_back_from_primary_data_cache";
    /// Includes misses in the TLB handler.
    TlbRefills = 23, "tlb_misses";
    /// Excludes branches that an older misprediction nullified.
    BranchesMispredicted = 24, "mispredicted_branches";
    L1DataMisses = 25, "primary_data_cache_misses";
    /// Counts misses by loads and stores.
    L2DataMisses = 26, "secondary_data_cache_misses";
    /// Counts mispredictions for loads and stores.
    L2DataWayMispredicted = 27, "data_misprediction_from_scache_way_prediction_table";
    InterventionHits = 28, "external_intervention_hits_in_scache";
    InvalidationHits = 29, "external_invalidation_hits_in_scache";
    /// Counts stores and exclusive prefetches whose block is clean in the secondary cache.
    StoresToClean = 30, "store_prefetch_exclusive_to_clean_block_in_scache";
    /// Counts stores and exclusive prefetches whose block is shared in the secondary cache.
    StoresToShared = 31, "store_prefetch_exclusive_to_shared_block_in_scache";
}

impl R10000Event {
    /// The number of events: 16 for each of the two counters.
    pub const COUNT: usize = Self::ALL.len();

    /// Returns a counter's event with this number, 0 to 15; `None` if the number is above 15.
    pub fn from_number(counter: Counter, number: u8) -> Option<Self> {
        let (events, _) = Self::ALL.as_chunks::<16>();
        events[counter.index()].get(usize::from(number)).copied()
    }

    /// Returns the only counter that can count the event: counter 0 for events 0 to 15 of `perfex`, counter 1 for events 16 to 31.
    pub const fn counter(self) -> Counter {
        match self as u8 {
            0..16 => Counter::Pic0,
            _ => Counter::Pic1,
        }
    }

    /// Returns the event's number in its counter's control register, 0 to 15.
    pub const fn number(self) -> u8 {
        self as u8 & 0xf
    }

    /// Returns the events with this name, in upper or lower case: at most one per counter. A space, hyphen or slash matches an underscore.
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
