//! Tests the hypervisor's log, in which the operator reads about failures and transfers of rights. The log must stay useful even if a guest
//! causes many messages.

use guest_abi::{Hub, Mcu, Node};
use hv_core::GuestId;
use perfctr_service::mailbox::Step;
use perfctr_service::{BUSY_PAUSE_TICKS, Grants, Right};
use platform::models::FaultyUnit;
use simulator::execute::mailbox::GuestState;
use simulator::execute::{Limits, Stop, StoreBehaviour, StoreLatency};
use simulator::machine::clock::HZ;
use vfalls::cmd::boot::elf;
use xtask::qemu::build::Production;

use super::lists::{Entry, GET, HUB_PCR, REPEAT_LIST, SET, fast, repeated};
use super::{Booted, ENOACCESS, Guest, Task, image, running, strand};

/// The id of the first register of memory channel 0 on node 0. All strands in these tests are on node 0.
const CHANNEL: u64 = 2;
/// The id of the register for the L2 control of the calling strand's node.
const L2: u64 = 1;

/// Returns grants for this number of guests. Each entry of `rights` contains a guest's index and a right that this guest gets.
fn grants(guests: usize, rights: &[(usize, Right)]) -> Grants {
    let mut grants = Grants::none(guests).unwrap();
    for (guest, right) in rights {
        grants.grant(GuestId::new(*guest).unwrap(), *right).unwrap();
    }
    grants
}

/// A unit of each kind fails during a call. The calls read and write, on the fast path and on the slow path. The log has one line for each
/// failure.
#[test]
#[ignore = "builds images"]
fn a_unit_that_fails() {
    let hub = |hub: usize| (FaultyUnit::Hub(Hub::ALL[hub]), HUB_PCR + 18 * hub as u64);
    let channel =
        |mcu: usize| (FaultyUnit::Mcu(Node::Node0, Mcu::ALL[mcu]), CHANNEL + 2 * mcu as u64);
    for ((unit, register), function, said) in [
        (hub(1), GET, "hub 1 is out of service: a read at 0xe530005000"),
        (hub(2), SET, "hub 2 is out of service: a write at 0xe930006000"),
        (channel(0), GET, "memory channel 0 of node 0 is out of service: a read at 0x8400000400"),
        (channel(1), SET, "memory channel 1 of node 0 is out of service: a write at 0x8400001400"),
        (
            (FaultyUnit::L2(Node::Node0), L2),
            GET,
            "the L2 control of node 0 is out of service: a read",
        ),
        (
            (FaultyUnit::L2(Node::Node0), L2),
            SET,
            "the L2 control of node 0 is out of service: a write",
        ),
    ] {
        let mut booted = Booted::new(Production::Shipped, &[Guest::with_lists(&[3], "global")]);
        booted.list(0, 0, &[fast(function, register, 1), fast(GET, register, 0)]);
        booted.0.devices().set_faulty(unit, true);
        booted.end();
        assert_eq!(booted.0.guest(0), GuestState::Exited(0));
        assert_eq!(booted.entry(0, 0, 1)[1], ENOACCESS, "{said}");
        let expected = format!("error: {said} by guest g0 on strand 3 failed");
        let [(time, line)] = &booted.timed_log()[..] else { panic!("one line") };
        assert_eq!(*line, expected);
        let now = booted.0.now() as f64 / HZ as f64;
        assert!(*time > 0.0 && *time <= now, "{time} of {now}");
    }
}

/// A strand dies while it holds a hub, and nobody reports its death. Another strand asks for the hub repeatedly, and finds it busy for too
/// long. Between two calls for the hub, the asking strand waits for a slow store, so that the test takes few instructions.
#[test]
#[ignore = "builds images"]
fn a_unit_that_stays_busy() {
    let mut booted = Booted::new(Production::Shipped, &[Guest::with_lists(&[0, 8], "global")]);
    booted.list(0, 0, &[repeated(SET, HUB_PCR, 1), REPEAT_LIST]);
    let asks = [fast(SET, CHANNEL, 1), fast(GET, CHANNEL, 0), fast(GET, HUB_PCR, 0)];
    booted.list(0, 1, &[&[[4, 100_000, 0, 0, 0, 0, 0, 0]], &asks.repeat(40)[..]].concat());
    let held = elf::address(&elf::parse(&image(Production::Shipped)).unwrap(), "perfctr_wait_hub");
    booted.0.breakpoints().insert(held.unwrap());
    assert_eq!(booted.0.run(Limits::instructions(3_000_000)), Stop::Breakpoint(strand(0)));
    booted.0.breakpoints().clear();
    booted.0.park(strand(0));
    let latency = StoreLatency::Fixed(BUSY_PAUSE_TICKS - 100_000);
    booted.0.set_stores(StoreBehaviour { latency, without_address: false });
    booted.0.run(Limits::instructions(3_000_000));
    let said = "error: hub 0 is out of service: strand 8 found it busy for too long";
    assert_eq!(booted.log(), [said]);
}

