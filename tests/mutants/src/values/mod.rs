//! Changes values, as cargo-mutants does. All drawn mutants are in one program, and an environment variable chooses one of them when the
//! tests run, because building a program for each mutant would take minutes.

mod choices;
mod common;
mod listed;
mod packages;
mod programs;
mod rewritten;

use std::fs;
use std::time::{Duration, Instant};

use conform::random::Random;
use vfalls::interrupt;
use vfalls::say::say;
use xtask::cargo::root;

use crate::checkout::{self, Checkout};
use crate::draw::{self, Options};
use crate::mutant::{Mutant, VALUES};
use crate::report::Tested;
use crate::{built, explained, one_by_one, report};
use common::CommonProgram;
use packages::Package;

/// Change values in one place at a time, as cargo-mutants does
///
/// All drawn mutants are built into one program, except mutants that cannot be part of it, such as those of constants and of code that
/// only images have: these are built one after another. The files in tests/mutants/explained list the mutants that no test can notice,
/// with reasons.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  mutants values --package simulator --list\n  mutants values --package platform --file platform/src/md --number 50"
)]
pub(crate) struct Args {
    /// The crates whose mutants are drawn: hypervisor, platform, simulator
    #[arg(long, value_name = "NAME", value_parser = packages::named)]
    package: &'static Package,
    /// How many mutants to draw
    #[arg(long, default_value_t = 300)]
    number: usize,
    #[command(flatten)]
    options: Options,
}

/// The maximum time for a build.
const BUILD: Duration = Duration::from_secs(3600);

pub(crate) fn run(Args { package, number, options }: Args) -> anyhow::Result<()> {
    let all = listed::mutants(package)?;
    let list = format!("tests/mutants/explained/{}.toml", package.name);
    let text = fs::read_to_string(root().join(&list))?;
    let (explained, mut others) = explained::split(&text, all)?;
    let made = others.len();
    options.select(&mut others)?;
    let drawn = options.part(draw(others, number, &mut Random(options.seed)));
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
    let mut together = CommonProgram::new(package, drawn)?;
    let mut tested = test(package, &mut together)?;
    let alone = together.numbers(false).into_iter();
    let alone = alone.map(|number| together.mutants[number].clone()).collect();
    tested.extend(one_by_one::test(alone)?);
    draw::conclude(&VALUES, &tested, json, &list)
}

fn draw(mut mutants: Vec<Mutant>, number: usize, random: &mut Random) -> Vec<Mutant> {
    let number = number.min(mutants.len());
    (0..number).map(|_| mutants.swap_remove(random.below(mutants.len()))).collect()
}

/// Tests the mutants that can be in one program.
fn test(package: &Package, together: &mut CommonProgram) -> anyhow::Result<Vec<Tested>> {
    if together.numbers(true).is_empty() {
        return Ok(Vec::new());
    }
    let checkout = Checkout::new()?;
    let built = build(&checkout, package, together)?;
    let tests = programs::prepare(&checkout, package, &built)?;
    let numbers = together.numbers(true);
    let mut tested = Vec::new();
    for (at, &number) in numbers.iter().enumerate() {
        let begin = Instant::now();
        let verdict = programs::judge(&checkout, &tests, number)?;
        let mutant = together.mutants[number].clone();
        tested.push(Tested { mutant, verdict }.print_progress(at + 1, numbers.len(), begin));
    }
    Ok(tested)
}

/// Builds one program with all the mutants that compile.
fn build(
    checkout: &Checkout,
    package: &Package,
    together: &mut CommonProgram,
) -> anyhow::Result<Vec<built::Program>> {
    let check = package.crates.iter().map(|name| format!(" --package={name}"));
    let check = format!("--lib{}", check.collect::<String>());
    let tests = package.suites.iter().map(|suite| format!(" --package={}", suite.package));
    let tests = format!("--no-run --lib --bins --tests{}", tests.collect::<String>());
    for (command, arguments) in [("check", check), ("test", tests)] {
        loop {
            checkout.update(&together.files()?)?;
            let arguments = format!("--profile=mutants --message-format=json {arguments}");
            let number = together.numbers(true).len();
            say(format_args!("cargo {command} with {number} mutants in one program"));
            let passes =
                checkout.run_with_limit(&mut checkout.cargo_to(command, &arguments), BUILD)?;
            if passes == Some(true) {
                break;
            }
            together.remove_failing(&built::errors(&checkout.messages()?))?;
        }
    }
    Ok(built::programs(&checkout.messages()?))
}
