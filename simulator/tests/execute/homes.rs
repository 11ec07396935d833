//! Tests which node is the home of a physical address. Execution, replay and the machine description must agree with the platform's map.

use std::io::Cursor;
use std::ops::ControlFlow;

use guest_abi::event::DramEvent;
use guest_abi::{Mcu, Node};
use platform::{Homes, Interleave, Machine, Model};
use simulator::execute::map::{PARTITION, RESET};
use simulator::execute::{Execution, Setup, Stop};
use simulator::machine::description::{Described, Description};
use simulator::memory::Config;
use simulator::recording::Recording;
use simulator::replay;

use crate::{CYCLES, JUMP, PROGRAM, put};

const NOP: u32 = 0x0100_0000;

/// Returns a program that loads a word at each address and then parks its strand. If `load` is `false`, the program has the same length but
/// loads nothing.
fn program(addresses: &[u64], load: bool) -> Vec<u32> {
    let one = |address: &u64| {
        let sethi = 0x0300_0000 | (address >> 10) as u32; // sethi %hi(address), %g1
        let ldx = 0xc458_6000 | (address & 0x3ff) as u32; // ldx [%g1 + %lo(address)], %g2
        [sethi, if load { ldx } else { NOP }]
    };
    let park = [0x8210_2001, 0x8e10_2068, 0xc2f1_c820, NOP];
    addresses.iter().flat_map(one).chain(park).collect()
}

/// Returns the number of lines that each node's memory reads in an execution.
fn executed(machine: Machine, program: &[u32]) -> [u64; 4] {
    let setup = Setup::new(machine).memory(Some(Config::T2_PLUS)).partition(2 << 30);
    let mut execution = Execution::new(&setup).unwrap();
    put(&mut execution, RESET, JUMP);
    put(&mut execution, PROGRAM, program);
    assert_eq!(execution.run(CYCLES), Stop::Ended);
    let truth = execution.truth().unwrap();
    std::array::from_fn(|node| {
        let reads = |mcu: &Mcu| truth.dram(Node::ALL[node], *mcu, DramEvent::Reads);
        Mcu::ALL.iter().map(reads).sum()
    })
}

/// Returns the number of lines that each node's memory reads in a replay.
fn replayed(machine: Machine, addresses: &[u64]) -> [u64; 4] {
    let text: String = addresses.iter().map(|address| format!(" L {address:x},8\n")).collect();
    let recording = Recording::from_reader("test", Cursor::new(text.into_bytes()), None).unwrap();
    let prepared = replay::Setup::new(machine, recording).check().unwrap();
    let run = prepared.run(|_| ControlFlow::Continue(())).unwrap();
    std::array::from_fn(|node| {
        let name = format!("NODE{node}_");
        let reads = run.counters.iter().filter(|counter| counter.name.starts_with(&name));
        let reads = reads.filter(|counter| counter.event == "mem_reads");
        reads.map(|counter| counter.measured).sum()
    })
}

#[test]
fn execution_replay_and_description_agree() {
    // Addresses in the guests' memory, in several stripes of each stripe size.
    let addresses = [0x0, 0x200, 0x400, 0xa00, 0x3fff_f200, 0x4000_0000, 0x4000_0600, 0x7000_0e00]
        .map(|offset| PARTITION + offset);
    for (model, nodes) in [(Model::Maramba, 2), (Model::Batoka, 3), (Model::Batoka, 4)] {
        for interleave in Interleave::ALL {
            let machine = Machine::new(model, nodes).unwrap().with_interleave(interleave);
            let homes = Homes::new(machine).unwrap();
            let mut expected = [0; 4];
            addresses.iter().for_each(|address| expected[homes.home(*address).index()] += 1);

            let [with, without] =
                [true, false].map(|load| executed(machine, &program(&addresses, load)));
            let found: [u64; 4] = std::array::from_fn(|node| with[node] - without[node]);
            assert_eq!(found, expected, "{machine:?}: execution");
            assert_eq!(replayed(machine, &addresses), expected, "{machine:?}: replay");

            // The hypervisor reads the machine from this description, and creates the guests' descriptions from the machine's map.
            let bytes = Description::for_machine(machine, []).build().unwrap();
            let described = Described::new(&bytes).unwrap().machine.unwrap();
            assert_eq!(Homes::new(described), Some(homes), "{machine:?}: description");
        }
    }
}
