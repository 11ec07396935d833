//! The hardware: its registers, their addresses, and its answers to accesses.
//!
//! A register stores those bits of a written value that are in its mask. No register counts events.

use super::World;
use super::registers::{REGISTERS, register};

/// The address of bank 0 of a node's L2 control register, FWARC/2007/529 section 2.3.
pub const L2_CONTROL: u64 = 0xa9_0000_0000;
pub const L2_BANK_STRIDE: u64 = 0x40;
pub const L2_BANKS: usize = 8;

/// One 64-bit device register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// The L2 control register of one bank.
    L2 {
        node: usize,
        /// The bank, 0 to 7.
        bank: usize,
    },
    /// The DRAM or hub register with this PerfReg#, 2 to 89.
    Register(u64),
}

impl Cell {
    /// Returns the cell that a strand on `node` accesses at `address` on the largest machine.
    ///
    /// Hubs have global addresses only.
    pub fn at(node: usize, address: u64) -> Option<Cell> {
        for bank in 0..L2_BANKS {
            if address == L2_CONTROL + bank as u64 * L2_BANK_STRIDE {
                return Some(Cell::L2 { node, bank });
            }
        }
        for register in &REGISTERS[2..] {
            let own = matches!(Cell::Register(register.id).unit(), Unit::Mcu { node: n, .. } if n == node);
            if register.global == Some(address) || own && register.local == Some(address) {
                return Some(Cell::Register(register.id));
            }
        }
        None
    }

    pub fn unit(self) -> Unit {
        match self {
            Cell::L2 { node, .. } => Unit::L2 { node },
            Cell::Register(2 | 3) => Unit::Mcu { node: 0, mcu: 0 },
            Cell::Register(4 | 5) => Unit::Mcu { node: 0, mcu: 1 },
            Cell::Register(6 | 7) => Unit::Mcu { node: 1, mcu: 0 },
            Cell::Register(8 | 9) => Unit::Mcu { node: 1, mcu: 1 },
            Cell::Register(10 | 11) => Unit::Mcu { node: 2, mcu: 0 },
            Cell::Register(12 | 13) => Unit::Mcu { node: 2, mcu: 1 },
            Cell::Register(14 | 15) => Unit::Mcu { node: 3, mcu: 0 },
            Cell::Register(16 | 17) => Unit::Mcu { node: 3, mcu: 1 },
            Cell::Register(18..=35) => Unit::Hub(0),
            Cell::Register(36..=53) => Unit::Hub(1),
            Cell::Register(54..=71) => Unit::Hub(2),
            Cell::Register(72..=89) => Unit::Hub(3),
            Cell::Register(id) => panic!("PerfReg {id} is not a device register"),
        }
    }

    /// Returns the address that the contract requires for an access by a strand on `node`: the local address for units of its own node, and
    /// the global address for all other units.
    pub fn address_from(self, node: usize) -> u64 {
        match (self, self.unit()) {
            (Cell::L2 { bank, .. }, Unit::L2 { node: owner }) if owner == node => {
                L2_CONTROL + bank as u64 * L2_BANK_STRIDE
            }
            (Cell::Register(id), Unit::Mcu { node: owner, .. }) if owner == node => {
                register(id).and_then(|r| r.local).unwrap()
            }
            (Cell::Register(id), _) => register(id).and_then(|r| r.global).unwrap(),
            (Cell::L2 { node: owner, .. }, _) => {
                panic!("the L2 of node {owner} has no address on node {node}")
            }
        }
    }
}

/// A group of cells that go out of service together after a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// The L2 control registers of all banks of a node.
    L2 {
        /// The node, 0 to 3.
        node: usize,
    },
    /// A memory controller. Its cells are a PCR and a PIC.
    Mcu {
        /// The node, 0 to 3.
        node: usize,
        /// The controller, 0 or 1.
        mcu: usize,
    },
    /// A hub, 0 to 3, with the registers of all its parts.
    Hub(usize),
}

impl Unit {
    pub fn cells(self) -> Vec<Cell> {
        let banks = (0..4).flat_map(|node| (0..L2_BANKS).map(move |bank| Cell::L2 { node, bank }));
        let registers = (2..90).map(Cell::Register);
        banks.chain(registers).filter(|cell| cell.unit() == self).collect()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HubCondition {
    #[default]
    Free,
    /// The cell answers "busy" to every access. No access has an effect.
    Busy,
    Faulted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Always,
    /// Every read succeeds. The first writes succeed, up to this number, and all later writes fault.
    WritesAfter(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// The calling strand's PCR.
    Pcr,
    Address(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Read,
    Write(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    /// The hub was busy with an earlier access, so this access had no effect.
    Busy,
    /// The access faulted. It had no effect.
    Fault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub target: Target,
    pub action: Action,
    pub answer: Answer,
}

impl Access {
    pub fn done(target: Target, action: Action) -> Access {
        let answer = Answer::Done;
        Access { target, action, answer }
    }
}

/// Returns the value of %pcr after a write, if no counter overflows. The register stores bits 31:0. If HOLDOV0 (bit 62) or HOLDOV1 (bit 63)
/// is set in the written value, OV0 (bit 18) or OV1 (bit 31) keeps its value.
pub fn pcr_after(before: u64, value: u64) -> u64 {
    let mut held = 0;
    if value >> 62 & 1 == 1 {
        held |= 1 << 18;
    }
    if value >> 63 == 1 {
        held |= 1 << 31;
    }
    value & 0xffff_ffff & !held | before & held
}

impl World {
    pub(super) fn read(
        &mut self,
        node: usize,
        cell: Cell,
        log: &mut Vec<Access>,
    ) -> Result<u64, Answer> {
        self.access(node, cell, Action::Read, log)
    }

    pub(super) fn write(
        &mut self,
        node: usize,
        cell: Cell,
        value: u64,
        log: &mut Vec<Access>,
    ) -> Result<(), Answer> {
        self.access(node, cell, Action::Write(value), log).map(|_| ())
    }

    /// Performs an access from a strand on `node`. Returns the cell's contents after the access. A fault takes the unit out of service.
    fn access(
        &mut self,
        node: usize,
        cell: Cell,
        action: Action,
        log: &mut Vec<Access>,
    ) -> Result<u64, Answer> {
        let unit = cell.unit();
        let mut answer = match unit {
            Unit::Hub(hub) => match self.hubs[hub] {
                HubCondition::Free => Answer::Done,
                HubCondition::Busy => Answer::Busy,
                HubCondition::Faulted => Answer::Fault,
            },
            Unit::L2 { .. } | Unit::Mcu { .. } => Answer::Done,
        };
        if answer == Answer::Done {
            answer = match (self.faults.get_mut(&cell), action) {
                (None, _) | (Some(Fault::WritesAfter(_)), Action::Read) => Answer::Done,
                (Some(Fault::WritesAfter(left)), Action::Write(_)) if *left > 0 => {
                    *left -= 1;
                    Answer::Done
                }
                (Some(_), _) => Answer::Fault,
            };
        }
        log.push(Access { target: Target::Address(cell.address_from(node)), action, answer });
        match answer {
            Answer::Busy => return Err(answer),
            Answer::Fault => {
                self.out_of_service.insert(unit);
                return Err(answer);
            }
            Answer::Done => {}
        }
        if let Action::Write(value) = action {
            self.devices.insert(cell, value);
        }
        Ok(self.holds(cell))
    }
}
