//! Changes the code that ships, by rules that cargo-mutants lacks: it swaps statements or leaves them out, weakens atomic orderings, and
//! changes instructions of assembly. Each change should make a test fail.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "only this workspace uses this program")]

mod assembly;
mod checkout;
mod explained;
mod mutant;
mod report;
mod sources;
mod statements;
mod steps;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::ensure;
use conform::random::Random;
use vfalls::exit::{self, Mismatch};
use vfalls::interrupt;
use vfalls::output::Force;
use vfalls::say::say;
use xtask::cargo::root;

use checkout::{Checkout, Ended};
use mutant::{Mutant, RULES};
use report::{Tested, Verdict};
use steps::{BOOT, STEPS, Step};

/// Change the order of statements, orderings and assembly in one place at a time, and check that the tests notice
///
/// Draws mutants at random, equally many from each rule, and tests each in a copy of the checkout under target/order-mutants. The file
/// tests/mutants/explained.toml lists the mutants that no test can notice, with reasons. The exit status is 1 if the tests miss any other
/// mutant.
#[derive(clap::Parser, Debug)]
#[command(name = "order-mutants")]
struct Args {
    /// The seed of the draw
    #[arg(long, default_value_t = 2026)]
    seed: u64,
    /// How many mutants to draw
    #[arg(long, default_value_t = 400)]
    number: usize,
    /// Draw only mutants of this file, or of the files below this directory (may be repeated)
    #[arg(long, value_name = "PATH")]
    file: Vec<PathBuf>,
    /// Print the drawn mutants, and test none
    #[arg(long)]
    list: bool,
    /// Write the verdicts to this file, too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// Test only every N-th of the drawn mutants, from number K on
    #[arg(long, value_name = "K/N", default_value = "0/1", value_parser = shard)]
    shard: (usize, usize),
}

fn shard(text: &str) -> Result<(usize, usize), &'static str> {
    let numbers = text.split_once('/');
    let numbers = numbers.and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    numbers.filter(|(k, n)| k < n).ok_or("expected K/N with K < N, such as 0/4")
}

fn main() -> ExitCode {
    exit::main(run)
}

fn run(args: Args) -> anyhow::Result<()> {
    let all = sources::mutants()?;
    let text = fs::read_to_string(root().join("tests/mutants/explained.toml"))?;
    let (explained, mut others) = explained::split(&text, all)?;
    let number = others.len();
    let is_wanted = |mutant: &Mutant| {
        args.file.iter().any(|path| PathBuf::from(&mutant.file).starts_with(path))
    };
    others.retain(|mutant| args.file.is_empty() || is_wanted(mutant));
    ensure!(!others.is_empty(), "there are no mutants of these files");
    let (from, every) = args.shard;
    let drawn = draw(&others, args.number, &mut Random(args.seed));
    let drawn: Vec<Mutant> = drawn.into_iter().skip(from).step_by(every).collect();
    say(format_args!(
        "seed {}: {} of {number} mutants, {} explained",
        args.seed,
        drawn.len(),
        explained.len()
    ));
    if args.list {
        drawn.iter().for_each(|mutant| report::print(&report::line(mutant)));
        return Ok(());
    }
    interrupt::catch()?;
    let json = args.force.create_if_wanted(args.json.as_ref())?;
    let tested = test(drawn)?;
    report::print(&report::tables(&tested));
    if let Some(file) = json {
        file.complete_json(&tested)?;
    }
    let missed = tested.iter().filter(|tested| tested.verdict == Verdict::Missed).count();
    ensure!(
        missed == 0,
        Mismatch(format!("{missed} missed and not explained in tests/mutants/explained.toml"))
    );
    Ok(())
}

/// Draws mutants at random, one from each rule in turn. A rule without further mutants is left out.
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
    let top = root().join("target/order-mutants");
    fs::create_dir_all(&top)?;
    let _lock = checkout::lock(&top.join("lock"))?;
    let mut checkout = Checkout::new()?;
    let needed = STEPS.iter().filter(|step| drawn.iter().any(|mutant| step.judges(mutant)));
    checkout.prepare(&needed.collect::<Vec<&'static Step>>())?;
    let (mut tested, number) = (Vec::new(), drawn.len());
    for (at, mutant) in drawn.into_iter().enumerate() {
        let begin = Instant::now();
        let verdict = checkout.with(&mutant, || judge(&checkout, &mutant))?;
        let line = report::line(&mutant);
        say(format_args!(
            "[{}/{number}] {verdict}: {line} ({} s)",
            at + 1,
            begin.elapsed().as_secs()
        ));
        tested.push(Tested { mutant, verdict });
    }
    Ok(tested)
}

/// Runs the steps of a mutant in order, until a step fails.
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
#[path = "tests/main.rs"]
mod tests;
