//! Transfers of rights. The model states what the contract promises, not how the service keeps the promise.
//!
//! A guest whose right is revoked loses the right immediately. Between two calls, each living strand of the guest clears its registers and
//! acknowledges. Then the units that the guest could have programmed are scrubbed, and the guests that were granted more rights get them. A
//! unit that cannot be scrubbed is out of service until scrubbing succeeds.

use super::call::PCR_HT;
use super::device::{Answer, Unit};
use super::policy::{Grant, StrandGrant};
use super::{Invalid, World};
use std::collections::{BTreeMap, BTreeSet};

/// The node of the operator's strand.
pub const OPERATOR: usize = 0;

/// The registers that a strand scrubs before it acknowledges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owed {
    /// Whether the strand scrubs PCR and PIC.
    pub all: bool,
    /// Whether the strand clears HT in the PCR.
    pub ht: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Strands that have not acknowledged yet, and what they have to scrub.
    pub awaited: BTreeMap<u16, Owed>,
    /// Dead strands, and what they have to scrub if they come back.
    pub dead: BTreeMap<u16, Owed>,
    /// The guest that has lost `global` but whose units are not scrubbed yet.
    pub revoked: Option<usize>,
    /// Units that may still hold values of a guest that has lost its right to them.
    pub unclean: BTreeSet<Unit>,
}

/// Returns the rights that are in both grants.
fn both(a: Grant, b: Grant) -> Grant {
    let strand = match (a.strand, b.strand) {
        (StrandGrant::None, _) | (_, StrandGrant::None) => StrandGrant::None,
        (StrandGrant::HtStrand, StrandGrant::HtStrand) => StrandGrant::HtStrand,
        _ => StrandGrant::Strand,
    };
    Grant { strand, global: a.global && b.global }
}

impl World {
    /// Gives guest n the grant at index n of the list. An invalid list changes nothing.
    pub fn reconfigure(&mut self, grants: &[Grant]) -> Result<(), Invalid> {
        if grants.len() != self.guests.len() {
            return Err(Invalid::GrantCount);
        }
        if grants.iter().filter(|grant| grant.global).count() > 1 {
            return Err(Invalid::TwoGlobal);
        }
        for (index, &grant) in grants.iter().enumerate() {
            let old = std::mem::replace(&mut self.guests[index].granted, grant);
            let kept = both(old, grant);
            if kept == old {
                continue;
            }
            let held = self.guests[index].grant;
            self.guests[index].grant = both(held, grant);
            if held.global && !grant.global {
                self.revoke_global(index);
            }
            let all = old.strand != StrandGrant::None && grant.strand == StrandGrant::None;
            let ht = old.strand == StrandGrant::HtStrand && grant.strand == StrandGrant::Strand;
            self.ask(index, Owed { all, ht });
        }
        self.settle(OPERATOR);
        Ok(())
    }

    /// Gives guest n the grant at index n of the list, and lets every strand acknowledge.
    pub fn regrant(&mut self, grants: &[Grant]) -> Result<(), Invalid> {
        self.reconfigure(grants)?;
        self.all_acknowledge();
        Ok(())
    }

    /// Lets every awaited strand acknowledge.
    pub fn all_acknowledge(&mut self) {
        while let Some((&strand, _)) = self.transfer.awaited.first_key_value() {
            self.cross_called(strand);
        }
    }

    /// Resets a guest, and cancels its negotiations. The guest gets its rights back when everything that it could have programmed is
    /// scrubbed.
    pub fn reset_guest(&mut self, guest: usize) {
        let state = &mut self.guests[guest];
        state.versions = Default::default();
        let held = std::mem::replace(&mut state.grant, Grant::NONE);
        if held.global {
            self.revoke_global(guest);
        }
        let (all, ht) = (true, false);
        self.ask(guest, Owed { all, ht });
        self.settle(OPERATOR);
    }

    /// Makes a strand scrub the registers that it [owes](Owed), and acknowledge. The scrub happens between two calls, or when a dead strand
    /// comes back.
    pub fn cross_called(&mut self, strand: u16) {
        let awaited = self.transfer.awaited.remove(&strand);
        let dead = self.transfer.dead.remove(&strand);
        for owed in awaited.into_iter().chain(dead) {
            if owed.all {
                self.pcr.insert(strand, 0);
                self.pic.insert(strand, 0);
            } else if owed.ht {
                *self.pcr.entry(strand).or_default() &= !PCR_HT;
            }
        }
        self.settle(World::node_of(strand));
    }

