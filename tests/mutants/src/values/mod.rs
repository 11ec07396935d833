//! Values are others, as cargo-mutants changes them. All drawn mutants are in one program, and a variable of the environment chooses one
//! when tests run: to build a program for each mutant takes minutes.

mod built;
mod listed;
mod packages;
mod places;
mod programs;
mod rewritten;
mod together;

use std::fs;
use std::time::{Duration, Instant};

use conform::random::Random;
use vfalls::interrupt;
use vfalls::say::say;
use xtask::cargo::root;

use crate::checkout::{self, Checkout};
use crate::draw::{self, Options};
use crate::mutant::VALUES;
use crate::report::Tested;
use crate::{explained, report};
use packages::Package;
use together::Together;

/// Change values in one place at a time, as cargo-mutants does
///
/// All drawn mutants are built into one program. A mutant that cannot be in it is left out, and another is drawn: one of a constant, for
/// example.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The crates whose mutants are drawn: platform, simulator
    #[arg(long, value_name = "NAME", value_parser = packages::named)]
    package: &'static Package,
    /// How many mutants to draw
    #[arg(long, default_value_t = 300)]
    number: usize,
    #[command(flatten)]
    options: Options,
}

/// How long a build may take.
const BUILD: Duration = Duration::from_secs(3600);

pub(crate) fn run(Args { package, number, options }: Args) -> anyhow::Result<()> {
    let all = listed::mutants(package)?;
    let list = format!("tests/mutants/explained/{}.toml", package.name);
    let text = fs::read_to_string(root().join(&list))?;
    let (explained, mut others) = explained::split(&text, all)?;
    let made = others.len();
    options.select(&mut others)?;
    let mut together = Together::new(package, others, number, &mut Random(options.seed));
    if options.list {
        for (number, _) in options.part(together.drawn()?) {
            report::print(&report::line(&together.mutants[number]));
        }
        return Ok(());
    }
    interrupt::catch()?;
    let json = options.output()?;
    let _lock = checkout::lock()?;
    let checkout = Checkout::new()?;
    let built = build(&checkout, package, &mut together)?;
    let drawn = options.part(together.drawn()?);
    say(format_args!(
        "seed {}: {} of {made} mutants, {} explained; left out: {} are no choice at run time, {} do not compile",
        options.seed,
        drawn.len(),
        explained.len(),
        together.fixed.len(),
        together.broken.len()
    ));
    let tests = programs::prepare(&checkout, package, built)?;
    let (mut tested, number) = (Vec::new(), drawn.len());
    for (at, (mutant, _)) in drawn.into_iter().enumerate() {
        let begin = Instant::now();
        let verdict = programs::judge(&checkout, &tests, mutant)?;
        let mutant = together.mutants[mutant].clone();
        tested.push(Tested { mutant, verdict }.said(at + 1, number, begin));
    }
    draw::conclude(&VALUES, &tested, json, &list)
}

/// Builds the program with all mutants that compile.
fn build(
    checkout: &Checkout,
    package: &Package,
    together: &mut Together,
) -> anyhow::Result<Vec<built::Program>> {
    let check = package.crates.iter().map(|name| format!(" --package={name}"));
    let check = format!("--lib{}", check.collect::<String>());
    let tests = package.suites.iter().map(|suite| format!(" --package={}", suite.package));
    let tests = format!("--no-run --lib --bins --tests{}", tests.collect::<String>());
    for (command, arguments) in [("check", check), ("test", tests)] {
        loop {
            checkout.update(&together.files()?)?;
            let arguments = format!("--profile=mutants --message-format=json {arguments}");
            say(format_args!("cargo {command}; {} mutants do not compile", together.broken.len()));
            let passes = checkout.ends(&mut checkout.cargo_to(command, &arguments), BUILD)?;
            if passes == Some(true) {
                break;
            }
            together.take_out(&built::errors(&checkout.messages()?))?;
        }
    }
    Ok(built::programs(&checkout.messages()?))
}
