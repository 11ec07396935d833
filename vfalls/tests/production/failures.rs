//! Tests unexpected traps in the hypervisor. Such a trap must end the guest that owns the trapped strand, and everything else must
//! continue.

use guest_abi::{Mcu, Node};
use hv_core::GuestId;
use perfctr_service::mailbox::Step;
use perfctr_service::{Grants, Right, Unit};
use platform::models::FaultyUnit;
use simulator::execute::mailbox::GuestState;
use simulator::execute::{Execution, Limits, Stop};
use simulator::interpreter::{Level, Trap};
use simulator::operator::Answer;
use xtask::qemu::build::Production;

use super::lists::{Entry, GET, HUB_PCR, REPEAT_LIST, SET, core, repeated};
use super::{Booted, Guest, image, strand};

/// A software trap number. The hypervisor executes no `ta`, so it does not expect this trap.
pub(super) const UNEXPECTED: u64 = 3;

/// The number of waits after which a test gives up. In each wait, the machine executes [`SLICE`] instructions.
const SLICES: usize = 100;
const SLICE: u64 = 30_000;

/// While the hypervisor performs an operator's request, a test injects a trap at every 97th hypervisor instruction.
const REQUESTS: u64 = 97;

/// Returns a list with every kind of call. Only the last two calls store their results in the list.
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
    [&calls[..], &[core(3, 0x205, 0), [2, 0x205, 1, 1, 0, 0, 0, 0], REPEAT_LIST]].concat()
}

/// Returns a machine with two guests that make calls. The first guest has made each call of its list once.
pub(super) fn running(hypervisor: &[u8]) -> Booted {
    let guests = [Guest::with_lists(&[0], "global,strand"), Guest::with_lists(&[8], "strand")];
    let mut booted = Booted::boot_nodes(1, hypervisor, &guests, None);
    booted.list(0, 0, &list());
    let gets = [0, 2, HUB_PCR, 1].map(|register| repeated(GET, register, 0));
    booted.list(1, 0, &[&gets[..], &[REPEAT_LIST]].concat());
    booted.0.run(Limits::instructions(2_000_000));
    booted
}

/// Makes the hypervisor take an unexpected trap on strand 0. `step` is `true` if an operator's request is pending. Returns a description of
/// what is wrong afterwards; `None` if nothing is wrong.
pub(super) fn wrong_after_trap(at: &Execution, step: bool) -> Option<String> {
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
    let (told, _) = booted.failure_records();
    let is_trap =
        |told: &str| told.starts_with("the hypervisor took the unexpected trap 0x103 at 0x1");
    // If the strand was using the L2 control, the L2 control goes out of service.
    let l2_works = match &*told {
        [trap] if is_trap(trap) => true,
        [trap, l2]
            if is_trap(trap)
                && l2.contains("_L2 is out of service: a strand died while working on it") =>
        {
            false
        }
        _ => return Some(format!("{told:?}")),
    };
    if step && answer(&mut booted).is_none() {
        return Some("the operator gets no answer".to_owned());
    }
    // The guest restarts and both guests' calls are served, so everything that the strand held is free.
    booted.0.operate(strand(8), &Step::Reset(GuestId::new(0).unwrap())).unwrap();
    if answer(&mut booted).is_none() {
        return Some("the guest is not reset".to_owned());
    }
    // The interrupted request may have moved some or all rights, so the original rights are granted again.
    if step && !(0..SLICES).any(|_| is_done(&mut booted, &Step::Reconfigure(grants(0)))) {
        return Some("the rights do not return".to_owned());
    }
    let all = [(8, 0), (0, 0), (0, 2), (0, HUB_PCR), (0, 1)];
    not_served(&mut booted, &all[..if l2_works { 5 } else { 4 }])
}

/// Returns the grants of two guests. Both guests have `strand`, and the guest with index `global` has `global`.
fn grants(global: usize) -> Grants {
    let mut grants = Grants::none(2).unwrap();
    for (guest, right) in [(0, Right::Strand), (1, Right::Strand), (global, Right::Global)] {
        grants.grant(GuestId::new(guest).unwrap(), right).unwrap();
    }
    grants
}

