//! The defects that the image can have. The contract check must find each of them.

use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use guest_abi::trap::{API_SET_VERSION, VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{HvError, Mcu, McuRole, Node, PerfReg, Registers, Trap};
use hypervisor::Handler;
use perfctr_service::{Grant, StrandRight};
use platform::{Bus, address};

use crate::Devices;

/// The defect's number, which a test writes into the image.
#[unsafe(no_mangle)]
static DEFECT: u32 = 0;

/// The HT bit of register 0.
const HT: u64 = 1 << 3;

/// What is wrong with the image.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Defect {
    None,
    /// A write of a DRAM PCR drops bit 7.
    Mask,
    /// A register number above 89 gets ENOTSUPPORTED.
    Status,
    /// The guest's rights are checked before the register number, as in Sun's code for the T2.
    Order,
    /// A failed register read returns a hypervisor address in %o1.
    Leak,
    /// A guest without `global` may read L2 control.
    Right,
    /// A channel's counter keeps its value when rights move.
    Scrub,
    /// While one strand is asking for a hub, all others except strand 0 are refused.
    Arbitration,
    /// If a guest without the HT right tries to set HT, the call succeeds but does not set it.
    Ht,
    /// A write of PERF_CONFIG (register 1) clears all other bits of the L2 control registers.
    OtherBits,
    /// A guest gets the minor version that it asks for, even if this version does not exist.
    Version,
}

/// For each hub, the number of strands that are asking for it.
static ASK: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

impl Defect {
    const ALL: [Self; 11] = [
        Self::None,
        Self::Mask,
        Self::Status,
        Self::Order,
        Self::Leak,
        Self::Right,
        Self::Scrub,
        Self::Arbitration,
        Self::Ht,
        Self::OtherBits,
        Self::Version,
    ];

    /// Returns the defect whose number the test has written into the image, or [`None`](Self::None) if there is no such defect.
    pub fn of_image() -> Self {
        // SAFETY: the word is constant while the image runs. The compiler must not know its value.
        let number = unsafe { (&raw const DEFECT).read_volatile() };
        Self::ALL.get(number as usize).copied().unwrap_or(Self::None)
    }

    /// Applies the defect before the hypervisor serves a call. Returns `true` if the defect refuses the call, in which case the hypervisor
    /// does not serve it.
    pub fn refuses(
        self,
        handler: &Handler<Devices>,
        trap: Trap,
        registers: &mut Registers,
    ) -> bool {
        if !is_perf(trap, registers) {
            return false;
        }
        if self == Self::Ht && registers.o5 == VFALLS_SET_PERFREG && registers.o0 == 0 {
            let has_no_ht = held(handler).strand == StrandRight::Strand;
            registers.o1 &= if has_no_ht { !HT } else { u64::MAX };
        }
        if self != Self::Arbitration {
            return false;
        }
        let Some(asked) = hub(registers.o0).and_then(|hub| ASK.get(hub)) else { return false };
        let others = asked.fetch_add(1, SeqCst);
        let refused = others > 0 && handler.caller().strand.index() > 0;
        if refused {
            asked.fetch_sub(1, SeqCst);
            registers.o0 = HvError::WouldBlock.number();
        }
        refused
    }

    /// Applies the defect after the hypervisor has served a call. `before` holds the registers as the guest passed them.
    pub fn acts(
        self,
        handler: &Handler<Devices>,
        trap: Trap,
        before: &Registers,
        registers: &mut Registers,
    ) {
        let (id, value, strand) = (before.o0, before.o1, handler.caller().strand);
        if self == Self::Version && trap == Trap::Core && before.o5 == API_SET_VERSION {
            let minor_is_too_high = (id, value) == (0x205, 1) && before.o2 > 1;
            registers.o1 = if minor_is_too_high { before.o2 } else { registers.o1 };
        }
        if !is_perf(trap, before) {
            return;
        }
        let bus = handler.counters().bus();
        let (is_get, status) = (before.o5 == VFALLS_GET_PERFREG, registers.o0);
        match self {
            Self::Mask if !is_get && status == 0 && matches!(id, 2..=17) && id % 2 == 0 => {
                if let Some(at) = PerfReg::new(id).and_then(address::global) {
                    let _ = bus.write(strand, at, value & 0x7f);
                    bus.complete_writes(strand);
                }
            }
            Self::Status if status == HvError::Invalid.number() => {
                registers.o0 = HvError::NotSupported.number();
            }
            Self::Order if matches!(status, 6 | 13) && held(handler) == Grant::NONE => {
                registers.o0 = HvError::NoAccess.number();
            }
            Self::Leak if is_get && status != 0 => {
                registers.o1 = core::ptr::from_ref(handler).expose_provenance() as u64;
            }
            Self::Right if is_get && id == 1 && status == 10 && !held(handler).global => {
                if let Some(Ok(bank)) = address::l2_control(0).map(|at| bus.read(strand, at)) {
                    (registers.o0, registers.o1) = (0, bank >> 36 & 3);
                }
            }
            Self::Arbitration => {
                if let Some(asked) = hub(id).and_then(|hub| ASK.get(hub)) {
                    asked.fetch_sub(1, SeqCst);
                }
            }
            Self::Ht if !is_get && id == 0 => registers.o1 = value,
            Self::OtherBits if !is_get && id == 1 && status == 0 => {
                for at in (0..8).filter_map(address::l2_control) {
                    let _ = bus.write(strand, at, (value & 3) << 36);
                }
                bus.complete_writes(strand);
            }
            _ => {}
        }
    }

    /// Calls `work`, which makes the hypervisor serve an interrupt. With the defect [`Scrub`](Self::Scrub), a counter keeps its value.
    pub fn in_scrub<T>(self, handler: &Handler<Devices>, work: impl FnOnce() -> T) -> T {
        if self != Self::Scrub {
            return work();
        }
        let (bus, strand) = (handler.counters().bus(), handler.caller().strand);
        let at = address::dram_global(Node::Node0, Mcu::ALL[0], McuRole::Pic);
        let value = bus.read(strand, at);
        let done = work();
        if let Ok(value @ 1..) = value {
            let _ = bus.write(strand, at, value);
            bus.complete_writes(strand);
        }
        done
    }
}

fn held(handler: &Handler<Devices>) -> Grant {
    handler.counters().held(handler.caller().guest)
}

fn is_perf(trap: Trap, registers: &Registers) -> bool {
    trap == Trap::Fast && matches!(registers.o5, VFALLS_GET_PERFREG | VFALLS_SET_PERFREG)
}

/// Returns the number of the hub to which register `id` belongs, or `None` for another unit's register.
fn hub(id: u64) -> Option<usize> {
    matches!(id, 18..=89).then(|| (id as usize - 18) / 18)
}
