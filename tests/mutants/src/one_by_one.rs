//! Builds and tests mutants one at a time, because an environment variable cannot choose a mutant in a constant or an image.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::checkout::{Checkout, TestOutcome};
use crate::mutant::Mutant;
use crate::report::{Tested, Verdict};
use crate::steps::{self, BOOT, STEPS, Step};

/// Builds and tests one mutant after another.
pub(crate) fn test(drawn: Vec<Mutant>) -> anyhow::Result<Vec<Tested>> {
    if drawn.is_empty() {
        return Ok(Vec::new());
    }
    let mut checkout = Checkout::new()?;
    checkout.update(&BTreeMap::new())?;
    let needed = STEPS.iter().filter(|step| drawn.iter().any(|mutant| step.judges(mutant)));
    checkout.prepare(&needed.collect::<Vec<&'static Step>>())?;
    let (mut tested, number) = (Vec::new(), drawn.len());
    for (at, mutant) in drawn.into_iter().enumerate() {
        let begin = Instant::now();
        let verdict = checkout.with(&mutant, || judge(&checkout, &mutant))?;
        tested.push(Tested { mutant, verdict }.print_progress(at + 1, number, begin));
    }
    Ok(tested)
}

/// Runs a mutant's tests until one fails.
fn judge(checkout: &Checkout, mutant: &Mutant) -> anyhow::Result<Verdict> {
    for step in STEPS.iter().filter(|step| step.judges(mutant)) {
        match checkout.run(step)?.0 {
            TestOutcome::Passed if step.name == BOOT && checkout.is_same_image() => {
                let is_only = steps::is_image_only(&mutant.file);
                return Ok(if is_only { Verdict::Same } else { Verdict::Missed });
            }
            TestOutcome::Passed => {}
            TestOutcome::NotBuilt => return Ok(Verdict::NoProgram),
            TestOutcome::Failed(test) => {
                return Ok(Verdict::Caught(format!("{}: {test}", step.name)));
            }
            TestOutcome::TimedOut => return Ok(Verdict::Late(step.name.to_owned())),
        }
    }
    Ok(Verdict::Missed)
}