#[test]
#[ignore = "builds images"]
fn a_guest_that_ends_by_a_trap() {
    let mut booted = running(&[Guest::new(Task::Fatal, &[0]), Guest::new(Task::Endless, &[1])]);
    let said = booted.log();
    let [said] = &said[..] else { panic!("{said:?}") };
    let place = said
        .strip_prefix("warning: guest g0 is ended by trap 0x10 (illegal instruction) at 0x8000")
        .and_then(|rest| rest.strip_suffix(" on strand 0"));
    assert!(place.is_some_and(|place| place.len() == 4), "{said}");
    let (told, number) = booted.failure_records();
    assert!(told[0].starts_with("the guest is ended by the trap 0x10 at 0x8000"), "{told:?}");
    assert_eq!(number, 1);
    assert_eq!(booted.consoles()[1], "");
}

#[test]
#[ignore = "builds images"]
fn rights_that_move() {
    let guest = |strands, rights| Guest { rights, ..Guest::new(Task::Endless, strands) };
    let mut booted = running(&[guest(&[3, 4], "global"), guest(&[11], ""), guest(&[19], "strand")]);
    let all = [(1, Right::Global), (0, Right::Strand), (1, Right::Strand)];
    booted.operate(19, &Step::Reconfigure(grants(3, &all)), 3_000_000);
    let moved = "note: the counter right global moves from guest g0 to guest g1, once ";
    let said = booted.log();
    assert_eq!(said.len(), 4, "{said:?}");
    assert!(
        said[3].starts_with(moved) && said[3].ends_with(" strands have acknowledged"),
        "{said:?}"
    );
    assert_eq!(said[0], "note: guest g2 loses the counter right strand");
    assert!(said[1].starts_with("note: guest g0 gets the counter right strand"), "{said:?}");
    assert!(said[2].starts_with("note: guest g1 gets the counter right strand"), "{said:?}");
    // Strand 11 performs this step. It is also the only strand that must acknowledge the change, and it acknowledges before it writes to
    // the log. The message therefore does not say that strands have yet to acknowledge.
    let all = [(0, Right::Global), (0, Right::Strand), (1, Right::Strand)];
    booted.operate(11, &Step::Reconfigure(grants(3, &all)), 3_000_000);
    assert_eq!(booted.log(), ["note: the counter right global moves from guest g1 to guest g0"]);
    // A step that changes nothing is not logged.
    booted.operate(19, &Step::Reconfigure(grants(3, &all)), 3_000_000);
    assert_eq!(booted.log(), [""; 0]);
    assert_eq!(booted.consoles(), [""; 4]);
}

/// Every store of a guest to a unit fails, and the processor does not report the address. The unit therefore stays in service, and the
/// guest continues. The log contains a few lines, and the number of omitted lines. A hub breaks at the same time; the line about this hub
/// is not omitted.
#[test]
#[ignore = "builds images"]
fn a_guest_that_floods() {
    let guests = [Guest::with_lists(&[0], "global"), Guest::new(Task::Endless, &[1])];
    let mut booted = Booted::new(Production::Shipped, &guests);
    let stores: Vec<Entry> = vec![repeated(SET, CHANNEL, 0x11), REPEAT_LIST];
    booted.list(0, 0, &stores);
    booted.0.run(Limits::instructions(3_000_000));
    let latency = StoreLatency::Fixed(100);
    booted.0.set_stores(StoreBehaviour { latency, without_address: true });
    booted.0.devices().set_faulty(FaultyUnit::Mcu(Node::Node0, Mcu::ALL[0]), true);
    booted.0.run(Limits::instructions(4_000_000));
    let said = booted.log();
    let line = "warning: a store of guest g0 to a device failed on strand 0; the processor does not say where";
    assert_eq!(said, [line; 16]);
    let (left_out, (_, recorded)) = (booted.0.omitted_messages(), booted.0.failures());
    assert!(left_out > 1000, "{left_out}");
    assert_eq!(recorded, 16);
    booted.0.devices().set_faulty(FaultyUnit::Hub(Hub::ALL[0]), true);
    booted.list(0, 0, &[repeated(GET, HUB_PCR, 0), repeated(SET, CHANNEL, 0x11), REPEAT_LIST]);
    booted.0.run(Limits::instructions(100_000));
    let line =
        "error: hub 0 is out of service: a read at 0xe130004000 by guest g0 on strand 0 failed";
    assert_eq!(booted.log(), [line]);
    assert!(booted.0.omitted_messages() > left_out);
    assert_eq!(booted.0.guest(1), GuestState::Runs);
}

/// The operator resets a guest 40 times, and the guest traps after each reset. The failure records count every trap, but the log has few
/// lines.
#[test]
#[ignore = "builds images"]
fn a_guest_that_traps_again_and_again() {
    let mut booted = running(&[Guest::new(Task::Fatal, &[0]), Guest::new(Task::Endless, &[1])]);
    for _ in 0..40 {
        booted.operate(1, &Step::Reset(GuestId::new(0).unwrap()), 200_000);
        assert_eq!(booted.0.guest(0), GuestState::Trapped);
    }
    assert_eq!(booted.log().len(), 16);
    assert_eq!((booted.0.omitted_messages(), booted.0.failures().1), (25, 41));
}
