//! Plays one scenario in a replay and in an execution. Its effects must be the same in both.

use std::fmt::Write as _;
use std::io::Cursor;
use std::ops::ControlFlow;

use guest_abi::StrandId;
use hv_core::GuestId;
use object::read::elf::ElfFile64;
use perfctr_service::mailbox::Step as Request;
use perfctr_service::{Grant, Unit};
use platform::memory_map::RESET_CODE;
use platform::{Machine, Model};
use simulator::execute::{Execution, Limits, Setup as ExecutionSetup, Stop, map};
use simulator::machine::description;
use simulator::machine::guests::NamedGuest;
use simulator::operator::{Operator, OperatorProgress, Scenario};
use simulator::recording::Recording;
use simulator::replay::Setup;
use simulator::run::{StepRun, UnitRun};
use vfalls::cmd::boot::elf;
use xtask::qemu::bundle;

use crate::program::TestDirectory;

/// The steps of the scenario. In the execution, the hypervisor has booted before the first step. The replay ends after the last step.
///
/// A guest loses rights while one of its strands is dead and a device is broken. Steps that the rights do not allow are rejected. At the
/// end, one hub is out of service, because no strand can scrub it.
const STEPS: &str = r#"
step 2_100_000 kill      strand=65
step 2_200_000 grant     right="global" guest="b"
step 2_200_000 revoke    right="htstrand" guest="a"
step 2_300_000 fault     unit="NODE1_MCU0"
step 2_300_000 transfer  right="global" from="a" to="b"
step 2_500_000 mend      unit="NODE1_MCU0"
step 2_500_000 mend      unit="NODE1_L2"
step 2_600_000 reset     guest="b"
step 2_700_000 revoke    right="strand" guest="a"
step 2_800_000 fault     unit="ZAM3"
step 2_800_000 transfer  right="global" from="b" to="c"
step 2_900_000 grant     right="strand" guest="c"
"#;

const GUESTS: [(&str, &[usize], &str); 3] =
    [("a", &[1, 65], "global,strand"), ("b", &[8], "strand"), ("c", &[88], "")];

const MEMORY: u64 = 1 << 20;

fn guests() -> Vec<NamedGuest> {
    let described = description::Described::new(&description()).unwrap();
    described.guests.into_iter().map(NamedGuest::from).collect()
}

fn description() -> Vec<u8> {
    let mut text = String::from(
        "[root]\nfwd = [\"platform\", \"vf-nodes\", \"guests\"]\n[platform]\nname = \"SUNW,T5440\"\n\
         [vf-nodes]\nfwd = [\"vf-node-0\", \"vf-node-1\"]\n",
    );
    for node in 0..2 {
        let _ = write!(
            text,
            "[vf-node-{node}]\nid = {node}\nfwd = [\"mcu-{node}0\", \"mcu-{node}1\"]\n\
             [mcu-{node}0]\nid = 0\n[mcu-{node}1]\nid = 1\n"
        );
    }
    text += "[guests]\nfwd = [\"guest-0\", \"guest-1\", \"guest-2\"]\n";
    for (number, (name, strands, rights)) in GUESTS.iter().enumerate() {
        let base = map::PARTITION + number as u64 * MEMORY;
        let cpus = strands.iter().map(|strand| format!("\"cpu-{strand}\""));
        let _ = write!(
            text,
            "[guest-{number}]\nname = \"{name}\"\nresource_id = {number}\nperf-counters = \"{rights}\"\n\
             memory-base = {base}\nmemory-size = {MEMORY}\nreal-base = {}\nentry = {}\nfwd = [{}]\n",
            map::PARTITION,
            map::PARTITION,
            cpus.collect::<Vec<_>>().join(", ")
        );
        for strand in *strands {
            let _ = write!(text, "[cpu-{strand}]\npid = {strand}\n");
        }
    }
    description::parse(&text).unwrap().build().unwrap()
}

/// What a run leaves behind: the effects of its steps, and the state after the last step.
#[derive(Debug, PartialEq)]
struct FinalState {
    steps: Vec<StepRun>,
    units: Vec<UnitRun>,
    grants: Vec<String>,
}

/// Returns a step without the fields that differ between replays and executions.
fn common(step: &StepRun) -> StepRun {
    let mut step = step.clone();
    (step.unit, step.settled) = (None, None);
    step
}

fn read(place: &TestDirectory) -> simulator::operator::UncheckedScenario {
    let mut text = String::new();
    for line in STEPS.lines().skip(1) {
        let mut words = line.split_whitespace().skip(1);
        let (at, action) = (words.next().unwrap(), words.next().unwrap());
        let keys: Vec<&str> = words.collect();
        let keys = keys.join("\n");
        let _ = writeln!(text, "[[step]]\nat = {at}\ndo = \"{action}\"\n{keys}");
    }
    Scenario::read(place.file("steps.toml", text).as_ref()).unwrap()
}

