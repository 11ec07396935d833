//! Who may use what.

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

impl Grant {
    /// The empty property.
    pub const NONE: Grant = Grant {
        strand: StrandGrant::None,
        global: false,
    };
    /// `strand`.
    pub const STRAND: Grant = Grant {
        strand: StrandGrant::Strand,
        global: false,
    };
    /// `htstrand`.
    pub const HTSTRAND: Grant = Grant {
        strand: StrandGrant::HtStrand,
        global: false,
    };
    /// `global`.
    pub const GLOBAL: Grant = Grant {
        strand: StrandGrant::None,
        global: true,
    };
    /// `global,strand`.
    pub const GLOBAL_STRAND: Grant = Grant {
        strand: StrandGrant::Strand,
        global: true,
    };
    /// `global,htstrand`.
    pub const GLOBAL_HTSTRAND: Grant = Grant {
        strand: StrandGrant::HtStrand,
        global: true,
    };
    /// Every combination there is.
    pub const ALL: [Grant; 6] = [
        Grant::NONE,
        Grant::STRAND,
        Grant::HTSTRAND,
        Grant::GLOBAL,
        Grant::GLOBAL_STRAND,
        Grant::GLOBAL_HTSTRAND,
    ];
}
