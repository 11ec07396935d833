//! The events that come before an instruction, and what the contract requires after each.

use conform::Cell;
use guest_abi::{Mcu, McuRole, Node, PerfReg};
use hv_core::GuestId;
use hv_core::trace::remote::HEARTBEAT_INTERRUPT;
use perfctr_service::Unit;
use perfctr_service::mailbox::{ServiceState, Step};
use platform::address::local;
use platform::models::FaultyUnit;
use simulator::conform::caller::Request;
use simulator::execute::mailbox::GuestState;
use simulator::execute::{Execution, Limits};
use simulator::interpreter::instruction::Register;
use simulator::interpreter::{Level, Strand, Trap};
use tests::random::Random;

use super::super::broken::compared::differences;
use super::super::lists::GET;
use super::super::neighbour::{GUEST, MEMORIES, NEIGHBOUR};
use super::super::{ENOACCESS, MEMORY, strand};
use super::cases::{CROSS_CALL, Case, CaseKind, all_to_the_neighbour};
use super::{MAX_SLICES, Machine, SLICE, finish, is_back, same};

/// A software trap number. The hypervisor executes no `ta`, so it does not expect this trap.
const UNEXPECTED: u64 = 3;

const O0: Register = Register::new(8);
const O1: Register = Register::new(9);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A store to a channel that the call does not use has failed, and its report arrives.
    Report,
    /// The unit that the call uses breaks.
    Breaks,
    /// An interrupt that asks for a heartbeat.
    Heartbeat,
    /// A cross-call that announces no change.
    CrossCall,
    /// The operator asks this strand for the hypervisor's state.
    Look,
    /// The operator gives the guest's rights to its neighbour.
    Transfer,
    /// A trap that the hypervisor does not expect.
    Trap,
}

pub(super) const EVENTS: [Event; 7] = [
    Event::Report,
    Event::Breaks,
    Event::Heartbeat,
    Event::CrossCall,
    Event::Look,
    Event::Transfer,
    Event::Trap,
];

/// The machines at the end of a case without an event.
pub(super) struct References {
    right: Execution,
    /// Two machines on which the rights are transferred: on the first before the case, on the second after it. `None` if the operator is
    /// already at work in the case.
    transfers: Option<[Execution; 2]>,
}

impl References {
    pub(super) fn new(case: &Case, begun: &Execution, right: Execution) -> Self {
        let transfers = (!case.is_operated()).then(|| {
            let mut before = begun.clone();
            transfer(&mut before).unwrap();
            finish(&mut before).unwrap();
            let mut after = right.clone();
            transfer(&mut after).unwrap();
            finish(&mut after).unwrap();
            [before, after]
        });
        Self { right, transfers }
    }
}

impl Event {
    /// Returns `true` if the event can come at this boundary.
    pub(super) fn may_come(self, case: &Case, at: &Execution) -> bool {
        match self {
            Self::Breaks => case.unit.is_some(),
            Self::Look | Self::Transfer => !case.is_operated(),
            Self::Trap => at.strand(strand(GUEST)).level() == Level::Hyperprivileged,
            Self::Report | Self::Heartbeat | Self::CrossCall => true,
        }
    }

    /// Makes the event happen, and checks the whole state afterwards.
    pub(super) fn judge(
        self,
        machine: &Machine,
        case: &Case,
        at: &Execution,
        references: &References,
    ) -> Result<(), String> {
        let mut found = at.clone();
        let id = strand(GUEST);
        let right = &references.right;
        let none = |_: &mut Strand| {};
        let never = |_| false;
        match self {
            Self::Report => {
                let register = PerfReg::dram(Node::Node0, Mcu::ALL[1], McuRole::Pic);
                found.fail_store(id, local(register).unwrap().0);
                finish(&mut found)?;
                same(machine, right, &found, never, none)?;
                check_records(&mut found, &[Unit::Mcu(Node::Node0, Mcu::ALL[1])])
            }
            Self::Heartbeat => {
                found.interrupt(id, HEARTBEAT_INTERRUPT);
                finish(&mut found)?;
                same(machine, right, &found, never, none)?;
                check_records(&mut found, &[])
            }
            Self::CrossCall => {
                found.interrupt(id, CROSS_CALL);
                finish(&mut found)?;
                same(machine, right, &found, never, none)?;
                check_records(&mut found, &[])
            }
            Self::Look => {
                found.operate(id, &Step::ReadState(2)).map_err(|error| error.to_string())?;
                finish(&mut found)?;
                match found.operated() {
                    Some(Ok(Some(_))) => {}
                    other => return Err(format!("the operator's answer: {other:?}")),
                }
                same(machine, right, &found, never, none)?;
                check_records(&mut found, &[])
            }
            Self::Breaks => breaks(machine, case, found, right),
            Self::Transfer => {
                transfer(&mut found)?;
                finish(&mut found)?;
                let [before, after] = references.transfers.as_ref().unwrap();
                let either = [before, after].map(|right| same(machine, right, &found, never, none));
                match either {
                    [Err(before), Err(after)] => Err(format!("{before}; {after}")),
                    _ => check_records(&mut found, &[]),
                }
            }
            Self::Trap => trap(case, found, right),
        }
    }
}

