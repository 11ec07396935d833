//! Tests the operator on machines that refuse requests or stay busy.

use std::path::Path;

use guest_abi::{Node, StrandId};
use perfctr_service::mailbox::{Refusal, ServiceState, Step as Request};
use perfctr_service::{ChangeError, Grants, Unit, UnitState};
use platform::models::Devices;
use platform::{AccessError, Machine, Model};

use super::{
    Action, Answer, OperatedMachine, Operator, OperatorProgress, Scenario, UncheckedScenario,
};
use crate::machine::clocks::{Change, Clock, Drift};
use crate::machine::guests;
use crate::run::StepRun;

/// A hypervisor that refuses the first requests to return a unit to service.
struct Busy {
    devices: Box<Devices>,
    refuses: usize,
    asked: Vec<(StrandId, Request)>,
}

impl OperatedMachine for Busy {
    fn devices(&self) -> &Devices {
        &self.devices
    }

    fn ask(&mut self, on: StrandId, request: &Request) -> Result<(), String> {
        self.asked.push((on, *request));
        Ok(())
    }

    fn answer(&mut self) -> Option<Answer> {
        let (_, request) = self.asked.last()?;
        Some(match request {
            Request::ReadState(guests) => Ok(Some(ServiceState {
                pending: None,
                units: [UnitState { in_service: false, clean: false, faults: 1, stuck: 0 };
                    Unit::COUNT],
                held: Grants::none(*guests).unwrap(),
            })),
            Request::ReturnToService(unit) if self.refuses > 0 => {
                self.refuses -= 1;
                let error = ChangeError::NotClean(*unit, AccessError::Busy);
                Err(Refusal::Change(error))
            }
            _ => Ok(None),
        })
    }

    fn stop(&mut self, _: StrandId) {}
}

/// Plays steps on the default guests of a two-node machine. Returns the steps' results, and the requests to the hypervisor.
fn play(steps: &str, refuses: usize) -> (Vec<StepRun>, Vec<(StrandId, Request)>) {
    let machine = Machine::new(Model::Batoka, 2).unwrap();
    let guests = guests::default(machine);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), steps).unwrap();
    let scenario = Scenario::read(Path::new(file.path())).unwrap();
    let scenario = scenario.check(machine, &guests, &[]).unwrap();
    let mut busy = Busy { devices: Box::new(Devices::new(machine)), refuses, asked: Vec::new() };
    let mut operator = Operator::new(scenario, &guests);
    while !matches!(operator.work(&mut busy, u64::MAX), OperatorProgress::Nothing) {}
    (operator.completed().to_vec(), busy.asked)
}

#[test]
fn a_busy_unit_is_asked_for_again_at_most_10_000_times() {
    let mend = "[[step]]\nat = 1\ndo = \"mend\"\nunit = \"ZAM0\"\n";
    let (made, asked) = play(mend, 9_999);
    assert_eq!((&made[0].rejected, asked.len()), (&None, 10_001));
    let (made, asked) = play(mend, usize::MAX);
    let rejected = made[0].rejected.as_deref().unwrap();
    assert!(rejected.starts_with("ZAM0 cannot be scrubbed"), "{rejected}");
    assert_eq!(asked.len(), 10_002);
}

/// The operator sends no request to a dead strand. It sends a request for a node's L2 control to a strand of that node.
#[test]
fn a_strand_that_lives_serves_the_request() {
    let steps = "[[step]]\nat = 1\ndo = \"kill\"\nstrand = 0\n\
                 [[step]]\nat = 2\ndo = \"mend\"\nunit = \"NODE1_L2\"\n";
    let (_, asked) = play(steps, 0);
    let dead = StrandId::new(0).unwrap();
    assert!(asked.iter().all(|(on, _)| *on != dead));
    let (on, request) = asked.last().unwrap();
    assert_eq!(*request, Request::ReturnToService(Unit::L2(Node::Node1)));
    assert_eq!(on.node(), Node::Node1);
}

