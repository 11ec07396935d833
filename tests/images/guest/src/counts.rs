//! How many instructions a call takes.

use guest_abi::Trap;

use crate::calls::negotiate;
use crate::contract::{GET, GROUP, Machine, SET};
use crate::probes;
use crate::report::Report;

pub fn run(report: &mut Report, machine: Machine) {
    negotiate(Some(1));
    let hub = 62;
    let calls = [
        ("get_dram", Trap::Fast, 3, 0, GET),
        ("set_dram", Trap::Fast, 3, 0x55, SET),
        ("get_pcr", Trap::Fast, 0, 0, GET),
        ("set_pcr", Trap::Fast, 0, 0x55, SET),
        ("get_zambezi", Trap::Fast, hub, 0, GET),
        ("set_zambezi", Trap::Fast, hub, 0x55, SET),
        ("refused", Trap::Fast, 90, 0, GET),
        ("negotiate", Trap::Core, GROUP, 1, 0),
    ];
    for (name, trap, o0, o1, function) in calls {
        if o0 == hub && !machine.hubs {
            continue;
        }
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
    // SAFETY: as above.
    let nothing = instructions(unsafe { probes::ticks_none() });
    report
        .check("the clock counts instructions")
        .same("rd", nothing, 1);
}

/// The clock goes on by 102.4 an instruction.
fn instructions(ticks: u64) -> u64 {
    (ticks * 10 + 512) / 1024
}
