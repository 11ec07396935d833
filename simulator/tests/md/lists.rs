//! Tests that every list of machines includes every family. If a list lacks a family, the failure message names both.

use std::fs;
use std::path::Path;

use conform::Part;
use conform::parts::{AT_RANDOM, BROKEN_UNITS, EVERY_REGISTER};
use conform::translated::machine as machine_of;
use platform::{Machine, Model};
use simulator::machine::description::{Described, parse};
use tests::hypercalls;

/// Returns each machine with all its channels.
fn machines() -> impl Iterator<Item = Machine> {
    let nodes = |model: Model| (1..=model.max_nodes()).map(move |nodes| Machine::new(model, nodes));
    Model::ALL.iter().copied().flat_map(nodes).map(Result::unwrap)
}

#[test]
fn calls_are_made_on_every_machine() {
    let has = |part: Part, is: &dyn Fn(Machine) -> bool| {
        part.configurations().any(|(_, configuration)| is(configuration.machine))
    };
    for machine in machines() {
        let name = EVERY_REGISTER.name;
        assert!(has(EVERY_REGISTER, &|one| one == machine), "{name}: no {machine:?}");
        let (kind, nodes) = (machine_of(machine.model()), machine.nodes());
        let listed = hypercalls::MACHINES.contains(&(kind, nodes));
        assert!(listed, "hypercalls::MACHINES: no {machine:?}");
    }
    for model in Model::ALL {
        for part in [BROKEN_UNITS, AT_RANDOM] {
            assert!(has(part, &|one| one.model() == *model), "{}: no {model}", part.name);
        }
    }
}

#[test]
fn every_machine_has_a_description() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../machines");
    let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let read = |path| {
        let source = fs::read_to_string(path).unwrap();
        let bytes = parse(&source).unwrap().build().unwrap();
        Described::new(&bytes).unwrap().machine
    };
    let described: Vec<_> = files.filter_map(read).collect();
    for machine in machines() {
        assert!(described.contains(&machine), "{}: no {machine:?}", folder.display());
    }
}

/// For each machine, the reference model has the right maximum number of nodes, and the right hubs.
#[test]
fn the_reference_model_knows_the_machines() {
    for model in Model::ALL.iter().copied() {
        let kind = machine_of(model);
        assert_eq!(kind.most_nodes(), model.max_nodes(), "{model}");
        assert!(
            model.hubs().iter().map(|hub| hub.index()).eq(kind.hubs().iter().copied()),
            "{model}"
        );
    }
}
