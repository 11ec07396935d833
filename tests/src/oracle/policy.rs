//! Who may use what, and what is left when a right is lost.

use super::call::{PCR_HT, PERF_CONFIG};
use super::device::{Cell, L2_BANKS, Unit};
use super::{Invalid, World};
use std::collections::BTreeSet;

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

impl World {
    /// Gives each guest the grant at its place, as it is once every strand has cleared itself: what
    /// a loser could have left is gone. No hub may be busy.
    ///
    /// # Errors
    /// A list of the wrong length, or two holders of `global`: nothing is changed.
    pub fn regrant(&mut self, grants: &[Grant]) -> Result<(), Invalid> {
        if grants.len() != self.guests.len() {
            return Err(Invalid::GrantCount);
        }
        if grants.iter().filter(|grant| grant.global).count() > 1 {
            return Err(Invalid::TwoGlobal);
        }
        for (index, &grant) in grants.iter().enumerate() {
            let old = std::mem::replace(&mut self.guests[index].grant, grant);
            let strands = self.guests[index].strands.clone();
            for &strand in &strands {
                match (old.strand, grant.strand) {
                    (StrandGrant::Strand | StrandGrant::HtStrand, StrandGrant::None) => {
                        self.pcr.insert(strand, 0);
                        self.pic.insert(strand, 0);
                    }
                    (StrandGrant::HtStrand, StrandGrant::Strand) => {
                        *self.pcr.entry(strand).or_default() &= !PCR_HT;
                    }
                    _ => {}
                }
            }
            if old.global && !grant.global {
                self.clear_global(&strands.iter().map(|&s| World::node_of(s)).collect());
            }
        }
        Ok(())
    }

    /// Clears what `global` covers for a guest on `nodes`: their L2s and MCUs, and the hubs.
    fn clear_global(&mut self, nodes: &BTreeSet<usize>) {
        let banks = nodes
            .iter()
            .flat_map(|&node| (0..L2_BANKS).map(move |bank| Cell::L2 { node, bank }));
        for cell in banks.chain((2..90).map(Cell::Register)) {
            let unit = Unit::of(cell);
            let from = match unit {
                Unit::L2 { node } | Unit::Mcu { node, .. } if nodes.contains(&node) => node,
                Unit::L2 { .. } | Unit::Mcu { .. } => continue,
                Unit::Hub(_) => 0,
            };
            if !self.has_unit(unit) || self.out_of_service.contains(&unit) {
                continue;
            }
            let cleared = match cell {
                Cell::L2 { .. } => self.holds(cell) & !PERF_CONFIG,
                Cell::Register(_) => 0,
            };
            let _ = self.write(from, cell, cleared, &mut Vec::new());
        }
    }
}
