//! Tests a store that fails while the operator changes something. The test repeats each change with many store latencies, so the failure
//! report arrives at a different time in each run. The latencies are 40 cycles apart. With the environment variable `ALL`, they are 1 cycle
//! apart, and the report then arrives in some run at each instruction after the end of the guest's list.

use std::array;

use guest_abi::{Hub, Mcu, Node};
use perfctr_service::Unit;
use simulator::execute::StoreLatency;
use xtask::qemu::build::Production;

use super::super::image;
use super::plan::{BetweenStages, Fault, LAST, Plan, asks, set};
use super::{Ready, Run, compared};

const UNITS: [(Unit, u64); 3] = [
    (Unit::Mcu(Node::Node0, Mcu::ALL[0]), 2),
    (Unit::Hub(Hub::ALL[0]), 18),
    (Unit::L2(Node::Node0), 1),
];

/// What the operator does, and the strands that can perform it. The test repeats the change with each of these strands. Strand 0 always
/// executes the failing store.
const CHANGES: [(BetweenStages, &[usize]); 5] = [
    (BetweenStages::Look, &[0]),
    (BetweenStages::Transfer, &[0, 1, 3]),
    (BetweenStages::Reset, &[0, 3]),
    (BetweenStages::Exit, &[0, 3]),
    (BetweenStages::Return, &[0, 3]),
];

/// The store's longest latency, in cycles. When a store with this latency fails, the hypervisor has already served the operator's
/// interrupt.
const LONGEST: u64 = 600;

#[test]
#[ignore = "builds images"]
fn a_unit_fails_whatever_the_operator_does() {
    let every = if std::env::var_os("ALL").is_some() { 1 } else { 40 };
    let ready = Ready::new(&image(Production::Shipped));
    let mut wrong = Vec::new();
    let changes =
        CHANGES.into_iter().flat_map(|(between, on)| on.iter().map(move |on| (between, *on)));
    for (number, (between, on)) in changes.enumerate() {
        for (unit, register) in UNITS {
            let first = [set(register, 1), LAST];
            let lists = [
                array::from_fn(|strand| if strand == 0 { first.to_vec() } else { Vec::new() }),
                array::from_fn(asks),
            ];
            let faults = vec![Fault { unit, from: 0, until: u64::MAX }];
            let plan = Plan { lists, between, on, ..Plan::default() };
            let mut ends = Vec::new();
            let mut right = Run::new(&ready, &plan, false);
            let end = right.run(|_, run| {
                ends.push(run.end());
                Ok(())
            });
            end.unwrap();
            for latency in (1 + number as u64..=LONGEST).step_by(every) {
                let latency = StoreLatency::Fixed(latency);
                let plan = Plan { latency, faults: faults.clone(), ..plan.clone() };
                let mut found = Run::new(&ready, &plan, true);
                let judged =
                    found.run(|stage, run| compared::judge(stage, &ends[stage], run).map(drop));
                if let Err(why) = judged {
                    wrong.push(format!("{between:?} on {on}, {unit}, {latency:?}: {why}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
