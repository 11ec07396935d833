//! Makes calls with every function number. In any version, the FAST trap serves only functions 0x106 and 0x107, and all 64 bits of the
//! number matter.

use guest_abi::Trap;
use guest_abi::trap::{CONS_PUTCHAR, EXIT};
use perfctr_service::Grant;
use platform::{Machine, Model};

use super::{VERSIONS, strand};
use crate::configuration::guest;
use crate::{Configuration, Part, System};

/// Calls all functions, in one configuration per version.
pub const FUNCTIONS: Part = Part {
    name: "function numbers",
    limit: VERSIONS.len(),
    configuration: |_| {
        let only = guest([0], Grant::ALL).with_compatible(true);
        let machine = Machine::new(Model::Batoka, 4).ok()?;
        Some(Configuration::new(machine, [only]))
    },
    run: functions,
};

fn functions(number: usize, configuration: &Configuration, system: &mut dyn System) {
    let around = [8u32, 9, 16, 31, 32, 48, 62, 63]
        .into_iter()
        .flat_map(|bit| (0..0x210).map(move |low| 1 << bit | low));
    let all = (0..0x210).chain(around).chain(u64::MAX - 0x200..=u64::MAX);
    for function in all {
        system.start(configuration, 0, VERSIONS[number]);
        for first in [0, 2, 18, 0x41] {
            for trap in [Trap::Fast, Trap::Core] {
                // Skips two functions of the CORE trap: one prints a character, and the other ends the guest.
                if trap == Trap::Core && matches!(function, CONS_PUTCHAR | EXIT) {
                    continue;
                }
                let registers = [first, 0x11, 0x22, 0x33, 0x44, function];
                system.call(strand(0), trap, registers);
            }
        }
    }
    system.state();
}
