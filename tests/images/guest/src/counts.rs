//! Counts the instructions that each kind of call takes.

use conform::Configuration;
use conform::configuration::GUESTS;
use conform::control::Control;
use guest_abi::{StrandId, Trap};
use perfctr_service::{Grant, GuestConfig};
use platform::Model;

use crate::calls::negotiate;
use crate::contract::{EBADTRAP, EINVAL, ENOACCESS, ENOTSUPPORTED, EOK, GET, GROUP, Machine, SET};
use crate::preserved::{CallCase, around, registers};
use crate::probes;
use crate::report::{Check, Report};
use crate::swept::control;

pub fn run(report: &mut Report, machine: Machine) {
    negotiate(Some(1));
    let hub = 62;
    for (name, trap, o0, o1, function) in [
        ("get_dram", Trap::Fast, 3, 0, GET),
        ("set_dram", Trap::Fast, 3, 0x55, SET),
        ("get_pcr", Trap::Fast, 0, 0, GET),
        ("set_pcr", Trap::Fast, 0, 0x55, SET),
        ("get_l2", Trap::Fast, 1, 0, GET),
        ("set_l2", Trap::Fast, 1, 1, SET),
        ("get_zambezi", Trap::Fast, hub, 0, GET),
        ("set_zambezi", Trap::Fast, hub, 0x55, SET),
        ("unknown_fast", Trap::Fast, 0, 0, 5),
        // The probe puts the function number, here 0, into %o2 too. %o2 is the minor version, so the guest negotiates version 1.0.
        ("negotiate", Trap::Core, GROUP, 1, 0),
        ("set_version", Trap::Core, GROUP, 1, 0),
        ("get_version", Trap::Core, GROUP, 0, 3),
    ] {
        if o0 != hub || machine.hubs {
            count(report, name, trap, [o0, o1, function]);
        }
    }
    negotiate(None);
    count(report, "set_version_negotiated", Trap::Core, [GROUP, 1, 0]);
    // SAFETY: the probe changes only registers that the ABI lets it change.
    let nothing = instructions(unsafe { probes::ticks_none() });
    report.check("the clock counts instructions").same("rd", nothing, 1);
}

/// One register of each class, and a number that no register has.
const OF_CLASSES: [u64; 5] = [0, 1, 3, 62, 90];
const HT: u64 = 1 << 3;

/// Counts the instructions of refused calls. The guest's strand is on node 0 of two nodes, so registers 6-9 belong to the other node, and
/// registers 10-17 belong to nodes that the machine lacks.
pub fn refused(report: &mut Report) {
    as_guest(Grant::ALL, None);
    refusals(report, ["get_bad_trap", "set_bad_trap"], EBADTRAP, &OF_CLASSES);
    as_guest(Grant::ALL, Some(0));
    refusals(report, ["get_invalid", "set_invalid"], EINVAL, &[90, u64::MAX]);
    refusals(report, ["get_not_supported", "set_not_supported"], ENOTSUPPORTED, &[11, 62]);
    as_guest(Grant::NONE, Some(1));
    refusals(report, ["get_no_access", "set_no_access"], ENOACCESS, &OF_CLASSES[..4]);
    as_guest(Grant::GLOBAL_STRAND, Some(1));
    let mut check = report.check("a set of HT without the right, and another node's channel");
    for (id, value, function) in [(0, HT, SET), (7, 0, SET), (7, 0, GET)] {
        same(&mut check, id, value, function, ENOACCESS);
        let count = counted(Trap::Fast, [id, value, function]);
        check.same(("at most 40", id, count), count <= 40, true);
    }
}

/// Switches on a machine whose guest has one strand and this grant, and negotiates.
fn as_guest(grant: Grant, minor: Option<u64>) {
    let strands = StrandId::new(0).into_iter().collect();
    let mut guests = [GuestConfig::default(); GUESTS];
    guests[0] = GuestConfig::new(strands, grant);
    if let (Ok(machine), Some(strand)) =
        (platform::Machine::new(Model::Batoka, 2), StrandId::new(0))
    {
        control(Control::PowerOn(Configuration { machine, guests }));
        control(Control::Caller(strand));
        negotiate(minor);
    }
}

/// Makes a call for each of the registers `ids`, and checks that it is refused with `status`. Reports the instructions of the longest get
/// and of the longest set.
fn refusals(report: &mut Report, names: [&str; 2], status: u64, ids: &[u64]) {
    for (name, function) in names.into_iter().zip([GET, SET]) {
        let mut longest = 0;
        for id in ids {
            same(&mut report.check("refusals that are counted"), *id, HT, function, status);
            longest = longest.max(counted(Trap::Fast, [*id, HT, function]));
        }
        report.count(name, longest);
    }
}

/// Checks that a call returns this status in %o0, and changes no register other than %o0.
fn same(check: &mut Check<'_>, id: u64, value: u64, function: u64, status: u64) {
    check.case(Trap::Fast, [id, value, 2, 3, 4, function], [status, value, 2, 3, 4, function]);
}

/// Turns the hypervisor's tracer on and off with software trap 0xfe. While the tracer is off, calls return without entering Rust code.
pub fn traced(check: &mut Check<'_>) {
    /// A call with at most this number of instructions ends in assembly or in a leaf function. A call that enters Rust code takes more.
    const SHORT: u64 = 100;
    negotiate(Some(0));
    for on in [0, 1, 0] {
        let behind = [EOK, 0xfe, on + 20, 4, 5, 6];
        around(check, probes::around_0xfe, &[on, 2, 3, 4, 5, 6], &behind);
        let unknown = CallCase(Trap::Fast, [0, 1, 2, 3, 4, 5], [EBADTRAP, 1, 2, 3, 4, 5]);
        let same = CallCase(Trap::Core, [GROUP, 1, 0, 3, 4, 0], [EOK, 0, 0, 3, 4, 0]);
        registers(check, [unknown, same].iter());
        for (trap, call) in [(Trap::Fast, [0, 0, 5]), (Trap::Core, [GROUP, 1, 0])] {
            let long = instructions(ticks(trap, call)) > SHORT;
            check.same((on, call), long, on != 0);
        }
    }
}

/// Reports the number of instructions of a call with these %o0, %o1 and %o5.
fn count(report: &mut Report, name: &str, trap: Trap, call: [u64; 3]) {
    report.count(name, counted(trap, call));
}

/// Returns the number of instructions of a call with these %o0, %o1 and %o5. The `ta`, and the instruction that reads the clock, are not
/// included.
pub fn counted(trap: Trap, call: [u64; 3]) -> u64 {
    instructions(ticks(trap, call)).wrapping_sub(2)
}

/// Returns the number of ticks from the start to the end of a call with these %o0, %o1 and %o5.
fn ticks(trap: Trap, [o0, o1, function]: [u64; 3]) -> u64 {
    // SAFETY: the probe changes only registers that the ABI lets it change.
    unsafe {
        match trap {
            Trap::Fast => probes::ticks_fast(o0, o1, function),
            Trap::Core => probes::ticks_core(o0, o1, function),
        }
    }
}

/// Converts ticks to instructions: each instruction advances %tick by 102.4.
fn instructions(ticks: u64) -> u64 {
    (ticks * 10 + 512) / 1024
}
