/// A guest's right to the calling strand's PCR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StrandGrant {
    /// Register 0 is not accessible.
    #[default]
    None,
    /// Register 0 is accessible, without HT.
    Strand,
    /// Register 0 is accessible, with HT.
    HtStrand,
}

/// A guest's rights, in the combinations that LDoms' `perf-counters` property allows. By default, there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// `strand` or `htstrand`. A guest cannot have both.
    pub strand: StrandGrant,
    /// Whether the guest has `global`: access to register 1, to the DRAM registers of the guest's nodes, and to the hubs.
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

    /// Returns the grants of guests 0 and 1. The guest with index `global` gets the right `global`, and the guest with index `htstrand`
    /// gets `htstrand`.
    pub fn divided(global: usize, htstrand: usize) -> [Grant; 2] {
        [0, 1].map(|guest| {
            let own = guest == htstrand;
            grant(if own { StrandGrant::HtStrand } else { StrandGrant::None }, guest == global)
        })
    }
}
