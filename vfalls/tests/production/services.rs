//! Tests the image's services other than the performance counters, as a small kernel uses them.

use hv_core::GuestId;
use perfctr_service::mailbox::Step;
use perfctr_service::{Grants, Right};
use platform::memory_map::start::TIME;
use simulator::execute::mailbox::GuestState;
use simulator::execute::{Limits, State, map};
use xtask::qemu::build::Production;

use super::lists::{Entry, GET, REPEAT_LIST, core, fast, retried};
use super::{Booted, ENOACCESS, Guest, MEMORY, REAL, strand};

/// The offset of two words in the guest: the address at which CPUs begin, and the address of their trap table.
const START: u64 = 0x90;
/// The offset of a string that the test writes. The hypervisor copies the string to [`COPY`] in the guest.
const TEXT: u64 = 0x8_0000;
const COPY: u64 = 0x8_0040;

const ENOCPU: u64 = 1;
const EINVAL: u64 = 6;
const EBADTRAP: u64 = 7;
const EWOULDBLOCK: u64 = 9;

const STOPPED: u64 = 1;
const RUNNING: u64 = 2;

/// A list entry with a loop, which gives other CPUs time to start or stop.
const WAIT: Entry = [4, 2000, 0, 0, 0, 0, 0, 0];

/// One of a guest's CPUs makes the calls below. Calls that take one argument have 9 in %o1, so the test sees whether they change %o1.
/// Meanwhile the guest's second CPU repeats another call, and its third CPU yields.
#[test]
#[ignore = "builds images"]
fn a_kernel_is_served() {
    let guests = [Guest::with_lists(&[1, 4, 66], "strand"), Guest::with_lists(&[9], "strand")];
    let mut booted = Booted::new(Production::Shipped, &guests);
    let [cpu, traps] = booted.words(0, START);
    let text = *b"a normal state of this guest!!!\0";
    booted.0.load(map::PARTITION + TEXT, &text).unwrap();
    booted.0.load(TIME, &1_790_000_000_u64.to_be_bytes()).unwrap();
    booted.0.input(0, b"in");
    let starts = [1, 1, cpu, traps, 1, 0, 0x10, 0];
    // Each row is a call, its expected status, and the expected value of %o1 after the call.
    let calls = [
        // cpu_state. The guest has CPUs 0 to 2; no number selects a CPU of the neighbour.
        (fast(0x17, 0, 9), 0, RUNNING),
        (fast(0x17, 1, 9), 0, RUNNING),
        (fast(0x17, 2, 9), 0, RUNNING),
        (fast(0x17, 3, 9), ENOCPU, 9),
        // cpu_stop, and then cpu_start for the same CPU.
        (fast(0x11, 0, 9), EINVAL, 9),
        (retried(0x11, 1, 9), 0, 9),
        (fast(0x17, 1, 9), 0, STOPPED),
        (fast(0x11, 1, 9), EINVAL, 9),
        (starts, 0, cpu),
        (WAIT, 0, 0),
        (fast(0x17, 1, 9), 0, RUNNING),
        // mach_set_soft_state and mach_get_soft_state. The guest must negotiate group 3 first.
        (fast(0x70, 1, REAL + TEXT), EBADTRAP, REAL + TEXT),
        (core(0, 3, 1), 0, 0),
        (fast(0x70, 1, REAL + TEXT), 0, REAL + TEXT),
        (fast(0x71, REAL + COPY, 9), 0, 1),
        // A guest can negotiate the Diagnosis group, but its functions are refused.
        (fast(0x200, REAL, 9), EBADTRAP, 9),
        (core(0, 0x300, 1), 0, 0),
        (fast(0x200, REAL, 9), ENOACCESS, 9),
        (fast(0x201, REAL, 9), ENOACCESS, 9),
        // tod_get, less than a second after power-on.
        (fast(0x50, 0, 9), 0, 1_790_000_000),
        // cons_getchar and cons_write.
        (fast(0x60, 0, 9), 0, b'i'.into()),
        (fast(0x60, 0, 9), 0, b'n'.into()),
        (fast(0x60, 0, 9), EWOULDBLOCK, 9),
        (fast(0x63, REAL + TEXT + 2, 12), 0, 12),
    ];
    let mut list = vec![WAIT];
    list.extend(calls.map(|(entry, ..)| entry));
    booted.list(0, 0, &list);
    let endless = [fast(GET, 0, 0), REPEAT_LIST];
    booted.list(0, 1, &endless);
    booted.list(0, 2, &[fast(0x12, 5, 0)]);
    booted.list(1, 0, &endless);
    booted.0.run(Limits::instructions(3_000_000));
    for (number, (entry, status, value)) in (1..).zip(calls) {
        let found = booted.entry(0, 0, number);
        if entry != WAIT {
            assert_eq!(found[1..3], [status, value], "call {number}: {entry:x?}");
        }
    }
    let mut copy = [0; 32];
    booted.0.read(map::PARTITION + COPY, &mut copy).unwrap();
    assert_eq!(copy, text);
    assert_eq!(booted.consoles()[..2], ["normal state", ""]);

    // The third CPU stays in cpu_yield until an interrupt comes. The hypervisor interrupts it when the operator revokes one of the guest's
    // rights.
    assert_eq!(booted.0.state(strand(66)), State::Halted);
    let [_, unanswered, ..] = booted.entry(0, 2, 0);
    assert_eq!(unanswered, 5);
    let mut grants = Grants::none(2).unwrap();
    grants.grant(GuestId::new(1).unwrap(), Right::Strand).unwrap();
    booted.operate(9, &Step::Reconfigure(grants), 200_000);
    let [_, status, ..] = booted.entry(0, 2, 0);
    assert_eq!(status, 0);
    // The neighbour is not affected.
    assert_eq!(booted.entry(1, 0, 0)[1], 0);
    let mut neighbour = vec![0; 0x1000];
    booted.0.read(map::PARTITION + MEMORY + TEXT, &mut neighbour).unwrap();
    assert!(neighbour.iter().all(|byte| *byte == 0));
    assert_eq!(booted.0.guest(1), GuestState::Runs);
}
