//! How the reference model serves hypercalls.

use super::device::{Access, Action, Answer, Cell, L2_BANKS, Target, Unit, pcr_after};
use super::policy::StrandGrant;
use super::registers::register;
use super::status::{EBADTRAP, EINVAL, ENOACCESS, ENOTSUPPORTED, EOK, EWOULDBLOCK};
use super::{Guest, World};
use std::collections::BTreeMap;

/// The HT bit of the SPARC PCR. While it is set, hyperprivileged events are counted.
pub const PCR_HT: u64 = 1 << 3;
/// The position of the lower PERF_CONFIG bit.
const PERF_CONFIG_SHIFT: u32 = 36;
/// The two PERF_CONFIG bits of the L2 control register, FWARC/2007/529 section 2.3.
pub const PERF_CONFIG: u64 = 3 << PERF_CONFIG_SHIFT;

/// The software trap that makes the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// FAST_TRAP, number 0x80.
    Fast,
    /// A software trap from 0x81 to 0xfe.
    Other(u8),
    /// CORE_TRAP, number 0xff.
    Core,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Console {
    Byte(u8),
    Break,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// %o0 to %o5 after the call.
    pub regs: [u64; 6],
    /// Whether the guest has called exit. Exit does not return, so `regs` then has the values from before the call.
    pub exited: bool,
    pub console: Option<Console>,
    /// The accesses that the call performed, in order.
    pub accesses: Vec<Access>,
}

impl Outcome {
    /// Groups the accesses by target, in order within each group. The contract determines the order of a call's accesses to one L2 bank,
    /// but not the order of its accesses to different banks.
    pub fn by_target(&self) -> BTreeMap<Target, Vec<Access>> {
        let mut targets: BTreeMap<Target, Vec<Access>> = BTreeMap::new();
        for access in &self.accesses {
            targets.entry(access.target).or_default().push(*access);
        }
        targets
    }
}

impl World {
    /// Makes a call from `strand` with %o0 to %o5 in `regs`.
    pub fn call(&mut self, strand: u16, trap: Trap, regs: [u64; 6]) -> Outcome {
        let index = self.guest_of(strand);
        let versions = &mut self.guests[index].versions;
        let mut out = Outcome { regs, exited: false, console: None, accesses: Vec::new() };
        let [arg0, arg1, arg2, _, _, function] = regs;
        match (trap, function) {
            (Trap::Core, 0) => match versions.set(arg0, arg1, arg2) {
                Ok(minor) => (out.regs[0], out.regs[1]) = (EOK, minor),
                Err(status) => out.regs[0] = status,
            },
            (Trap::Core, 1) => {
                out.console = match arg0 {
                    0..=255 => Some(Console::Byte(arg0 as u8)),
                    0xffff_ffff_ffff_ffff => Some(Console::Break),
                    _ => None,
                };
                out.regs[0] = if out.console.is_some() { EOK } else { EINVAL };
            }
            (Trap::Core, 2) => out.exited = true,
            (Trap::Core, 3) => match versions.get(arg0) {
                Ok((major, minor)) => {
                    (out.regs[0], out.regs[1], out.regs[2]) = (EOK, major, minor);
                }
                Err(status) => out.regs[0] = status,
            },
            (Trap::Fast, 0x106) => match self.get(strand, arg0, &mut out.accesses) {
                Ok(value) => (out.regs[0], out.regs[1]) = (EOK, value),
                Err(status) => out.regs[0] = status,
            },
            (Trap::Fast, 0x107) => match self.set(strand, arg0, arg1, &mut out.accesses) {
                Ok(()) => out.regs[0] = EOK,
                Err(status) => out.regs[0] = status,
            },
            _ => out.regs[0] = EBADTRAP,
        }
        let fault = (out.accesses.iter()).find(|access| access.answer == Answer::Fault);
        if let Some(Target::Address(address)) = fault.map(|access| access.target)
            && let Some(cell) = Cell::at(World::node_of(strand), address)
        {
            *self.fault_counts.entry(cell.unit()).or_default() += 1;
        }
        out
    }

