//! Counts the instructions of each kind of call.

use guest_abi::Trap;

use crate::calls::negotiate;
use crate::contract::{EBADTRAP, EOK, GET, GROUP, Machine, SET};
use crate::preserved::{Way, around, registers};
use crate::probes;
use crate::report::{Check, Report};

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
        ("refused", Trap::Fast, 90, 0, GET),
        ("refused_set", Trap::Fast, 90, 0, SET),
        ("unknown_fast", Trap::Fast, 0, 0, 5),
        // The probe passes the function number, 0, also in %o2, the minor version. So the guest negotiates version 1.0.
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

/// Turns the hypervisor's tracer on and off through software trap 0xfe. While the tracer is off, calls return without entering Rust.
pub fn traced(check: &mut Check<'_>) {
    /// More instructions than any call that ends in assembly or in a leaf function.
    const SHORT: u64 = 100;
    negotiate(Some(0));
    for on in [0, 1, 0] {
        let behind = [EOK, 0xfe, on + 20, 4, 5, 6];
        around(check, probes::around_0xfe, &[on, 2, 3, 4, 5, 6], &behind);
        let unknown = Way(Trap::Fast, [0, 1, 2, 3, 4, 5], [EBADTRAP, 1, 2, 3, 4, 5]);
        let same = Way(Trap::Core, [GROUP, 1, 0, 3, 4, 0], [EOK, 0, 0, 3, 4, 0]);
        registers(check, [unknown, same].iter());
        for (trap, call) in [(Trap::Fast, [0, 0, 5]), (Trap::Core, [GROUP, 1, 0])] {
            let long = instructions(ticks(trap, call)) > SHORT;
            check.same((on, call), long, on != 0);
        }
    }
}

/// Reports the instructions of a call with these %o0, %o1 and %o5.
pub fn count(report: &mut Report, name: &str, trap: Trap, call: [u64; 3]) {
    // The count leaves out the read of the clock and the `ta`.
    report.count(name, instructions(ticks(trap, call)).wrapping_sub(2));
}

/// Returns the ticks between the start and the end of a call with these %o0, %o1 and %o5.
fn ticks(trap: Trap, [o0, o1, function]: [u64; 3]) -> u64 {
    // SAFETY: the probe changes only registers that the ABI lets it change.
    unsafe {
        match trap {
            Trap::Fast => probes::ticks_fast(o0, o1, function),
            Trap::Core => probes::ticks_core(o0, o1, function),
        }
    }
}

/// Converts ticks to instructions: %tick advances by 102.4 per instruction.
fn instructions(ticks: u64) -> u64 {
    (ticks * 10 + 512) / 1024
}
