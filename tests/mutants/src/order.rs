//! Swaps statements or leaves them out, weakens atomic orderings, and changes assembly instructions.

use std::fs;

use conform::random::Random;
use vfalls::interrupt;
use vfalls::say::say;
use xtask::cargo::root;

use crate::draw::{self, Options};
use crate::mutant::{Mutant, RULES};
use crate::{checkout, explained, one_by_one, report, sources};

/// Change the order of statements, orderings and assembly in one place at a time
///
/// The mutants are drawn from each rule in turn. tests/mutants/explained.toml lists the mutants that no test can notice, with reasons.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  mutants order --list\n  mutants order --file perfctr-service/src/sparc64 --number 48"
)]
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
    let _lock = checkout::lock()?;
    draw::conclude(&RULES, &one_by_one::test(drawn)?, json, EXPLAINED)
}

/// Draws a mutant from each rule in turn, as long as there are any left.
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

#[cfg(test)]
#[path = "tests/order.rs"]
mod tests;
