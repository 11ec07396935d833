//! A call by which a guest changes its machine and the strand that it calls from. Only the hypervisor image for tests has it.

use guest_abi::{Hub, Node, PerfReg, Registers, StrandId};
use perfctr_service::Unit;

use crate::counters::Counters;
use crate::{Cell, Change, Configuration};

/// The number of the software trap, which hypervisor images for tests claim.
pub const TRAP: u8 = 0xfe;

/// The number of the function in %o5. All other numbers are another call.
pub const FUNCTION: u64 = 0x5eed_c0de;

/// The effect of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Switches another machine on in place of this one.
    PowerOn(Configuration),
    /// Makes the next calls come from this strand.
    Caller(StrandId),
    /// Changes the machine.
    Change(Change),
    /// Returns [`System::state`](crate::System::state) in %o1.
    State,
    /// Returns [`System::counts`](crate::System::counts) in %o1.
    Counts,
    /// Returns in %o1 the number of calls that took the slow path.
    SlowCalls,
    /// Makes the hypervisor call itself this number of times, which uses up the register windows.
    Recurse(u64),
    /// Begins a get of a hub's register by a strand, which does not end.
    Hold(PerfReg, StrandId),
    /// Reports that a strand has died.
    Died(StrandId),
    /// Turns the tracer of this machine and of later machines on or off.
    Trace(bool),
    /// Uses the counters of the strand that calls.
    Counters(Counters),
}

/// The number of the first call for [`Counters`].
const COUNTERS: u64 = 18;

impl Control {
    /// Returns the registers of the call.
    pub fn registers(self) -> Registers {
        let [kind, a, b] = match self {
            Self::PowerOn(configuration) => {
                let [a, b, c, d] = configuration.to_words();
                return Registers::call(FUNCTION, [0, a, b, c, d]);
            }
            Self::Caller(strand) => [1, strand.index() as u64, 0],
            Self::State => [2, 0, 0],
            Self::Recurse(depth) => [3, depth, 0],
            Self::Counts => [13, 0, 0],
            Self::SlowCalls => [14, 0, 0],
            Self::Hold(register, strand) => [15, register.id(), strand.index() as u64],
            Self::Died(strand) => [16, strand.index() as u64, 0],
            Self::Trace(on) => [17, u64::from(on), 0],
            Self::Counters(counters) => {
                let [kind, a, b] = counters.to_words();
                [COUNTERS + kind, a, b]
            }
            Self::Change(change) => match change {
                Change::Reset(guest) => [4, guest as u64, 0],
                Change::Busy(hub, busy) => [5, hub.index() as u64, u64::from(busy)],
                Change::Break(unit) => [6, number(unit), 0],
                Change::BreakBanks(node, from) => [7, node.index() as u64, from as u64],
                Change::Repair => [8, 0, 0],
                Change::Return(unit) => [9, number(unit), 0],
                Change::Mend => [10, 0, 0],
                Change::Put(Cell::L2(node, bank), value) => {
                    [11, (node.index() << 8 | bank) as u64, value]
                }
                Change::Put(Cell::Register(register), value) => [12, register.id(), value],
            },
        };
        Registers::call(FUNCTION, [kind, a, b, 0, 0])
    }

    /// Returns the effect of a call with these registers; `None` if it is another call.
    pub fn from_registers(registers: &Registers) -> Option<Self> {
        let [kind, a, b, c, d, function] = registers.to_array();
        if function != FUNCTION {
            return None;
        }
        let index = a as usize;
        Some(match kind {
            0 => Self::PowerOn(Configuration::from_words([a, b, c, d])?),
            1 => Self::Caller(StrandId::new(index)?),
            2 => Self::State,
            3 => Self::Recurse(a),
            4 => Self::Change(Change::Reset(index)),
            5 => Self::Change(Change::Busy(Hub::new(index)?, b != 0)),
            6 => Self::Change(Change::Break(Unit::all().nth(index)?)),
            7 => Self::Change(Change::BreakBanks(Node::new(index)?, b as usize)),
            8 => Self::Change(Change::Repair),
            9 => Self::Change(Change::Return(Unit::all().nth(index)?)),
            10 => Self::Change(Change::Mend),
            11 => {
                let cell = Cell::L2(Node::new(index >> 8)?, index & 0xff);
                Self::Change(Change::Put(cell, b))
            }
            12 => Self::Change(Change::Put(Cell::Register(PerfReg::new(a)?), b)),
            13 => Self::Counts,
            14 => Self::SlowCalls,
            15 => Self::Hold(PerfReg::new(a)?, StrandId::new(b as usize)?),
            16 => Self::Died(StrandId::new(index)?),
            17 => Self::Trace(a != 0),
            _ => {
                let kind = kind.checked_sub(COUNTERS)?;
                Self::Counters(Counters::from_words([kind, a, b])?)
            }
        })
    }
}

fn number(unit: Unit) -> u64 {
    Unit::all().take_while(|other| *other != unit).count() as u64
}
