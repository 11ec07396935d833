//! Unexpected traps of the hypervisor. They end the strand's guest, and everything else continues.

use guest_abi::StrandId;
use hv_core::GuestId;
use perfctr_service::mailbox::Step;
use simulator::execute::mailbox::GuestState;
use simulator::execute::{Execution, Limits, Stop};
use simulator::interpreter::{Level, Trap};
use xtask::qemu::build::Production;

use super::lists::{AGAIN, Entry, GET, HUB_PCR, SET, core, repeated};
use super::{Booted, Guest, image};

/// Software trap 3, which is unexpected because the hypervisor executes no `ta`.
const UNEXPECTED: u64 = 3;

/// The number of times that a test waits for something, and the instructions in each wait.
const SLICES: usize = 100;
const SLICE: u64 = 30_000;

fn strand(number: usize) -> StrandId {
    StrandId::new(number).unwrap()
}

/// Every kind of call. Only the last two change their entries in the list.
fn list() -> Vec<Entry> {
    let calls = [
        (GET, 0),
        (SET, 0),
        (GET, 2),
        (SET, 2),
        (GET, HUB_PCR),
        (SET, HUB_PCR),
        (GET, 1),
        (SET, 1),
        (GET, 90),
        (GET, 6),
        (5, 0),
        (0x17, 0),
    ];
    let calls = calls.map(|(function, register)| repeated(function, register, 1));
    [&calls[..], &[core(3, 0x205, 0), [2, 0x205, 1, 1, 0, 0, 0, 0], AGAIN]].concat()
}

/// Returns a machine with two guests that make calls. The first one has made its whole list once.
fn running() -> Booted {
    let guests = [Guest::listed(&[0], "global,strand"), Guest::listed(&[8], "strand")];
    let mut booted = Booted::boot_nodes(1, &image(Production::Shipped), &guests, None);
    booted.list(0, 0, &list());
    booted.list(1, 0, &[repeated(GET, 0, 0), AGAIN]);
    booted.0.run(Limits::instructions(2_000_000));
    booted
}

/// Makes the hypervisor take an unexpected trap on strand 0. Returns what is wrong afterwards.
fn wrong_after_trap(at: &Execution, step: bool) -> Option<String> {
    let mut booted = Booted(at.clone());
    if booted.0.strand_mut(strand(0)).take(Trap::software(UNEXPECTED).into()).is_err() {
        return Some("no trap level is left".to_owned());
    }
    let mut states = [GuestState::Runs; 2];
    for _ in 0..SLICES {
        if booted.0.run(Limits::instructions(SLICE)) != Stop::Limit {
            return Some("the machine stops".to_owned());
        }
        states = [0, 1].map(|guest| booted.0.guest(guest));
        if states[0] != GuestState::Runs {
            break;
        }
    }
    if states != [GuestState::Failed, GuestState::Runs] {
        let pc = booted.0.strand(strand(0)).pc;
        return Some(format!("{states:?}, at {pc:#x}: {:?}", booted.0.failures()));
    }
    let (failures, _) = booted.0.failures();
    let told: Vec<String> = failures.iter().map(ToString::to_string).collect();
    let is_trap =
        |told: &str| told.starts_with("the hypervisor took the unexpected trap 0x103 at 0x1");
    // L2 control is out of service if the strand was at work on it.
    let l2_works = match &*told {
        [trap] if is_trap(trap) => true,
        [trap, l2]
            if is_trap(trap)
                && l2.contains("_L2 is out of service: a strand died at work on it") =>
        {
            false
        }
        _ => return Some(format!("{told:?}")),
    };
    let is_answered = |booted: &mut Booted| {
        let mut slices = 0..SLICES;
        slices.any(|_| {
            booted.0.run(Limits::instructions(SLICE));
            booted.0.operated().is_some()
        })
    };
    if step && !is_answered(&mut booted) {
        return Some("the operator gets no answer".to_owned());
    }
    // What the strand held is free: the guest restarts, and both guests' calls are served.
    booted.0.operate(strand(8), &Step::Reset(GuestId::new(0).unwrap())).unwrap();
    if !is_answered(&mut booted) {
        return Some("the guest is not reset".to_owned());
    }
    let calls = booted.calls();
    let served = |strand, register| {
        let calls = calls.borrow();
        calls.iter().any(|call| {
            let made = (call.strand.index(), call.function, call.arguments[0]);
            made == (strand, GET, register) && call.status == 0
        })
    };
    let all = [(8, 0), (0, 0), (0, 2), (0, HUB_PCR), (0, 1)];
    let all = &all[..if l2_works { 5 } else { 4 }];
    for _ in 0..SLICES {
        booted.0.run(Limits::instructions(SLICE));
        if all.iter().all(|(strand, register)| served(*strand, *register)) {
            return None;
        }
    }
    let missing = all.iter().filter(|(strand, register)| !served(*strand, *register));
    Some(format!("not served: {:?}", missing.collect::<Vec<_>>()))
}

/// Injects a trap at each of the hypervisor's instructions that the run executes, in calls and
/// while the operator makes a request.
#[test]
#[ignore = "builds images"]
fn the_hypervisor_traps_at_any_instruction() {
    let every = if std::env::var_os("ALL").is_some() { 1 } else { 11 };
    let mut booted = running();
    let mut wrong = Vec::new();
    let mut number = 0;
    let mut asked = false;
    while number < 6_000 {
        if number == 4_000 && !asked {
            booted.0.operate(strand(0), &Step::Look(2)).unwrap();
            asked = true;
        }
        if booted.0.strand(strand(0)).level() == Level::Hyperprivileged {
            number += 1;
            if number % every == 0
                && let Some(why) = wrong_after_trap(&booted.0, asked)
            {
                let pc = booted.0.strand(strand(0)).pc;
                wrong.push(format!("instruction {number}, at {pc:#x}: {why}"));
            }
        }
        booted.0.step(strand(0));
        booted.0.step(strand(8));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
