//! Commands that consist of steps, each announced and timed. The first failure ends the command.

use std::io::{self, Write};
use std::iter;
use std::marker::PhantomData;
use std::time::Instant;

use anyhow::bail;
use clap::builder::PossibleValuesParser;

use vfalls::exit::Mismatch;

/// A step of a command. `T` is the type of the data that the command's steps share.
pub(crate) struct CommandStep<T: 'static> {
    /// The step's name on the command line.
    pub(crate) name: &'static str,
    /// The text that is printed before the step runs.
    pub(crate) about: &'static str,
    /// The steps whose results this step uses.
    pub(crate) needs: &'static [&'static str],
    pub(crate) run: fn(&mut T) -> anyhow::Result<()>,
}

/// Returns a step that does not use the results of other steps.
pub(crate) const fn step<T>(
    name: &'static str,
    about: &'static str,
    run: fn(&mut T) -> anyhow::Result<()>,
) -> CommandStep<T> {
    CommandStep { name, about, needs: &[], run }
}

/// A command that consists of steps.
pub(crate) trait Steps: Send + Sync + 'static {
    /// The data that the steps share, and that each step may change.
    type Shared: Default + 'static;
    /// The steps, in the order in which they run.
    const STEPS: &'static [CommandStep<Self::Shared>];
}

/// The options that choose steps of the command `S`.
#[derive(clap::Args, Debug)]
pub(crate) struct Chosen<S: Steps> {
    /// Run only this step (may be repeated), and the steps whose results it uses
    #[arg(long, value_name = "STEP", value_parser = names::<S>())]
    only: Vec<String>,
    /// List the steps
    #[arg(long)]
    list: bool,
    #[arg(skip)]
    command: PhantomData<S>,
}

fn names<S: Steps>() -> PossibleValuesParser {
    S::STEPS.iter().map(|step| step.name).into()
}

impl<S: Steps> Chosen<S> {
    /// Runs the chosen steps in their order, or lists them.
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let steps = self.steps();
        if self.list {
            let width = S::STEPS.iter().map(|step| step.name.len()).max().unwrap_or(0);
            for CommandStep { name, about, .. } in steps {
                say(format_args!("{name:<width$}  {about}"));
            }
            return Ok(());
        }
        let mut shared = S::Shared::default();
        for (passed, step) in iter::zip(0.., &steps) {
            let about = step.about;
            say(format_args!("[{}/{}] {about}", passed + 1, steps.len()));
            let start = Instant::now();
            let result = (step.run)(&mut shared);
            let seconds = start.elapsed().as_secs_f64();
            if let Err(error) = result {
                say(format_args!("failed after {seconds:.1} s\n"));
                say(format_args!("{passed} passed, 1 failed"));
                bail!(Mismatch(format!("{about}: {error:#}")));
            }
            say(format_args!("passed in {seconds:.1} s\n"));
        }
        say(format_args!("{} passed, 0 failed", steps.len()));
        Ok(())
    }

    fn steps(&self) -> Vec<&'static CommandStep<S::Shared>> {
        let named = |name: &str| self.only.iter().any(|only| only == name);
        let chosen = |step: &&CommandStep<S::Shared>| {
            let mut users = S::STEPS.iter().filter(|user| user.needs.contains(&step.name));
            self.only.is_empty() || named(step.name) || users.any(|user| named(user.name))
        };
        S::STEPS.iter().filter(chosen).collect()
    }
}

/// Prints a line. An error is ignored: the steps run even if nobody reads what they print.
pub(crate) fn say(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{line}");
}
