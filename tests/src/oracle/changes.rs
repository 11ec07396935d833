//! Rights that change hands: what is promised, not how it is done.
//!
//! Whoever loses a right has lost it at once. Each of its strands is asked to clear itself, and answers at some time between
//! two of its calls, unless it is dead. When all have answered, what the guest could have programmed in devices is cleared,
//! and those that were granted more get it. What cannot be cleared is out of service until it can.

use super::call::{PCR_HT, PERF_CONFIG};
use super::device::{Answer, Cell, L2_BANKS, Unit};
use super::policy::{Grant, StrandGrant};
use super::{Invalid, World};
use std::collections::{BTreeMap, BTreeSet};

/// The node on which the operator does its work.
pub const OPERATOR: usize = 0;

/// What a strand clears when it is next between two calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owed {
    /// PCR and PIC.
    pub all: bool,
    /// HT in the PCR.
    pub ht: bool,
}

/// What is under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Strands that are asked and have not answered.
    pub awaited: BTreeMap<u16, Owed>,
    /// Strands that are dead, and what they owe if they come back.
    pub dead: BTreeMap<u16, Owed>,
    /// The guest that has lost `global` and whose settings are not cleared yet.
    pub leaving: Option<usize>,
    /// Guests that start again and do not have their rights back.
    pub starting: BTreeSet<usize>,
    /// Units that hold, or may hold, what a guest has left behind.
    pub unclean: BTreeSet<Unit>,
}

/// The rights that are in both.
fn both(a: Grant, b: Grant) -> Grant {
    let strand = match (a.strand, b.strand) {
        (StrandGrant::None, _) | (_, StrandGrant::None) => StrandGrant::None,
        (StrandGrant::HtStrand, StrandGrant::HtStrand) => StrandGrant::HtStrand,
        _ => StrandGrant::Strand,
    };
    Grant {
        strand,
        global: a.global && b.global,
    }
}

