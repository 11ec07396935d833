//! The rights that a guest can have.

/// The right to the calling strand's PCR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StrandGrant {
    /// Register 0 is refused.
    #[default]
    None,
    /// Register 0 without HT.
    Strand,
    /// Register 0 with HT.
    HtStrand,
}

/// A guest's rights, combined as LDoms' `perf-counters` property allows. None by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// `strand` or `htstrand`, which exclude each other.
    pub strand: StrandGrant,
    /// `global`: register 1, the DRAM registers of the guest's nodes, the hubs.
    pub global: bool,
}

const fn grant(strand: StrandGrant, global: bool) -> Grant {
    Grant { strand, global }
}

impl Grant {
    pub const NONE: Grant = grant(StrandGrant::None, false);
    pub const STRAND: Grant = grant(StrandGrant::Strand, false);
    pub const HTSTRAND: Grant = grant(StrandGrant::HtStrand, false);
    pub const GLOBAL: Grant = grant(StrandGrant::None, true);
    pub const GLOBAL_STRAND: Grant = grant(StrandGrant::Strand, true);
    pub const GLOBAL_HTSTRAND: Grant = grant(StrandGrant::HtStrand, true);
    pub const ALL: [Grant; 6] = [
        Grant::NONE,
        Grant::STRAND,
        Grant::HTSTRAND,
        Grant::GLOBAL,
        Grant::GLOBAL_STRAND,
        Grant::GLOBAL_HTSTRAND,
    ];

    /// Returns the grants of two guests: one of them has `global`, and one has `htstrand`.
    pub fn divided(global: usize, htstrand: usize) -> [Grant; 2] {
        [0, 1].map(|guest| {
            let own = guest == htstrand;
            grant(if own { StrandGrant::HtStrand } else { StrandGrant::None }, guest == global)
        })
    }
}
