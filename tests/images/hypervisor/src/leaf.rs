//! The calls that need no stack. Models are no single instruction, so with them calls that reach a device take the general
//! path; and all calls do where the guest says who it is, because the seat is that of the strand that the image began with.

use core::hint::assert_unchecked;

use perfctr_service::statistics::Operation::{self, Get, Set};
use platform::sparc64::layout::FIRST_OF_HUB;
use platform::sparc64::leaf::{Answer, DONE, REFUSED, Return};

use crate::board::{Board, Registers};
use crate::recorder::Recorder;

type Seat = perfctr_service::PerfCounterContext<'static, Board, Registers, Recorder>;

const DEVICES: bool = !cfg!(feature = "models");
const REFUSALS: bool = !cfg!(feature = "control");

/// VFALLS_GET_PERFREG of a DRAM register.
#[unsafe(link_section = ".text.leaf")]
pub extern "C" fn get(id: u64, _: u64, o2: u64, o3: u64, seat: &Seat) -> Return {
    // SAFETY: the veneer has seen to it.
    unsafe { assert_unchecked(id > 0 && id < FIRST_OF_HUB) };
    match DEVICES.then(|| seat.leaf_get_dram(id)).flatten() {
        Some(value) => Return {
            verdict: DONE,
            value,
            o2,
            o3,
        },
        None => Return {
            verdict: refusal(seat, Get, id),
            value: 0,
            o2,
            o3,
        },
    }
}

/// VFALLS_SET_PERFREG of a DRAM register.
#[unsafe(link_section = ".text.leaf")]
pub extern "C" fn set(id: u64, value: u64, o2: u64, o3: u64, seat: &Seat) -> Return {
    // SAFETY: the veneer has seen to it.
    unsafe { assert_unchecked(id > 0 && id < FIRST_OF_HUB) };
    let verdict = match DEVICES.then(|| seat.leaf_set_dram(id, value)).flatten() {
        Some(()) => DONE,
        None => refusal(seat, Set, id),
    };
    Return {
        verdict,
        value,
        o2,
        o3,
    }
}

/// VFALLS_GET_PERFREG of a hub's register.
#[unsafe(link_section = ".text.leaf")]
pub extern "C" fn get_hub(id: u64, _: u64, o2: u64, o3: u64, seat: &Seat) -> Return {
    match DEVICES.then(|| seat.leaf_get_hub(id)).flatten() {
        Some(value) => Return {
            verdict: DONE,
            value,
            o2,
            o3,
        },
        None => Return {
            verdict: refusal(seat, Get, id),
            value: 0,
            o2,
            o3,
        },
    }
}

/// VFALLS_SET_PERFREG of a hub's register.
#[unsafe(link_section = ".text.leaf")]
pub extern "C" fn set_hub(id: u64, value: u64, _: u64, _: u64, seat: &Seat) -> Answer {
    let verdict = match DEVICES.then(|| seat.leaf_set_hub(id, value)).flatten() {
        Some(()) => DONE,
        None => refusal(seat, Set, id),
    };
    Answer { verdict, value }
}

/// VFALLS_GET_PERFREG of register 0.
#[unsafe(link_section = ".text.leaf")]
pub extern "C" fn get_pcr(id: u64, o1: u64, o2: u64, o3: u64, seat: &Seat) -> Return {
    let verdict = match DEVICES && seat.leaf_get_pcr() {
        // It is 0, and so is DONE.
        true => id,
        false => refusal(seat, Get, 0),
    };
    Return {
        verdict,
        value: o1,
        o2,
        o3,
    }
}

/// VFALLS_SET_PERFREG of register 0.
#[unsafe(link_section = ".text.leaf")]
pub extern "C" fn set_pcr(id: u64, value: u64, o2: u64, o3: u64, seat: &Seat) -> Return {
    match DEVICES.then(|| seat.leaf_set_pcr(value)).flatten() {
        Some(value) => Return {
            verdict: id,
            value,
            o2,
            o3,
        },
        None => Return {
            verdict: refusal(seat, Set, 0),
            value,
            o2,
            o3,
        },
    }
}

#[inline(always)]
fn refusal(seat: &Seat, operation: Operation, id: u64) -> u64 {
    let status = REFUSALS.then(|| seat.leaf_refusal(operation, id)).flatten();
    status.map_or(REFUSED, |status| status.number())
}