#[test]
fn without_a_strand_a_step_is_rejected() {
    let kill = |strand| format!("[[step]]\nat = 1\ndo = \"kill\"\nstrand = {strand}\n");
    let steps: String = (0..128).map(kill).collect();
    let (made, _) = play(&steps, 0);
    let reasons = made.iter().filter_map(|step| step.rejected.as_deref());
    assert_eq!(reasons.collect::<Vec<_>>(), ["no strand is left that could serve it"]);
}

/// Parses a scenario whose only step is a `clock` step with these keys. Returns the action of the step, or the error
/// message.
fn clock(keys: &str) -> Result<Action, String> {
    let machine = Machine::new(Model::Batoka, 2).unwrap();
    let step = format!("[[step]]\nat = 1\ndo = \"clock\"\n{keys}\n");
    let unchecked: UncheckedScenario =
        step.parse().map_err(|error: guests::FileError| error.to_string())?;
    let checked = unchecked.check(machine, &guests::default(machine), &[]);
    checked.map(|scenario| scenario.steps[0].action).map_err(|error| error.to_string())
}

#[test]
fn clocks_go_wrong_in_one_way() {
    let strand = StrandId::new(127);
    let drift = |ppm| Change::Drift(Drift::new(ppm).unwrap());
    for (keys, of, change, described) in [
        (
            "clock = '%stick'\ndrift = 500",
            Clock::Stick(None),
            drift(500),
            "%stick of all strands drifts by 500 ppm",
        ),
        (
            "clock = '%stick'\nstrand = 127\ndrift = 0",
            Clock::Stick(strand),
            drift(0),
            "%stick of strand 127 has its true rate",
        ),
        (
            "clock = '%tick'\nstop = true",
            Clock::Tick(None),
            Change::Stop,
            "%tick of all strands stops",
        ),
        (
            "clock = '%tick'\nstrand = 127\njump = -300_000_000",
            Clock::Tick(strand),
            Change::Jump(-300_000_000),
            "%tick of strand 127 jumps by -300000000 ns",
        ),
        (
            "clock = 'ptimer'\nlose = 5_000_000",
            Clock::Ptimer,
            Change::Lose(5_000_000),
            "PTIMER loses 5000000 ns",
        ),
    ] {
        let action = clock(keys).unwrap();
        assert_eq!(action, Action::Clock(of, change));
        assert_eq!(action.describe(|_| unreachable!()), described);
    }
    let takes = "clock takes clock, strand, drift, stop, jump, lose";
    for (keys, problem) in [
        ("stop = true", &*format!(":3: missing is 'clock'; {takes}")),
        ("clock = '%tick'\nstop = true\nunit = 'ZAM0'", &format!(":3: found 'unit'; {takes}")),
        ("clock = '%stik'\nstop = true", ":4: there is no clock '%stik'; did you mean %stick"),
        ("clock = '%tick'", ":3: expected one of drift, stop, jump and lose"),
        ("clock = '%tick'\ndrift = 1\njump = 1", ":3: expected one of drift, stop, jump and lose"),
        ("clock = '%tick'\nstop = false", ":5: found false, expected true; drift ends a stop"),
        ("clock = '%tick'\ndrift = 1_000_000", ":5: found 1000000, expected -999999 to 999999"),
        ("clock = '%tick'\nlose = -1", ":5: "),
        ("clock = '%tick'\nstrand = 128\njump = 1", ":5: there is no strand 128"),
        ("clock = 'ptimer'\nstrand = 0\njump = 1", ":5: found 'strand', but the ptimer belongs"),
    ] {
        let error = clock(keys).unwrap_err();
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn a_machine_without_clocks_rejects_the_step() {
    let (made, asked) = play("[[step]]\nat = 1\ndo = 'clock'\nclock = 'ptimer'\nstop = true\n", 0);
    let rejected = "the machine has no clocks that can go wrong";
    assert_eq!((made[0].rejected.as_deref(), asked.len()), (Some(rejected), 0));
}
