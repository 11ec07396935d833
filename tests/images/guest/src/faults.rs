//! Devices that trap: channel 1 of node 0 (registers 4 and 5), and hub 3 (registers 72 to 89). Stores to hub 1 (registers 36 to
//! 53) trap on the fast path, where the strand waits for them. Stores to the other hubs trap there too, but succeed when the call
//! is repeated on the slow path.

use guest_abi::Trap;

use crate::calls::negotiate;
use crate::contract::{ENOACCESS, EOK, GET, Machine, SET};
use crate::preserved::{Way, registers};
use crate::report::Report;

pub fn run(report: &mut Report, machine: Machine) {
    negotiate(Some(1));
    let get = |id, status| {
        let value = if status == EOK { 0 } else { 1 };
        Way(Trap::Fast, [id, 1, 2, 3, 4, GET], [status, value, 2, 3, 4, GET])
    };
    let set = |id, status| Way(Trap::Fast, [id, 1, 2, 3, 4, SET], [status, 1, 2, 3, 4, SET]);
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
    let mut check = report.check("a memory controller that faults");
    registers(&mut check, channels.iter());
    drop(check);
    if machine.hubs {
        let mut check = report.check("a hub that faults");
        registers(&mut check, hubs.iter());
        drop(check);
        let late = [
            get(36, EOK),
            // A second call succeeds: the hub was released.
            set(18, EOK),
            get(18, EOK),
            set(40, ENOACCESS),
            set(40, ENOACCESS),
            get(36, ENOACCESS),
            set(19, EOK),
        ];
        let mut check = report.check("a hub whose store faults late");
        registers(&mut check, late.iter());
    }
}
