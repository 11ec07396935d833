//! Tests of the operator on machines that refuse requests or stay busy.

use std::path::Path;

use guest_abi::{Node, StrandId};
use perfctr_service::mailbox::{Refusal, Seen, Step as Request};
use perfctr_service::{ChangeError, Grants, Unit, UnitState};
use platform::models::Devices;
use platform::{AccessError, Machine, Model};

use super::{Answer, Operated, Operator, Scenario, Worked};
use crate::machine::guests;
use crate::run::StepRun;

/// A hypervisor that refuses the first requests to return a unit to service.
struct Busy {
    devices: Box<Devices>,
    refuses: usize,
    asked: Vec<(StrandId, Request)>,
}

impl Operated for Busy {
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
            Request::Look(guests) => Ok(Some(Seen {
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

/// Plays steps on the default guests of a machine with two nodes. Returns the results of the steps, and the hypervisor's requests.
fn play(steps: &str, refuses: usize) -> (Vec<StepRun>, Vec<(StrandId, Request)>) {
    let machine = Machine::new(Model::Batoka, 2).unwrap();
    let guests = guests::default(machine);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), steps).unwrap();
    let scenario = Scenario::read(Path::new(file.path())).unwrap();
    let scenario = scenario.check(machine, &guests, &[]).unwrap();
    let mut busy = Busy { devices: Box::new(Devices::new(machine)), refuses, asked: Vec::new() };
    let mut operator = Operator::new(scenario, &guests);
    while !matches!(operator.work(&mut busy, u64::MAX), Worked::Nothing) {}
    (operator.made().to_vec(), busy.asked)
}

#[test]
fn a_busy_unit_is_asked_for_again_at_most_10_000_times() {
    let mend = "[[step]]\nat = 1\ndo = \"mend\"\nunit = \"ZAM0\"\n";
    let (made, asked) = play(mend, 9_999);
    assert_eq!((&made[0].rejected, asked.len()), (&None, 10_001));
    let (made, asked) = play(mend, usize::MAX);
    let rejected = made[0].rejected.as_deref().unwrap();
    assert!(rejected.starts_with("ZAM0 cannot be cleared"), "{rejected}");
    assert_eq!(asked.len(), 10_002);
}

/// The operator sends no request to a dead strand. It sends a request for the L2 control of a node to a strand of the node.
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
