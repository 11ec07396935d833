use std::collections::BTreeSet;

use super::*;
use crate::mutant::{DROP, Edit, SWAP};
use crate::steps::STEPS;

fn mutants() -> Vec<Mutant> {
    let rules = [SWAP, DROP, DROP, DROP];
    let edit = |(at, rule)| Edit { rule, range: at..at + 1, with: String::new() };
    (0..).zip(rules).map(|numbered| Mutant::new("a", "\n\n\n\n", edit(numbered))).collect()
}

#[test]
fn a_seed_draws_the_same_from_each_rule() {
    let lines = |seed, number| {
        let drawn = draw(&mutants(), number, &mut Random(seed));
        drawn.iter().map(|mutant| mutant.line).collect::<Vec<_>>()
    };
    for seed in 0..20 {
        let drawn = lines(seed, 3);
        assert_eq!((drawn[0], drawn.len()), (1, 3));
        assert_eq!(drawn, lines(seed, 3));
    }
    assert_eq!((0..20).map(|seed| lines(seed, 2)).collect::<BTreeSet<_>>().len(), 3);
    assert_eq!(BTreeSet::from_iter(lines(1, 9)), BTreeSet::from([1, 2, 3, 4]));
}

/// Each mutant is tested by a step that builds the mutant's code. No mutant changes its file's number of lines.
#[test]
fn all_sources_have_mutants_that_a_step_judges() {
    let all = sources::mutants().unwrap();
    for rule in RULES {
        assert!(all.iter().filter(|mutant| mutant.edit.rule == rule).count() > 20, "{rule:?}");
    }
    for mutant in &all {
        assert!(STEPS.iter().any(|step| step.judges(mutant)), "{mutant:?}");
        let text = fs::read_to_string(root().join(&mutant.file)).unwrap();
        let lines = mutant.edit.apply(&text).matches('\n').count();
        assert_eq!(lines, text.matches('\n').count(), "{mutant:?}");
    }
}