/// Replays one thread of guest `a`.
fn replayed(place: &TestDirectory) -> FinalState {
    let mut program = String::new();
    for number in 0..1_500_000 {
        let address = 0x1000_0000 + number % 0x40 * 0x940;
        let _ = writeln!(program, "I  {:x},4\n L {address:x},8", 0x40_0000);
    }
    let recording = Recording::from_reader("test", Cursor::new(program), None).unwrap();
    let setup = Setup::new(machine(), recording).guests(guests());
    let prepared = setup.check().unwrap();
    let scenario = prepared.check_scenario(read(place)).unwrap();
    let played = prepared.play(scenario, |_| ControlFlow::Continue(())).unwrap();
    assert!(played.truth_matches);
    FinalState {
        steps: played.steps.iter().map(common).collect(),
        units: played.units,
        grants: played.guests.into_iter().map(|guest| guest.grant).collect(),
    }
}

/// Executes guests whose only instruction branches to itself forever.
fn executed(place: &TestDirectory) -> FinalState {
    let hypervisor = bundle::bundled("hypervisor").unwrap();
    let interfaces = elf::interfaces(&ElfFile64::parse(&*hypervisor).unwrap()).unwrap();
    let setup = ExecutionSetup::new(machine()).interfaces(interfaces);
    let mut execution = Execution::new(&setup.partition(MEMORY * GUESTS.len() as u64)).unwrap();
    elf::load(&hypervisor, &mut execution, 0).unwrap();
    let mut load = |address, bytes: &[u8]| execution.load(address, bytes).unwrap();
    load(map::RESET, RESET_CODE.map(u32::to_be_bytes).as_flattened());
    load(map::DESCRIPTION.start, &description());
    for number in 0..GUESTS.len() as u64 {
        // The guest's program is `ba .; nop`.
        let code = [0x1080_0000_u32, 0x0100_0000].map(u32::to_be_bytes);
        load(map::PARTITION + number * MEMORY, code.as_flattened());
    }
    let guests = guests();
    let scenario = read(place).check(machine(), &guests, &[]).unwrap();
    let mut operator = Operator::new(scenario, &guests);
    let mut done = 0;
    while operator.remaining().next().is_some() {
        while !matches!(operator.work(&mut execution, done), OperatorProgress::Nothing) {}
        let patience = operator.until_next_work(done).min(10_000);
        let stop = execution.run(Limits::instructions(patience));
        done += patience;
        let made = operator.completed();
        assert!(stop == Stop::Limit && done < 200_000_000, "{stop:?} {made:?}");
    }
    let strand = StrandId::new(0).unwrap();
    execution.operate(strand, &Request::ReadState(guests.len())).unwrap();
    let seen = loop {
        execution.run(Limits::instructions(10_000));
        if let Some(answer) = execution.operated() {
            break answer.unwrap().unwrap();
        }
    };
    assert_eq!(seen.pending, None);
    let unit = |unit: Unit| UnitRun::new(unit, seen.units[unit.number()]);
    let units = Unit::ALL.iter().copied().filter(|unit| unit.is_in(machine()));
    let held = (0..guests.len()).map(|number| seen.held.get(GuestId::new(number).unwrap()));
    FinalState {
        steps: operator.completed().iter().map(common).collect(),
        units: units.map(unit).collect(),
        grants: held.map(|grant: Grant| grant.to_string()).collect(),
    }
}

fn machine() -> Machine {
    Machine::new(Model::Batoka, 2).unwrap()
}

#[test]
fn a_scenario_means_the_same_on_a_replay_and_an_execution() {
    let place = TestDirectory::new("scenario-on-both");
    let replayed = replayed(&place);
    assert_eq!(executed(&place), replayed);

    let rejected = replayed.steps.iter().filter_map(|step| {
        let reason = step.rejected.as_deref()?;
        Some((step.at, reason))
    });
    assert_eq!(
        rejected.collect::<Vec<_>>(),
        [
            (2_200_000, "guests 0 and 1 both have global; one guest of a machine can"),
            (2_200_000, "guest 0 does not have htstrand"),
        ]
    );
    let excused = replayed.steps.iter().map(|step| step.excused.len());
    assert_eq!(excused.collect::<Vec<_>>(), [0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(replayed.grants, ["none", "strand", "global+strand"]);
    let out = replayed.units.iter().filter(|unit| !unit.in_service);
    let out: Vec<_> = out.map(|unit| (&*unit.unit, unit.clean)).collect();
    assert_eq!(out, [("ZAM3", false)]);
}
