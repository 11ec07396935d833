//! The events that the service records (see [`hv_core::trace`]).

use guest_abi::PerfReg;
use hv_core::trace::{DisplayFormat, STATUSES};

const REGISTERS: DisplayFormat = DisplayFormat::Names(&NAMES);

const NAMES: [(u64, &str); PerfReg::COUNT] = {
    let mut names = [(0, ""); PerfReg::COUNT];
    let mut id = 0;
    while let Some(register) = PerfReg::new(id as u64) {
        names[id] = (id as u64, register.name());
        id += 1;
    }
    names
};

const HUBS: DisplayFormat =
    DisplayFormat::Names(&[(0, "ZAM0"), (1, "ZAM1"), (2, "ZAM2"), (3, "ZAM3")]);

/// The names of units, indexed by [`Unit::number`](crate::Unit::number).
const UNITS: DisplayFormat = DisplayFormat::Names(&[
    (0, "NODE0_MCU0"),
    (1, "NODE0_MCU1"),
    (2, "NODE1_MCU0"),
    (3, "NODE1_MCU1"),
    (4, "NODE2_MCU0"),
    (5, "NODE2_MCU1"),
    (6, "NODE3_MCU0"),
    (7, "NODE3_MCU1"),
    (8, "ZAM0"),
    (9, "ZAM1"),
    (10, "ZAM2"),
    (11, "ZAM3"),
    (12, "NODE0_L2"),
    (13, "NODE1_L2"),
    (14, "NODE2_L2"),
    (15, "NODE3_L2"),
]);

/// The names of [grants](crate::Grant): bit 0 is `global`, bit 1 register 0, bit 2 HT in register 0.
const GRANTS: DisplayFormat = DisplayFormat::Names(&[
    (0b000, "none"),
    (0b001, "global"),
    (0b010, "strand"),
    (0b011, "global_strand"),
    (0b110, "htstrand"),
    (0b111, "global_htstrand"),
]);

hv_core::events! {
    /// The events of the service, with numbers from 8 on.
    ///
    /// The time of a call's event is the time at which the call ended. The event follows the events that happened during the call, such as
    /// a hub conflict.
    ///
    /// Several events have these fields:
    /// - `perfreg`: a register number. A refused call has the number that the guest passed, even if no register has it.
    /// - `status`: EOK for a served call, otherwise the reason for the refusal.
    /// - `guest`, `hub`, `unit`: the number of the guest, hub or [unit](crate::Unit::number).
    /// - `strand`: the number of the calling strand; in an event that does not belong to a call, the number of the strand that recorded it.
    /// - `duration`: the duration of the call in ticks, at most `u32::MAX`.
    pub enum ServiceEvent {
        /// A `get` call read a register, and returned its value to the guest.
        8 Get "get_perfreg" {
            perfreg: u8 = REGISTERS,
            status: u8 = STATUSES,
            guest: u8 = Number,
            strand: u8 = Number,
            duration: u32 = Number,
            /// The value that the guest received.
            value: u64 = Hex,
        }
        /// A `set` call wrote a register.
        9 Set "set_perfreg" {
            perfreg: u8 = REGISTERS,
            status: u8 = STATUSES,
            guest: u8 = Number,
            strand: u8 = Number,
            duration: u32 = Number,
            /// The value that the guest passed, including bits that the register does not have.
            value: u64 = Hex,
        }
        /// A call that reads a register was refused.
        10 GetRefused "get_perfreg_refused" {
            status: u16 = STATUSES,
            guest: u8 = Number,
            strand: u8 = Number,
            duration: u32 = Number,
            perfreg: u64 = REGISTERS,
        }
        /// A call that writes a register was refused.
        11 SetRefused "set_perfreg_refused" {
            status: u16 = STATUSES,
            guest: u8 = Number,
            strand: u8 = Number,
            duration: u32 = Number,
            perfreg: u64 = REGISTERS,
            /// The value that the guest passed.
            value: u64 = Hex,
        }
        /// A call could not get its hub immediately.
        12 HubConflict "hub_conflict" {
            hub: u8 = HUBS,
            /// The reason: a strand has an access in flight, it is another strand's turn, or the chip itself is busy.
            why: u8 = Names(&[(0, "in_flight"), (1, "turn_of_another"), (2, "chip_busy")]),
            guest: u8 = Number,
            strand: u8 = Number,
        }
        /// A strand took a unit out of service. Until the operator returns the unit, guests cannot use it.
        13 UnitOut "unit_out_of_service" {
            unit: u16 = UNITS,
            /// The reason: an access faulted, the unit stayed busy for too long, a strand died while it accessed the unit, or no strand
            /// can scrub it.
            why: u8 = Names(&[(0, "fault"), (1, "stuck"), (2, "died"), (3, "uncleared")]),
            strand: u8 = Number,
        }
        /// The operator returned a unit to service.
        14 UnitReturned "unit_returned" {
            unit: u16 = UNITS,
            strand: u16 = Number,
        }
        /// The operator changed a guest's grant.
        15 Granted "granted" {
            guest: u8 = Number,
            /// The rights that the guest is granted from now on.
            grant: u8 = GRANTS,
            strand: u16 = Number,
        }
        /// A guest lost rights because of a new grant or a reset.
        16 Revoked "revoked" {
            guest: u8 = Number,
            /// The rights that the guest keeps.
            left: u8 = GRANTS,
            strand: u16 = Number,
        }
        /// A pending grant has taken effect.
        17 Held "held" {
            guest: u8 = Number,
            /// The rights that the guest holds now.
            held: u8 = GRANTS,
            strand: u16 = Number,
        }
        /// A change of rights, or a reset, waits for strands.
        18 ChangePending "change_pending" {
            /// The number of strands that the change waits for.
            awaited: u16 = Number,
            strand: u16 = Number,
        }
        /// All pending grants have taken effect, and all units that guests have lost are scrubbed.
        19 ChangeComplete "change_complete" {
            strand: u32 = Number,
        }
    }
}

/// Why a unit goes out of service. The field `why` of [`UnitOut`] holds a variant's discriminant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutageReason {
    /// An access to the unit failed.
    Fault,
    /// The unit stayed busy for too long.
    Stuck,
    /// A strand died while it accessed the unit.
    Died,
    /// The unit could not be scrubbed.
    NotScrubbed,
}

/// Why a call does not get its hub immediately. The field `why` of [`HubConflict`] holds a variant's discriminant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conflict {
    InFlight,
    Turn,
    Busy,
}