/// Makes strand 8 perform an operator's request. Returns `true` if the operator gets an answer in time and the answer is not an error.
fn is_done(booted: &mut Booted, step: &Step) -> bool {
    booted.0.operate(strand(8), step).unwrap();
    matches!(answer(booted), Some(Ok(_)))
}

/// Returns the operator's answer to a step; `None` if no answer comes in time.
fn answer(booted: &mut Booted) -> Option<Answer> {
    (0..SLICES).find_map(|_| {
        booted.0.run(Limits::instructions(SLICE));
        booted.0.operated()
    })
}

/// Runs until the gets in `all` are served. Each get is a strand and a register. Returns a message that lists the gets that were not served
/// in time.
fn not_served(booted: &mut Booted, all: &[(usize, u64)]) -> Option<String> {
    let calls = booted.calls();
    let is_served = |(strand, register): &(usize, u64)| {
        let calls = calls.borrow();
        calls.iter().any(|call| {
            let made = (call.strand.index(), call.function, call.arguments[0]);
            made == (*strand, GET, *register) && call.status == 0
        })
    };
    for _ in 0..SLICES {
        booted.0.run(Limits::instructions(SLICE));
        if all.iter().all(is_served) {
            return None;
        }
    }
    let missing = all.iter().filter(|get| !is_served(get));
    Some(format!("not served: {:?}", missing.collect::<Vec<_>>()))
}

