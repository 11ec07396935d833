//! How many instructions a call takes.

use guest_abi::Trap;

use crate::calls::negotiate;
use crate::contract::{GET, GROUP, Machine, SET};
use crate::probes;
use crate::report::Report;

pub fn run(report: &mut Report, machine: Machine) {
    negotiate(Some(1));
    let hub = 62;
    for (name, trap, o0, o1, function) in [
        ("get_dram", Trap::Fast, 3, 0, GET),
        ("set_dram", Trap::Fast, 3, 0x55, SET),
        ("get_pcr", Trap::Fast, 0, 0, GET),
        ("set_pcr", Trap::Fast, 0, 0x55, SET),
        ("get_zambezi", Trap::Fast, hub, 0, GET),
        ("set_zambezi", Trap::Fast, hub, 0x55, SET),
        ("refused", Trap::Fast, 90, 0, GET),
        ("unknown_fast", Trap::Fast, 0, 0, 5),
        // Version 1.0, because the probe has the number of the function in %o2, too.
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
    // SAFETY: the probe changes nothing but registers that the ABI lets it change.
    let nothing = instructions(unsafe { probes::ticks_none() });
    report
        .check("the clock counts instructions")
        .same("rd", nothing, 1);
}

/// Reports the instructions of a call with these in %o0, %o1 and %o5.
fn count(report: &mut Report, name: &str, trap: Trap, [o0, o1, function]: [u64; 3]) {
    // SAFETY: the probe changes nothing but registers that the ABI lets it change.
    let ticks = unsafe {
        match trap {
            Trap::Fast => probes::ticks_fast(o0, o1, function),
            Trap::Core => probes::ticks_core(o0, o1, function),
        }
    };
    // What is between the two readings of the clock, but for the reading itself and the `ta`.
    report.count(name, instructions(ticks).wrapping_sub(2));
}

/// The clock goes on by 102.4 an instruction.
fn instructions(ticks: u64) -> u64 {
    (ticks * 10 + 512) / 1024
}
