//! Stores that fail late. Software trap 0x84 makes the hypervisor report such a fault to itself: %o0 selects when, %o5 is the
//! address. The trap also puts all units into service.

use core::arch::asm;

use guest_abi::Trap;

use crate::calls::negotiate;
use crate::contract::{ENOACCESS, EOK, GET, GROUP, Machine, SET};
use crate::preserved::{STACK_POINTERS, Way, around, registers};
use crate::probes::{self, AtLevel, Left};
use crate::report::{Check, Report};

#[path = "../../late_places.rs"]
mod places;

use places::{CORE, HANDLER, LOAD, NEXT, RUST, SLOW, STORE, STORE_TO_HUB, TRAPS, WAIT};

/// NODE0_MCU0_PCR from strands of node 0: register 2.
const CHANNEL: u64 = 0x84_0000_0400;
/// The L2 control register of bank 0: part of register 1.
const L2: u64 = 0xa9_0000_0000;
/// ZAM0_LPU_A_PCR: register 18.
const HUB_0: u64 = 0xe1_3000_4000;
/// ZAM2_LPU_A_PCR: register 54.
const HUB_2: u64 = 0xe9_3000_6000;

/// An address outside the service's registers.
const NOTHING: u64 = 0;

/// Requests a late fault, with a pattern in every register.
fn ask(check: &mut Check<'_>, place: u64, address: u64) {
    let sum = place + 1 + 2 + 3 + 4 + address;
    let before = [place, 1, 2, 3, 4, address];
    let behind = [EOK, 0x84, sum, 3, 4, address];
    around(check, probes::around_0x84, &before, &behind);
}

/// Makes calls, and compares their registers with the expected ones.
pub fn calls(check: &mut Check<'_>, ways: &[Way]) {
    registers(check, ways.iter());
}

pub const fn get(id: u64, status: u64) -> Way {
    let value = if status == EOK { 0 } else { 1 };
    Way(Trap::Fast, [id, 1, 2, 3, 4, GET], [status, value, 2, 3, 4, GET])
}

pub const fn set(id: u64, status: u64) -> Way {
    set_to(1, id, status)
}

const fn set_to(value: u64, id: u64, status: u64) -> Way {
    Way(Trap::Fast, [id, value, 2, 3, 4, SET], [status, value, 2, 3, 4, SET])
}

pub fn run(report: &mut Report, machine: Machine) {
    negotiate(Some(1));
    guest(&mut report.check("a late fault in the guest"), machine);
    slow(&mut report.check("a late fault on the slow path"));
    fast(&mut report.check("a late fault on the fast path"), machine);
    if machine.hubs {
        hub(&mut report.check("a late fault where a hub's store is waited for"));
    }
}

/// Marks the free windows as unclean.
fn leave_windows_unclean() {
    // SAFETY: the trap table has a handler that cleans a window.
    unsafe {
        asm!(
            "rdpr %canrestore, {windows}",
            "add {windows}, 1, {windows}",
            "wrpr {windows}, 0, %cleanwin",
            windows = out(reg) _,
            options(nostack),
        );
    }
}

fn guest(check: &mut Check<'_>, machine: Machine) {
    leave_windows_unclean();
    ask(check, NEXT, CHANNEL);
    let out = [get(2, ENOACCESS), set(3, ENOACCESS), get(3, ENOACCESS)];
    calls(check, &out);
    calls(check, &[get(1, EOK), set(1, EOK)]);
    if machine.hubs {
        calls(check, &[get(18, EOK), set(54, EOK)]);
        ask(check, NEXT, HUB_0);
        calls(check, &[get(20, ENOACCESS), set(54, EOK), get(2, EOK)]);
    }
    ask(check, NEXT, L2);
    calls(check, &[get(1, ENOACCESS), get(2, EOK), set(2, EOK)]);

    // SAFETY: the probe may change all free windows.
    let found = unsafe { probes::left_0x84(NEXT, 1, CHANNEL) };
    check.same("left", found, Left::NOTHING);
    for sp in STACK_POINTERS {
        // SAFETY: as above. The probe restores its own stack pointer before it saves a window.
        let changed = unsafe { probes::deep_0x84(20, CHANNEL, NEXT, sp) };
        check.same(("deep", sp), changed, 0);
    }
    calls(check, &[get(2, ENOACCESS)]);
}

