//! Statements change places or are left out, orderings are weaker, and instructions of assembly are changed.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use conform::random::Random;
use vfalls::interrupt;
use vfalls::say::say;
use xtask::cargo::root;

use crate::checkout::{Checkout, Ended};
use crate::draw::{self, Options};
use crate::mutant::{Mutant, RULES};
use crate::report::{Tested, Verdict};
use crate::steps::{BOOT, STEPS, Step};
use crate::{checkout, explained, report, sources, steps};

/// Change the order of statements, orderings and assembly in one place at a time
///
/// The mutants are drawn from all that the rules make, as many of one rule as of another. tests/mutants/explained.toml lists with reasons
/// those that no test can notice.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// How many mutants to draw
    #[arg(long, default_value_t = 400)]
    number: usize,
    #[command(flatten)]
    options: Options,
}

const EXPLAINED: &str = "tests/mutants/explained.toml";

pub(crate) fn run(Args { number, options }: Args) -> anyhow::Result<()> {
    let all = sources::mutants()?;
    let text = fs::read_to_string(root().join(EXPLAINED))?;
    let (explained, mut others) = explained::split(&text, all)?;
    let made = others.len();
    options.select(&mut others)?;
    let drawn = options.part(draw(&others, number, &mut Random(options.seed)));
    say(format_args!(
        "seed {}: {} of {made} mutants, {} explained",
        options.seed,
        drawn.len(),
        explained.len()
    ));
    if options.list {
        drawn.iter().for_each(|mutant| report::print(&report::line(mutant)));
        return Ok(());
    }
    interrupt::catch()?;
    let json = options.output()?;
    draw::conclude(&RULES, &test(drawn)?, json, EXPLAINED)
}

/// Draws mutants of one rule after another, as long as the rules have some.
fn draw(mutants: &[Mutant], number: usize, random: &mut Random) -> Vec<Mutant> {
    let of = |rule| mutants.iter().filter(move |mutant| mutant.edit.rule == rule).cloned();
    let mut rules = RULES.map(|rule| of(rule).collect::<Vec<_>>());
    let mut drawn = Vec::new();
    while drawn.len() < number && rules.iter().any(|mutants| !mutants.is_empty()) {
        for mutants in rules.iter_mut().filter(|mutants| !mutants.is_empty()) {
            drawn.push(mutants.swap_remove(random.below(mutants.len())));
        }
    }
    drawn.truncate(number);
    drawn
}

fn test(drawn: Vec<Mutant>) -> anyhow::Result<Vec<Tested>> {
    let _lock = checkout::lock()?;
    let mut checkout = Checkout::new()?;
    checkout.update(&BTreeMap::new())?;
    let needed = STEPS.iter().filter(|step| drawn.iter().any(|mutant| step.judges(mutant)));
    checkout.prepare(&needed.collect::<Vec<&'static Step>>())?;
    let (mut tested, number) = (Vec::new(), drawn.len());
    for (at, mutant) in drawn.into_iter().enumerate() {
        let begin = Instant::now();
        let verdict = checkout.with(&mutant, || judge(&checkout, &mutant))?;
        tested.push(Tested { mutant, verdict }.said(at + 1, number, begin));
    }
    Ok(tested)
}

/// Runs the tests of a mutant until one fails.
fn judge(checkout: &Checkout, mutant: &Mutant) -> anyhow::Result<Verdict> {
    for step in STEPS.iter().filter(|step| step.judges(mutant)) {
        match checkout.run(step)?.0 {
            Ended::Passed if step.name == BOOT && checkout.is_same_image() => {
                let is_only = steps::is_of_images(&mutant.file);
                return Ok(if is_only { Verdict::Same } else { Verdict::Missed });
            }
            Ended::Passed => {}
            Ended::NotBuilt => return Ok(Verdict::NoProgram),
            Ended::Failed(test) => return Ok(Verdict::Caught(format!("{}: {test}", step.name))),
            Ended::Late => return Ok(Verdict::Late(step.name.to_owned())),
        }
    }
    Ok(Verdict::Missed)
}

#[cfg(test)]
#[path = "tests/order.rs"]
mod tests;