    /// Reports that a strand has died between two of its calls.
    pub fn strand_died(&mut self, strand: u16) {
        let owed = self.transfer.awaited.remove(&strand).unwrap_or_default();
        self.transfer.dead.entry(strand).or_insert(owed);
        self.settle(OPERATOR);
    }

    /// Returns a unit to service. A strand on `node` performs the accesses. Returns `false` if the machine lacks the unit or the unit
    /// cannot be scrubbed.
    pub fn return_to_service(&mut self, node: usize, unit: Unit) -> bool {
        if !self.has_unit(unit) {
            return false;
        }
        if self.transfer.unclean.contains(&unit) && self.transfer.revoked.is_none() {
            let reached = !matches!(unit, Unit::L2 { node: other } if other != node);
            if !reached || !self.scrub(unit) {
                return false;
            }
            self.transfer.unclean.remove(&unit);
        }
        self.out_of_service.remove(&unit);
        self.settle(node);
        true
    }

    pub fn is_pending(&self) -> bool {
        !self.transfer.awaited.is_empty()
            || self.transfer.revoked.is_some()
            || self.guests.iter().any(|guest| guest.grant != guest.granted)
    }

    fn revoke_global(&mut self, guest: usize) {
        self.transfer.revoked = Some(guest);
        let units = self.units_of(guest);
        self.transfer.unclean.extend(units);
    }

    /// Returns the units that a guest may use if it has `global`.
    fn units_of(&self, guest: usize) -> Vec<Unit> {
        let nodes: BTreeSet<usize> =
            (self.guests[guest].strands.iter()).map(|&strand| World::node_of(strand)).collect();
        let hubs = (0..4).map(Unit::Hub);
        let on_nodes = nodes.iter().flat_map(|&node| {
            [Unit::L2 { node }, Unit::Mcu { node, mcu: 0 }, Unit::Mcu { node, mcu: 1 }]
        });
        hubs.chain(on_nodes).filter(|unit| self.has_unit(*unit)).collect()
    }

    fn ask(&mut self, guest: usize, owed: Owed) {
        for &strand in &self.guests[guest].strands {
            let list = if self.transfer.dead.contains_key(&strand) {
                &mut self.transfer.dead
            } else {
                &mut self.transfer.awaited
            };
            let before = list.entry(strand).or_default();
            before.all |= owed.all;
            before.ht |= owed.ht;
        }
    }

    fn is_awaited(&self, guest: usize) -> bool {
        let mut strands = self.guests[guest].strands.iter();
        strands.any(|strand| self.transfer.awaited.contains_key(strand))
    }

    /// Continues the transfer. If all strands of the guest that lost `global` have acknowledged, a strand on node `on` scrubs the guest's
    /// units. Then each guest whose strands have acknowledged gets its granted rights.
    fn settle(&mut self, on: usize) {
        if let Some(guest) = self.transfer.revoked
            && !self.is_awaited(guest)
        {
            self.scrub_all(guest, on);
        }
        for index in 0..self.guests.len() {
            if self.is_awaited(index) {
                continue;
            }
            let guest = &mut self.guests[index];
            guest.grant.strand = guest.granted.strand;
            guest.grant.global = guest.granted.global && self.transfer.revoked.is_none();
        }
    }

    fn scrub_all(&mut self, guest: usize, on: usize) {
        let units: Vec<Unit> = (self.transfer.unclean.iter().copied())
            .filter(|unit| !self.out_of_service.contains(unit))
            .collect();
        for unit in units {
            // The L2 control can be accessed only from its own node.
            let reached = match unit {
                Unit::L2 { node } => {
                    let there = |strand: &u16| {
                        World::node_of(*strand) == node && !self.transfer.dead.contains_key(strand)
                    };
                    node == on || self.guests[guest].strands.iter().any(there)
                }
                Unit::Mcu { .. } | Unit::Hub(_) => true,
            };
            if reached && self.scrub(unit) {
                self.transfer.unclean.remove(&unit);
            } else {
                self.out_of_service.insert(unit);
            }
        }
        self.transfer.revoked = None;
    }

    /// Scrubs a unit that is not busy. Returns `false` if the unit faults.
    fn scrub(&mut self, unit: Unit) -> bool {
        let done = match unit {
            Unit::L2 { node } => self.set_perf_config(node, 0, &mut Vec::new()),
            Unit::Mcu { .. } | Unit::Hub(_) => unit
                .cells()
                .into_iter()
                .try_for_each(|cell| self.write(0, cell, 0, &mut Vec::new())),
        };
        if done == Err(Answer::Fault) {
            *self.fault_counts.entry(unit).or_default() += 1;
        }
        done.is_ok()
    }
}