/// Injects a trap at every 11th hypervisor instruction during calls. With `ALL` in the environment, injects a trap at every instruction.
#[test]
#[ignore = "builds images"]
fn the_hypervisor_traps_at_any_instruction() {
    let (number, wrong) = traps_everywhere(&mut running(&image(Production::Shipped)), 4_000, None);
    assert!(wrong.is_empty(), "{} of {number} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Injects traps while the hypervisor performs an operator's request.
#[test]
#[ignore = "builds images"]
fn the_hypervisor_traps_in_any_request() {
    let ready = running(&image(Production::Shipped)).0;
    let unit = Unit::Mcu(Node::Node0, Mcu::ALL[0]);
    for step in [
        Step::ReadState(2),
        Step::Reconfigure(grants(1)),
        Step::ReturnToService(unit),
        Step::Reset(GuestId::new(1).unwrap()),
    ] {
        let (number, wrong) = traps_everywhere(&mut Booted(ready.clone()), 20_000, Some(&step));
        assert!(wrong.is_empty(), "{step:?}: {} wrong:\n{}", wrong.len(), wrong.join("\n"));
        assert!(number > 300, "{step:?}: {number}");
    }
}

/// Injects traps on strand 0 within the next `most` hypervisor instructions. If there is a request `step`, every [`REQUESTS`]th instruction
/// traps, and the injection stops when the operator gets an answer. Without a request, every 11th instruction traps. With `ALL` in the
/// environment, every instruction traps. Returns the number of instructions, and a description of each failure.
fn traps_everywhere(booted: &mut Booted, most: u64, step: Option<&Step>) -> (u64, Vec<String>) {
    let every = if step.is_some() { REQUESTS } else { 11 };
    let every = if std::env::var_os("ALL").is_some() { 1 } else { every };
    let mut wrong = Vec::new();
    let mut number = 0;
    if let Some(step) = step {
        booted.0.operate(strand(0), step).unwrap();
    }
    while number < most && booted.0.operated().is_none() {
        if booted.0.strand(strand(0)).level() == Level::Hyperprivileged {
            number += 1;
            if number % every == 0
                && let Some(why) = wrong_after_trap(&booted.0, step.is_some())
            {
                let pc = booted.0.strand(strand(0)).pc;
                wrong.push(format!("instruction {number}, at {pc:#x}: {why}"));
            }
        }
        booted.0.step(strand(0));
        booted.0.step(strand(8));
    }
    (number, wrong)
}

/// Returns a machine with two guests, whose strands are 8 and 16. Strand 0 has no guest.
fn without_guest() -> Booted {
    let guests = [Guest::with_lists(&[8], "global,strand"), Guest::with_lists(&[16], "strand")];
    let mut booted = Booted::boot_nodes(1, &image(Production::Shipped), &guests, None);
    booted.list(0, 0, &list());
    booted.list(1, 0, &[repeated(GET, 0, 0), REPEAT_LIST]);
    booted.0.run(Limits::instructions(2_000_000));
    booted
}

/// A strand without a guest takes an unexpected trap while it serves the operator. The strand goes out of service, and the guests continue.
#[test]
#[ignore = "builds images"]
fn a_strand_without_a_guest_leaves_service() {
    let every = if std::env::var_os("ALL").is_some() { 1 } else { REQUESTS };
    let mut booted = without_guest();
    let halted = booted.0.counts(strand(0)).all();
    booted.0.operate(strand(0), &Step::ReadState(2)).unwrap();
    while booted.0.counts(strand(0)).all() == halted {
        booted.0.run(Limits::instructions(1));
    }
    let mut number = 0;
    while booted.0.operated().is_none() {
        let mut traps = Booted(booted.0.clone());
        if number % every == 0
            && traps.0.strand_mut(strand(0)).take(Trap::software(UNEXPECTED).into()).is_ok()
        {
            assert!(answer(&mut traps).is_some(), "{number}: the operator gets no answer");
            let executed = traps.0.counts(strand(0)).all();
            traps.0.operate(strand(8), &Step::ReadState(2)).unwrap();
            assert!(matches!(answer(&mut traps), Some(Ok(Some(_)))), "{number}");
            let (told, _) = traps.failure_records();
            assert!(
                told.len() == 1
                    && told[0].starts_with("the hypervisor took the unexpected trap 0x103 at 0x1")
                    && told[0].ends_with(", on strand 0"),
                "{number}: {told:?}"
            );
            let states = [0, 1].map(|guest| traps.0.guest(guest));
            assert_eq!(states, [GuestState::Runs; 2], "{number}");
            assert_eq!(not_served(&mut traps, &[(8, 2), (8, HUB_PCR), (16, 0)]), None, "{number}");
            assert_eq!(traps.0.counts(strand(0)).all(), executed, "{number}");
        }
        for number in [0, 8, 16] {
            booted.0.step(strand(number));
        }
        number += 1;
    }
    assert!(number > 300, "{number}");
}

/// Strand 8 dies while its guest has all rights. Strand 0, which has no guest, revokes these rights for the operator. Meanwhile, strand 0
/// finds that a memory controller is faulty, and takes it out of service.
#[test]
#[ignore = "builds images"]
fn a_unit_fails_on_a_strand_without_a_guest() {
    let mut booted = without_guest();
    booted.0.devices().set_faulty(FaultyUnit::Mcu(Node::Node0, Mcu::ALL[0]), true);
    // Strand 8 dies while it executes its guest's code, so it holds nothing in the hypervisor.
    while booted.0.strand(strand(8)).level() == Level::Hyperprivileged {
        booted.0.step(strand(8));
    }
    booted.0.park(strand(8));
    for step in [Step::Died(strand(8)), Step::Reconfigure(Grants::none(2).unwrap())] {
        booted.0.operate(strand(0), &step).unwrap();
        assert!(matches!(answer(&mut booted), Some(Ok(None))), "{step:?}");
    }
    let expected = "NODE0_MCU0 is out of service: an access failed, on strand 0";
    assert_eq!(booted.failure_records(), (vec![expected.to_owned()], 1));
    assert_eq!(booted.0.guest(1), GuestState::Runs);
    booted.0.operate(strand(0), &Step::ReadState(2)).unwrap();
    assert!(matches!(answer(&mut booted), Some(Ok(Some(_)))));
}

/// Makes the hypervisor take an unexpected trap on strand 0. Returns `false` if the guest has ended, and `true` if the strand is parked. A
/// parked strand's guest ends when the operator reports the strand's death. Returns an error if another guest cannot get the rights
/// afterwards, or is not served.
fn is_parked_after_trap(at: &Execution) -> Result<bool, String> {
    let mut booted = Booted(at.clone());
    let trap = Trap::software(UNEXPECTED).into();
    booted.0.strand_mut(strand(0)).take(trap).map_err(|_| "no trap level is left")?;
    let stop = booted.0.run(Limits::instructions(5 * SLICE));
    let executed = booted.0.counts(strand(0)).all();
    booted.0.run(Limits::instructions(SLICE));
    let states = [0, 1].map(|guest| booted.0.guest(guest));
    let rests = booted.0.counts(strand(0)).all() == executed;
    let is_parked = states[0] == GuestState::Runs;
    if ![[GuestState::Runs; 2], [GuestState::Failed, GuestState::Runs]].contains(&states)
        || stop != Stop::Limit
        || is_parked && !rests
    {
        let pc = booted.0.strand(strand(0)).pc;
        return Err(format!("{states:?}, {stop:?}, at {pc:#x}: {:?}", booted.0.failures()));
    }
    let mut grants = Grants::none(2).unwrap();
    for right in [Right::Global, Right::Strand] {
        grants.grant(GuestId::new(1).unwrap(), right).unwrap();
    }
    let mut operate = |step| {
        booted.0.operate(strand(8), &step).unwrap();
        answer(&mut booted).ok_or_else(|| format!("no answer: {step:?}"))
    };
    for step in [Step::Died(strand(0)), Step::Reconfigure(grants)] {
        operate(step)?.map_err(|refusal| refusal.to_string())?;
    }
    // If the strand was using the L2 control, the L2 control is out of service now.
    let seen = operate(Step::ReadState(2))?.unwrap().unwrap();
    let l2_works = seen.units[Unit::L2(Node::Node0).number()].in_service;
    if booted.0.guest(0) != GuestState::Failed {
        return Err(format!("after the death: {:?}", booted.0.guest(0)));
    }
    let gets = [(8, 0), (8, 2), (8, HUB_PCR), (8, 1)];
    match not_served(&mut booted, &gets[..if l2_works { 4 } else { 3 }]) {
        None => Ok(is_parked),
        Some(why) => Err(why),
    }
}

/// A second unexpected trap comes while the hypervisor handles the first one. It either ends the guest or parks the strand. The test tries
/// the second trap at many instructions, one after another. Once it has parked the strand, it must also do so at every later instruction,
/// until the guest has ended.
#[test]
#[ignore = "builds images"]
fn a_second_trap_parks_the_strand() {
    let (between, every) = if std::env::var_os("ALL").is_some() { (300, 1) } else { (1500, 97) };
    let mut booted = running(&image(Production::Shipped));
    let (mut wrong, mut parked, mut number) = (Vec::new(), 0, 0);
    while number < 4_500 {
        let at_work = booted.0.strand(strand(0)).level() == Level::Hyperprivileged;
        number += usize::from(at_work);
        if at_work && number % between == 0 {
            let mut handles = Booted(booted.0.clone());
            let first = Trap::software(UNEXPECTED).into();
            handles.0.strand_mut(strand(0)).take(first).unwrap();
            let mut must_park = false;
            for step in 0..20_000 {
                if handles.0.guest(0) != GuestState::Runs {
                    break;
                }
                if step % every == 0 {
                    match is_parked_after_trap(&handles.0) {
                        Ok(parks) if parks || !must_park => {
                            parked += usize::from(parks);
                            must_park = parks;
                        }
                        other => {
                            let pc = handles.0.strand(strand(0)).pc;
                            wrong.push(format!("{number}, {step}, at {pc:#x}: {other:?}"));
                        }
                    }
                }
                handles.0.step(strand(0));
                handles.0.step(strand(8));
            }
        }
        booted.0.step(strand(0));
        booted.0.step(strand(8));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(parked > 20, "{parked}");
}
