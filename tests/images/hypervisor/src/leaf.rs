//! The calls that need no stack. Models are no single instruction, so with them every call takes the general path.

use platform::sparc64::leaf::{Answer, DONE, REFUSED, Return};

use crate::board::{Board, Registers};

type Seat = perfctr_service::PerfCounterSeat<'static, Board, Registers>;

const HERE: bool = !cfg!(feature = "models");

/// VFALLS_GET_PERFREG of a DRAM register.
#[unsafe(link_section = ".text.leaf")]
pub extern "C" fn get(id: u64, _: u64, o2: u64, o3: u64, seat: &Seat) -> Return {
    let answer = if HERE { seat.leaf_get_dram(id) } else { None };
    Return {
        verdict: verdict(answer.is_some()),
        value: answer.unwrap_or(0),
        o2,
        o3,
    }
}

/// VFALLS_SET_PERFREG of a DRAM register.
#[unsafe(link_section = ".text.leaf")]
pub extern "C" fn set(id: u64, value: u64, o2: u64, o3: u64, seat: &Seat) -> Return {
    let done = HERE && seat.leaf_set_dram(id, value).is_some();
    Return {
        verdict: verdict(done),
        value,
        o2,
        o3,
    }
}

/// VFALLS_GET_PERFREG of a hub's register.
#[unsafe(link_section = ".text.leaf")]
pub extern "C" fn get_hub(id: u64, _: u64, _: u64, _: u64, seat: &Seat) -> Answer {
    let answer = if HERE { seat.leaf_get_hub(id) } else { None };
    Answer {
        verdict: verdict(answer.is_some()),
        value: answer.unwrap_or(0),
    }
}

/// VFALLS_SET_PERFREG of a hub's register.
#[unsafe(link_section = ".text.leaf")]
pub extern "C" fn set_hub(id: u64, value: u64, _: u64, _: u64, seat: &Seat) -> Answer {
    let done = HERE && seat.leaf_set_hub(id, value).is_some();
    Answer {
        verdict: verdict(done),
        value: 0,
    }
}

/// VFALLS_GET_PERFREG of register 0.
#[unsafe(link_section = ".text.leaf")]
pub extern "C" fn get_pcr(_: u64, o1: u64, o2: u64, o3: u64, seat: &Seat) -> Return {
    let done = HERE && seat.leaf_get_pcr();
    Return {
        verdict: verdict(done),
        value: o1,
        o2,
        o3,
    }
}

/// VFALLS_SET_PERFREG of register 0.
#[unsafe(link_section = ".text.leaf")]
pub extern "C" fn set_pcr(_: u64, value: u64, o2: u64, o3: u64, seat: &Seat) -> Return {
    let answer = if HERE { seat.leaf_set_pcr(value) } else { None };
    Return {
        verdict: verdict(answer.is_some()),
        value: answer.unwrap_or(value),
        o2,
        o3,
    }
}

#[inline(always)]
const fn verdict(done: bool) -> u64 {
    if done { DONE } else { REFUSED }
}
