//! What the service records (see [`hv_core::trace`]).

use guest_abi::PerfReg;
use hv_core::trace::{STATUSES, Shown};

/// The names of the registers.
const REGISTERS: Shown = Shown::Names(&NAMES);

const NAMES: [(u64, &str); PerfReg::COUNT] = {
    let mut names = [(0, ""); PerfReg::COUNT];
    let mut id = 0;
    while let Some(register) = PerfReg::new(id as u64) {
        names[id] = (id as u64, register.name());
        id += 1;
    }
    names
};

/// The names of the hubs.
const HUBS: Shown = Shown::Names(&[(0, "ZAM0"), (1, "ZAM1"), (2, "ZAM2"), (3, "ZAM3")]);

/// The names of the units, by [`Unit::number`](crate::Unit::number).
const UNITS: Shown = Shown::Names(&[
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

/// The names of [grants](crate::Grant): bit 0 is `global`, bit 1 register 0, bit 2 with HT.
const GRANTS: Shown = Shown::Names(&[
    (0b000, "none"),
    (0b001, "global"),
    (0b010, "strand"),
    (0b011, "global_strand"),
    (0b110, "htstrand"),
    (0b111, "global_htstrand"),
]);

hv_core::events! {
    /// The events of the service, numbers from 8 on.
    ///
    /// The time of the event of a call is the end of the call. What a call found on its way, a hub that is taken or a unit
    /// that faults, comes before the call.
    pub enum ServiceEvent {
        /// A register was read.
        8 Get "get_perfreg" {
            /// The number of the register.
            perfreg: u8 = REGISTERS,
            /// The status, which is EOK.
            status: u8 = STATUSES,
            /// The number of the calling guest.
            guest: u8 = Number,
            /// The number of the calling strand.
            strand: u8 = Number,
            /// The duration of the call in ticks; `u32::MAX` stands for longer ones too.
            duration: u32 = Number,
            /// The value that the guest received.
            value: u64 = Hex,
        }
        /// A register was written.
        9 Set "set_perfreg" {
            /// The number of the register.
            perfreg: u8 = REGISTERS,
            /// The status, which is EOK.
            status: u8 = STATUSES,
            /// The number of the calling guest.
            guest: u8 = Number,
            /// The number of the calling strand.
            strand: u8 = Number,
            /// The duration of the call in ticks; `u32::MAX` stands for longer ones too.
            duration: u32 = Number,
            /// The value that the guest passed, with bits that the register does not have.
            value: u64 = Hex,
        }
        /// A get was refused.
        10 GetRefused "get_perfreg_refused" {
            /// The status that says why.
            status: u16 = STATUSES,
            /// The number of the calling guest.
            guest: u8 = Number,
            /// The number of the calling strand.
            strand: u8 = Number,
            /// The duration of the call in ticks; `u32::MAX` stands for longer ones too.
            duration: u32 = Number,
            /// The number that the guest passed, which may be no register's.
            perfreg: u64 = REGISTERS,
        }
        /// A set was refused.
        11 SetRefused "set_perfreg_refused" {
            /// The status that says why.
            status: u16 = STATUSES,
            /// The number of the calling guest.
            guest: u8 = Number,
            /// The number of the calling strand.
            strand: u8 = Number,
            /// The duration of the call in ticks; `u32::MAX` stands for longer ones too.
            duration: u32 = Number,
            /// The number that the guest passed, which may be no register's.
            perfreg: u64 = REGISTERS,
            /// The value that the guest passed.
            value: u64 = Hex,
        }
        /// A call could not have its hub at once.
        12 HubConflict "hub_conflict" {
            /// The number of the hub.
            hub: u8 = HUBS,
            /// The reason: a strand has an access in flight, it is the turn of another strand, or the chip itself is busy.
            why: u8 = Names(&[(0, "in_flight"), (1, "turn_of_another"), (2, "chip_busy")]),
            /// The number of the calling guest.
            guest: u8 = Number,
            /// The number of the calling strand.
            strand: u8 = Number,
        }
        /// A unit is out of service.
        13 UnitOut "unit_out_of_service" {
            /// The unit.
            unit: u16 = UNITS,
            /// A device of it faulted; it stayed busy for too long; a strand died at work on it; no strand is there to clear it.
            why: u8 = Names(&[(0, "fault"), (1, "stuck"), (2, "died"), (3, "uncleared")]),
            /// The number of the strand that found this.
            strand: u8 = Number,
        }
        /// The operator returned a unit to service.
        14 UnitReturned "unit_returned" {
            /// The unit.
            unit: u16 = UNITS,
            /// The number of the strand that recorded the event.
            strand: u16 = Number,
        }
        /// The operator granted a guest something else than before.
        15 Granted "granted" {
            /// The number of the guest.
            guest: u8 = Number,
            /// Its grant now.
            grant: u8 = GRANTS,
            /// The number of the strand that recorded the event.
            strand: u16 = Number,
        }
        /// A guest lost rights, by a new grant or a reset.
        16 Revoked "revoked" {
            /// The number of the guest.
            guest: u8 = Number,
            /// Those that it keeps of the rights that it had.
            left: u8 = GRANTS,
            /// The number of the strand that recorded the event.
            strand: u16 = Number,
        }
        /// A guest was given rights that it is granted, after nothing stood in the way any more.
        17 Held "held" {
            /// The number of the guest.
            guest: u8 = Number,
            /// The rights that it holds now.
            held: u8 = GRANTS,
            /// The number of the strand that recorded the event.
            strand: u16 = Number,
        }
        /// A change of rights, or a reset, has to wait for strands.
        18 ChangePending "change_pending" {
            /// The number of strands.
            awaited: u16 = Number,
            /// The number of the strand that recorded the event.
            strand: u16 = Number,
        }
        /// Every guest holds what it is granted, and what others have lost is cleared.
        19 ChangeComplete "change_complete" {
            /// The number of the strand that recorded the event.
            strand: u32 = Number,
        }
    }
}

/// Why a unit goes out of service: the numbers in [`UnitOut`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    Fault,
    Stuck,
    Died,
    Uncleared,
}

/// Why a call does not have its hub: the numbers in [`HubConflict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conflict {
    InFlight,
    Turn,
    Busy,
}