fn slow(check: &mut Check<'_>) {
    // The channel faults, and not the L2 control registers, which the next set writes.
    ask(check, STORE, CHANNEL);
    calls(check, &[set(1, EOK), get(1, EOK), get(2, ENOACCESS)]);
    // The L2 control registers fault.
    ask(check, STORE, L2);
    calls(check, &[set(1, ENOACCESS), get(1, ENOACCESS), get(2, EOK)]);

    ask(check, SLOW, CHANNEL);
    let other = Way(Trap::Core, [GROUP, 1, 0, 3, 4, 0], [EOK, 0, 0, 3, 4, 0]);
    calls(check, &[other, get(2, ENOACCESS), get(1, EOK)]);

    // While a call of trap 0xff waits, before its leaf function.
    ask(check, CORE, CHANNEL);
    let same = Way(Trap::Core, [GROUP, 9, 9, 3, 4, 3], [EOK, 1, 0, 3, 4, 3]);
    calls(check, &[same, get(2, ENOACCESS), get(1, EOK)]);
    negotiate(Some(1));
    for level in [1, 2] {
        ask(check, SLOW, CHANNEL);
        // SAFETY: nothing else uses levels above TL 0 now.
        let found = unsafe { probes::at_level(1, 0x5a, GET, level) };
        let expected = AtLevel { status: EOK, value: 0, tl: level, gl: 0x7700 | level };
        check.same(level, found, expected);
        calls(check, &[get(2, ENOACCESS)]);
    }
    ask(check, SLOW, CHANNEL);
    for sp in STACK_POINTERS {
        // SAFETY: as in `guest`.
        let changed = unsafe { probes::deep_fast(20, GET, 1, sp) };
        check.same(("deep", sp), changed, 0);
    }
    calls(check, &[get(2, ENOACCESS)]);
}

fn fast(check: &mut Check<'_>, machine: Machine) {
    ask(check, LOAD, CHANNEL);
    calls(check, &[get(2, ENOACCESS), get(1, EOK)]);
    ask(check, LOAD, L2);
    calls(check, &[get(2, EOK), get(1, ENOACCESS)]);
    if machine.hubs {
        ask(check, LOAD, HUB_2);
        calls(check, &[get(2, EOK), get(54, ENOACCESS), set(18, EOK)]);
    }
}

fn hub(check: &mut Check<'_>) {
    // The fault belongs to an earlier store to the channel. A second call of the hub succeeds: the hub was released. Waiting
    // traps if the value is no multiple of eight.
    for (place, value) in [(STORE_TO_HUB, 8), (WAIT, 1)] {
        let set = |id, status| set_to(value, id, status);
        ask(check, place, CHANNEL);
        calls(check, &[set(54, EOK), get(54, EOK), set(55, EOK)]);
        calls(check, &[get(2, ENOACCESS), set(3, ENOACCESS), get(18, EOK)]);
        // Another hub faults, then this hub.
        ask(check, place, HUB_0);
        calls(check, &[set(54, EOK), set(18, ENOACCESS), get(54, EOK)]);
        ask(check, place, HUB_2);
        calls(check, &[set(54, ENOACCESS), set(54, ENOACCESS)]);
        calls(check, &[get(71, ENOACCESS), set(18, EOK), get(2, EOK)]);
    }
}

/// Ends the guest by a late fault, by the number of the task: a fault that nothing handles, a fault in the hypervisor's Rust code, a
/// fault in the handler of another trap, and a fault whose handler traps.
pub fn end(report: &mut Report, task: u64) {
    negotiate(Some(1));
    let mut check = report.check("a late fault ends the guest");
    match task {
        8 => ask(&mut check, NEXT, NOTHING),
        9 => {
            ask(&mut check, RUST, CHANNEL);
            ask(&mut check, NEXT, CHANNEL);
        }
        10 => {
            ask(&mut check, HANDLER, CHANNEL);
            // A fault of channel 1, which the hypervisor handles.
            calls(&mut check, &[get(5, ENOACCESS)]);
        }
        _ => ask(&mut check, NEXT, TRAPS),
    }
    check.same("it goes on", true, false);
}
