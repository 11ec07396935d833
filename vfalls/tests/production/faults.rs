//! Tests failing devices and dying strands.

use guest_abi::{Hub, Mcu, Node, StrandId};
use hv_core::GuestId;
use perfctr_service::mailbox::Step;
use platform::models::FaultyUnit;
use simulator::execute::calls::Call;
use simulator::execute::mailbox::GuestState;
use simulator::execute::{Limits, Stop, map};
use vfalls::cmd::boot::elf;
use xtask::qemu::build::Production;

use super::lists::{EWOULDBLOCK, Entry, GET, HUB_PCR, REPEAT_LIST, SET, fast, repeated, retried};
use super::{Booted, ENOACCESS, Guest, image, strand};

/// Stores to devices fail, either after their call has returned or while the call waits for the store. Afterwards, the units are out of
/// service, everything else works, and the neighbour is not affected.
#[test]
#[ignore = "builds images"]
fn a_store_fails_late() {
    const MCU: [u64; 2] = [2, 4];
    const L2: u64 = 1;
    // A loop of 3000 instructions.
    const WAIT: Entry = [4, 1000, 0, 0, 0, 0, 0, 0];
    let guests = [Guest::with_lists(&[0], "global,strand"), Guest::with_lists(&[8], "strand")];
    let mut booted = Booted::new(Production::Shipped, &guests);
    let faulty = [
        (MCU[0], FaultyUnit::Mcu(Node::Node0, Mcu::ALL[0])),
        (MCU[1], FaultyUnit::Mcu(Node::Node0, Mcu::ALL[1])),
        (HUB_PCR, FaultyUnit::Hub(Hub::ALL[0])),
    ];
    for (_, unit) in faulty {
        booted.0.devices().set_faulty(unit, true);
    }
    let calls = [
        // This store fails between two calls.
        (fast(SET, MCU[0], 0x11), 0),
        (WAIT, 0),
        (fast(GET, MCU[0], 0), ENOACCESS),
        (fast(SET, MCU[0] + 1, 0), ENOACCESS),
        (fast(SET, 0, 2), 0),
        // This store fails during the next call, which succeeds.
        (fast(SET, MCU[1], 0x11), 0),
        (fast(SET, L2, 1), 0),
        (WAIT, 0),
        (fast(GET, L2, 0), 0),
        (fast(GET, MCU[1], 0), ENOACCESS),
        // This store fails while its call waits for it.
        (fast(SET, HUB_PCR, 0x0101), ENOACCESS),
        (WAIT, 0),
        (fast(GET, HUB_PCR, 0), ENOACCESS),
        (fast(GET, 0, 0), 0),
    ];
    booted.list(0, 0, &calls.map(|(entry, _)| entry));
    booted.list(1, 0, &[fast(GET, 0, 0), REPEAT_LIST]);
    let made = booted.calls();
    // Each device fails for one store and then works again, but its unit stays out of service.
    for (register, unit) in faulty {
        let is_made = |calls: &[Call]| {
            let mut calls = calls.iter();
            calls.any(|call| (call.function, call.arguments[0]) == (SET, register))
        };
        while !is_made(&made.borrow()) {
            assert_eq!(booted.0.run(Limits::instructions(100)), Stop::Limit);
        }
        booted.0.run(Limits::instructions(1000));
        booted.0.devices().set_faulty(unit, false);
    }
    booted.0.run(Limits::instructions(100_000));
    for (number, (entry, status)) in calls.into_iter().enumerate() {
        let found = booted.entry(0, 0, number);
        if entry[0] == 1 {
            assert_eq!(found[1], status, "call {number}: {entry:x?}");
        }
    }
    assert_eq!(booted.entry(0, 0, 8)[2], 1);
    assert_eq!(booted.entry(0, 0, 13)[2], 2);
    let made = made.borrow();
    let of_first = |number: &u64, register| {
        let of_register =
            made.iter().find(|call| (call.function, call.arguments[0]) == (*number, register));
        of_register.unwrap()
    };
    // A store takes at least 80 cycles. The next call began sooner, so the store was still in
    // flight.
    let (set, next) = (of_first(&SET, MCU[1]), of_first(&SET, L2));
    assert!(next.began < set.ended + 80, "{set:?} {next:?}");
    let neighbours = made.iter().filter(|call| call.strand.index() == 8);
    let (mut calls, mut last) = (0, 0);
    for call in neighbours.filter(|call| call.function == GET) {
        assert_eq!(call.status, 0);
        (calls, last) = (calls + 1, call.ended);
    }
    assert!(calls > 100 && last > booted.0.now() - 1000, "{calls}");
}

