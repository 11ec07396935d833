//! Makes calls for devices on which accesses trap. Accesses to channel 1 of node 0 (registers 4 and 5) and to hub 3 (registers 72 to 89)
//! always trap. On the fast path, a store to any other hub traps where the strand waits for the store. When the slow path repeats the call,
//! the store succeeds, except on hub 1 (registers 36 to 53).

use guest_abi::Trap;

use crate::calls::negotiate;
use crate::contract::{ENOACCESS, EOK, GET, Machine, SET};
use crate::preserved::{CallCase, registers};
use crate::report::{Check, Report};

/// Makes calls, and compares their registers with the expected ones.
fn calls(check: &mut Check<'_>, cases: &[CallCase]) {
    registers(check, cases.iter());
}

const fn get(id: u64, status: u64) -> CallCase {
    let value = if status == EOK { 0 } else { 1 };
    CallCase(Trap::Fast, [id, 1, 2, 3, 4, GET], [status, value, 2, 3, 4, GET])
}

const fn set(id: u64, status: u64) -> CallCase {
    CallCase(Trap::Fast, [id, 1, 2, 3, 4, SET], [status, 1, 2, 3, 4, SET])
}

pub fn run(report: &mut Report, machine: Machine) {
    negotiate(Some(1));
    let channels = [
        // The first access traps.
        get(5, ENOACCESS),
        get(5, ENOACCESS),
        get(4, ENOACCESS),
        set(4, ENOACCESS),
        get(2, EOK),
        set(3, EOK),
        get(3, EOK),
    ];
    let hubs = [
        get(54, EOK),
        set(75, ENOACCESS),
        get(75, ENOACCESS),
        get(89, ENOACCESS),
        get(54, EOK),
        set(71, EOK),
    ];
    calls(&mut report.check("a memory controller that faults"), &channels);
    if machine.hubs {
        calls(&mut report.check("a hub that faults"), &hubs);
        let late = [
            get(36, EOK),
            // A second call succeeds, which shows that the hub was released.
            set(18, EOK),
            get(18, EOK),
            set(40, ENOACCESS),
            set(40, ENOACCESS),
            get(36, ENOACCESS),
            set(19, EOK),
        ];
        calls(&mut report.check("a hub whose store faults late"), &late);
    }
}