    /// The call vfalls_get_perfreg, FWARC/2007/529 section 3.2.1.
    fn get(&mut self, strand: u16, id: u64, log: &mut Vec<Access>) -> Result<u64, u64> {
        self.check(strand, id, None)?;
        let node = World::node_of(strand);
        match id {
            0 => {
                log.push(Access::done(Target::Pcr, Action::Read));
                Ok(self.pcr_of(strand))
            }
            1 => {
                let bank = self.read(node, Cell::L2 { node, bank: 0 }, log).map_err(status_of)?;
                Ok((bank & PERF_CONFIG) >> PERF_CONFIG_SHIFT)
            }
            _ => self.read(node, Cell::Register(id), log).map_err(status_of),
        }
    }

    /// The call vfalls_set_perfreg, FWARC/2007/529 section 3.2.2.
    fn set(&mut self, strand: u16, id: u64, value: u64, log: &mut Vec<Access>) -> Result<(), u64> {
        self.check(strand, id, Some(value))?;
        let node = World::node_of(strand);
        let value = value & register(id).map_or(0, |register| register.write_mask);
        match id {
            0 => {
                log.push(Access::done(Target::Pcr, Action::Write(value)));
                let pcr = pcr_after(self.pcr_of(strand), value);
                self.pcr.insert(strand, pcr);
                Ok(())
            }
            1 => self.set_perf_config(node, value, log).map_err(status_of),
            _ => self.write(node, Cell::Register(id), value, log).map_err(status_of),
        }
    }

    /// Writes PERF_CONFIG to every bank of the node. Bank 0, from which PERF_CONFIG is read, comes last. After a fault, restores the banks
    /// that were already written. If a bank cannot be restored, the unit must be scrubbed when it returns to service.
    pub(super) fn set_perf_config(
        &mut self,
        node: usize,
        value: u64,
        log: &mut Vec<Access>,
    ) -> Result<(), Answer> {
        let mut written = Vec::new();
        for bank in (1..L2_BANKS).chain([0]) {
            let cell = Cell::L2 { node, bank };
            let done = self.read(node, cell, log).and_then(|old| {
                let new = old & !PERF_CONFIG | value << PERF_CONFIG_SHIFT;
                self.write(node, cell, new, log).map(|()| old)
            });
            match done {
                Ok(old) => written.push((cell, old)),
                Err(answer) => {
                    for (cell, old) in written {
                        if self.write(node, cell, old, log).is_err() {
                            self.transfer.unclean.insert(Unit::L2 { node });
                        }
                    }
                    return Err(answer);
                }
            }
        }
        Ok(())
    }

    /// Performs the checks that the contract requires before any access, in the contract's order. `set` is the value that the call writes;
    /// `None` for a read. The contract's last check, whether the hub is busy, is part of the access itself.
    fn check(&self, strand: u16, id: u64, set: Option<u64>) -> Result<(), u64> {
        let guest = &self.guests[self.guest_of(strand)];
        let Some(minor) = guest.versions.perf_minor() else {
            return Err(EBADTRAP);
        };
        if id > 89 {
            return Err(EINVAL);
        }
        let unit = match id {
            0 => None,
            1 => Some(Unit::L2 { node: World::node_of(strand) }),
            _ => Some(Cell::Register(id).unit()),
        };
        let in_version = id < 18 || minor >= 1 || guest.compat;
        let in_machine = unit.is_none_or(|unit| self.has_unit(unit));
        if !in_version || !in_machine {
            return Err(ENOTSUPPORTED);
        }
        let wants_ht = set.is_some_and(|value| value & PCR_HT != 0);
        let in_service = unit.is_none_or(|unit| !self.out_of_service.contains(&unit));
        if !granted(guest, unit, wants_ht) || !in_service {
            return Err(ENOACCESS);
        }
        Ok(())
    }
}

/// Returns `true` if the guest's grant covers the unit. For the strand's own PCR, `unit` is `None`.
fn granted(guest: &Guest, unit: Option<Unit>, wants_ht: bool) -> bool {
    match unit {
        None => match guest.grant.strand {
            StrandGrant::None => false,
            StrandGrant::Strand => !wants_ht,
            StrandGrant::HtStrand => true,
        },
        Some(Unit::L2 { node } | Unit::Mcu { node, .. }) => {
            guest.grant.global && guest.strands.iter().any(|&s| World::node_of(s) == node)
        }
        Some(Unit::Hub(_)) => guest.grant.global,
    }
}

/// Returns the status of a call whose access has this result.
fn status_of(answer: Answer) -> u64 {
    match answer {
        Answer::Done => EOK,
        Answer::Busy => EWOULDBLOCK,
        Answer::Fault => ENOACCESS,
    }
}