/// Breaks the case's unit. The call is served or refused, and nothing else changes.
fn breaks(
    machine: &Machine,
    case: &Case,
    mut found: Execution,
    right: &Execution,
) -> Result<(), String> {
    let CaseKind::Call(Request { registers: [_, passed, ..], .. }) = case.what else {
        unreachable!()
    };
    let (broken, unit) = match case.unit.unwrap() {
        FaultyUnit::Mcu(node, mcu) => (FaultyUnit::Mcu(node, mcu), Unit::Mcu(node, mcu)),
        FaultyUnit::Hub(hub) => (FaultyUnit::Hub(hub), Unit::Hub(hub)),
        FaultyUnit::L2(node) => (FaultyUnit::L2(node), Unit::L2(node)),
        other => unreachable!("{other:?}"),
    };
    found.devices().set_faulty(broken, true);
    finish(&mut found)?;
    found.devices().set_faulty(broken, false);
    let is_refused = found.strand(strand(GUEST)).registers.get(O0) == ENOACCESS;
    let of_unit = |cell| match cell {
        Cell::Register(register) => (2..4).contains(&register.index()) || register.index() >= 18,
        Cell::L2(node, _) => node == Node::Node0,
    };
    same(machine, right, &found, of_unit, |strand| {
        if is_refused {
            strand.registers.set(O0, ENOACCESS);
            strand.registers.set(O1, passed);
        }
    })?;
    match is_refused {
        true => check_records(&mut found, &[unit]),
        false => check_records(&mut found, &[]).or_else(|_| check_records(&mut found, &[unit])),
    }
}

/// Checks that the operator is told about these units and nothing else.
fn check_records(execution: &mut Execution, units: &[Unit]) -> Result<(), String> {
    let (failures, number) = execution.failures();
    let told: Vec<_> = failures.iter().map(|it| it.unit.clone().unwrap_or_default()).collect();
    let expected: Vec<_> = units.iter().map(ToString::to_string).collect();
    match told == expected && number == units.len() as u64 {
        true => Ok(()),
        false => Err(format!("the operator is told of {told:?}: {failures:?}")),
    }
}

/// Gives all the guest's rights to its neighbour, and waits until the change is complete. Meanwhile, the guest's strand executes.
fn transfer(execution: &mut Execution) -> Result<(), String> {
    answer(execution, &Step::Reconfigure(all_to_the_neighbour()))?;
    for _ in 0..MAX_SLICES {
        if answer(execution, &Step::ReadState(2))?.is_some_and(|it| it.pending.is_none()) {
            return Ok(());
        }
    }
    Err("the transfer does not end".to_owned())
}

fn answer(execution: &mut Execution, step: &Step) -> Result<Option<ServiceState>, String> {
    let on = strand(NEIGHBOUR[0]);
    execution.operate(on, step).map_err(|error| error.to_string())?;
    for _ in 0..MAX_SLICES {
        execution.run(Limits::instructions(SLICE));
        if let Some(answer) = execution.operated() {
            return answer.map_err(|refusal| refusal.to_string());
        }
    }
    Err(format!("the operator gets no answer: {step:?}"))
}

/// Makes the hypervisor take an unexpected trap. Only the guest ends, and nothing may stay locked.
fn trap(case: &Case, mut found: Execution, right: &Execution) -> Result<(), String> {
    let id = strand(GUEST);
    if found.strand_mut(id).take(Trap::software(UNEXPECTED).into()).is_err() {
        return Err("no trap level is left".to_owned());
    }
    until(&mut found, "the guest ends", |found| found.guest(0) != GuestState::Runs)?;
    let states = [0, 1].map(|guest| found.guest(guest));
    if states != [GuestState::Failed, GuestState::Runs] {
        return Err(format!("{states:?}: {:?}", found.failures()));
    }
    let (failures, _) = found.failures();
    let texts: Vec<_> = failures.iter().map(ToString::to_string).collect();
    let is_trap = |text: &str| text.starts_with("the hypervisor took the unexpected trap 0x103");
    let l2_works = match &*texts {
        [text] if is_trap(text) => true,
        [text, l2] if is_trap(text) && l2.contains("_L2 is out of service: a strand died") => false,
        _ => return Err(format!("the operator is told {texts:?}")),
    };
    for number in NEIGHBOUR {
        let [first, second] =
            [right, &found].map(|it| it.strand(strand(number)).seen_by_guest().registers);
        if first != second {
            return Err(format!("the registers of strand {number} differ"));
        }
    }
    if let Some(word) = differences(right, &found, MEMORIES[1]..MEMORIES[1] + MEMORY).first() {
        return Err(format!("the neighbour's memory: {word:x?}"));
    }
    if case.is_operated() {
        until(&mut found, "the operator is answered", |found| found.operated().is_some())?;
    }
    let reset = Step::Reset(GuestId::new(0).unwrap());
    found.operate(strand(NEIGHBOUR[0]), &reset).map_err(|error| error.to_string())?;
    let mut answer = None;
    until(&mut found, "the guest is reset", |found| {
        answer = answer.take().or_else(|| found.operated());
        answer.is_some() && is_back(found)
    })?;
    let registers = if l2_works { &[0, 2, 18, 1][..] } else { &[0, 2, 18] };
    let get = |register: &u64| (0x80, [*register, 7, 0, 0, 0, GET]);
    let negotiation = (0xff, [0x205, 1, 1, 0, 0, 0]);
    for (trap, registers) in [negotiation].into_iter().chain(registers.iter().map(get)) {
        Request { trap, registers }.put(found.strand_mut(id), &mut Random(1));
        finish(&mut found)?;
        let status = found.strand(id).registers.get(O0);
        // After a transfer, the guest has no rights.
        let is_refused = trap == 0x80 && matches!(case.what, CaseKind::Transfer);
        if status != if is_refused { ENOACCESS } else { 0 } {
            return Err(format!("after the reset, {registers:x?} returns {status}"));
        }
    }
    Ok(())
}

fn until(
    found: &mut Execution,
    what: &str,
    mut is_so: impl FnMut(&mut Execution) -> bool,
) -> Result<(), String> {
    for _ in 0..10 * MAX_SLICES {
        if is_so(found) {
            return Ok(());
        }
        found.run(Limits::instructions(SLICE));
    }
    Err(format!("not in time: {what}"))
}