/// Two strands die: one holds a hub, and the other has asked for it. No strand gets the hub until the operator reports the deaths. After
/// the report, all other strands have their turns. The neighbour is not affected.
#[test]
#[ignore = "builds images"]
fn a_strand_dies_with_a_hub() {
    /// The address of an endless loop (`ba .`) in unused memory. A dead strand executes this loop.
    const DEAD: u64 = map::PARTITION + 0x7f_0000;
    const WORDS: [u32; 2] = [0x1080_0000, 0x0100_0000];
    const TURNS: usize = 8;
    let strands: Vec<usize> = (0..16).collect();
    let guests = [Guest::with_lists(&strands, "global"), Guest::with_lists(&[64], "strand")];
    let mut booted = Booted::new(Production::Shipped, &guests);
    booted.0.load(DEAD, WORDS.map(u32::to_be_bytes).as_flattened()).unwrap();
    let list: Vec<Entry> =
        (0..TURNS).map(|turn| retried([SET, GET][turn % 2], HUB_PCR, 0x0101)).collect();
    for cpu in 0..16 {
        booted.list(0, cpu, &list);
    }
    booted.list(1, 0, &[repeated(GET, 0, 0), REPEAT_LIST]);
    // The first strand dies after its store to the hub. The second strand dies when it begins another call for the hub.
    let image = image(Production::Shipped);
    let elf = elf::parse(&image).unwrap();
    let dead: Vec<StrandId> = ["perfctr_wait_hub", "perfctr_slow"]
        .map(|name| {
            let at = elf::address(&elf, name).unwrap();
            booted.0.breakpoints().insert(at);
            let Stop::Breakpoint(strand) = booted.0.run(Limits::instructions(5_000_000)) else {
                panic!("nobody comes to {name}");
            };
            booted.0.breakpoints().remove(&at);
            let registers = booted.0.strand_mut(strand);
            (registers.pc, registers.npc) = (DEAD, DEAD + 4);
            strand
        })
        .into();
    assert_ne!(dead[0], dead[1]);
    let made = booted.calls();
    booted.0.run(Limits::instructions(300_000));
    let of_hub = |status: u64| {
        let is_of_hub = |call: &&Call| (call.arguments[0], call.status) == (HUB_PCR, status);
        made.borrow().iter().filter(is_of_hub).count()
    };
    assert_eq!(of_hub(0), 0);
    assert!(of_hub(EWOULDBLOCK) > 100);
    for strand in &dead {
        booted.operate(64, &Step::Died(*strand), 300_000);
    }
    booted.0.run(Limits::instructions(12_000_000));
    // Each of the other 14 strands made all its calls.
    assert_eq!(of_hub(0), 14 * TURNS);
    for cpu in (0..16).filter(|cpu| dead.iter().all(|dead| dead.index() != *cpu)) {
        for turn in 0..TURNS {
            let [_, status, value, ..] = booted.entry(0, cpu as u64, turn);
            assert_eq!((status, value), (0, 0x0101), "CPU {cpu}, {turn}");
        }
    }
    let made = made.borrow();
    let mut neighbours = made.iter().filter(|call| call.strand.index() == 64);
    assert!(neighbours.clone().count() > 1000);
    assert!(neighbours.all(|call| call.status == 0));
}

/// The operator reports that all of a guest's strands have died. A reset cannot restart this guest, because it has no strand left. The
/// other guest is not affected.
#[test]
#[ignore = "builds images"]
fn a_guest_fails_with_its_last_strand() {
    let guests = [Guest::with_lists(&[0, 1], "strand"), Guest::with_lists(&[8], "strand")];
    let mut booted = Booted::new(Production::Shipped, &guests);
    let endless = [repeated(GET, 0, 0), REPEAT_LIST];
    booted.list(0, 0, &endless);
    booted.list(0, 1, &endless);
    // The guest executes a loop of 6,000,000 instructions before it exits.
    booted.list(1, 0, &[[4, 2_000_000, 0, 0, 0, 0, 0, 0]]);
    booted.0.run(Limits::instructions(3_000_000));
    let mut states = Vec::new();
    let dead = [0, 1].map(strand);
    let reset = Step::Reset(GuestId::new(0).unwrap());
    for step in [Step::Died(dead[0]), Step::Died(dead[1]), reset] {
        if let Step::Died(strand) = step {
            booted.0.park(strand);
        }
        booted.operate(8, &step, 200_000);
        states.push(booted.0.guest(0));
    }
    use GuestState::{Failed, Runs};
    assert_eq!(states, [Runs, Failed, Failed]);
    assert_eq!(booted.0.guest(1), Runs);
    assert_eq!(booted.0.run(Limits::instructions(20_000_000)), Stop::Ended);
    assert_eq!(booted.0.guest(1), GuestState::Exited(0));
}