impl World {
    /// Grants each guest what stands at its place.
    ///
    /// # Errors
    /// A list of the wrong length, or two holders of `global`: nothing is changed.
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
                self.leave(index);
            }
            self.ask(
                index,
                Owed {
                    all: old.strand != StrandGrant::None && grant.strand == StrandGrant::None,
                    ht: old.strand == StrandGrant::HtStrand && grant.strand == StrandGrant::Strand,
                },
            );
        }
        self.settle(OPERATOR);
        Ok(())
    }

    /// Grants each guest what stands at its place, and lets every strand answer.
    ///
    /// # Errors
    /// As for [`reconfigure`](Self::reconfigure).
    pub fn regrant(&mut self, grants: &[Grant]) -> Result<(), Invalid> {
        self.reconfigure(grants)?;
        self.all_answer();
        Ok(())
    }

    /// Every strand that is asked answers.
    pub fn all_answer(&mut self) {
        while let Some((&strand, _)) = self.changes.awaited.first_key_value() {
            self.cross_called(strand);
        }
    }

    /// Resets a guest: it has negotiated nothing, and whether it sees the hubs is decided anew. It has its rights back when
    /// everything that it could have programmed is cleared.
    ///
    /// # Panics
    /// If there is no such guest.
    pub fn reset_guest(&mut self, guest: usize) {
        let broken_hub = self.a_hub_is_out();
        let state = &mut self.guests[guest];
        state.versions = Default::default();
        state.zambezi_hidden = broken_hub;
        let held = std::mem::replace(&mut state.grant, Grant::NONE);
        self.changes.starting.insert(guest);
        if held.global {
            self.leave(guest);
        }
        self.ask(
            guest,
            Owed {
                all: true,
                ht: false,
            },
        );
        self.settle(OPERATOR);
    }

    /// A strand is between two calls, or comes back from the dead: it does what it is asked for.
    pub fn cross_called(&mut self, strand: u16) {
        let awaited = self.changes.awaited.remove(&strand);
        let dead = self.changes.dead.remove(&strand);
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

    /// A strand has died between two calls.
    pub fn strand_died(&mut self, strand: u16) {
        let owed = self.changes.awaited.remove(&strand).unwrap_or_default();
        self.changes.dead.entry(strand).or_insert(owed);
        self.settle(OPERATOR);
    }

    /// A unit is mended, and returned to service by a strand on `node`. Whether that succeeded.
    pub fn return_to_service(&mut self, node: usize, unit: Unit) -> bool {
        if self.changes.unclean.contains(&unit) && self.changes.leaving.is_none() {
            let reached = !matches!(unit, Unit::L2 { node: other } if other != node);
            if !reached || !self.clear(unit) {
                return false;
            }
            self.changes.unclean.remove(&unit);
        }
        self.out_of_service.remove(&unit);
        self.settle(node);
        true
    }

    /// Whether a change is under way.
    pub fn is_pending(&self) -> bool {
        !self.changes.awaited.is_empty()
            || self.changes.leaving.is_some()
            || self.guests.iter().any(|guest| guest.grant != guest.granted)
    }

    fn a_hub_is_out(&self) -> bool {
        self.out_of_service
            .iter()
            .any(|unit| matches!(unit, Unit::Hub(_)))
    }

    /// A guest has lost `global`.
    fn leave(&mut self, guest: usize) {
        self.changes.leaving = Some(guest);
        let units = self.units_of(guest);
        self.changes.unclean.extend(units);
    }

    /// What `global` covers for a guest.
    fn units_of(&self, guest: usize) -> Vec<Unit> {
        let nodes: BTreeSet<usize> = (self.guests[guest].strands.iter())
            .map(|&strand| World::node_of(strand))
            .collect();
        let hubs = (0..4).map(Unit::Hub);
        let on_nodes = nodes.iter().flat_map(|&node| {
            [
                Unit::L2 { node },
                Unit::Mcu { node, mcu: 0 },
                Unit::Mcu { node, mcu: 1 },
            ]
        });
        hubs.chain(on_nodes)
            .filter(|unit| self.has_unit(*unit))
            .collect()
    }

    fn ask(&mut self, guest: usize, owed: Owed) {
        for &strand in &self.guests[guest].strands {
            let list = if self.changes.dead.contains_key(&strand) {
                &mut self.changes.dead
            } else {
                &mut self.changes.awaited
            };
            let before = list.entry(strand).or_default();
            before.all |= owed.all;
            before.ht |= owed.ht;
        }
    }

    fn is_awaited(&self, guest: usize) -> bool {
        let mut strands = self.guests[guest].strands.iter();
        strands.any(|strand| self.changes.awaited.contains_key(strand))
    }

    /// What follows from what has happened on a node.
    fn settle(&mut self, on: usize) {
        if let Some(guest) = self.changes.leaving
            && !self.is_awaited(guest)
        {
            self.clear_up(guest, on);
        }
        for index in 0..self.guests.len() {
            if self.is_awaited(index) {
                continue;
            }
            let guest = &mut self.guests[index];
            guest.grant.strand = guest.granted.strand;
            guest.grant.global = guest.granted.global && self.changes.leaving.is_none();
            if guest.grant == guest.granted && self.changes.starting.remove(&index) {
                self.guests[index].zambezi_hidden |= self.a_hub_is_out();
            }
        }
    }

    fn clear_up(&mut self, guest: usize, on: usize) {
        let units: Vec<Unit> = (self.changes.unclean.iter().copied())
            .filter(|unit| !self.out_of_service.contains(unit))
            .collect();
        for unit in units {
            // L2 control is reached on its own node only.
            let reached = match unit {
                Unit::L2 { node } => {
                    let there = |strand: &u16| {
                        World::node_of(*strand) == node && !self.changes.dead.contains_key(strand)
                    };
                    node == on || self.guests[guest].strands.iter().any(there)
                }
                Unit::Mcu { .. } | Unit::Hub(_) => true,
            };
            if reached && self.clear(unit) {
                self.changes.unclean.remove(&unit);
            } else {
                self.out_of_service.insert(unit);
            }
        }
        self.changes.leaving = None;
    }

    /// Clears a unit; whether that succeeded. No hub may be busy.
    fn clear(&mut self, unit: Unit) -> bool {
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

    /// Whether PERF_CONFIG is 0 in every bank of a node.
    pub fn perf_config_is_clear(&self, node: usize) -> bool {
        (0..L2_BANKS).all(|bank| self.holds(Cell::L2 { node, bank }) & PERF_CONFIG == 0)
    }
}
