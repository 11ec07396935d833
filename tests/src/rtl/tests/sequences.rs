use std::collections::BTreeSet;

use super::super::{Register::*, *};
use super::overflow_and_pic;

/// Executes random sequences of a configuration. Returns the values of SL that they select, and the names of the cases that occur in them,
/// such as `overflow`.
fn reached(configuration: Configuration) -> (BTreeSet<u64>, BTreeSet<&'static str>) {
    let (mut sls, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..16 {
        let sequence = Sequence::new(configuration, seed, 500);
        seen.extend((sequence.options.skid > 0).then_some("skid"));
        let mut core = Core::new(sequence.options);
        for step in &sequence.steps {
            let before = core.strands.each_ref().map(overflow_and_pic);
            let answer = core.step(step);
            let after = core.strands.each_ref().map(overflow_and_pic);
            seen.extend((answer == Answer::Trapped).then_some("refused"));
            if let Step::Access(Access { register: Pcr, write: Some(pcr), .. }) = step {
                sls.extend([pcr >> 27 & 0xf, pcr >> 14 & 0xf]);
                seen.extend((pcr & 0x30 != 0).then_some("toe"));
                seen.extend((pcr >> 62 != 0).then_some("holdov"));
            }
            let Answer::Clock(outcomes) = answer else {
                continue;
            };
            for ((outcome, before), after) in outcomes.iter().zip(before).zip(after) {
                seen.extend((before.0 != after.0).then_some("overflow"));
                seen.extend((outcome.request && after.0 == 0).then_some("pulse"));
                seen.extend(outcome.trap.then_some("trap"));
            }
        }
    }
    (sls, seen)
}

#[test]
fn random_sequences_repeat_and_reach_what_their_configuration_says() {
    let named = [2, 3, 4, 5, 6, 7];
    let any: Vec<u64> = (0..16).collect();
    let always = ["overflow", "refused", "trap"];
    let with_toe = ["pulse", "skid", "toe"];
    let rows: [(Configuration, &[u64], &[&str]); 7] = [
        (Configuration::NamedEvents, &named, &[]),
        (Configuration::SeveralMaskBits, &named, &[]),
        (Configuration::TrapOnOverflow, &named, &with_toe),
        (Configuration::HoldOverflow, &named, &["holdov"]),
        (Configuration::FlushedMisses, &[0xb], &[]),
        (Configuration::AllSelects, &any, &[]),
        (Configuration::Everything, &any, &["pulse", "skid", "toe", "holdov"]),
    ];
    for (configuration, sls, also) in rows {
        let [once, again] = [(); 2].map(|()| Sequence::new(configuration, 1, 100));
        assert_eq!(format!("{once:?}"), format!("{again:?}"));
        let expected = always.iter().chain(also).copied().collect();
        assert_eq!(reached(configuration), (sls.iter().copied().collect(), expected));
    }
}
