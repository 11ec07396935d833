//! Measures how a hub serves strands that all ask for it at the same time, and how many hypervisor instructions each served call takes.

use std::cell::RefCell;
use std::rc::Rc;

use simulator::execute::{Limits, Stop};
use simulator::interpreter::Level;
use simulator::recording::Kind;
use xtask::qemu::build::Production;

use super::lists::{GET, HUB_PCR, REPEAT_LIST, repeated};
use super::{Booted, Guest};

/// Strands that ask for one hub without a pause are all served equally often. The test prints the number of hypervisor instructions per
/// served call.
#[test]
#[ignore = "builds images"]
fn strands_fight_for_a_hub() {
    const CYCLES: u64 = 2_000_000;
    for n in [4, 16] {
        let strands: Vec<usize> = (0..n).collect();
        let guest = Guest::with_lists(&strands, "global");
        let mut booted = Booted::new(Production::Shipped, &[guest]);
        for cpu in 0..n as u64 {
            booted.list(0, cpu, &[repeated(GET, HUB_PCR, 0), REPEAT_LIST]);
        }
        // By this time, the hypervisor has booted and all strands ask for the hub.
        let started = booted.0.now() + 4 * CYCLES;
        let until = |cycles| Limits { cycles, ..Limits::NONE };
        assert_eq!(booted.0.run(until(started)), Stop::Limit);
        let calls = booted.calls();
        let instructions = Rc::new(RefCell::new(0_u64));
        let counted = Rc::clone(&instructions);
        booted.0.observe(Some(Box::new(move |access| {
            let is_one = access.kind == Kind::FetchOther && access.level == Level::Hyperprivileged;
            *counted.borrow_mut() += u64::from(is_one);
        })));
        assert_eq!(booted.0.run(until(started + CYCLES)), Stop::Limit);
        let calls = calls.borrow();
        let mut served = vec![0_u64; n];
        for call in calls.iter().filter(|call| call.status == 0) {
            served[call.strand.index()] += 1;
        }
        let all: u64 = served.iter().sum();
        let (refused, cost) = (calls.len() as u64 - all, *instructions.borrow() / all);
        println!(
            "{n} strands: {all} calls served and {refused} refused in {CYCLES} cycles, \
             {cost} instructions of the hypervisor for each that is served"
        );
        let [fewest, most] = [served.iter().min(), served.iter().max()].map(Option::unwrap);
        assert!(most - fewest <= 2, "{served:?}");
    }
}
